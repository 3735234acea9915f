import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../core/manual-clock.ts'
import { HoldfastError } from '../errors.ts'
import type { Classification } from './classification/index.ts'
import { execute } from './execute.ts'
import type { ExecuteOptions, Execution } from './execute.ts'
import { resolveRetry } from './resolve.ts'
import type { LateOutcome, TryContext } from './try.ts'

const unavailable = (retryAfterMs?: number): Error => Object.assign(new Error('busy'), { status: 503, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })

/** A classifier for these tests: what is asked of the real one is asked elsewhere. */
const classify = (error: unknown, context: { aborted?: boolean; abortReason?: 'user' | 'timeout' } = {}): Classification => {
  const { status, retryAfterMs = null } = Object(error) as { status?: number; retryAfterMs?: number }
  const category = context.aborted ? (context.abortReason === 'timeout' ? 'timeout' : 'cancelled') : status === 503 ? 'server' : 'unknown'
  return { category, retryable: category === 'server' || category === 'timeout', retryAfterMs, evidence: { rule: 'test', layer: 'error', depth: 0 } }
}

const retry = resolveRetry({ maxAttempts: 3, backoff: { baseMs: 100, factor: 2, maxMs: 1_000, jitter: 'none' }, classify })

function setup() {
  const clock = manualClock(1_000)
  const controller = new AbortController()
  const started: { at: number; try: number }[] = []
  const late: LateOutcome<unknown>[] = []
  const run = <T>(work: (context: TryContext) => PromiseLike<T> | T, more: Partial<ExecuteOptions<T>> = {}): Promise<Execution<T>> =>
    execute<T>((context) => {
      started.push({ at: clock.now(), try: context.try })
      return work(context)
    }, { retry, signal: controller.signal, clock, random: () => 0.5, label: 'tool search', onLate: (outcome) => late.push(outcome), ...more })
  return { clock, controller, started, late, run }
}

const failing = (error: unknown) => (): never => { throw error }
const never = (): Promise<never> => new Promise(() => {})

