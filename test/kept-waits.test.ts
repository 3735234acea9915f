/** A wait that a server asked for is never cut short by the end of its process: killed, aborted, closed or failed, the run asks no earlier (R11; A10, A15, C18). */
import { generateText, streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../src/core/clock.ts'
import { createRunner, defineAgent, memoryStore, type Agent, type Run, type RunEvent, type RunnerOptions, type Store } from '../src/index.ts'
import { manualClock, type ManualClock } from '../src/testing/index.ts'
import { mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { refusing } from './support/refusing-store.ts'
import { endParts, streamingModel, textParts } from './support/streaming.ts'
import { during, failureOf } from './support/time.ts'

const START = Date.UTC(2026, 10, 29, 12)

const slowDown = (seconds: number) => Object.assign(new Error('slow down'), { statusCode: 429, responseHeaders: { 'retry-after': String(seconds) } })
const busy = Object.assign(new Error('busy'), { statusCode: 503 })

type Ask = (run: Run, asked: (n: number) => void) => Promise<unknown>

/** The ways in which something is asked for and told to wait. `asked` throws the first times. */
const WAYS: Readonly<Record<string, Ask>> = {
  'a model request': (run, asked) => generateText({ model: run.model(counting(asked)), prompt: 'x' }).then(({ text }) => text),
  'a stream that broke after it was shown': (run, asked) => Promise.resolve(streamText({ model: run.model(breaking(asked)), prompt: 'x', onError() {} }).text),
  'an idempotent step': (run, asked) => run.step('fetch', { idempotent: true }, async () => {
    asked(0)
    return 'fine'
  }),
}

const counting = (asked: (n: number) => void) => testModel(() => {
  asked(0)
  return { text: 'fine' }
})

/** Shows a word before it fails. */
const breaking = (asked: (n: number) => void) => streamingModel(() => {
  try {
    asked(0)
    return [...textParts('fine'), ...endParts]
  } catch (error) {
    return [...textParts('fi'), { type: 'error', error }]
  }
})

/** Asks in one of these ways, and is told `errors` one after the other; by `at` when it asked, ms since the start. */
function scene(ask: Ask, errors: readonly Error[], options: Partial<RunnerOptions> = {}) {
  const clock = manualClock(START)
  const store = memoryStore()
  const at: number[] = []
  const agent: Agent<unknown, unknown> = defineAgent('a', (run) => ask(run, () => {
    at.push(clock.now() - START)
    const error = errors[at.length - 1]
    if (error) throw error
  }))
  const runner = (on: Store = store, by: Clock = clock) => createRunner({ agents: [agent], store: on, clock: by, random: () => 0.5, idleMs: 5, drainMs: 50, ...options })
  return { clock, store, at, agent, runner, resume: () => during(clock, runner().resume('r')) }
}

/** How its process ends, one second after the run has begun. */
const ENDS: Readonly<Record<string, (made: ReturnType<typeof scene>) => Promise<void>>> = {
  'is killed': async ({ clock, store, agent, runner }) => {
    const dying = mortal(store)
    let dead = false
    const itsClock: Clock = { ...clock, timer: (ms, fn) => clock.timer(ms, () => (dead ? undefined : fn())) }
    runner(dying.store, itsClock).run(agent, {}, { runId: 'r' }).catch(() => {})
    await pass(clock, 1_000)
    dying.kill()
    dead = true
    await clock.advance(30_001) // its lease
  },
  'is aborted': async ({ clock, agent, runner }) => {
    const controller = new AbortController()
    const run = runner().run(agent, {}, { runId: 'r', signal: controller.signal })
    run.catch(() => {})
    await pass(clock, 1_000)
    controller.abort(new Error('enough'))
    await failureOf(clock, run)
  },
  'is closed': async ({ clock, agent, runner }) => {
    const closing = runner()
    const run = closing.run(agent, {}, { runId: 'r' })
    await pass(clock, 1_000)
    await during(clock, closing.close())
    await during(clock, run)
  },
}

async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let i = 0; i < ms; i += 50) {
    for (let turn = 0; turn < 10; turn++) await clock.idle()
    await clock.advance(50)
  }
}

describe.each(Object.entries(WAYS))('%s that was told to wait for 50 s', (_, ask) => {
  it.each(Object.entries(ENDS))('is not made earlier by a run whose process %s', async (__, end) => {
    const made = scene(ask, [slowDown(50)])
    await end(made)
    expect(await made.resume()).toEqual({ status: 'completed', result: 'fine' })
    expect(made.at).toEqual([0, expect.toSatisfy((ms: number) => ms >= 50_000 && ms < 51_000)])
  })

  it('is not made earlier by a run that has failed, and is driven again at once', async () => {
    const made = scene(ask, [slowDown(50)], { retry: { maxAttempts: 1 } })
    await failureOf(made.clock, made.runner().run(made.agent, {}, { runId: 'r' }))
    expect(await made.resume()).toEqual({ status: 'completed', result: 'fine' })
    expect(made.at).toEqual([0, expect.toSatisfy((ms: number) => ms >= 50_000 && ms < 51_000)])
  })

  it('fails again, and asks nothing, where its policy neither waits that long nor suspends', async () => {
    const made = scene(ask, [slowDown(50)], { retry: { inlineWaitMs: 1_000, onLongWait: 'fail' } })
    await failureOf(made.clock, made.runner().run(made.agent, {}, { runId: 'r' }))
    expect(await failureOf(made.clock, made.runner().resume('r'))).toMatchObject({ code: 'STEP_FAILED', message: expect.stringContaining('may be tried again at 2026-11-29T12:00:50') })
    expect(made.at).toEqual([0])
    await made.clock.advance(50_000)
    expect(await made.resume()).toEqual({ status: 'completed', result: 'fine' })
  })
})

