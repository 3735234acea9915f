import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { called, generationOf, isWithin, keyed, MAIN, numbered, parentOf, placeOf, regenerated } from './identity.ts'

describe('R1: the path of a step', () => {
  it.each([
    [numbered(MAIN, 3), '3'],
    [numbered('3/c:call_7', 0), '3/c:call_7/0'],
    [called('3', 'call_7', 0), '3/c:call_7'],
    [called('3', 'call_7', 2), '3/c:call_7#2'],
    [called('3', 'a/b~1#2', 0), '3/c:a%2Fb%7E1%232'],
    [keyed(MAIN, 'b', 'eu', undefined, 1), 'b:eu#1'],
    [keyed(MAIN, 's', 'charge', '17', 0), 's:charge:17#0'],
    [keyed(MAIN, 's', 'charge', '', 0), 's:charge:#0'],
    [keyed('b:eu#0', 'a', 'desk', undefined, 0), 'b:eu#0/a:desk#0'],
    [regenerated('3', 0), '3'],
    [regenerated('3', 2), '3~2'],
  ])('is %s', (path, expected) => {
    expect(path).toBe(expected)
  })

  it.each([
    ['3', '3', 0, MAIN],
    ['3~2', '3', 2, MAIN],
    ['3~2/c:x', '3~2/c:x', 0, '3~2'],
    ['3~2/c:x~1', '3~2/c:x', 1, '3~2'],
    ['3~2/c:x~1/0', '3~2/c:x~1/0', 0, '3~2/c:x~1'],
    [MAIN, MAIN, 0, undefined],
  ])('%s stands at place %s in generation %i, below %s', (path, place, generation, parent) => {
    expect(placeOf(path)).toBe(place)
    expect(generationOf(path)).toBe(generation)
    expect(parentOf(path)).toBe(parent)
  })

  it.each([
    ['3', MAIN, true],
    ['3', '3', true],
    ['3/c:x/0', '3', true],
    ['3/c:x/0', '3/c:x', true],
    ['3~1', '3', false],
    ['31', '3', false],
    ['3/c:xy', '3/c:x', false],
    ['3', '3/c:x', false],
  ])('%s lies within "%s": %s', (path, root, expected) => {
    expect(isWithin(path, root)).toBe(expected)
  })

  it('tells a lone surrogate from the text of its escape', () => {
    expect(called('0', '\ud800', 0)).not.toBe(called('0', JSON.stringify('\ud800'), 0))
    expect(called('0', '\ud800', 0)).not.toBe(called('0', '\ud801', 0))
  })

  it('is another one for every other name, key, call id and occurrence, whatever text these are', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6 }).chain((s) => fc.constantFrom(s, `${s}~1`, `${s}#1`, `${s}/0`, `${s}:a`, `${s}\ud800`, '', '0'))
    const place = fc.oneof(
      fc.record({ type: fc.constantFrom('s' as const, 'b' as const, 'a' as const), name: text, key: fc.option(text, { nil: undefined }), occurrence: fc.nat(2) }),
      fc.record({ callId: text, occurrence: fc.nat(2) }),
      fc.record({ slot: fc.nat(20) }),
    )
    const pathOf = (p: typeof place extends fc.Arbitrary<infer T> ? T : never): string => {
      if ('slot' in p) return numbered('9', p.slot)
      return 'callId' in p ? called('9', p.callId, p.occurrence) : keyed('9', p.type, p.name, p.key, p.occurrence)
    }
    fc.assert(fc.property(place, place, fc.nat(3), (a, b, generation) => {
      expect(pathOf(a) === pathOf(b)).toBe(JSON.stringify(a) === JSON.stringify(b))
      const path = regenerated(pathOf(a), generation)
      expect(placeOf(path)).toBe(pathOf(a))
      expect(generationOf(path)).toBe(generation)
      expect(parentOf(path)).toBe('9')
    }), { numRuns: 500 })
  })
})
