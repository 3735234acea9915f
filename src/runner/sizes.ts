/** How large what a run records of a step may be, and so what somebody gives in its place. */
import type { EncodeOptions } from '../journal/codec.ts'
import type { Secrets } from '../journal/secrets.ts'

export interface Sizes {
  readonly maxResultBytes: number
  readonly maxStepBytes: number
}

const MIB = 1024 * 1024

/** Of a step, also where nothing is known but the store: whoever drives the run there may take less, hardly ever more. */
export const DEFAULT_SIZES: Sizes = { maxResultBytes: 4 * MIB, maxStepBytes: 16 * MIB }

/** A record has to hold at least what its step is, and the beginning of an error. */
export const LEAST_STEP_BYTES = 4096
/** What a record has besides one value. */
const RECORD = 2048

/** For a value that somebody gives from outside: refused where it is given, not when it is to be recorded. `response`: of a model. */
export function sizeOf(what: 'result' | 'response' | 'input', { maxResultBytes, maxStepBytes }: Sizes, secrets: Secrets | undefined): EncodeOptions {
  const inRecord = { path: what === 'input' ? what : 'result', maxBytes: maxStepBytes - RECORD, option: 'maxStepBytes', secrets }
  return what === 'result' && maxResultBytes <= inRecord.maxBytes ? { path: what, maxBytes: maxResultBytes, option: 'maxResultBytes', secrets } : inRecord
}
