/** Whether a record has room for a step at all (E5): known before anything of it runs, it need not be found out when that is done. */
import type { HoldfastError } from '../errors.ts'
import { byteLength, type Encoded } from '../journal/codec.ts'
import { tooLarge } from '../journal/value-error.ts'
import { effectOf, type Ticket } from '../replay/claim.ts'
import { overlapOf } from '../replay/overlap.ts'
import { beginning, SHOWN_BYTES } from './beginning.ts'
import type { Drive } from './drive.ts'
import type { StepSpec } from './step.ts'

/** What an end has besides what its step is: the beginning of an error at least, and numbers. */
const END_BYTES = 2_048

/** Undefined: there is, for its start (with the input, which only one with effects has) and for an end without its result. */
export function noRoom(drive: Drive, ticket: Ticket, spec: StepSpec, input?: Encoded): HoldfastError | undefined {
  const { policies: { maxStepBytes }, secrets } = drive.attempt
  const { ref } = ticket
  const { claim: { fingerprint, effect, model } } = spec
  const bytes = Buffer.byteLength(JSON.stringify({ step: ref, fingerprint, ...overlapOf(ticket), ...effectOf(spec.claim), config: model?.config, prompt: model?.prompt }))
  const what = recordName(drive, spec, ref.id)
  if (bytes > maxStepBytes - END_BYTES) return tooLarge(`${what} without its input and its result`, bytes, maxStepBytes - END_BYTES, 'maxStepBytes')
  const whole = bytes + (input && effect ? byteLength(input, secrets) : 0)
  return whole > maxStepBytes ? tooLarge(what, whole, maxStepBytes, 'maxStepBytes') : undefined
}

/** For the message where it is too large. */
export function recordName({ attempt: { secrets } }: Drive, { label }: StepSpec, step: string): string {
  return `the record of ${beginning(label, SHOWN_BYTES, secrets)} (step ${beginning(step, SHOWN_BYTES)})`
}
