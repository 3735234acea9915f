import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyAgain, copyOf, isSame } from './copy.ts'
import { fingerprint } from './fingerprint.ts'

class Point { x = 1 }

const every = (): Record<string, unknown> => ({
  list: ['a', { b: 1 }], nothing: null, none: undefined, at: new Date(0), url: new URL('https://a.example/?q=1'), pattern: /x/gi, bytes: Uint8Array.of(1, 2), buffer: Buffer.of(3),
  raw: Uint8Array.of(4).buffer, map: new Map<unknown, unknown>([[{ key: 1 }, ['x']]]), set: new Set([['y']]), bare: Object.assign(Object.create(null) as object, { z: 1 }),
  holes: Object.assign(Array(3), { 1: 'here' }), named: Object.assign(['m'], { index: 0 }), ['__proto__']: undefined,
})

describe('a copy', () => {
  it('is equal to plain data and built-in types, and shares no object with them', () => {
    const value = every()
    const copy = copyOf(value)
    expect(copy).toStrictEqual(value)
    for (const key of Object.keys(value)) if (typeof value[key] === 'object' && value[key] !== null) expect([key, copy[key] === value[key]]).toEqual([key, false])
    expect(Buffer.isBuffer(copy['buffer'])).toBe(true)
  })

  it('does not change with what it was made of, nor that with it, at any depth', () => {
    const value = every() as { list: [string, { b: number }]; at: Date; url: URL; bytes: Uint8Array; map: Map<unknown, string[]> }
    const copy = copyOf(value)
    value.list[1].b = 2
    value.at.setTime(1)
    value.url.search = ''
    value.bytes[0] = 9
    for (const items of value.map.values()) items.push('y')
    expect(copy).toStrictEqual(every())
    copy.list[1].b = 3
    expect(value.list[1].b).toBe(2)
  })

  it('refers to one object twice, and to itself, as the value does', () => {
    const shared = {}
    const value: Record<string, unknown> = { a: shared, b: shared }
    value['self'] = value
    const copy = copyOf(value)
    expect([copy['a'] === copy['b'], copy['self'] === copy, copy['a'] === shared]).toEqual([true, true, false])
  })

  it.each<[string, object]>([
    ['an instance of a class', new Point()], ['an error', new Error('x')], ['an object with a function', { f: () => 1 }], ['one with a symbol', { [Symbol('s')]: 1 }], ['a Proxy', new Proxy({}, {})],
    ['a Promise', Promise.resolve()], ['one whose getter throws', { get x() { throw new Error('no') } }], ['a list of functions', [() => 1]],
  ])('holds %s itself, beside copies of the rest', (_, odd) => {
    const value = { odd, list: ['a'] }
    const copy = copyOf(value)
    expect([copy.odd === odd, copy.list === value.list, copy.list]).toEqual([true, false, ['a']])
  })

  it('ends with what is nested too deep to be stored', () => {
    let value: unknown[] = []
    for (let i = 0; i < 20_000; i++) value = [value]
    expect(copyOf(value)[0]).not.toBe(value[0])
  })

  it('of a copy is one as well', () => {
    const { named: _, ...kept } = every()
    const copy = copyOf(kept)
    const again = copyAgain(copy)
    expect(again).toStrictEqual(copy)
    for (const key of Object.keys(copy)) if (typeof copy[key] === 'object' && copy[key] !== null) expect([key, again[key] === copy[key]]).toEqual([key, false])
  })
})

describe('isSame', () => {
  it.each<[string, unknown, unknown, boolean]>([
    ['new objects around the same parts', { a: ['x', { at: 1 }] }, { a: ['x', { at: 1 }] }, true],
    ['keys in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
    ['NaN', [NaN], [NaN], true],
    ['another text', { a: 'x' }, { a: 'y' }, false],
    ['a key more', { a: 1 }, { a: 1, b: undefined }, false],
    ['another key', { a: undefined }, { b: undefined }, false],
    ['an item more', [1], [1, 2], false],
    ['a hole and an item', Array(1), [1], false],
    ['an item and a hole', [1], Array(1), false],
    ['an array and an object like it', [1], { 0: 1, length: 1 }, false],
    ['an object and an array', { 0: 1 }, [1], false],
    ['null and an object', null, {}, false],
    ['an object and null', {}, null, false],
    ['two dates', { at: new Date(0) }, { at: new Date(0) }, true],
    ['a date and a later one', new Date(0), new Date(1), false],
    ['two URLs', new URL('https://a.example/?q=1'), new URL('https://a.example/?q=1'), true],
    ['a URL and another', new URL('https://a.example/?q=1'), new URL('https://a.example/?q=2'), false],
    ['the same bytes, in a Buffer as well', [Uint8Array.of(1, 2), Buffer.of(3)], [Uint8Array.of(1, 2), Buffer.of(3)], true],
    ['other bytes', Uint8Array.of(1, 2), Uint8Array.of(1, 3), false],
    ['bytes and as many of another type', Uint8Array.of(1), Int8Array.of(1), false],
    ['two instances of a class: nobody can tell', new Point(), new Point(), false],
    ['two maps: nobody looks', new Map(), new Map(), false],
    ['an inherited key', { toString: 1 }, { x: 1 }, false],
  ])('compares %s', (_, a, b, same) => {
    expect(isSame(copyOf(a), b)).toBe(same)
  })

  it('never calls the same what has another fingerprint', () => {
    const json = fc.jsonValue({ maxDepth: 3 })
    fc.assert(fc.property(json, json, (a, b) => {
      const copy = copyOf(a)
      expect(isSame(copy, a)).toBe(true)
      if (isSame(copy, b)) expect(fingerprint(a)).toBe(fingerprint(b))
    }))
  })

  it.each<[string, object, (value: never) => void]>([
    ['an item', ['a'], (value: string[]) => value.push('b')],
    ['a property', { a: { b: 1 } }, (value: { a: { b: number } }) => { value.a.b = 2 }],
    ['a byte', { bytes: Uint8Array.of(1) }, (value: { bytes: Uint8Array }) => { value.bytes[0] = 2 }],
    ['a date', { at: new Date(0) }, (value: { at: Date }) => value.at.setTime(1)],
    ['an error: it has not been copied', { error: new Error('x') }, ({ error }: { error: Error }) => { error.message = 'y' }],
  ])('sees that an object is no more what it was: %s', (_, value, change) => {
    const copy = copyOf(value)
    change(value as never)
    expect(isSame(copy, value)).toBe(false)
  })
})
