/** What is recorded of a step whose record would be too large (E5): it is over, and nothing of it is done again. */
import { HoldfastError } from '../errors.ts'
import { byteLength, decode, encode, type Encoded } from '../journal/codec.ts'
import type { Outcome } from '../journal/entry.ts'
import { failed, notStored } from './outcome.ts'
import type { StepSpec } from './step.ts'

/** An error with no more than this is kept whole, bytes; of a longer one the beginning of its message, characters. */
const [WHOLE_BYTES, KEPT_LENGTH] = [8_000, 1_000]

/** `tooLarge` says what is. Undefined: it is not its outcome that takes the room. */
export function reduced(spec: StepSpec, outcome: Outcome, tooLarge: HoldfastError, step: string): Outcome | undefined {
  if (outcome.type === 'value') return spec.claim.effect ? notStored(spec, tooLarge, step) : failed(tooLarge)
  if (byteLength(outcome.error) <= WHOLE_BYTES) return undefined
  return { ...outcome, error: beginningOf(outcome.error) }
}

function beginningOf(encoded: Encoded): Encoded {
  const error = decode(encoded)
  const message = error instanceof Error ? error.message : String(error)
  const text = message.length <= KEPT_LENGTH ? message : `${message.slice(0, KEPT_LENGTH)}... (${message.length} characters)`
  if (HoldfastError.isInstance(error)) return encode(new HoldfastError(error.code, text, { ...(error.step !== undefined && { step: error.step }) }))
  return encode(Object.assign(new Error(text), error instanceof Error && { name: error.name.slice(0, KEPT_LENGTH) }))
}
