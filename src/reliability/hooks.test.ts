/** What a retry policy is told and asked: classify, shouldRetry, onRetry; and what a try that was cut tells. */
import { describe, expect, it } from 'vitest'
import { manualClock } from '../core/manual-clock.ts'
import { createClassifier } from './classification/index.ts'
import { execute } from './execute.ts'
import type { ExecuteOptions } from './execute.ts'
import { NO_RETRY, oneTry } from './policy.ts'
import type { FailedTry, RetryEvent, RetryPolicy } from './policy.ts'
import { resolveRetry } from './resolve.ts'

const busy = Object.assign(new Error('busy'), { status: 503 })

/** Runs work that fails each time, to its end. */
async function failing(error: unknown, policy: RetryPolicy, more: Partial<ExecuteOptions<never>> = {}) {
  const clock = manualClock()
  let tries = 0
  const execution = execute<never>(() => {
    tries++
    throw error
  }, {
    retry: resolveRetry({ maxAttempts: 3, backoff: { baseMs: 100, jitter: 'none' }, ...policy }), clock, random: () => 0, signal: new AbortController().signal, label: 'tool "search"', ...more,
  })
  await clock.advance(10_000)
  return { execution: await execution, tries }
}

describe('retry.classify', () => {
  class LedgerClosed extends Error {}
  const classify = createClassifier({ rules: [{ name: 'ledger', match: (error) => (error instanceof LedgerClosed ? { category: 'server' } : undefined) }] })

  it('makes an error retryable that nobody else knows', async () => {
    expect(await failing(new LedgerClosed('closed'), {})).toMatchObject({ tries: 1, execution: { classification: { category: 'unknown' } } })
    expect(await failing(new LedgerClosed('closed'), { classify })).toMatchObject({ tries: 3, execution: { classification: { category: 'server' } } })
  })

  it('says nothing about other errors', async () => {
    expect(await failing(busy, { classify })).toMatchObject({ tries: 3 })
    expect(await failing(new Error('bug'), { classify })).toMatchObject({ tries: 1 })
  })

  it('cannot make a cancellation anything else', async () => {
    const controller = new AbortController()
    controller.abort(new LedgerClosed('closed'))
    expect(await failing(busy, { classify }, { signal: controller.signal })).toMatchObject({ tries: 0, execution: { ending: 'cancelled', classification: { category: 'cancelled' } } })
  })

  it.each<readonly [string, () => unknown, RegExp]>([
    ['throws', () => { throw new Error('bug') }, /^retry\.classify was ignored: it threw: bug$/],
    ['gives a promise', async () => ({ category: 'auth' }), /it gave a promise/],
    ['gives a promise that fails', async () => { throw new Error('later') }, /it gave a promise/],
    ['gives nothing', () => undefined, /it gave undefined/],
    ['gives a word', () => 'auth', /it gave "auth"/],
    ['gives a category that there is not', () => ({ category: 'atuh' }), /the category "atuh"/],
    ['gives a hint that is none', () => ({ category: 'server', retryAfterMs: -5 }), /retryAfterMs -5/],
  ])('is not heeded where it %s, and that is told each time', async (_, classify, said) => {
    const told: string[] = []
    const { tries, execution } = await failing(busy, { classify: classify as () => never }, { onIgnored: (what) => told.push(what) })
    expect([tries, execution]).toEqual([3, expect.objectContaining({ classification: expect.objectContaining({ category: 'server' }) })])
    expect(told).toEqual([1, 2, 3].map(() => expect.stringMatching(said)))
  })

  it('is filled in where it leaves something out', async () => {
    const classify = (() => ({ category: 'server' })) as unknown as RetryPolicy['classify']
    expect(await failing(new Error('bug'), { classify: classify! })).toMatchObject({ tries: 3, execution: { classification: { retryAfterMs: null, evidence: { rule: 'rule:retry.classify' } } } })
  })

  it('stays where there is one try alone', () => {
    expect(resolveRetry(false, 'retry', resolveRetry({ classify }))).toEqual({ ...NO_RETRY, classify: expect.any(Function) })
    expect(oneTry(resolveRetry({}))).toBe(NO_RETRY)
  })
})

