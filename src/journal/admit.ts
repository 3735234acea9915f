/** What every walk through a value asks of an object before it goes in. */
import { MAX_DEPTH } from './json.ts'
import { type Place, Refusal } from './value-error.ts'
import { describe, type Kind, kindOf, strayKey } from './value-kind.ts'

/** The kind of an object that can be stored, `depth` levels below the root. Throws a {@link Refusal} for any other. */
export function admit(value: object, depth: number, place: Place): Kind {
  if (depth >= MAX_DEPTH) throw new Refusal(`is nested deeper than ${MAX_DEPTH} levels`)
  const kind = kindOf(value)
  if (kind === undefined) throw new Refusal(`is ${describe(value)}`)
  const stray = strayKey(value, kind)
  if (stray === undefined) return kind
  place.enter(depth, stray)
  throw new Refusal(typeof stray === 'symbol' ? 'has a symbol for its key' : `is a property on ${kind === 'array' ? 'an array' : `a ${kind}`}`)
}

/** `ancestor` is the depth of an object that is met again inside itself. */
export function refuseCycle(ancestor: number, place: Place): never {
  throw new Refusal(`refers back to ${place.path(ancestor)}, which contains it`)
}
