/** What runs side by side, through the runner (R1, R4; C5, C15, C16, C33). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** Fails the first attempt after everything it did, so that the second one replays. */
function failingOnce() {
  let failed = false
  return () => {
    if (failed) return
    failed = true
    throw new Error('later')
  }
}

const ask = (run: Run, model: ReturnType<typeof testModel>, prompt: string, system?: string): Promise<string> =>
  generateText({ model: run.model(model), prompt, ...(system !== undefined && { instructions: system }) }).then((r) => r.text)

describe('what runs side by side (C16)', () => {
  it('two loops in branches replay wholly', async () => {
    const model = testModel((turn, call) => (turn === 0 ? { calls: [{ id: 'same', tool: 'look', input: { who: JSON.stringify(call.prompt[0]!.content) } }] } : { text: JSON.stringify(call.prompt[0]!.content) }))
    let looks = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ look: tool({ inputSchema: z.object({ who: z.string() }), execute: async ({ who }) => `${who} ${++looks}` }) })
      const out = await Promise.all(['ann', 'bob'].map((who) => run.branch(who, async () => {
        const { text, steps } = await generateText({ model: run.model(model), tools, prompt: who, stopWhen: stepCountIs(4) })
        return [text, steps[0]!.toolResults[0]!.output]
      })))
      fail()
      return out
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const outcome = await runner.resume('r')
    expect(JSON.stringify(outcome)).toMatch(/ann.*ann.*bob.*bob/s)
    expect(model.requests).toHaveLength(4)
    expect(looks).toBe(2)
  })

  it('two loops with tools in one branch are refused at the second claim, and what the first did is kept (C16b)', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'x' }))
    const agent = defineAgent('a', async (run, _customers: string[]) => {
      const loop = (customer: string) => generateText({
        model: run.model(model), prompt: 'what is owed?', stopWhen: stepCountIs(3),
        tools: run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => customer }) }),
      })
      return (await Promise.all(_customers.map(loop))).map((r) => r.text)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, ['ann', 'bob'], { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', advice: 'Give each line of work a branch of its own: `currentRun().branch(key, fn)`' })
  })

  it('where the first of them is on its way already, its answer is recorded, and replays when the code was mended (C16b)', async () => {
    const gate = Promise.withResolvers<void>()
    const model = testModel(async (turn, call) => {
      if (turn === 0) await gate.promise
      return turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: JSON.stringify(call.prompt.at(-1)) }
    })
    const loop = (run: Run, customer: string) => generateText({
      model: run.model(model), prompt: 'what is owed?', stopWhen: stepCountIs(3),
      tools: run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => customer }) }),
    }).then((r) => r.text)
    let mended = false
    const agent = defineAgent('a', async (run) => {
      const ann = loop(run, 'ann')
      if (mended) return [await ann, await run.branch('bob', () => loop(run, 'bob'))]
      while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
      const bob = loop(run, 'bob')
      gate.resolve()
      return Promise.all([ann, bob])
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
    expect(model.requests).toHaveLength(1)
    const ended = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' ? [[entry.step.id, entry.outcome.type]] : []))
    expect(ended).toEqual([['0', 'value']])
    mended = true
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [expect.stringMatching(/ann/), expect.stringMatching(/bob/)] })
    expect(model.requests).toHaveLength(4)
  })

  it('steps of one name without key or input are refused when they overlap; with a key they are right (C16d)', async () => {
    const wait = (i: number) => new Promise((resolve) => setTimeout(resolve, 3 - i))
    const fail = failingOnce()
    const without = defineAgent('without', async (run) => Promise.all([1, 2].map(async (i) => run.step('charge', async () => (await wait(i), i)))))
    const charged: number[] = []
    const withKey = defineAgent('with', async (run) => {
      const out = await Promise.all([1, 2].map(async (i) => {
        await wait(Math.random() * 3)
        return run.step('charge', { key: i }, async () => (charged.push(i), `charge ${i}`))
      }))
      fail()
      return out
    })
    const runner = createRunner({ agents: [without, withKey], store: memoryStore(), ...quick })
    await expect(runner.run(without, {}, { runId: 'a' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
    await expect(runner.run(withKey, {}, { runId: 'b' })).rejects.toThrow(/later/)
    expect(await runner.resume('b')).toMatchObject({ result: ['charge 1', 'charge 2'] })
    expect(charged.toSorted()).toEqual([1, 2])
  })

  it('a race has the same winner on replay (C16c)', async () => {
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    let slowFirst = true
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const winner = await Promise.race([
        run.read('left', async () => (await wait(slowFirst ? 15 : 0), 'left')),
        run.read('right', async () => (await wait(slowFirst ? 0 : 15), 'right')),
      ])
      const used = await run.step('use', { input: winner }, () => `used ${winner}`)
      await wait(20)
      fail()
      return used
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    slowFirst = false
    expect(await runner.resume('r')).toMatchObject({ result: 'used right' })
  })

  it('a branch that has ended gives up nothing that was asked for in it: it is made, with all that is inside of it, and waited for (B10)', async () => {
    const made: string[] = []
    const store = memoryStore()
    const sub = defineAgent('sub', async (run) => {
      await run.read('look', async () => {})
      return run.step('charge', { input: 7 }, () => made.push('charged'))
    })
    const agent = defineAgent('a', async (run) => {
      await run.branch('late', async () => {
        void run.step('order', { input: 7 }, () => made.push('ordered'))
        void run.agent(sub, {})
      })
      return run.branch('late', async () => 'next')
    })
    const runner = createRunner({ agents: [agent], store, ...quick })
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'next' })
    expect(made.toSorted()).toEqual(['charged', 'ordered'])
  })

  it('a doubt in a branch that has ended is asked about until it is settled', async () => {
    const store = memoryStore()
    const dying = mortal(store)
    const made: string[] = []
    const agent = defineAgent('a', async (run) => {
      const winner = await run.branch('race', () => Promise.race([
        run.step('slow', { input: 1 }, () => (made.push('slow'), new Promise<never>(() => {}))),
        run.read('quick', async () => 'quick'),
      ]))
      // Its start is news for all that waits.
      await run.step('next', { input: winner }, () => made.push('next'))
      return winner
    })
    const died = dying.killAt(/"step-started".*"name":"next"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    const step = 'b:race#0/0'
    for (let time = 0; time < 2; time++) {
      expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step }] })
      expect(made).toEqual(['slow', 'next'])
    }
    await runner.resolve('r', step, 'skip')
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'quick' })
  })

  it('parallel tools that finish in reverse order get their own results, and fewer at a time do not deadlock (C5, C33)', async () => {
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    const model = testModel((turn) => (turn === 0 ? { calls: [1, 2, 3].map((n) => ({ id: `c${n}`, tool: 'get', input: { n } })) } : { text: 'x' }))
    let concurrency: number | undefined
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ get: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => (await wait(20 - n * 5), `got ${n}`) }) })
      const { steps } = await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: stepCountIs(3), ...(concurrency && { toolCallConcurrency: concurrency }) })
      fail()
      return steps[0]!.toolResults.map((r) => [r.input, r.output])
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    concurrency = 1
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'completed', result: expect.arrayContaining([1, 2, 3].map((n) => [{ n }, `got ${n}`])) })
    expect(model.requests).toHaveLength(2)
  })

  it('an agent inside a tool replays as a whole, and its second use finds its own steps (C15)', async () => {
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: 'same', tool: 'research', input: { topic: turn } }] } : { text: 'x' }))
    const inner = testModel((_t, call) => ({ text: JSON.stringify(call.prompt.at(-1)!.content) }))
    const researcher = defineAgent('researcher', async (run, topic: number) => ask(run, inner, `topic ${topic}`))
    const fail = failingOnce()
    let entered = 0
    const agent = defineAgent('a', async (run) => {
      const research = tool({ inputSchema: z.object({ topic: z.number() }), execute: async ({ topic }) => (entered++, run.agent(researcher, topic)) })
      const { steps } = await generateText({ model: run.model(model), tools: run.tools({ research }, { research: { composite: true } }), prompt: 'x', stopWhen: stepCountIs(4) })
      fail()
      return steps.flatMap((s) => s.toolResults.map((r) => r.output))
    })
    const runner = createRunner({ agents: [agent, researcher], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const outcome = await runner.resume('r')
    expect(JSON.stringify(outcome)).toMatch(/topic 0.*topic 1/)
    expect([inner.requests.length, entered]).toEqual([2, 2])
  })
})
