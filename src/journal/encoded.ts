/** Whether a value that was read can be decoded, found out without decoding it. */
import { HoldfastError, withoutAdvice } from '../errors.ts'
import { checkFlat } from './flat.ts'
import { isDeeper, isFinite, type JsonValue, MAX_DEPTH } from './json.ts'

/**
 * What is wrong with an encoded value, beginning with its path; undefined: nothing.
 *
 * @param opening How the names of secrets begin in the record that it is of; a URL or RegExp with one in it can be judged only when it is whole.
 */
export function encodedFault(encoded: unknown, path: string, opening?: unknown): string | undefined {
  const [[codec, data]] = Object.entries(encoded as Readonly<Record<string, JsonValue>>) as [[string, JsonValue]]
  if (codec === 'json') {
    if (isDeeper(data, MAX_DEPTH)) return `${path} is nested deeper than ${MAX_DEPTH} levels`
    return isFinite(data) ? undefined : `${path} holds a number that JSON does not have`
  }
  if (codec !== 'devalue') return `${path} was written by an unknown codec: ${codec.slice(0, 60)}`
  try {
    checkFlat(data, path, (text) => typeof opening === 'string' && text.includes(opening))
    return undefined
  } catch (error) {
    if (HoldfastError.isInstance(error)) return withoutAdvice(error)
    throw error
  }
}
