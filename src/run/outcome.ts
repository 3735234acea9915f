/** How a step's end becomes its outcome, as it is recorded and as its caller sees it. */
import { HoldfastError } from '../errors.ts'
import { encode } from '../journal/codec.ts'
import type { DoubtCause, Outcome } from '../journal/entry.ts'
import { messageOf } from './readable.ts'
import type { StepSpec } from './step.ts'

export function stored(spec: StepSpec, value: unknown, step: string): Outcome {
  const options = { path: `result of ${spec.label}`, ...(spec.maxBytes !== undefined && { maxBytes: spec.maxBytes }) }
  try {
    return { type: 'value', value: encode(value, options) }
  } catch (error) {
    return spec.claim.effect ? notStored(spec, error, step) : failed(error)
  }
}

/** It completed, so it is not made again; its caller is told why the result is missing. */
export function notStored(spec: StepSpec, error: unknown, step: string): Outcome {
  const told = new HoldfastError('RESULT_NOT_STORED', `${spec.label} succeeded, but its result could not be stored: ${messageOf(error)}`, { step })
  return { type: 'unstored', error: encode(told) }
}

export function failed(error: unknown): Outcome {
  try {
    return { type: 'error', error: encode(error, { path: 'error' }) }
  } catch {
    // What was thrown cannot be stored, but what it says can.
    return { type: 'error', error: encode(new Error(messageOf(error))) }
  }
}

export const unknown = (cause: DoubtCause, error: HoldfastError): Outcome => ({ type: 'unknown', cause, error: encode(error) })

export const unknownOutcome = (spec: StepSpec, what: string, step: string, cause?: unknown): HoldfastError =>
  new HoldfastError('OUTCOME_UNKNOWN', `${spec.label}: ${what}. Its outcome is unknown: it may have taken effect, do not repeat it`, {
    step,
    ...(cause instanceof Error && { cause: new Error(cause.message) }),
  })

export const isTooLarge = (error: unknown): error is HoldfastError => HoldfastError.isInstance(error) && error.code === 'VALUE_TOO_LARGE'

export const isLost = (error: unknown): error is HoldfastError => HoldfastError.isInstance(error) && error.code === 'LEASE_LOST'

export { messageOf }
