/** The body of a generator that is a tool: it is called again for each part, and what it asks for is told apart as anywhere else (R1, R4). */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, defineAgent, durable, durableTools, memoryStore, type Agent, type Run, type RunnerOptions } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { callParts, endOfCalls, endParts, streamingModel, textParts } from './support/streaming.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
const load = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

type Body = () => AsyncIterable<unknown>

/** Both loops of the AI SDK, whose one tool is this generator. */
const LOOPS: Record<string, (body: Body) => Agent<unknown, unknown>> = {
  generateText: (body) => defineAgent('a', async () => {
    const model = durable(testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'bill', input: {} }] } : { text: 'done' })))
    const { steps } = await generateText({ model, tools: toolsOf(body), prompt: 'p', stopWhen: stepCountIs(3) })
    return steps[0]!.toolResults[0]!.output
  }),
  streamText: (body) => {
    // It counts its requests, those of all attempts.
    const model = durable(streamingModel((request) => (request === 1 ? [...callParts('c', 'bill', {}), ...endOfCalls] : [...textParts('done'), ...endParts])))
    return defineAgent('a', async () => {
      const steps = await streamText({ model, tools: toolsOf(body), prompt: 'p', stopWhen: stepCountIs(3) }).steps
      return steps[0]!.toolResults[0]!.output
    })
  },
}

const toolsOf = (body: Body) => durableTools({ bill: tool({ inputSchema: z.object({}), execute: async function* () { yield* body() } }) }, { bill: { composite: true } })

const done: string[] = []
beforeEach(() => void (done.length = 0))

const step = (name: string, what = name, key?: string): Promise<string> =>
  (currentRun() as Run).step(name, key === undefined ? {} : { key }, () => (done.push(what), `${name} of ${what}`))

const drive = (agent: Agent<unknown, unknown>) => createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })

/** Killed behind the record of the step, changed, and gone on with. */
async function killedBehind(name: string, agent: Agent<unknown, unknown>, change: () => void = () => {}): Promise<unknown> {
  const store = memoryStore()
  const dying = mortal(store)
  const died = dying.killAt(new RegExp(`"step-ended".*"name":"${name}"`), 'after')
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
  await died
  change()
  return createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')
}

