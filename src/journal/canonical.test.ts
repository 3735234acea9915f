import { describe, expect, it } from 'vitest'
import { canonical } from './canonical.ts'

const withStack = (): Error => new TypeError('m')
const itsOwnCause = (): Error => {
  const error = new Error('m')
  return Object.assign(error, { cause: [{ error }] })
}
const part = { a: 1 }

describe('values that count as the same have one text', () => {
  it.each<[string, unknown, unknown]>([
    ['whatever the order of keys', { a: 1, b: { d: 2, c: 3 } }, { b: { c: 3, d: 2 }, a: 1 }],
    ['whatever the order of keys that look like numbers', { 10: 1, 9: 2, a: 3 }, { a: 3, 9: 2, 10: 1 }],
    ['with or without a property that is undefined', { a: 1, b: undefined, c: { d: undefined } }, { a: 1, c: {} }],
    ['whatever the order of a Set', new Set<unknown>([1, '1', { b: 1, a: 2 }]), new Set<unknown>([{ a: 2, b: 1 }, '1', 1])],
    ['whatever the order of a Map', new Map<unknown, unknown>([['a', 1], [{ x: 1 }, 2]]), new Map<unknown, unknown>([[{ x: 1 }, 2], ['a', 1]])],
    ['-0 and 0', [-0], [0]],
    ['a hole and undefined', Object.assign([], { length: 1 }), [undefined]],
    ['a Buffer and its bytes', Buffer.from('ab'), new Uint8Array([97, 98])],
    ['a view and its bytes', new Uint8Array([1, 2, 3]).subarray(1), new Uint8Array([2, 3])],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['one object twice, and two that are equal', [part, part], [{ a: 1 }, { a: 1 }]],
    ['errors thrown at different places', withStack(), new TypeError('m')],
    ['errors with and without what cannot be stored', Object.assign(new Error('m', { cause: () => {} }), { code: 'X', socket: [[new Proxy({}, {})]] }), Object.assign(new Error('m'), { code: 'X' })],
    ['errors whose properties stand in another order', Object.assign(new Error('m'), { a: 1, b: [2] }), Object.assign(new Error('m'), { b: [2], a: 1, c: undefined })],
    ['an error that is its own cause, and one that is not', itsOwnCause(), new Error('m')],
  ])('%s', (_, one, other) => {
    expect(canonical(one)).toBe(canonical(other))
  })
})

describe('different values have different texts', () => {
  const at = new Date(0)
  const values: unknown[] = [
    null, undefined, true, false, 0, 1, '', '0', '1', 'null', 'undefined', 'true', NaN, 'NaN', Infinity, -Infinity, 1n, '1n', 2n,
    [], {}, [[]], [{}], [null], [undefined], ['a', 'b'], ['a,b'], ['a","b'], [1, 2], [12], { a: 1 }, { a: '1' }, { a: null }, { b: 1 }, { 'a":1,"b': 1 },
    new Date(0), new Date(1), new Date(NaN), at.toISOString(), at.getTime() + 5, 'Date(0)', { Date: 0 },
    new Map(), new Set(), new Map([['a', 1]]), new Map([['a', undefined]]), new Map([[1, 'a']]), [['a', 1]], new Set(['a', 1]), new Set([['a', 1]]),
    new Uint8Array([1]), new Uint8Array([1, 0]), new Int8Array([1]), new Uint16Array([1]), new Uint8Array([1]).buffer, 'AQ==',
    new URL('https://a.b/'), new URL('https://a.b/c'), 'https://a.b/', /a/, /a/g, /b/, '/a/', new Error('a'), new TypeError('a'), new Error('b'), 'Error: a',
    new Error('a', { cause: 1 }), new Error('a', { cause: new Error('b') }), Object.assign(new Error('a'), { code: 'X' }), Object.assign(new Error('a'), { order: 7 }), Object.assign(new Error('a'), { order: 8 }),
    new AggregateError([1], 'a'), new AggregateError([2], 'a'), Object.assign(new Error('a'), { headers: new Headers({ a: '1' }) }),
    JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":{"a":1}}'), { constructor: 1 }, '\ud800', '\udc00', '\ufffd', '\0', '\\u0000',
  ]
  it('pairwise, in a table', () => {
    const texts = new Map<string, unknown>()
    for (const value of values) {
      const text = canonical(value)
      expect(texts.has(text), text).toBe(false)
      texts.set(text, value)
    }
    expect(new Set(values.map((value) => canonical([value]))).size).toBe(values.length)
  })

  it('which survive hashing as UTF-8', () => {
    for (const text of ['\ud800', 'a\udfff', { '\ud800': 1 }, new Map([['\ud800', /\ud800/]])]) expect(canonical(text).isWellFormed()).toBe(true)
  })

  it('which are what the docs show', () => {
    expect(canonical({ b: 1, a: [new Date(0), undefined], c: undefined })).toBe('{"a":[Date(0),undefined],"b":1}')
  })
})
