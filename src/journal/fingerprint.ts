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