describe.each(Object.entries(LOOPS))('in a generator that is a tool of %s', (_, loop) => {
  /** The second one asks when the first one has its receipt. */
  const sideBySide = () => {
    const ended = Promise.withResolvers<void>()
    return Promise.all(['ann', 'bob'].map(async (who) => {
      if (who === 'bob') await ended.promise
      await load(1)
      const receipt = await step('charge', who)
      ended.resolve()
      return receipt
    }))
  }

  it.each<[string, Body]>([
    ['before it yields', async function* () { yield await sideBySide() }],
    ['behind a yield', async function* () {
      yield 'begins'
      await load(1)
      yield await sideBySide()
    }],
    ['behind a step of its own and a yield', async function* () {
      yield await step('look')
      yield await sideBySide()
    }],
    ['which it waits for behind a yield', async function* () {
      const all = sideBySide()
      yield 'begins'
      yield await all
    }],
  ])('steps of lines of work are refused at the second one, %s', async (__, body) => {
    await expect(drive(loop(body))).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', message: expect.stringContaining('by other code of its branch') })
    expect(done.filter((each) => each !== 'look')).toEqual(['ann'])
  })

  it('a step of the body is not taken to follow that of a line of work that it goes on beside', async () => {
    await expect(drive(loop(async function* () {
      const ended = Promise.withResolvers<void>()
      const beside = (async () => {
        await ended.promise
        await load(1)
        await step('log', 'beside')
      })()
      yield await step('look')
      ended.resolve()
      while (!done.includes('beside')) await load(1)
      yield await step('log', 'body')
      await beside
    }))).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
    expect(done).toEqual(['look', 'beside'])
  })

  it.each<[string, string, Body]>([
    ['before and behind each yield', 'charge', async function* () {
      for (const i of ['1', '2', '3']) {
        yield `begins ${i}`
        await load(1)
        await step('charge', i)
        await load(1)
        yield await step('charge', `${i} again`)
      }
    }],
    ['in a function that waits before it asks', 'mail', async function* () {
      for (const i of ['1', '2', '3']) yield await (async () => (await load(1), step('charge', i), step('mail', i)))()
    }],
    ['whose result is waited for behind a yield', 'charge', async function* () {
      for (const i of ['1', '2', '3']) {
        await load(1)
        const receipt = step('charge', i)
        yield `charges ${i}`
        yield await receipt
      }
    }],
    ['behind lines of work, again and again', 'report', async function* () {
      for (const i of ['1', '2', '3']) {
        await Promise.all(['ann', 'bob'].map(async (who) => (await load(1), step('charge', who, `${i} ${who}`))))
        await load(1)
        yield await step('report', i)
        await load(1)
      }
    }],
  ])('steps follow one another %s, and replay, killed behind the first %s', async (__, name, body) => {
    expect(await drive(loop(body))).toMatchObject({ status: 'completed' })
    const once = done.splice(0)
    expect(await killedBehind(name, loop(body))).toMatchObject({ status: 'completed' })
    expect(done.toSorted()).toEqual(once.toSorted())
  })

  const SLOW: [string, string][] = [['ann', 'bob'], ['bob', 'ann']]
  describe.each(SLOW)('behind lines of work of which %s was slow, and now %s', (before, now) => {
    let slow = before
    beforeEach(() => void (slow = before))
    const fanOut = () => Promise.all(['ann', 'bob'].map(async (who) => {
      await load(who === slow ? 40 : 1)
      return step('charge', who, who)
    }))

    it.each<[string, Body]>([
      ['at once', async function* () {
        const receipts = await fanOut()
        yield [receipts, await step('report')]
      }],
      ['behind a wait', async function* () {
        const receipts = await fanOut()
        await load(1)
        yield [receipts, await step('report')]
      }],
      ['behind a yield in front of them', async function* () {
        yield 'begins'
        const receipts = await fanOut()
        await load(1)
        yield [receipts, await step('report')]
      }],
      ['behind a step and a yield in front of them', async function* () {
        yield await step('look')
        const receipts = await fanOut()
        await load(1)
        yield [receipts, await step('report')]
      }],
      ['behind a yield', async function* () {
        const receipts = await fanOut()
        yield receipts
        await load(1)
        yield [receipts, await step('report')]
      }],
      ['behind a yield and a step between two', async function* () {
        const receipts = await fanOut()
        await load(1)
        yield await step('look')
        await load(1)
        yield [receipts, await step('report')]
      }],
      ['behind a yield while they are under way', async function* () {
        const all = fanOut()
        await load(20)
        yield 'one has asked'
        const receipts = await all
        await load(1)
        yield [receipts, await step('report')]
      }],
    ])('a step is the same one, %s', async (__, body) => {
      const outcome = await killedBehind('report', loop(body), () => (slow = now))
      expect(outcome).toEqual({ status: 'completed', result: [['charge of ann', 'charge of bob'], 'report of report'] })
      expect(done.filter((each) => each !== 'look').toSorted()).toEqual(['ann', 'bob', 'report'])
    })
  })
})

it('in a generator that is read out of a branch steps of lines of work are refused at the second one, too', async () => {
  const ended = Promise.withResolvers<void>()
  const agent = defineAgent('a', async (run) => {
    const parts = await run.branch('b', async function* () {
      yield 'begins'
      yield await Promise.all(['ann', 'bob'].map(async (who) => {
        if (who === 'bob') await ended.promise
        await load(1)
        await step('charge', who)
        ended.resolve()
      }))
    })
    for await (const part of parts) void part
  })
  await expect(drive(agent)).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
  expect(done).toEqual(['ann'])
})
