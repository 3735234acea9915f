/** Values as a journal keeps them. Both the live path and replay go through here, so the caller sees the same value on both. */
import { HoldfastError } from '../errors.ts'
import { flatten, restore } from './flat.ts'
import { copyJson, type JsonValue } from './json.ts'
import type { Secrets } from './secrets.ts'
import { takeSnapshot } from './snapshot.ts'
import { corrupt, guarded, isTooLong, notStorable, Place, tooLarge } from './value-error.ts'

/** A value as it stands in a journal entry: plain JSON data, under the name of the codec that wrote it. */
export type Encoded = { readonly json: JsonValue } | { readonly devalue: JsonValue }

export interface EncodeOptions {
  /** What the value is called in messages, such as `input` or `result of tool "search"`. Default: `value`. */
  readonly path?: string
  /** Limit in bytes (UTF-8) of the encoded value's JSON text. Default: none. */
  readonly maxBytes?: number
  /** The option of createRunner that sets the limit, for messages. Default: `maxResultBytes`. */
  readonly option?: string
  /** They count with their names, as they are stored. */
  readonly secrets?: Secrets | undefined
}

/**
 * Encodes a value. Plain JSON data stays readable JSON; undefined, -0, NaN, the infinities, BigInt, holes, Date, Map, Set,
 * URL, RegExp, ArrayBuffer, typed arrays, Error and shared references go through devalue.
 *
 * What comes back differs in this: a Buffer is a Uint8Array, a view has a buffer of its own, an object without prototype is
 * an ordinary one, a getter is its value, a RegExp starts at 0 again, properties that are not enumerable are absent. An error
 * keeps name, message, code, cause and what else of its own enumerable properties can be stored, not its stack; it comes back
 * as the built-in class that it extends, Holdfast's own as HoldfastError. `toJSON` is never called.
 *
 * The result shares no object with the value. Its JSON text is safe in any store: lone surrogates and NUL are escapes.
 *
 * @throws HoldfastError `VALUE_NOT_STORABLE` with the path (functions, symbols, Proxies, Promises, cycles, instances of
 * classes, getters that throw, more than 500 levels), `VALUE_TOO_LARGE` with size and limit. No other error.
 *
 * @example
 * encode({ at: new Date(0) })                              // { devalue: [{ at: 1 }, ['Date', '1970-01-01T00:00:00.000Z']] }
 * encode({ items: [{ done: () => {} }] }, { path: 'result' }) // throws: result.items[0].done is a function. ...
 */
export function encode(value: unknown, options: EncodeOptions = {}): Encoded {
  const { path = 'value', maxBytes, option, secrets } = options
  const place = new Place(path)
  const snapshot = guarded(place, () => takeSnapshot(value, place))
  try {
    const text = snapshot.plain ? undefined : flatten(snapshot)
    const encoded: Encoded = text === undefined ? { json: snapshot.copy as JsonValue } : { devalue: JSON.parse(text) as JsonValue }
    // A UTF-16 unit takes at most 3 bytes, and what devalue escapes besides only shrinks.
    const bytesBound = 16 + (text === undefined ? snapshot.bytesBound : 3 * text.length)
    if (maxBytes === undefined || (!secrets && bytesBound <= maxBytes)) return encoded
    return within(encoded, options)
  } catch (error) {
    if (HoldfastError.isInstance(error)) throw error
    throw isTooLong(error) ? tooLarge(path, undefined, maxBytes, option) : notStorable(`${path} cannot be encoded`, error)
  }
}

/**
 * Makes the value again; each call makes a new one that shares no object with `encoded`.
 *
 * @param path What the value is called in messages. Default: `value`.
 * @throws HoldfastError `STORE_CORRUPT` with the path for an unknown codec or type, and for whatever `encode` does not write.
 */
export function decode(encoded: unknown, path = 'value'): unknown {
  const codec = codecOf(encoded)
  if (codec === 'devalue') return restore((encoded as { devalue: JsonValue }).devalue, path)
  if (codec !== 'json') throw corrupt(`${path} was written by an unknown codec: ${codec}`)
  try {
    return copyJson((encoded as { json: JsonValue }).json)
  } catch (error) {
    throw corrupt(`${path} cannot be decoded`, error)
  }
}

/** What was encoded without a limit, where it is within this one. @throws HoldfastError `VALUE_TOO_LARGE`. */
export function within(encoded: Encoded, { path = 'value', maxBytes, option, secrets }: EncodeOptions): Encoded {
  const size = maxBytes === undefined ? 0 : byteLength(encoded, secrets)
  if (maxBytes === undefined || size <= maxBytes) return encoded
  throw tooLarge(path, size, maxBytes, option)
}

/** Size in bytes (UTF-8) of the encoded value's JSON text, with the names of secrets in place of their values. */
export function byteLength(encoded: Encoded, secrets?: Secrets): number {
  return Buffer.byteLength(secrets?.seal(encoded) ?? JSON.stringify(encoded))
}

/** The value as it will be when it is replayed. Throws as {@link encode} does. */
export function roundTrip(value: unknown, options: EncodeOptions = {}): unknown {
  return decode(encode(value, options), options.path)
}

function codecOf(encoded: unknown): string {
  if (typeof encoded !== 'object' || encoded === null || Array.isArray(encoded)) return 'none'
  const keys = Object.keys(encoded)
  return keys.length === 1 ? keys[0]! : `{ ${keys.join(', ')} }`
}