describe('a wait whose own record the store refused', () => {
  it('outlives its attempt all the same: the record of the suspended run has it', async () => {
    const made = scene(WAYS['a model request']!, [slowDown(600)])
    const full = refusing(made.store, /^\{"type":"retry-after"/)
    expect(await during(made.clock, made.runner(full.store).run(made.agent, {}, { runId: 'r' }))).toMatchObject({ status: 'suspended', resumeAt: START + 600_000 })
    expect(full.refused).toBe(1)
    expect(await made.resume()).toMatchObject({ status: 'suspended', resumeAt: START + 600_000 })
    expect(made.at).toEqual([0])
  })
})

describe('a loop that asks for the same again by itself', () => {
  const again = async <T>(ask: () => PromiseLike<T>): Promise<T> => {
    try {
      return await ask()
    } catch {
      return ask()
    }
  }
  it.each<readonly [string, Ask]>([
    ['a model request', (run, asked) => {
      const model = run.model(counting(asked))
      return again(() => generateText({ model, prompt: 'x' }).then(({ text }) => text))
    }],
    ['a step with input', (run, asked) => again(() => run.step('fetch', { idempotent: true, input: 7 }, () => {
      asked(0)
      return 'fine'
    }))],
  ])('is not earlier than the server said (%s)', async (_, ask) => {
    const made = scene(ask, [slowDown(50)], { retry: { maxAttempts: 1 } })
    const events: RunEvent[] = []
    expect(await during(made.clock, made.runner().run(made.agent, {}, { runId: 'r', onEvent: (event) => events.push(event) }))).toEqual({ status: 'completed', result: 'fine' })
    expect(made.at).toEqual([0, expect.toSatisfy((ms: number) => ms >= 50_000 && ms < 51_000)])
    expect(events).toContainEqual(expect.objectContaining({ type: 'step-waiting', step: '1', reason: expect.objectContaining({ type: 'retry-after', step: '1', tries: 0 }) }))
  })

  it('may ask for something else at once', async () => {
    const made = scene((run, asked) => again(() => run.step('fetch', { idempotent: true, input: made.at.length }, () => {
      asked(0)
      return 'fine'
    })), [slowDown(50)], { retry: { maxAttempts: 1 } })
    expect(await during(made.clock, made.runner().run(made.agent, {}, { runId: 'r' }))).toEqual({ status: 'completed', result: 'fine' })
    expect(made.at[1]).toBeLessThan(1_000)
  })
})

describe('the tries of a step', () => {
  it.each(Object.entries(ENDS))('count on in the next attempt of a run that waits and %s', async (_, end) => {
    const made = scene(WAYS['a model request']!, [busy, busy, busy, busy, busy, busy], { retry: { maxAttempts: 3, backoff: { baseMs: 2_000, jitter: 'none' } } })
    await end(made)
    expect(made.at).toHaveLength(1)
    await failureOf(made.clock, made.runner().resume('r'))
    expect(made.at).toHaveLength(3)
  })

  it('begin anew where a run that has failed is driven again', async () => {
    const made = scene(WAYS['a model request']!, [busy, busy, busy, busy, busy, busy, busy], { retry: { maxAttempts: 3, backoff: { baseMs: 2_000, jitter: 'none' } } })
    await failureOf(made.clock, made.runner().run(made.agent, {}, { runId: 'r' }))
    await failureOf(made.clock, made.runner().resume('r'))
    expect(made.at).toHaveLength(6)
  })

  it('leave no record where the waits are short and nobody asked for them', async () => {
    const made = scene(WAYS['a model request']!, [busy, busy], { retry: { backoff: { baseMs: 400, jitter: 'none' } } })
    await during(made.clock, made.runner().run(made.agent, {}, { runId: 'r' }))
    const kept = (await made.store.read('r')).filter(({ body }) => body.includes('"retry-after"'))
    expect(kept).toEqual([])
  })
})

it('a wait whose surroundings time out ends with them, and does not keep the process busy', async () => {
  const waits: string[] = []
  const agent = defineAgent('a', (run) => run.step('outer', { idempotent: true, timeoutMs: 40 }, () => run.step('inner', { idempotent: true }, () => { throw slowDown(1) })).catch(({ code }: { code: string }) => code))
  const onEvent = (event: RunEvent) => { if (event.type === 'step-waiting') waits.push(event.step) }
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5, onEvent, retry: { maxAttempts: 3, backoff: { baseMs: 1, jitter: 'none' } } })
  expect(await runner.run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: 'STEP_TIMEOUT' })
  expect(waits).toEqual(['0/0', '0/0'])
})
