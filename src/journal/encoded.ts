/** Whether a value that was read can be decoded, found out without decoding it. */
import { HoldfastError, withoutAdvice } from '../errors.ts'
import { checkFlat } from './flat.ts'
import { isDeeper, type JsonValue, MAX_DEPTH } from './json.ts'

/** What is wrong with an encoded value, beginning with its path; undefined: nothing. */
export function encodedFault(encoded: unknown, path: string): string | undefined {
  const [[codec, data]] = Object.entries(encoded as Readonly<Record<string, JsonValue>>) as [[string, JsonValue]]
  if (codec === 'json') return isDeeper(data, MAX_DEPTH) ? `${path} is nested deeper than ${MAX_DEPTH} levels` : undefined
  if (codec !== 'devalue') return `${path} was written by an unknown codec: ${codec.slice(0, 60)}`
  try {
    checkFlat(data, path)
    return undefined
  } catch (error) {
    if (HoldfastError.isInstance(error)) return withoutAdvice(error)
    throw error
  }
}
