/** How long to wait before the next try. */
import type { Random } from '../core/random.ts'

/**
 * An exponential backoff: before retry n it is `baseMs * factor ** (n - 1)`, at most `maxMs`, then spread by `jitter`.
 * The cap holds for the own backoff only: a hint from the server is never cut short.
 */
export interface BackoffPolicy {
  /** Delay after the first try, ms. Default 1000. */
  readonly baseMs: number
  /** Cap of the own backoff, ms. Default 30000. */
  readonly maxMs: number
  /** Growth from one try to the next, at least 1. Default 2. */
  readonly factor: number
  /** `full`: anywhere in [0, delay); `equal`: in [delay / 2, delay); `none`: the delay itself. Default `equal`. */
  readonly jitter: 'full' | 'equal' | 'none'
}

/** The defaults of {@link BackoffPolicy}. */
export const DEFAULT_BACKOFF: BackoffPolicy = Object.freeze({ baseMs: 1_000, maxMs: 30_000, factor: 2, jitter: 'equal' })

/**
 * Delay in whole ms after try number `attempt` (from 1): the later of the own backoff and the server's hint.
 * A hint that is no finite positive number counts as none.
 */
export function nextDelay(policy: BackoffPolicy, attempt: number, random: Random, hintMs: number | null = null): number {
  const own = spread(policy, exponential(policy, attempt), random)
  const hint = hintMs !== null && Number.isFinite(hintMs) && hintMs > 0 ? hintMs : 0
  return Math.ceil(Math.max(own, hint))
}

function exponential({ baseMs, maxMs, factor }: BackoffPolicy, attempt: number): number {
  if (baseMs === 0) return 0 // 0 * Infinity is NaN
  return Math.min(maxMs, baseMs * factor ** (Math.max(1, attempt) - 1))
}

function spread({ jitter }: BackoffPolicy, delay: number, random: Random): number {
  if (jitter === 'none') return delay
  return jitter === 'full' ? random() * delay : delay / 2 + random() * (delay / 2)
}