describe('execute: tries', () => {
  it('returns the value of the first try, and leaves no timer and no listener behind', async () => {
    const { clock, controller, run } = setup()
    expect(await run(() => 'done', { timeoutMs: 500, deadline: 9_000 })).toEqual({ type: 'ok', value: 'done', tries: 1 })
    expect(clock.pending).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  it('tries again after the backoff, maxAttempts times in all, and fails with the last error as it was thrown', async () => {
    const { clock, started, run } = setup()
    const error = unavailable()
    const execution = run(failing(error))
    await clock.advance(1_000)
    expect(await execution).toMatchObject({ type: 'failed', tries: 3, ending: 'exhausted', abandoned: false, classification: { category: 'server' } })
    expect(((await execution) as { error: unknown }).error).toBe(error)
    expect(started).toEqual([{ at: 1_000, try: 1 }, { at: 1_100, try: 2 }, { at: 1_300, try: 3 }])
  })

  it('says before each wait what failed and how long it waits', async () => {
    const { clock, run } = setup()
    const events: unknown[] = []
    let left = 1
    const execution = run(() => { if (left-- > 0) throw unavailable(); return 'ok' }, {
      onRetry: ({ try: number, delayMs, classification }) => events.push([number, delayMs, classification.category]),
    })
    await clock.advance(100)
    expect(await execution).toEqual({ type: 'ok', value: 'ok', tries: 2 })
    expect(events).toEqual([[1, 100, 'server']])
  })

  it('does not retry an unknown error', async () => {
    const { started, run } = setup()
    expect(await run(failing(new Error('bug')))).toMatchObject({ type: 'failed', ending: 'final', tries: 1 })
    expect(started).toHaveLength(1)
  })

  it('retries only the categories that the policy names', async () => {
    const { started, run } = setup()
    expect(await run(failing(unavailable()), { retry: { ...retry, categories: ['timeout'] } })).toMatchObject({ ending: 'final', tries: 1 })
    expect(started).toHaveLength(1)
  })

  it('never retries a cancellation, whatever a classifier says of it', async () => {
    const { started, run } = setup()
    const says = (): Classification => ({ category: 'cancelled', retryable: true, retryAfterMs: null, evidence: { rule: 'test', layer: 'error', depth: 0 } })
    expect(await run(failing(new Error('x')), { retry: { ...retry, classify: says } })).toMatchObject({ ending: 'final', tries: 1 })
    expect(started).toHaveLength(1)
  })

  it('does not retry what mayRetry refuses, such as after parts were passed on', async () => {
    const { started, run } = setup()
    expect(await run(failing(unavailable()), { mayRetry: () => false })).toMatchObject({ ending: 'passed-on', tries: 1 })
    expect(started).toHaveLength(1)
  })

  it('shares the budget with earlier drives of the step, and the backoff goes on growing', async () => {
    const { clock, started, run } = setup()
    const execution = run(failing(unavailable()), { triesBefore: 1 })
    await clock.advance(1_000)
    expect(await execution).toMatchObject({ ending: 'exhausted', tries: 3 })
    expect(started).toEqual([{ at: 1_000, try: 2 }, { at: 1_200, try: 3 }])
  })

  it('does not start when earlier drives used all tries', async () => {
    const { started, run } = setup()
    expect(await run(() => 'x', { triesBefore: 3 })).toMatchObject({ type: 'failed', ending: 'exhausted', tries: 3, error: { code: 'STEP_FAILED' } })
    expect(started).toHaveLength(0)
  })

  it('takes a throw of a thenable as a failure of the work', async () => {
    const { run } = setup()
    const error = new Error('then')
    const thenable = new Proxy({}, { get: failing(error) }) as PromiseLike<never>
    expect(await run(() => thenable)).toMatchObject({ type: 'failed', error })
  })

  it('does not reject when a callback of the caller throws', async () => {
    const { run } = setup()
    const bug = new Error('in onRetry')
    expect(await run(failing(unavailable()), { onRetry: failing(bug) })).toMatchObject({ type: 'failed', error: bug, ending: 'final' })
  })
})

describe('execute: waiting', () => {
  it('never asks again earlier than the server said, also above the cap of the backoff', async () => {
    const { clock, started, run } = setup()
    void run(failing(unavailable(20_000)))
    await clock.advance(19_999)
    expect(started).toHaveLength(1)
    await clock.advance(1)
    expect(started).toHaveLength(2)
  })

  it('hands a wait beyond inlineWaitMs to the caller, who suspends', async () => {
    const { clock, run } = setup()
    expect(await run(failing(unavailable(90_000)))).toMatchObject({ type: 'wait', resumeAt: 91_000, tries: 1, classification: { category: 'server' } })
    expect(clock.pending).toBe(0)
  })

  it('fails with the error where the policy does not allow long waits', async () => {
    const { run } = setup()
    const error = unavailable(90_000)
    expect(await run(failing(error), { retry: { ...retry, onLongWait: 'fail' } })).toMatchObject({ type: 'failed', error, ending: 'long-wait' })
  })

  it('fails at once, with the error, where the wait would pass the deadline', async () => {
    const { clock, started, run } = setup()
    const error = unavailable(2_000)
    expect(await run(failing(error), { deadline: 2_000 })).toMatchObject({ type: 'failed', error, ending: 'deadline', tries: 1 })
    expect(started).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })
})

describe('execute: cancellation', () => {
  it.each([['an Error', new Error('pressed stop')], ['a string', 'stop']])('ends a backoff in the same tick with the reason itself (%s)', async (_, reason) => {
    const { clock, controller, started, run } = setup()
    const execution = run(failing(unavailable(3_000)))
    await clock.advance(1_500)
    let ended: Execution<unknown> | undefined
    void execution.then((value) => { ended = value })
    controller.abort(reason)
    for (let i = 0; i < 20 && ended === undefined; i++) await Promise.resolve()
    expect(ended).toMatchObject({ type: 'failed', ending: 'cancelled', tries: 1, abandoned: false, classification: { category: 'cancelled' } })
    expect((ended as { error: unknown }).error).toBe(reason)
    expect(started).toHaveLength(1)
    expect(clock.pending).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  it('returns while work runs that does not listen, tells its signal why, and says that it may still be running', async () => {
    const { controller, late, run } = setup()
    let signal: AbortSignal | undefined
    let finish: (value: string) => void = () => {}
    const execution = run((context) => {
      signal = context.signal
      return new Promise<string>((resolve) => { finish = resolve })
    })
    const reason = new Error('stop')
    controller.abort(reason)
    expect(await execution).toMatchObject({ type: 'failed', error: reason, ending: 'cancelled', abandoned: true })
    expect(signal?.reason).toBe(reason)
    finish('after all')
    await Promise.resolve()
    await Promise.resolve()
    expect(late).toEqual([{ ok: true, value: 'after all', try: 1 }])
  })

  it('keeps the reason when the work listens and throws something of its own', async () => {
    const { controller, run } = setup()
    const execution = run(({ signal }) => new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new DOMException('This operation was aborted', 'AbortError')))
    }))
    const reason = { why: 'budget' }
    controller.abort(reason)
    const outcome = await execution
    expect(outcome).toMatchObject({ type: 'failed', ending: 'cancelled', classification: { category: 'cancelled' } })
    expect((outcome as { error: unknown }).error).toBe(reason)
  })

  it('does not start when it is cancelled already', async () => {
    const { controller, started, run } = setup()
    controller.abort('no')
    expect(await run(() => 1)).toMatchObject({ type: 'failed', error: 'no', tries: 0, ending: 'cancelled', abandoned: false })
    expect(started).toHaveLength(0)
  })

  it('says timeout, and does not retry, when a timer aborted the outer signal', async () => {
    const { controller, started, run } = setup()
    const execution = run(never)
    controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    expect(await execution).toMatchObject({ ending: 'cancelled', classification: { category: 'timeout' } })
    expect(started).toHaveLength(1)
  })

  it('hangs no listeners on a signal that lives for many steps', async () => {
    const { clock, controller, run } = setup()
    for (let i = 0; i < 50; i++) {
      const execution = run(never, { timeoutMs: 10, retry: { ...retry, maxAttempts: 1 } })
      await clock.advance(10)
      await execution
    }
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    expect(clock.pending).toBe(0)
  })
})

