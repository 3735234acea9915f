/** What users' code throws may be anything: also what cannot even be looked at, such as a Proxy whose other end is gone. */
import { itemsIn } from '../core/places.ts'
import { HoldfastError, type HoldfastErrorCode } from '../errors.ts'

/** What was thrown, where it can be read; else an error that says so: whatever is done about it has to look at it. */
export function readable(thrown: unknown, label: string, code: HoldfastErrorCode = 'STEP_FAILED'): unknown {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return thrown
  try {
    HoldfastError.isInstance(thrown)
    if (thrown instanceof Error) void [thrown.name, thrown.message, thrown.cause]
    else Object.prototype.toString.call(thrown)
    return thrown
  } catch {
    return new HoldfastError(code, `${label} threw a value that cannot be read`)
  }
}

/** Of what can be read: an object may have no text at all. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  try {
    return textOf(error)
  } catch {
    return Object.prototype.toString.call(error)
  }
}

/** As `String`, but that of a list with holes, of which there may be billions, takes no longer than what is in it. */
const textOf = (value: unknown): string =>
  Array.isArray(value) ? itemsIn(value).map((item) => (item === undefined || item === null ? '' : textOf(item))).join() : String(value)
