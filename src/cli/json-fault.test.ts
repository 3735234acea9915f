import fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonFault } from './json-fault.ts'

it.each<[string, string]>([
  ['yes', 'it is none from position 0 on (line 1, column 1)'],
  ['', 'it ends too early'],
  ['{"a":1', 'it ends too early'],
  ['{"a":1,}', 'it is none from position 7 on (line 1, column 8)'],
  ['[1,\n 2 3]', 'it is none from position 7 on (line 2, column 4)'],
  ['{"key": sk_live}', 'it is none from position 8 on (line 1, column 9)'],
  ['{"key" "v"}', 'it is none from position 7 on (line 1, column 8)'],
  ['[1}', 'it is none from position 2 on (line 1, column 3)'],
  ['{]', 'it is none from position 1 on (line 1, column 2)'],
  [' 1 2', 'it is none from position 3 on (line 1, column 4)'],
  ['"open', 'it is none from position 0 on (line 1, column 1)'],
])('of %j it is said where it is no JSON', (text, words) => {
  expect(jsonFault(text)).toBe(words)
})

it('nothing is said against what is JSON, and something of all else', () => {
  const text = fc.oneof(fc.json(), fc.string({ unit: fc.constantFrom('[', ']', '{', '}', ',', ':', '"a"', '1', ' ', 'true', 'x'), maxLength: 12 }))
  fc.assert(fc.property(text, fc.nat(40), (whole, cut) => {
    for (const given of [whole, whole.slice(0, cut)]) {
      let isJson = true
      try {
        JSON.parse(given)
      } catch {
        isJson = false
      }
      if (isJson) expect(jsonFault(given)).toBe('it ends too early')
      else expect(jsonFault(given)).toMatch(/^it /)
    }
  }), { numRuns: 500 })
})
