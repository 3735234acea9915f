/** Choosing by a seed: every case is made of its number alone, and so is made again. */
import { seededRandom } from '../../src/core/random.ts'

export interface Pick {
  /** A whole number from 0 up to before `count`. */
  below(count: number): number
  of<T>(items: readonly T[]): T
  chance(share: number): boolean
}

export function pickOf(seed: number, k: number): Pick {
  const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(k + 1, 0x85ebca6b))
  const below = (count: number): number => Math.floor(random() * count)
  return { below, of: (items) => items[below(items.length)]!, chance: (share) => random() < share }
}
