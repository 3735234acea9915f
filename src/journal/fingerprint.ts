/** Fingerprints: the hash of what a step asks for (R8). */
import { hash } from '../core/hash.ts'
import { canonical } from './canonical.ts'

/** The fingerprint of a value; null when it cannot be fingerprinted (a function, a class instance, a cycle). */
export function fingerprint(value: unknown): string | null {
  try {
    return hash(canonical(value))
  } catch {
    return null
  }
}

/**
 * Whether two values are the same as far as their parts are the same strings, numbers and objects. Costs their structure,
 * not their bytes: frameworks make new messages around the same texts at every step.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && areSame(a, b)
  if (Object.getPrototypeOf(a) !== Object.prototype || Object.getPrototypeOf(b) !== Object.prototype) return false
  const [one, other] = [a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>]
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  for (const key of keys) {
    const value = one[key]
    if (value === undefined ? !Object.hasOwn(other, key) || other[key] !== undefined : !isSame(value, other[key])) return false
  }
  return true
}

/** By index: `every` passes over holes. */
function areSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i])) return false
  return true
}
