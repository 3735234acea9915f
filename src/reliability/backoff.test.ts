import { describe, expect, it } from 'vitest'
import { seededRandom } from '../core/random.ts'
import { DEFAULT_BACKOFF, nextDelay } from './backoff.ts'
import type { BackoffPolicy } from './backoff.ts'

const plain: BackoffPolicy = { baseMs: 100, maxMs: 1_000, factor: 2, jitter: 'none' }
const never = (): number => { throw new Error('no randomness is needed here') }

describe('nextDelay', () => {
  it('grows by the factor from the base to the cap, and stays there for any number of tries', () => {
    expect([1, 2, 3, 4, 5, 50, 5_000].map((attempt) => nextDelay(plain, attempt, never))).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000])
  })

  it.each([
    ['full', 0, 0.999999, 0, 400],
    ['equal', 0, 0.999999, 200, 400],
  ] as const)('keeps %s jitter within its bounds', (jitter, low, high, least, most) => {
    expect(nextDelay({ ...plain, jitter }, 3, () => low)).toBe(least)
    expect(nextDelay({ ...plain, jitter }, 3, () => high)).toBe(most)
    const random = seededRandom(7)
    const delays = Array.from({ length: 500 }, () => nextDelay({ ...plain, jitter }, 3, random))
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(least)
    expect(Math.max(...delays)).toBeLessThanOrEqual(most)
    expect(new Set(delays).size).toBeGreaterThan(100)
  })

  it.each([
    ['below the own backoff', 50, 100],
    ['above the own backoff', 700, 700],
    ['above the cap, which never cuts it short', 90_000, 90_000],
    ['a fraction, which is rounded up', 700.2, 701],
    ['absent', null, 100],
    ['negative', -5, 100],
    ['not a number', Number.NaN, 100],
    ['endless', Number.POSITIVE_INFINITY, 100],
  ])('takes the later of the own backoff and a hint that is %s', (_, hint, expected) => {
    expect(nextDelay(plain, 1, never, hint)).toBe(expected)
  })

  it('is 0 with a base of 0, also after very many tries', () => {
    expect(nextDelay({ ...plain, baseMs: 0 }, 5_000, never)).toBe(0)
  })

  it('has frozen defaults', () => {
    expect(Object.isFrozen(DEFAULT_BACKOFF)).toBe(true)
  })
})