describe('execute: time limits', () => {
  it('says which try was cut last', async () => {
    const { clock, run } = setup()
    const execution = run(() => new Promise<string>(() => {}), { timeoutMs: 200, retry: { ...retry, maxAttempts: 2 } })
    await clock.advance(5_000)
    expect(await execution).toMatchObject({ tries: 2, error: { message: 'try 2 of tool search timed out after 200 ms' } })
  })

  it('returns at the timeout although the work ignores its signal, and hands over the late result', async () => {
    const { clock, late, run } = setup()
    const execution = run(() => new Promise<string>((resolve) => { clock.timer(3_000, () => resolve('late')) }), {
      timeoutMs: 200, retry: { ...retry, maxAttempts: 1 },
    })
    await clock.advance(200)
    const outcome = await execution
    expect(outcome).toMatchObject({ type: 'failed', tries: 1, abandoned: true, classification: { category: 'timeout', retryable: true } })
    expect(outcome).toMatchObject({ error: { code: 'STEP_TIMEOUT', message: 'tool search timed out after 200 ms' } })
    expect(late).toEqual([])
    await clock.advance(2_800)
    expect(late).toEqual([{ ok: true, value: 'late', try: 1 }])
  })

  it('says timeout, not cancelled, when work answers the timeout with an AbortError, and retries', async () => {
    const { clock, started, run } = setup()
    const execution = run(({ signal, try: number }) => number === 2 ? 'answer' : new Promise<string>((_, reject) => {
      signal.addEventListener('abort', () => reject(new DOMException('This operation was aborted', 'AbortError')))
    }), { timeoutMs: 50 })
    await clock.advance(150)
    expect(await execution).toEqual({ type: 'ok', value: 'answer', tries: 2 })
    expect(started.map(({ at }) => at)).toEqual([1_000, 1_150])
  })

  it('does not call work abandoned that has settled by the time of a later try', async () => {
    const { clock, late, run } = setup()
    const execution = run(({ signal, try: number }) => {
      if (number > 1) throw new Error('other')
      return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }, { timeoutMs: 50 })
    await clock.advance(150)
    expect(await execution).toMatchObject({ type: 'failed', ending: 'final', abandoned: false })
    expect(late).toMatchObject([{ ok: false, try: 1, error: { code: 'STEP_TIMEOUT' } }])
  })

  it('cuts a try to what is left of the run, and says that it was the run', async () => {
    const { clock, run } = setup()
    const execution = run(never, { timeoutMs: 30_000, deadline: 3_000 })
    await clock.advance(1_999)
    expect(clock.pending).toBe(2)
    await clock.advance(1)
    expect(await execution).toMatchObject({ ending: 'deadline', error: { code: 'RUN_TIMEOUT' }, classification: { category: 'timeout' }, abandoned: true })
    expect(clock.pending).toBe(0)
  })

  it('starts nothing when the time of the run is used up', async () => {
    const { started, run } = setup()
    expect(await run(() => 1, { deadline: 1_000 })).toMatchObject({ ending: 'deadline', tries: 0, error: { code: 'RUN_TIMEOUT' } })
    expect(started).toHaveLength(0)
  })

  it('extends the idle limit by progress, but not the total', async () => {
    const { clock, run } = setup()
    const execution = run(({ progress }) => {
      const tick = (): void => { progress(); clock.timer(5_000, tick) }
      tick()
      return never()
    }, { idleTimeoutMs: 6_000, timeoutMs: 22_000, retry: { ...retry, maxAttempts: 1 } })
    let ended = false
    void execution.then(() => { ended = true })
    await clock.advance(21_999)
    expect(ended).toBe(false)
    await clock.advance(1)
    expect(await execution).toMatchObject({ error: { message: 'tool search timed out after 22000 ms' } })
  })

  it('ends at the idle limit without progress', async () => {
    const { clock, run } = setup()
    const execution = run(({ progress }) => { clock.timer(5_000, progress); return never() }, { idleTimeoutMs: 6_000, retry: { ...retry, maxAttempts: 1 } })
    await clock.advance(10_999)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect(await execution).toMatchObject({ error: { code: 'STEP_TIMEOUT', message: 'tool search timed out: no progress for 6000 ms' } })
  })

  it('does not count a pause as time of the work', async () => {
    const { clock, run } = setup()
    let goOn: () => void = () => {}
    const execution = run(({ pause }) => { clock.timer(100, () => { goOn = pause() }); return never() }, { timeoutMs: 200, retry: { ...retry, maxAttempts: 1 } })
    await clock.advance(3_600_000)
    expect(clock.pending).toBe(0)
    goOn()
    goOn()
    await clock.advance(99)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect(await execution).toMatchObject({ error: { code: 'STEP_TIMEOUT' } })
  })

  it('goes on counting only when all that paused it go on, and arms nothing when the work has ended', async () => {
    const { clock, run } = setup()
    const ends: (() => void)[] = []
    let finish: (value: string) => void = () => {}
    const execution = run(({ pause }) => {
      ends.push(pause(), pause())
      return new Promise<string>((resolve) => { finish = resolve })
    }, { timeoutMs: 200 })
    ends[0]?.()
    ends[0]?.()
    expect(clock.pending).toBe(0)
    finish('done')
    expect(await execution).toMatchObject({ type: 'ok', value: 'done' })
    ends[1]?.()
    expect(clock.pending).toBe(0)
  })

  it('gives a timeout a HoldfastError', async () => {
    const { clock, run } = setup()
    const execution = run(never, { timeoutMs: 1, retry: { ...retry, maxAttempts: 1 } })
    await clock.advance(1)
    expect(HoldfastError.isInstance(((await execution) as { error: unknown }).error)).toBe(true)
  })
})
