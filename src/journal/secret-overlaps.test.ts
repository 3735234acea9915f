/** Secrets that begin in each other. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decode, encode } from './codec.ts'
import { fingerprint } from './fingerprint.ts'
import { Secrets, unsealed } from './secrets.ts'

const A = 'abcdefgh12345678', B = '12345678ijklmnop', C = 'mnop"/qrstuv'
const secrets = Secrets.of({ A, B, C })!

const sealed = (value: unknown, by = secrets): { readonly text: unknown; readonly back: (by: Secrets) => unknown } => {
  const record = JSON.parse(by.seal({ type: 'x', input: encode(value) })) as { input: unknown }
  return { text: decode(record.input), back: (other) => decode(unsealed('r', record, other).input) }
}

it.each<[string, string, string]>([
  ['two', 'x abcdefgh12345678ijklmnop y', 'x {{secret:A}}{{secret:B|from8}} y'],
  ['three, one of them in two', 'abcdefgh12345678ijklmnop"/qrstuv', '{{secret:A}}{{secret:B|from8}}{{secret:C|from4}}'],
  ['such as stand beside each other', `${A}${B}${B}`, '{{secret:A}}{{secret:B}}{{secret:B}}'],
  ['two in JSON text', JSON.stringify({ a: '12345678ijklmnop"/qrstuv' }), '{"a":"{{secret:B|json}}{{secret:C|json-from4}}"}'],
  ['two in a URL', `?k=${encodeURIComponent('12345678ijklmnop"/qrstuv')}`, '?k={{secret:B}}{{secret:C|uri-from4}}'],
  ['a part of one', '45678ijklmnop abcdefgh12345678ijkl', '45678ijklmnop {{secret:A}}ijkl'],
])('of %s nothing is left, and all is back as it was', (_, text, shown) => {
  expect(sealed({ text }).text).toEqual({ text: shown })
  expect(sealed({ text }).back(secrets)).toEqual({ text })
  expect(secrets.hide(text)).toBe(shown.replaceAll(/\|[\w-]+/g, ''))
})

it('one that begins in itself is hidden as often as it takes', () => {
  const by = Secrets.of({ K: 'abababab' })!
  const { text, back } = sealed('ababababab', by)
  expect(text).toBe('{{secret:K}}{{secret:K|from6}}')
  expect(back(by)).toBe('ababababab')
  expect(sealed('x'.repeat(8 * 1000), Secrets.of({ K: 'x'.repeat(8) })).text).toBe('{{secret:K}}'.repeat(1000))
})

it('where they do not overlap any more, each of the new values stands as a whole, and is hidden again', () => {
  const { back } = sealed(`key ${A}ijklmnop`)
  const other = Secrets.of({ A: 'another-key', B: 'key-of-its-own', C })!
  expect(back(other)).toBe('key another-keykey-of-its-own')
  expect(fingerprint(back(other), other)).toBe(fingerprint(`key ${A}ijklmnop`, secrets))
  expect(back(Secrets.of({ A: 'other:12345678', B: '12345678@host', C })!)).toBe('key other:12345678@host')
})

it.each([
  ['a quote', 'abcdefgh"j', '"jklmnopqr', 'abcdefgh"jklmnopqr', '"jklmnopqr'],
  ['a backslash', 'abcdefg\\', '\\jklmnopqr', 'abcdefg\\jklmnopqr', '\\jklmnopqr'],
  ['a line', 'abcdefgh\nj', '\njklmnopqr', 'abcdefgh\njklmnopqr', '\njklmnopqr'],
])('JSON text is JSON under another value too, where the second begins with %s', (_, first, second, joined, rest) => {
  const by = Secrets.of({ A: first, B: second })!
  const other = Secrets.of({ A: 'another-key', B: second })!
  for (const wrap of [(text: string) => JSON.stringify({ a: text }), (text: string) => JSON.stringify([JSON.stringify({ a: text })]), (text: string) => encodeURIComponent(JSON.stringify({ a: text }))]) {
    const { back } = sealed(wrap(joined), by)
    expect(back(by)).toBe(wrap(joined))
    expect(back(other)).toBe(wrap(`another-key${rest}`))
  }
})

it('any secrets in each other in JSON text: under other values it is JSON of these', () => {
  const unit = fc.constantFrom('a', 'b', '"', '/', 'é', '%', '\n')
  const text = fc.string({ unit, minLength: 8, maxLength: 14 }).filter((value) => value.length >= 8)
  fc.assert(fc.property(fc.uniqueArray(text, { minLength: 2, maxLength: 2 }), fc.nat(7), ([a = '', b = ''], from) => {
    const before = a.slice(0, a.length - from)
    fc.pre(before + b.slice(0, from) !== b)
    const by = Secrets.of({ A: before + b.slice(0, from), B: b })!
    const { back } = sealed(JSON.stringify({ a: before + b }), by)
    expect(Object.keys(JSON.parse(back(Secrets.of({ A: 'another-key', B: 'one of its own' })!) as string) as object)).toEqual(['a'])
  }), { numRuns: 1000 })
})

it('any secrets in any text, in each other and in other texts: each is hidden, nothing of any stays, and all is back', () => {
  const unit = fc.constantFrom('a', 'b', '"', '/', 'é', '%')
  const text = fc.string({ unit, minLength: 8, maxLength: 14 }).filter((value) => value.length >= 8)
  const put = fc.constantFrom((value: string) => value, (value: string) => JSON.stringify([value]), encodeURIComponent, (value: string) => JSON.stringify([JSON.stringify({ a: value })]), (value: string) => encodeURIComponent(value).toLowerCase())
  fc.assert(fc.property(fc.uniqueArray(text, { minLength: 1, maxLength: 3 }), fc.array(fc.tuple(fc.nat(2), fc.nat(13)), { minLength: 1, maxLength: 5 }), put, (values, pieces, wrap) => {
    const by = Secrets.of(Object.fromEntries(values.map((value, i) => [`K${i}`, value])))!
    // One after the other, each behind as much of it as the one before may have already.
    const joined = pieces.reduce((before, [which, from]) => {
      const value = values[which % values.length]!
      return before.endsWith(value.slice(0, from)) ? before + value.slice(from) : before + value
    }, '')
    const { text: shown, back } = sealed(wrap(joined), by)
    expect(back(by)).toBe(wrap(joined))
    expect((shown as string).replaceAll(/\{\{secret(?:-\d+)?:K\d(?:\|[\w-]+)?\}\}/g, '')).toBe(wrap('-').replace('-', ''))
  }), { numRuns: 1000 })
})
