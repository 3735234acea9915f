/** How a step's end becomes its outcome, as it is recorded and as its caller sees it. */
import { types } from 'node:util'
import { HoldfastError } from '../errors.ts'
import { encode, type Encoded } from '../journal/codec.ts'
import type { DoubtCause, Outcome } from '../journal/entry.ts'
import { setOwn } from '../journal/json.ts'
import type { Effect } from '../effects/effect.ts'
import type { Secrets } from '../journal/secrets.ts'
import { lostText } from './lost-part.ts'
import { messageOf } from './readable.ts'
import type { StepSpec } from './step.ts'

/** `told`: what the caller of a step is told of a result that cannot be stored. */
export function stored(spec: StepSpec, value: unknown, step: string, secrets: Secrets | undefined, told: (error: unknown) => unknown = (error) => error): Outcome {
  const options = { path: `result of ${spec.label}`, secrets, ...(spec.maxBytes !== undefined && { maxBytes: spec.maxBytes }) }
  try {
    return { type: 'value', value: encode(value, options) }
  } catch (error) {
    return spec.claim.effect ? notStored(spec, error, step) : failed(told(error))
  }
}

/** It completed, so it is not made again; its caller is told why the result is missing. */
export function notStored(spec: StepSpec, error: unknown, step: string): Outcome {
  const told = new HoldfastError('RESULT_NOT_STORED', `${spec.label} succeeded, but its result could not be stored: ${messageOf(error)}`, { step })
  return { type: 'unstored', error: encode(told) }
}

export const failed = (error: unknown): Outcome & { readonly type: 'error' } => ({ type: 'error', error: encodedError(error) })

/** Whatever was thrown: where that cannot be stored, what of it can. */
export function encodedError(error: unknown): Encoded {
  try {
    return encode(error, { path: 'error' })
  } catch {
    return encode(asError(error))
  }
}

/** By what is thrown in place of an error people know errors: also where a class has it by getters. */
const OF_ERRORS = ['name', 'message', 'code', 'status']

/** An object that is no error as one, of which what cannot be stored is left out. */
function asError(thrown: unknown): Error {
  const isObject = typeof thrown === 'object' && thrown !== null && !Array.isArray(thrown) && !types.isProxy(thrown)
  const part = (key: string): unknown => {
    try {
      return isObject ? (thrown as Readonly<Record<string, unknown>>)[key] : undefined
    } catch {
      return undefined
    }
  }
  const [name, message] = [part('name'), part('message')]
  const error = new Error(typeof message === 'string' ? message : messageOf(thrown))
  if (typeof name === 'string' && name !== '') Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  for (const key of isObject ? new Set([...OF_ERRORS, ...Object.keys(thrown)]) : []) {
    const value = key in error ? undefined : part(key)
    if (value !== undefined) setOwn(error, key, value)
  }
  return error
}

export const unknown = (cause: DoubtCause, error: HoldfastError): Outcome => ({ type: 'unknown', cause, error: encode(error) })

/** `inside`: the effects that nobody knows of, where those of the step are the ones inside of it. */
export const unknownOutcome = (spec: StepSpec, what: string, step: string, cause?: unknown, inside: readonly string[] = []): HoldfastError => {
  const whose = inside.length > 0 ? `Inside of it ${inside.join(' and ')} had not ended. The outcome of that` : 'Its outcome'
  // Of a time limit it is named already.
  return new HoldfastError('OUTCOME_UNKNOWN', `${what.startsWith(spec.label) ? what : `${spec.label}: ${what}`}. ${whose} is unknown: it may have taken effect, do not repeat it`, {
    step,
    ...(cause instanceof Error && { cause: new Error(cause.message) }),
  })
}

/** It is left at that, by a decision or by the policy of its tool: the handler of a step has to know what to do then. */
export function skippedOutcome({ label, claim }: StepSpec, step: string, { by, effect }: { readonly by: 'decision' | 'policy'; readonly effect: Pick<Effect, 'lostBefore'> | undefined }): Outcome {
  const what = effect
    ? `it ${effect.lostBefore === undefined ? 'was interrupted' : lostText(effect.lostBefore)}, and is left at that. Its outcome is unknown: it may have taken effect, do not repeat it`
    : by === 'decision' ? 'it was not started, because it may be done already. Do not repeat it'
    : 'it was not started, because nobody knows whether an earlier one took effect, and it may be the same. Do not repeat it'
  const advice = `Catch it where the handler asks for the step; to have it otherwise, resume the run with { redo: ${JSON.stringify(step)} }`
  const error = new HoldfastError('OUTCOME_UNKNOWN', `${label}: by ${by === 'decision' ? 'a decision' : 'its policy'}, ${what}`, { step, ...(claim.kind !== 'tool' && { advice }) })
  return unknown('skipped', error)
}

/** A record is refused for what it is itself: it would be the next time, too. */
export const isOfRecord = (error: unknown): error is HoldfastError => HoldfastError.isInstance(error) && (error.code === 'VALUE_TOO_LARGE' || error.code === 'VALUE_NOT_STORABLE')

export const isLost = (error: unknown): error is HoldfastError => HoldfastError.isInstance(error) && error.code === 'LEASE_LOST'

export { messageOf }
