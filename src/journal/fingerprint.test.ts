import { describe, expect, it } from 'vitest'
import { fingerprint } from './fingerprint.ts'

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