describe('retry.shouldRetry', () => {
  it('is asked before each try that the rest of the policy allows, with what failed', async () => {
    const asked: FailedTry[] = []
    const { tries, execution } = await failing(busy, { shouldRetry: (failure) => asked.push(failure) > 0 })
    expect(asked).toEqual([1, 2].map((number) => ({ label: 'tool "search"', try: number, error: busy, classification: expect.objectContaining({ category: 'server' }) })))
    expect([tries, execution]).toEqual([3, expect.objectContaining({ ending: 'exhausted' })])
  })

  it('is not asked about what is not retried anyway', async () => {
    let asked = 0
    expect(await failing(new Error('bug'), { shouldRetry: () => ++asked > 0 })).toMatchObject({ tries: 1 })
    expect(await failing(busy, { categories: ['rate_limit'], shouldRetry: () => ++asked > 0 })).toMatchObject({ tries: 1 })
    expect(asked).toBe(0)
  })

  it('fails with the error by false', async () => {
    expect(await failing(busy, { shouldRetry: () => false })).toMatchObject({ tries: 1, execution: { ending: 'final', error: busy } })
  })

  it.each<readonly [string, () => unknown, RegExp]>([
    ['throws', () => { throw new Error('in the hook') }, /^retry\.shouldRetry failed, it threw: in the hook/],
    ['gives a promise', async () => false, /^retry\.shouldRetry must give true or false at once, got \[object Promise\]/],
    ['gives a promise that fails', async () => { throw new Error('later') }, /Promise/],
    ['gives nothing', () => undefined, /Undefined/],
  ])('fails with the error, and says why, where it %s', async (_, shouldRetry, said) => {
    const told: string[] = []
    expect(await failing(busy, { shouldRetry: shouldRetry as () => boolean }, { onIgnored: (what) => told.push(what) })).toMatchObject({ tries: 1, execution: { ending: 'final', error: busy } })
    expect(told).toEqual([expect.stringMatching(said)])
  })

  it('keeps a stream from being driven again', async () => {
    expect(await failing(busy, { shouldRetry: () => false }, { mayRetry: () => false })).toMatchObject({ execution: { ending: 'final' } })
    expect(await failing(busy, {}, { mayRetry: () => false })).toMatchObject({ execution: { ending: 'passed-on' } })
  })
})

describe('retry.onRetry', () => {
  it('is told before each wait, and has no part in it, whether it throws at once or later', async () => {
    for (const fail of [(): void => { throw new Error('at once') }, async () => { throw new Error('later') }]) {
      const told: RetryEvent[] = []
      const { tries } = await failing(busy, { onRetry: (event) => (told.push(event), fail()) })
      expect(told.map((event) => [event.label, event.try, event.delayMs, event.error === busy])).toEqual([['tool "search"', 1, 100, true], ['tool "search"', 2, 200, true]])
      expect(tries).toBe(3)
    }
  })
})

describe('a try that was cut', () => {
  it('is told of, each one, before what comes of it', async () => {
    const clock = manualClock()
    const told: unknown[] = []
    const execution = execute(() => new Promise(() => {}), {
      retry: resolveRetry({ maxAttempts: 2, backoff: { baseMs: 100, jitter: 'none' } }), clock, random: () => 0, signal: new AbortController().signal, idleTimeoutMs: 50,
      onTimeout: (event) => told.push(event), onRetry: ({ delayMs }) => told.push(delayMs),
    })
    await clock.advance(1_000)
    await execution
    expect(told).toEqual([{ try: 1, limit: 'idle', timeoutMs: 50 }, 100, { try: 2, limit: 'idle', timeoutMs: 50 }])
  })
})

describe('a wait behind the end of the time of a run', () => {
  const hinting = Object.assign(new Error('slow'), { status: 429, headers: { 'retry-after': '5' } })

  it('is handed to the caller where the time stands still while the run is suspended', async () => {
    expect(await failing(hinting, {}, { deadline: 3_000, absoluteDeadline: Infinity })).toMatchObject({ tries: 1, execution: { type: 'wait', resumeAt: 5_000 } })
  })

  it('fails with the error where it does not, and where nothing suspends', async () => {
    expect(await failing(hinting, {}, { deadline: 3_000 })).toMatchObject({ execution: { type: 'failed', ending: 'deadline' } })
    expect(await failing(hinting, {}, { deadline: 3_000, absoluteDeadline: 5_000 })).toMatchObject({ execution: { type: 'failed', ending: 'deadline' } })
    expect(await failing(hinting, { onLongWait: 'fail' }, { deadline: 3_000, absoluteDeadline: Infinity })).toMatchObject({ execution: { type: 'failed', ending: 'deadline' } })
  })

  it('says from when on it may be tried, where nothing waits that long', async () => {
    expect(await failing(hinting, { inlineWaitMs: 10, onLongWait: 'fail' })).toMatchObject({ execution: { type: 'failed', ending: 'long-wait', resumeAt: 5_000 } })
  })
})
