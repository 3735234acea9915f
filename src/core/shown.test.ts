import { expect, it } from 'vitest'
import { shown } from './shown.ts'

const circular: { self?: unknown } = {}
circular.self = circular
const { proxy, revoke } = Proxy.revocable({}, {})
revoke()

it.each<[string, unknown, string]>([
  ['a text', 'a "text"', '"a \\"text\\""'],
  ['an object', { a: [1, null] }, '{"a":[1,null]}'],
  ['nothing', undefined, 'undefined'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['a function', () => 1, 'a function'],
  ['a bigint', 5n, '5n'],
  ['an object with a bigint', { amount: 89n }, '{"amount":"89n"}'],
  ['a number that JSON does not have', Number.NaN, 'NaN'],
  ['an object that holds itself', circular, 'an object that JSON has no text for'],
  ['a proxy whose other end is gone', proxy, 'an object that JSON has no text for'],
  ['an object whose toJSON throws', { toJSON: () => { throw new Error('no') } }, 'an object that JSON has no text for'],
])('%s has a text', (_what, value, text) => {
  expect(shown(value)).toBe(text)
})
