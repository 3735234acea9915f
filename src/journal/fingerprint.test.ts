import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprint, isSame } from './fingerprint.ts'

class Point { x = 1 }
const cycle: Record<string, unknown> = {}
cycle['self'] = cycle

describe('fingerprint', () => {
  it('is the same whatever the order of keys, and differs with anything else', () => {
    expect(fingerprint({ a: 1, b: [2, 3] })).toBe(fingerprint({ b: [2, 3], a: 1, c: undefined }))
    expect(fingerprint({ a: 1, b: [2, 3] })).not.toBe(fingerprint({ a: 1, b: [3, 2] }))
    expect(fingerprint('1')).not.toBe(fingerprint(1))
    expect(fingerprint('\ud800')).not.toBe(fingerprint('\udfff'))
  })

  it('does not change from build to build: it stands in journals', () => {
    expect(fingerprint({ order: 17, at: new Date(0), tags: new Set(['a', 'b']) })).toBe('e2191d53db7b9cfe1821940a55bde0c0')
  })

  it.each<[string, unknown]>([['a function', { f: () => 1 }], ['an instance of a class', [new Point()]], ['a cycle', cycle], ['a symbol', Symbol('s')]])('is null for %s', (_, value) => {
    expect(fingerprint(value)).toBeNull()
  })
})

describe('isSame', () => {
  const shared = new Date(0)
  it.each<[string, unknown, unknown, boolean]>([
    ['new objects around the same parts', { a: ['x', { at: shared }] }, { a: ['x', { at: shared }] }, true],
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
    ['two instances of a class: they are compared as wholes', new Point(), new Point(), false],
    ['two dates', new Date(0), new Date(0), false],
    ['two maps', new Map(), new Map(), false],
    ['an inherited key', { toString: 1 }, { x: 1 }, false],
  ])('compares %s', (_, a, b, same) => {
    expect(isSame(a, b)).toBe(same)
  })

  it('never calls the same what has another fingerprint', () => {
    const json = fc.jsonValue({ maxDepth: 3 })
    fc.assert(fc.property(json, json, (a, b) => {
      const copy: unknown = structuredClone(a)
      expect(isSame(a, copy)).toBe(true)
      if (isSame(a, b)) expect(fingerprint(a)).toBe(fingerprint(b))
    }))
  })
})
