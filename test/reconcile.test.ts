/** The outside world is asked about a doubt: what it gives may be anything, and it says when it may be asked again (R6, R11; A10, C2). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, durableTools, memoryStore, type DoubtfulCall, type Reconciled, type RunEvent, type RunnerOptions } from '../src/index.ts'
import { sleep } from '../src/core/clock.ts'
import { manualClock } from '../src/testing/index.ts'
import { testModel } from './support/model.ts'
import { during } from './support/time.ts'

const START = Date.UTC(2026, 10, 30)
const reset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
const slowDown = (seconds: number) => Object.assign(new Error('slow down'), { statusCode: 429, responseHeaders: { 'retry-after': String(seconds) } })

/** A payment whose answer is lost, so that the next call of it has to be asked about. `answers` come one after the other, the last one from then on. */
function paying(answers: readonly ((call: DoubtfulCall<unknown>) => unknown)[], options: Partial<RunnerOptions> = {}) {
  const clock = manualClock(START)
  const store = memoryStore()
  const [askedAt, events]: [number[], RunEvent[]] = [[], []]
  const world = { paid: 0 }
  const tools = durableTools({
    pay: {
      execute: async () => {
        world.paid++
        throw reset()
      },
    },
  }, {
    pay: {
      reconcile: async (call: DoubtfulCall<never>) => {
        askedAt.push((clock.now() - START) / 1_000)
        return answers[Math.min(askedAt.length, answers.length) - 1]!(call) as never
      },
    },
  })
  const pay = (id: string): Promise<unknown> => (tools.pay.execute as (input: unknown, call: object) => Promise<unknown>)({}, { toolCallId: id, messages: [] })
  const agent = defineAgent('a', async () => {
    await pay('first').catch(() => {})
    return pay('second')
  })
  const runner = createRunner({ agents: [agent], store, clock, random: () => 0, idleMs: 5, replayHoldMs: 20, onEvent: (event) => events.push(event), ...options })
  return {
    clock, events, askedAt, world, runner,
    run: () => during(clock, runner.run(agent, {}, { runId: 'r' })),
    resume: () => during(clock, runner.resume('r')),
    recover: () => during(clock, runner.recover()),
    warnings: () => events.flatMap((event) => (event.type === 'warning' && event.code === 'RECONCILE_FAILED' ? event.message : [])),
  }
}

const paid = () => ({ status: 'completed', output: 'paid' })

const circular: { self?: unknown } = {}
circular.self = circular

describe('what reconcile gives', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['a response that holds itself', () => circular, /got an object that JSON has no text for: the doubt stands$/],
    ['a row with a bigint', () => ({ state: 'succeeded', amount: 89n }), /got \{"state":"succeeded","amount":"89n"\}: the doubt stands$/],
    ['a symbol', () => Symbol('paid'), /got Symbol\(paid\): the doubt stands$/],
    ['what cannot be looked at', () => new Proxy({}, { has: () => { throw new Error('gone') } }), /^reconcile of tool "pay" failed: gone$/],
    ['a throw of nothing that has a text', () => { throw Object.create(null) }, /^reconcile of tool "pay" failed: \[object Object\]$/],
  ])('leaves the doubt to a person where it is %s', async (_what, answer, warning) => {
    const made = paying([answer])
    const outcome = await made.run()
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: ['0'] }] })
    expect(outcome).not.toHaveProperty('resumeAt')
    expect(made.warnings()).toEqual([expect.stringMatching(warning)])
    expect(made.world.paid).toBe(1)
  })
})

