import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { canonical } from './canonical.ts'
import { byteLength, encode, roundTrip } from './codec.ts'
import { MAX_DEPTH } from './json.ts'

class Session { id = 1 }
class Cache extends Map<string, number> {}
class List extends Array<number> {}
class Bytes extends Uint8Array {}

const loop: { a: { self?: unknown } } = { a: {} }
loop.a.self = loop.a
const mapLoop = new Map<string, unknown>()
mapLoop.set('me', [mapLoop])
const hostile = new Proxy({}, {
  get() { throw new Error('trap') },
  getPrototypeOf() { throw new Error('trap') },
  ownKeys() { throw new Error('trap') },
})
const revoked = Proxy.revocable({}, {})
revoked.revoke()

const refused: [string, unknown, string][] = [
  ['a function', { items: [0, { callback: () => {} }] }, 'result.items[1].callback is a function'],
  ['a function at the root', () => {}, 'result is a function'],
  ['a class', { Session }, 'result.Session is a function'],
  ['a symbol', [Symbol('s')], 'result[0] is a symbol'],
  ['a symbol as a key', { a: { [Symbol('s')]: 1 } }, 'result.a[Symbol(s)] has a symbol for its key'],
  ['an instance of a class', { 'my session': new Session() }, 'result["my session"] is an instance of Session'],
  ['an instance of a class without prototype chain', Object.create(Object.create(null)), 'result is an object with a prototype of its own'],
  ['a subclass of Map', new Cache(), 'result is an instance of Cache'],
  ['a subclass of Array', [new List()], 'result[0] is an instance of List'],
  ['a subclass of a typed array', new Bytes(1), 'result is an instance of Bytes'],
  ['a Promise', { answer: Promise.resolve(1) }, 'result.answer is a Promise (not awaited)'],
  ['a WeakMap', new WeakMap(), 'result is an instance of WeakMap'],
  ['a boxed primitive', [Object('x')], 'result[0] is an instance of String'],
  ['a DataView', new DataView(new ArrayBuffer(1)), 'result is an instance of DataView'],
  ['a SharedArrayBuffer', new SharedArrayBuffer(1), 'result is an instance of SharedArrayBuffer'],
  ['a Response', { response: new Response('x') }, 'result.response is an instance of Response'],
  ['a Proxy, without touching it', [hostile], 'result[0] is a Proxy'],
  ['a revoked Proxy', revoked.proxy, 'result is a Proxy'],
  ['an object whose prototype is a Proxy', Object.create(hostile), 'result'],
  ['a cycle', loop, 'result.a.self refers back to result.a, which contains it'],
  ['a cycle through a Map', mapLoop, 'result.get("me")[0] refers back to result, which contains it'],
  ['a key of a Map', new Map([[() => {}, 1]]), 'result.keys()[0] is a function'],
  ['an element of a Set', new Set([1, Symbol.iterator]), 'result.values()[1] is a symbol'],
  ['a named property on an array', /x(?<n>y)/.exec('xy'), 'result.groups is a property on an array'],
  ['a named property on a Date', Object.assign(new Date(0), { zone: 'UTC' }), 'result.zone is a property on a Date'],
  ['a function in a sparse array', Object.assign([], { 7: () => {} }), 'result[7] is a function'],
  ['a getter that throws', { a: [{ get b() { throw new TypeError('inside') } }] }, 'result.a[0].b cannot be read'],
  ['a getter that throws no error', { get a() { throw undefined } }, 'result.a cannot be read'],
]

const caught = (run: () => unknown): HoldfastError => {
  try {
    run()
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = wrap(value)
  return value
}

describe('what cannot be stored is one named error with the path', () => {
  it.each(refused)('%s', (_, value, message) => {
    for (const error of [caught(() => encode(value, { path: 'result' })), caught(() => canonical(value, 'result'))]) {
      expect(error.code).toBe('VALUE_NOT_STORABLE')
      expect(error.message).toContain(message)
      expect(error.message).toContain('Use plain data')
    }
  })

  it('keeps what a getter threw as the cause', () => {
    const thrown = new HoldfastError('RUN_BUSY', 'from inside')
    const error = caught(() => encode({ get a() { throw thrown } }))
    expect([error.code, error.cause]).toEqual(['VALUE_NOT_STORABLE', thrown])
  })

  it.each<[string, (inner: unknown) => unknown]>([
    ['objects', (a) => ({ a })],
    ['arrays', (a) => [a]],
    ['Maps', (a) => new Map([[a, 1n]])],
    ['__proto__', (a) => Object.defineProperty({ n: 1n }, '__proto__', { value: a, enumerable: true })],
  ])('refuses depth beyond the limit, and takes what is within it: %s', (_, wrap) => {
    const deep = nested(MAX_DEPTH, wrap)
    expect(canonical(roundTrip(deep))).toBe(canonical(deep))
    for (const levels of [MAX_DEPTH + 1, 100_000]) {
      const value = nested(levels, wrap)
      for (const run of [() => encode(value), () => canonical(value)]) {
        const error = caught(run)
        expect([error.code, error.message]).toEqual(['VALUE_NOT_STORABLE', expect.stringContaining('is nested deeper than 500 levels')])
        expect(error.message.length).toBeLessThan(400)
      }
    }
  })
})

describe('a value beyond the limit is refused with its size', () => {
  it.each<[string, unknown]>([
    ['plain', { text: 'é\u2028\0👍'.repeat(100) }],
    ['with types', [new Uint8Array(1000), 1n, '<\ud800'.repeat(50)]],
  ])('counts the bytes of the JSON text: %s', (_, value) => {
    const size = byteLength(encode(value))
    expect(size).toBe(new TextEncoder().encode(JSON.stringify(encode(value))).length)
    expect(encode(value, { maxBytes: size })).toEqual(encode(value))
    const error = caught(() => encode(value, { maxBytes: size - 1, path: 'result of tool "search"' }))
    expect(error.code).toBe('VALUE_TOO_LARGE')
    expect(error.message).toContain(`result of tool "search" takes ${size} bytes as JSON, the limit is ${size - 1}`)
  })

  it('4 MB at a limit of 2 MB', () => {
    const error = caught(() => encode('x'.repeat(4_000_000), { maxBytes: 2_000_000 }))
    expect(error.message).toContain('value takes 4000011 bytes as JSON, the limit is 2000000')
  })

  it('stops fingerprinting what shares its parts exponentially often', () => {
    const value = nested(60, (part) => [part, part])
    const error = caught(() => canonical(value, 'input'))
    expect(error.code).toBe('VALUE_TOO_LARGE')
    expect(error.message).toMatch(/^input is too large to compare: more than 134217728 characters, .*Keep large data elsewhere and pass a reference to it/)
  })
})
