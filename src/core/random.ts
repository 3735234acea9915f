/** Randomness: the only place that calls `Math.random` and draws random bytes. */
import { randomBytes } from 'node:crypto'

/** Returns a number in [0, 1). */
export type Random = () => number

export const systemRandom: Random = () => Math.random()

/** Bytes that nobody can foresee. */
export const unforeseeable = (count: number): Uint8Array => randomBytes(count)

/** A repeatable source: the same seed gives the same numbers (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
