import fc from 'fast-check'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { canonical } from './canonical.ts'
import { byteLength, decode, encode, roundTrip } from './codec.ts'

// Strings of any UTF-16 units, lone surrogates among them, and the keys that are dangerous in objects.
const text = fc.oneof(fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)), maxLength: 6 }), fc.string({ unit: 'grapheme', maxLength: 6 }))
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'toJSON', 'then', 'length', 'json', 'devalue', '0', '-1'))
const object = (value: fc.Arbitrary<unknown>): fc.Arbitrary<object> => fc.array(fc.tuple(key, value), { maxLength: 5 }).map((entries) => {
  const made = {}
  for (const [name, item] of entries) Object.defineProperty(made, name, { value: item, enumerable: true, writable: true, configurable: true })
  return made
})

const bytes = fc.uint8Array({ maxLength: 20 })
const leaf = fc.oneof(
  text, fc.double(), fc.integer(), fc.boolean(), fc.bigInt(), fc.constantFrom(null, undefined, -0, NaN, Infinity, -Infinity),
  // To Node 22 two invalid dates are not equal: one is in the table of codec.test.ts.
  fc.date({ noInvalidDate: true }), fc.webUrl().map((url) => new URL(url)), fc.constantFrom(/a/g, /[/\]]\n/u, /(?:)/), bytes, bytes.map((array) => array.buffer.slice(0)),
  fc.int8Array(), fc.uint16Array(), fc.int32Array(), fc.float32Array(), fc.float64Array(), fc.bigInt64Array(), fc.bigUint64Array(), fc.uint8ClampedArray(),
)

/** Errors of Holdfast that somebody made their own: their code is what it was, or anything else, or not there, or not to be seen. */
const holdfastError = (value: fc.Arbitrary<unknown>): fc.Arbitrary<Error> => fc.record({
  code: fc.oneof(fc.constantFrom('STEP_FAILED', undefined), value), how: fc.constantFrom('set', 'delete', 'hide', 'get'), own: object(value), errors: fc.option(fc.array(value, { maxLength: 2 })),
}).map(({ code, how, own, errors }) => {
  const made = new HoldfastError('STEP_FAILED', 'm', { advice: 'Look' })
  if (how === 'delete') Reflect.deleteProperty(made, 'code')
  else Object.defineProperty(made, 'code', how === 'get' ? { get: () => code, enumerable: true } : { value: code, enumerable: how === 'set' })
  for (const [name, item] of Object.entries(own)) if (!['code', 'name', 'message', 'stack'].includes(name)) Object.defineProperty(made, name, { value: item, enumerable: true, configurable: true, writable: true })
  if (errors) Object.defineProperty(made, 'errors', { value: errors })
  return made
})

const { value: storable } = fc.letrec<{ value: unknown }>((tie) => {
  const value = tie('value')
  const sparse = fc.array(fc.tuple(fc.nat(12), value), { maxLength: 3 }).map((entries) => {
    const made: unknown[] = []
    for (const [index, item] of entries) made[index] = item
    return made
  })
  const error = fc.record({ type: fc.constantFrom(Error, TypeError, RangeError), message: text, name: fc.option(text), own: object(value), cause: value })
    .map(({ type, message, name, own, cause }) => {
      const made = new type(message, { cause })
      if (name !== null) Object.defineProperty(made, 'name', { value: name })
      for (const [key, item] of Object.entries(own)) Object.defineProperty(made, `_${key}`, { value: item, enumerable: true, writable: true, configurable: true })
      return made
    })
  return {
    value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, fc.array(value, { maxLength: 4 }), object(value), sparse, error,
      fc.array(fc.tuple(value, value), { maxLength: 3 }).map((entries) => new Map(entries)),
      fc.array(value, { maxLength: 3 }).map((items) => new Set(items)),
      fc.tuple(value).map(([item]) => [item, { again: item }])),
  }
})

const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }), object(tie('value'))),
}))

/** The same data with the keys of every object the other way round, and properties that are undefined added. */
function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).reverse().map(([name, item]) => [name, reordered(item)])
  return Object.fromEntries([['absent, whatever is there', undefined], ...entries])
}

/** isDeepStrictEqual does not look at the order of Maps and Sets: at the top it is made to. */
const ordered = (value: unknown): unknown => value instanceof Map ? [...value].map(([k, v]) => [ordered(k), ordered(v)]) : value instanceof Set ? [...value].map(ordered) : value

describe('the codec, for any value that can be stored', () => {
  it('gives the same value live and replayed, equal to the original', () => {
    fc.assert(fc.property(storable, (value) => {
      const encoded = encode(value)
      const stored = JSON.stringify(encoded)
      expect(stored.isWellFormed() && !stored.includes('\0')).toBe(true)
      for (const back of [decode(encoded), decode(JSON.parse(stored)), roundTrip(roundTrip(value))]) {
        expect(isDeepStrictEqual(ordered(back), ordered(value)), stored).toBe(true)
      }
    }), { numRuns: 1000 })
  })

  it('reads back whatever it wrote of an error, however odd that is', () => {
    fc.assert(fc.property(holdfastError(storable), (error) => {
      const stored = JSON.stringify(encode([error, { error }]))
      const [back] = decode(JSON.parse(stored)) as [Error & { code?: unknown }]
      const isOwn = Object.getOwnPropertyDescriptor(error, 'code')?.enumerable === true && typeof (error as { code?: unknown }).code === 'string'
      expect([back.message, HoldfastError.isInstance(back), encode([back, { error: back }])]).toEqual([error.message, isOwn, JSON.parse(stored)])
    }), { numRuns: 300 })
  })

  it('gives a value whose canonical text is that of the original', () => {
    fc.assert(fc.property(fc.oneof(storable, holdfastError(storable)), (value) => canonical(roundTrip(value)) === canonical(value)), { numRuns: 500 })
  })

  it('refuses exactly what is over the limit', () => {
    fc.assert(fc.property(storable, (value) => {
      const size = byteLength(encode(value))
      encode(value, { maxBytes: size })
      expect(() => encode(value, { maxBytes: size - 1 })).toThrow(HoldfastError)
    }), { numRuns: 500 })
  })

  it('keeps plain data as JSON, not as devalue', () => {
    fc.assert(fc.property(json, (value) => {
      const back = JSON.parse(JSON.stringify(value)) as unknown
      expect('json' in encode(value)).toBe(isDeepStrictEqual(back, value)) // -0 is not JSON
    }), { numRuns: 500 })
  })
})

describe('the canonical text, for any JSON data', () => {
  it('does not depend on the order of keys or on undefined properties', () => {
    fc.assert(fc.property(json, (value) => canonical(reordered(value)) === canonical(value)), { numRuns: 500 })
  })

  it('differs for different data', () => {
    fc.assert(fc.property(json, json, (one, other) => {
      const positive = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) // -0 counts as 0
      expect(canonical(one) === canonical(other)).toBe(isDeepStrictEqual(positive(one), positive(other)))
    }), { numRuns: 2000 })
  })

  it('differs when one part is changed', () => {
    fc.assert(fc.property(json, json, json, key, (around, one, other, name) => {
      fc.pre(!isDeepStrictEqual(one, other) && !Object.is(one, -0) && !Object.is(other, -0) && JSON.stringify(one) !== JSON.stringify(other))
      const put = (item: unknown): unknown => [around, Object.fromEntries([[name, [item, around]], ['z', around]])]
      expect(canonical(put(one)) === canonical(put(other))).toBe(name === 'z')
    }), { numRuns: 1000 })
  })
})
