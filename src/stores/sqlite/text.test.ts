import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromBytes, toBytes } from './text.ts'

/** Any sequence of UTF-16 code units, lone surrogates and NUL included. */
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)), maxLength: 20 })

describe('text as bytes', () => {
  it.each(['', 'a', 'a\0b', '\ufeffa', 'ä', 'a\u0308', '😀', '\ud83d', '\ude00', '\ude00\ud83d', 'x\ud800', '\ufffd'])('gives %j back exactly', (text) => {
    expect(fromBytes(toBytes(text))).toBe(text)
  })

  it('gives any text back exactly', () => {
    fc.assert(fc.property(anyText, (text) => fromBytes(toBytes(text)) === text))
  })

  it('keeps texts with different lone surrogates apart, which UTF-8 does not', () => {
    expect(toBytes('\ud800')).not.toEqual(toBytes('\ud801'))
    expect(toBytes('\ud800')).not.toEqual(toBytes('\ufffd'))
  })

  it('is readable UTF-8 wherever that is possible', () => {
    expect(Buffer.from(toBytes('ticket-123 😀')).toString('utf8')).toBe('ticket-123 😀')
  })
})
