import { describe, expect, it } from 'vitest'
import { isDeepStrictEqual } from 'node:util'
import { runInNewContext } from 'node:vm'
import { byteLength, decode, encode, roundTrip } from './codec.ts'

/** As it is after a restart: through the text that a store keeps. */
const replayed = (value: unknown): unknown => decode(JSON.parse(JSON.stringify(encode(value))))

const withProto = (): unknown => JSON.parse('{"__proto__":{"x":1},"constructor":"c","prototype":[2],"toString":null}')
const sparse = Object.assign([1], { 2: 3, length: 4 })
const farIndex: unknown[] = []
farIndex[3_000_000_000] = 'far'
const shared = { id: 1 }

const same: [string, unknown][] = [
  ['null', null],
  ['a number', -1.5e300],
  ['an empty string', ''],
  ['plain nested data', { a: [1, 'two', { three: [true, false, null] }], b: {}, c: [] }],
  ['undefined', undefined],
  ['-0', -0],
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['-Infinity', [-Infinity]],
  ['a BigInt', 2n ** 80n],
  ['a property that is undefined', { a: undefined, b: 1 }],
  ['an array with undefined', [undefined]],
  ['a sparse array', sparse],
  ['an array with one far index', farIndex],
  ['an empty array with a length', Object.assign([], { length: 1000 })],
  ['a Date', { at: new Date(1_700_000_000_123) }],
  ['a Date beyond four-digit years', new Date(8.64e15)],
  ['a Map', new Map<unknown, unknown>([['b', 1], [{ k: 1 }, new Map([[NaN, undefined]])], [2, 'two']])],
  ['a Set', new Set<unknown>(['z', 1, new Set([{ a: 1 }])])],
  ['a URL', new URL('https://example.com/a%20b?q=1#h')],
  ['a RegExp', /<\/a"\n(\d+)/giu],
  ['an ArrayBuffer', new Uint8Array([0, 1, 255]).buffer],
  ['an empty typed array', new Uint8Array()],
  ['every typed array', [
    new Int8Array([-1]), new Uint8Array([255]), new Uint8ClampedArray([300]), new Int16Array([-2]), new Uint16Array([65535]),
    new Int32Array([-3]), new Uint32Array([2 ** 32 - 1]), new Float32Array([0.5, NaN]), new Float64Array([-0, Infinity]),
    new BigInt64Array([-1n]), new BigUint64Array([2n ** 64n - 1n]),
  ]],
  ['NUL, lone surrogates, line separators, 4-byte characters', ['\0', '\ud800', 'a\udc00b', '\u2028\u2029', '𝄞👩‍👩‍👧', { '\ud800\0': 1 }]],
  ['the same beside a Date', { at: new Date(0), text: '\0\ud800\udfff\udfff</script>\u2028👍', '\udfff<': 1 }],
  ['keys such as __proto__', withProto()],
  ['keys such as __proto__ beside a Date', { at: new Date(0), in: [new Map([['k', withProto()]]), withProto()] }],
  ['__proto__ with an Error in it', JSON.parse('{"__proto__":1}', (key, value) => key === '__proto__' ? new Error('inside') : value)],
  ['data that looks encoded', { json: 1, devalue: [['Date', 0]], data: { name: 'x', message: 'y' } }],
  ['lists that look encoded, beside a BigInt', [1n, ['Date', 'x'], ['Error', 1], [-7, 3], -2, [-2, -1]]],
  ['a shared reference', { first: shared, second: [shared] }],
]

describe('values come back equal, live and replayed', () => {
  it.each(same)('%s', (_, value) => {
    for (const back of [roundTrip(value), replayed(value)]) {
      expect(isDeepStrictEqual(back, value), JSON.stringify(encode(value))).toBe(true)
    }
  })

  it('an invalid Date', () => {
    // Not by isDeepStrictEqual: to the one of Node 22.13 no invalid Date equals another.
    for (const back of [roundTrip(new Date(NaN)), replayed(new Date(NaN))]) expect(back).toStrictEqual(new Date(NaN))
  })

  it('keeps the order of keys, of entries and of elements', () => {
    const back = replayed({ z: 1, a: new Map([['z', 1], ['a', 2]]), m: new Set(['z', 'a']) }) as { a: Map<string, number>, m: Set<string> }
    expect(Object.keys(back)).toEqual(['z', 'a', 'm'])
    expect([...back.a.keys(), ...back.m]).toEqual(['z', 'a', 'z', 'a'])
  })

  it('brings __proto__ back as an own property that changes no prototype', () => {
    for (const value of [withProto(), [withProto(), 1n]]) {
      const back = [replayed(value)].flat()[0] as object
      expect(Object.keys(back)).toEqual(['__proto__', 'constructor', 'prototype', 'toString'])
      expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
      expect('x' in back).toBe(false)
    }
  })
})

describe('with a hardened Object.prototype', () => {
  it('keys such as toString come back as well', () => {
    Object.defineProperty(Object.prototype, 'toString', { writable: false })
    try {
      for (const value of [{ toString: 'x' }, { toString: 1n }]) {
        expect(isDeepStrictEqual(replayed(value), value)).toBe(true)
      }
    } finally {
      Object.defineProperty(Object.prototype, 'toString', { writable: true })
    }
  })
})

describe('values that come back as something simpler, the same on both paths', () => {
  const bytes = Buffer.from('pooled')
  const view = new Uint8Array([1, 2, 3, 4]).subarray(1, 3)
  const dictionary = Object.assign(Object.create(null), { a: 1 })
  const rows: [string, unknown, unknown][] = [
    ['a Buffer is a Uint8Array', bytes, new Uint8Array(bytes)],
    ['a view has a buffer of its own', view, new Uint8Array([2, 3])],
    ['an object without prototype is an ordinary one', dictionary, { a: 1 }],
    ['the same beside a BigInt', [dictionary, 1n], [{ a: 1 }, 1n]],
    ['a getter is its value', { get a() { return 1 } }, { a: 1 }],
    ['what is not enumerable is absent', Object.defineProperty({ a: 1 }, 'hidden', { value: () => {} }), { a: 1 }],
    ['objects of another realm are ours', runInNewContext('({ a: [1, { b: null }], d: new Date(5), m: new Map([[1, /x/g]]), s: new Set(), t: new Uint8Array(2) })'),
      { a: [1, { b: null }], d: new Date(5), m: new Map([[1, /x/g]]), s: new Set(), t: new Uint8Array(2) }],
  ]
  it.each(rows)('%s', (_, value, expected) => {
    for (const back of [roundTrip(value), replayed(value)]) expect(isDeepStrictEqual(back, expected)).toBe(true)
  })

  it('does not keep the bytes around a view', () => {
    expect(JSON.stringify(encode(Buffer.from('x')))).toBe('{"devalue":[["Uint8Array",1],["ArrayBuffer","eA=="]]}')
    expect((roundTrip(view) as Uint8Array).buffer.byteLength).toBe(2)
  })
})

describe('what is written', () => {
  it('is readable JSON for plain data', () => {
    expect(encode({ a: [1, 'x', null] })).toEqual({ json: { a: [1, 'x', null] } })
  })

  it('names the types otherwise', () => {
    expect(encode({ at: new Date(0) })).toEqual({ devalue: [{ at: 1 }, ['Date', '1970-01-01T00:00:00.000Z']] })
    expect(encode(undefined)).toEqual({ devalue: -1 })
  })

  it.each([['alone', ['\0\ud800']], ['beside a BigInt', ['\0\ud800', 1n]]])('has escapes for NUL and lone surrogates: %s', (_, value) => {
    const text = JSON.stringify(encode(value))
    expect(text).toContain('\\u0000\\ud800')
    expect(text.isWellFormed() && !text.includes('\0')).toBe(true)
  })

  it('does not grow exponentially with shared references', () => {
    let value: unknown = ['leaf']
    for (let i = 0; i < 60; i++) value = [value, value]
    expect(byteLength(encode(value))).toBeLessThan(1000)
  })

  it('shares nothing with the value, nor what is decoded with what was written', () => {
    for (const extra of [1, 1n]) {
      const value = { list: [1], extra }
      const encoded = encode(value)
      value.list.push(2)
      const first = decode(encoded) as { list: number[] }
      first.list.push(3)
      expect(decode(encoded)).toEqual({ list: [1], extra })
    }
  })

  it('calls a getter once and toJSON never', () => {
    let calls = 0
    const value = { get a() { calls++; return new Date(0) } }
    expect(encode(value)).toEqual({ devalue: [{ a: 1 }, ['Date', '1970-01-01T00:00:00.000Z']] })
    expect(calls).toBe(1)
    expect(() => encode({ toJSON: () => calls++ })).toThrow('value.toJSON is a function')
    expect(calls).toBe(1)
  })
})
