/** What is recorded of a step whose record would be too large (E5): it is over, and nothing of it is done again. */
import { HoldfastError } from '../errors.ts'
import { byteLength, decode, encode, type Encoded } from '../journal/codec.ts'
import type { Outcome } from '../journal/entry.ts'
import type { Secrets } from '../journal/secrets.ts'
import { tooLarge } from '../journal/value-error.ts'
import { beginning } from './beginning.ts'
import type { Drive } from './drive.ts'
import { failed, messageOf, notStored } from './outcome.ts'
import type { StepSpec } from './step.ts'

/** What is kept of an error that does not fit: of its name and its message, and the id of its step where that is no longer; bytes. */
const [NAME_BYTES, MESSAGE_BYTES, STEP_BYTES] = [200, 1_000, 500]

/** `refusal` says what is too large, or wrong. Undefined: it is not its outcome that takes the room. */
export function reduced(spec: StepSpec, outcome: Outcome, refusal: HoldfastError, step: string, secrets: Secrets | undefined): Outcome | undefined {
  if (outcome.type === 'value') return spec.claim.effect ? notStored(spec, refusal, step) : failed(refusal)
  const error = beginningOf(outcome.error, secrets)
  return byteLength(error, secrets) < byteLength(outcome.error, secrets) ? { ...outcome, error } : undefined
}

/** Of an effect whose end another record tells of, which is to hold no more than its own would. */
export function withinRecord({ attempt: { policies: { maxStepBytes }, secrets } }: Drive, spec: StepSpec, outcome: Outcome, step: string): Outcome {
  if (outcome.type !== 'value') return outcome
  const bytes = byteLength(outcome.value, secrets)
  return bytes <= maxStepBytes ? outcome : notStored(spec, tooLarge(`result of ${spec.label}`, bytes, maxStepBytes, 'maxStepBytes'), step)
}

/** Name and beginning of the message, and no other property: of an error of Holdfast its code too. */
export function beginningOf(encoded: Encoded, secrets: Secrets | undefined): Encoded {
  const error = decode(encoded)
  const text = beginning(messageOf(error), MESSAGE_BYTES, secrets)
  if (HoldfastError.isInstance(error)) return encode(new HoldfastError(error.code, text, { ...(error.step !== undefined && beginning(error.step, STEP_BYTES, secrets) === error.step && { step: error.step }) }))
  return encode(Object.assign(new Error(text), error instanceof Error && { name: beginning(error.name, NAME_BYTES, secrets) }))
}