describe('a service that says when it may be asked', () => {
  it('is waited for in the process where that is not long, and told of', async () => {
    const made = paying([() => { throw slowDown(30) }, paid])
    expect(await made.run()).toEqual({ status: 'completed', result: 'paid' })
    expect(made.askedAt).toEqual([0, 30])
    expect(made.events).toContainEqual(expect.objectContaining({ type: 'retry-wait', try: 1, delayMs: 30_000, category: 'rate_limit', message: 'reconcile of tool "pay": slow down' }))
    expect(made.world.paid).toBe(1)
  })

  it('suspends the run until then where it is long: asked no earlier, due by itself, and a person may settle it meanwhile', async () => {
    const made = paying([() => { throw slowDown(120) }, paid])
    const outcome = await made.run()
    expect(outcome).toMatchObject({ status: 'suspended', resumeAt: START + 120_000, reasons: [{ type: 'in-doubt', message: expect.stringMatching(/reconcile of tool "pay" may be tried again at 2026-11-30T00:02:00\.000Z: slow down.*holdfast resolve/) }] })
    expect(await made.recover()).toEqual([])
    await made.clock.advance(30_000)
    expect(await made.resume()).toMatchObject({ status: 'suspended', resumeAt: START + 120_000 })
    expect(made.askedAt).toEqual([0])
    await made.clock.advance(90_000)
    expect(await made.recover()).toMatchObject([{ runId: 'r', outcome: { status: 'completed', result: 'paid' } }])
    expect(made.askedAt.map(Math.floor)).toEqual([0, 120])
    expect(made.world.paid).toBe(1)
  })

  it('is not waited for once somebody has said what came of it', async () => {
    const made = paying([() => { throw slowDown(3_600) }])
    const outcome = await made.run()
    if (outcome.status !== 'suspended' || outcome.reasons[0]?.type !== 'in-doubt') throw new Error('it is in doubt')
    expect(await during(made.clock, made.runner.resolve('r', outcome.reasons[0], { result: 'seen' }, { resume: true }))).toEqual({ status: 'completed', result: 'seen' })
    expect(made.askedAt).toEqual([0])
  })

  it('is asked as often as the retry policy says over all attempts, then a person is; who resumes the run has it asked anew', async () => {
    const made = paying([() => { throw slowDown(120) }], { retry: { maxAttempts: 2 } })
    await made.run()
    await made.clock.advance(120_000)
    const [second] = await made.recover()
    expect(second).toMatchObject({ outcome: { status: 'suspended', reasons: [{ type: 'in-doubt' }] } })
    expect(second).not.toHaveProperty('outcome.resumeAt')
    expect(made.warnings()).toEqual(['reconcile of tool "pay" failed: slow down'])
    expect(made.askedAt.map(Math.floor)).toEqual([0, 120])
    await made.clock.advance(50_000)
    expect(await made.resume()).toMatchObject({ status: 'suspended', resumeAt: expect.any(Number) })
    expect(made.askedAt).toHaveLength(2)
    await made.clock.advance(71_000)
    expect(await made.recover()).toMatchObject([{ outcome: { status: 'suspended', resumeAt: expect.any(Number) } }])
    expect(made.askedAt).toHaveLength(3)
  })

  it('is asked with all of its tries by who resumes the run after it was not to be reached', async () => {
    const down = () => { throw reset() }
    const made = paying([down, down, down, paid], { retry: { maxAttempts: 2, backoff: { baseMs: 2_000, jitter: 'none' } } })
    expect(await made.run()).toMatchObject({ status: 'suspended' })
    await made.clock.advance(60_000)
    expect(await made.resume()).toEqual({ status: 'completed', result: 'paid' })
    expect(made.askedAt).toHaveLength(4)
  })

  it('leaves the tries of one asking to that one: after an answer that says nothing yet there are all of them again', async () => {
    const made = paying([() => { throw slowDown(10) }, () => ({ status: 'pending' }), () => { throw slowDown(10) }, paid], { retry: { maxAttempts: 2 } })
    expect(await made.run()).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(await made.resume()).toEqual({ status: 'completed', result: 'paid' })
  })
})

it('that nothing has happened is believed only of what had come to its end when that was asked', async () => {
  const clock = manualClock(START)
  let [calls, made] = [0, 0]
  const tools = durableTools({
    pay: {
      execute: async () => {
        // It takes effect after its time limit, and its answer is lost.
        if (++calls > 1) return 'paid again'
        await sleep(clock, 150)
        made++
        throw reset()
      },
    },
  }, {
    pay: {
      timeoutMs: 100,
      reconcile: async () => {
        const isMade = made > 0
        await sleep(clock, 80)
        return isMade ? { status: 'completed', output: 'paid' } : { status: 'not-done' }
      },
    },
  } as never)
  const pay = (id: string): Promise<unknown> => (tools.pay.execute as (input: unknown, call: object) => Promise<unknown>)({}, { toolCallId: id, messages: [] })
  const agent = defineAgent('a', () => pay('first').catch(() => pay('second')))
  const runner = createRunner({ agents: [agent], store: memoryStore(), clock, random: () => 0, idleMs: 5, replayHoldMs: 20 })
  expect(await during(clock, runner.run(agent, {}, { runId: 'r' }))).toMatchObject({ status: 'suspended' })
  expect(await during(clock, runner.resume('r'))).toEqual({ status: 'completed', result: 'paid' })
  expect([calls, made]).toEqual([1, 1])
})

it('a call that is started again is not asked about before its code is called, by one that waits beside it', async () => {
  const told: string[] = []
  const calls: Record<string, number> = {}
  const model = testModel((turn) => {
    const ask = (ids: readonly string[]): { calls: { id: string; tool: string; input: object }[] } => ({ calls: ids.map((order) => ({ id: `c${turn}-${order}`, tool: 'pay', input: { order } })) })
    return turn === 0 ? ask(['6', '7']) : turn === 1 ? ask(['6', '7', '8']) : { text: 'done' }
  })
  const pay = tool({ inputSchema: z.object({ order: z.string() }), execute: async ({ order }) => {
    calls[order] = (calls[order] ?? 0) + 1
    if (calls[order] === 1 && order !== '8') throw reset()
    await new Promise(setImmediate)
    return `paid ${order}`
  } })
  // Of 6 the answer was lost, of 7 the request.
  const reconcile = async ({ input }: DoubtfulCall<{ order: string }>): Promise<Reconciled<string>> => {
    await new Promise(setImmediate)
    return input?.order === '6' ? { status: 'completed', output: 'paid 6' } : { status: 'not-done' }
  }
  const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: { reconcile } }), prompt: 'Pay', stopWhen: stepCountIs(4) })).text)
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5, replayHoldMs: 20, onEvent: (event) => {
    if (event.type === 'step-started' || event.type === 'step-in-doubt') told.push(`${event.type} ${event.step}`)
  } })
  expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed' })
  for (const [i, line] of told.entries()) if (line.startsWith('step-in-doubt 1/c:c1-7')) expect(told.slice(0, i)).toContain('step-started 1/c:c1-7')
  expect(told).toContain('step-started 1/c:c1-7')
  expect(calls).toEqual({ 6: 1, 7: 2, 8: 1 })
})
