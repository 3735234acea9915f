/** Lines of work that give up by themselves: what their caller cancels is waited for by nobody (R10, R12). */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, durable, durableTools, memoryStore, type Run, type Store } from '../src/index.ts'
import { sleep } from '../src/core/clock.ts'
import { manualClock } from '../src/testing/index.ts'
import { mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { callParts, endOfCalls, endParts, streamingModel, textParts } from './support/streaming.ts'
import { during } from './support/time.ts'

const order = z.object({ order: z.number() })

describe('a run whose handler has returned', () => {
  it.each<[string, object, () => number]>([
    ['for somebody to agree', { approval: true }, () => 1],
    ['for somebody who knows whether it took effect', {}, () => { throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }],
  ])('ends when the line of work that still waits %s gives up', async (_, policy, execute) => {
    const waits = Promise.withResolvers<void>()
    const givingUp = new AbortController()
    const agent = defineAgent('a', async (run) => {
      const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'charge', input: { order: 7 } }] } : { text: 'charged' }))
      const tools = run.tools({ charge: tool({ inputSchema: order, execute }) }, { charge: policy })
      const careful = run.branch('careful', async () => (await generateText({ model: run.model(model), tools, prompt: 'Charge 7', stopWhen: stepCountIs(4), abortSignal: givingUp.signal })).text).catch(() => 'gave up')
      return Promise.race([careful, waits.promise.then(() => 'quick')])
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 60_000, onEvent: ({ type }) => { if (type === 'step-waiting') waits.resolve() } })
    const outcome = runner.run(agent, 1, { runId: 'r' })
    await waits.promise
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
    givingUp.abort()
    expect(await outcome).toEqual({ status: 'completed', result: 'quick' })
  })
})

describe('a loop that its caller has cancelled in the middle of a tool', () => {
  it.each(['generateText', 'streamText'] as const)('is followed by the next one, while the record of the tool is still written: %s', async (loop) => {
    const [runs, isNext] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const inner = memoryStore()
    /** The record of the call that was cancelled comes when the next loop has asked. */
    const store: Store = new Proxy(inner, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          if (property === 'append' && (args[1] as { entries: { body: string }[] }).entries.some(({ body }) => /"step-ended".*"name":"charge"/.test(body))) await Promise.race([isNext.promise, new Promise((resolve) => setTimeout(resolve, 1_000))])
          return (value as (...a: unknown[]) => unknown).apply(target, args)
        }
      },
    })
    const cancelling = new AbortController()
    const charge = tool({ inputSchema: order, execute: () => (runs.resolve(), new Promise<number>(() => {})) })
    const generating = testModel((turn, { prompt }) => {
      if (JSON.stringify(prompt).includes('two')) isNext.resolve()
      return turn === 0 && JSON.stringify(prompt).includes('one') ? { calls: [{ id: 'c', tool: 'charge', input: { order: 7 } }] } : { text: 'done' }
    })
    const streaming = streamingModel((request) => {
      if (request === 2) isNext.resolve()
      return request === 1 ? [...callParts('c', 'charge', { order: 7 }), ...endOfCalls] : [...textParts('done'), ...endParts]
    })
    const agent = defineAgent('a', async () => {
      const ask = async (prompt: string, abortSignal?: AbortSignal): Promise<string> => {
        const options = { tools: durableTools({ charge }), prompt, stopWhen: stepCountIs(4), ...(abortSignal && { abortSignal }) }
        return loop === 'generateText' ? (await generateText({ model: durable(generating), ...options })).text : streamText({ model: durable(streaming), ...options, onError: () => {} }).text
      }
      const first = await ask('one', cancelling.signal).catch(() => 'cancelled')
      return [first, await ask('two')]
    })
    const outcome = createRunner({ agents: [agent], store, idleMs: 50 }).run(agent, 1, { runId: 'r' })
    await runs.promise
    cancelling.abort(new DOMException('too late', 'TimeoutError'))
    expect(await outcome).toEqual({ status: 'completed', result: ['cancelled', 'done'] })
  })
})

it('a step is not cut while its answers are held back for older ones of another branch', async () => {
  const clock = manualClock(1_000_000)
  let pace = 10
  const line = async (run: Run, name: string, ms: number): Promise<void> => {
    for (let i = 0; i < 5; i++) {
      await sleep(clock, ms)
      await run.step(name, { key: i }, () => i)
    }
  }
  const agent = defineAgent('a', (run) => Promise.all([
    run.branch('held', () => run.step('outer', { idempotent: true, timeoutMs: 150 }, async () => { await line(run, 'inner', 10); return 'not cut' })),
    run.branch('beside', () => line(run, 'beside', pace)),
  ]))
  const store = memoryStore()
  const dying = mortal(store)
  const options = { agents: [agent], clock, replayHoldMs: 80, retry: false } as const
  const died = dying.killAt(/"step-ended".*"name":"outer"/)
  void createRunner({ ...options, store: dying.store }).run(agent, 1, { runId: 'r' })
  await during(clock, died, { stepMs: 5 })
  pace = 60
  await clock.advance(60_000)
  expect(await during(clock, createRunner({ ...options, store }).resume('r'), { stepMs: 5 })).toMatchObject({ status: 'completed', result: ['not cut', undefined] })
})

describe('agents and composite tools that wait for one another outside of steps', () => {
  /** One at a time. */
  const lock = () => {
    let last: Promise<unknown> = Promise.resolve()
    return <T>(fn: () => Promise<T>): Promise<T> => {
      const next = last.then(fn, fn)
      last = next.catch(() => {})
      return next
    }
  }
  const lines: [string, (run: Run, work: (run: Run, i: number) => Promise<unknown>) => Promise<unknown>][] = [
    ['agents', (run, work) => Promise.all([1, 2].map((i) => run.agent(defineAgent('child', (inner, at: number) => work(inner, at)), i, { key: i })))],
    ['composite tools', async (run, work) => {
      const model = testModel((turn) => (turn === 0 ? { calls: [1, 2].map((i) => ({ id: `c${i}`, tool: 'desk', input: { order: i } })) } : { text: 'done' }))
      const desk = tool({ inputSchema: order, execute: ({ order: i }) => work(run, i) })
      return (await generateText({ model: run.model(model), tools: run.tools({ desk }, { desk: { composite: true } }), prompt: 'x', stopWhen: stepCountIs(3) })).steps[0]!.toolResults.map(({ output }) => output)
    }],
  ]
  it.each(lines)('suspend together where the one that goes first has to wait for somebody: %s', async (_, inLines) => {
    const paid: number[] = []
    const agent = defineAgent('a', async (run) => {
      const one = lock()
      return inLines(run, (_run, i) => one(async () => {
        const { pay } = durableTools({ pay: { execute: async ({ order: at }: { order: number }) => (paid.push(at), `paid ${at}`) } }, { pay: { approval: true } })
        return (pay.execute as (input: unknown, call: object) => Promise<unknown>)({ order: i }, { toolCallId: `p${i}`, messages: [] })
      }))
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 20 })
    let outcome = await runner.run(agent, 1, { runId: 'r' })
    for (let i = 0; i < 2 && outcome.status === 'suspended'; i++) {
      expect(outcome.reasons).toMatchObject([{ type: 'approval' }])
      outcome = (await runner.approve('r', outcome.reasons[0] as never, { resume: true }))!
    }
    expect(outcome).toEqual({ status: 'completed', result: ['paid 1', 'paid 2'] })
    expect(paid).toEqual([1, 2])
  })
})
