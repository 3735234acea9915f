/** Fingerprints: the hash of what a step asks for (R8). */
import { hash } from '../core/hash.ts'
import { canonical } from './canonical.ts'
import type { Secrets } from './secrets.ts'

/**
 * The fingerprint of a value, in which the names of secrets count in place of their values; null when it cannot be fingerprinted (a function, a class
 * instance, a cycle, more than a million objects). Two values are not the same because both have none: who compares says what counts then.
 */
export function fingerprint(value: unknown, secrets?: Secrets): string | null {
  try {
    return hash(canonical(value, undefined, secrets))
  } catch {
    return null
  }
}

/**
 * Whether two values are the same as far as their parts are the same strings, numbers and objects. Costs their structure,
 * not their bytes: frameworks make new messages around the same texts at every step.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (Array.isArray(a)) return Array.isArray(b) && areSame(a, b)
  if (Object.getPrototypeOf(a) !== Object.prototype || Object.getPrototypeOf(b) !== Object.prototype) return false
  return haveSame(a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>)
}

/** By index: `every` passes over holes. */
function areSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i])) return false
  return true
}

/** With `for in`, which takes half the time of `Object.keys`: every message of a conversation goes through here at each request. */
function haveSame(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  let more = 0
  for (const key in a) {
    more++
    const value = a[key]
    if (value === undefined ? b[key] !== undefined || !Object.hasOwn(b, key) : !isSame(value, b[key])) return false
  }
  for (const _ in b) more--
  return more === 0
}
