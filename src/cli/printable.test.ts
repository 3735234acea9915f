import { describe, expect, it } from 'vitest'
import { cut, oneLine, printable, printableLines, widthOf } from './printable.ts'

describe('printable', () => {
  it.each([
    ['plain text, ünïcode 漢字 👍🏽', 'plain text, ünïcode 漢字 👍🏽'],
    ['\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
    ['\u009b2J', '\\u009b2J'],
    ['bell\u0007 back\b del\u007f', 'bell\\u0007 back\\u0008 del\\u007f'],
    ['two\nlines\tand\r', 'two\\nlines\\tand\\u000d'],
    ['\u202egpj.exe', '\\u202egpj.exe'],
    ['lone \ud800 surrogate', 'lone \\ud800 surrogate'],
    ['line\u2028separator', 'line\\u2028separator'],
    ['nul\0', 'nul\\u0000'],
  ])('writes %j as %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  it('keeps line breaks and tabs where lines are shown', () => {
    expect(printableLines('a\n\tb\r\nc\rd\u001b')).toBe('a\n\tb\nc\\u000dd\\u001b')
  })

  it('makes the same JSON of JSON text', () => {
    const value = { 'a\u009b\u202e': ['\u001b[2J', '\n\t\ud800', '\u007f'] }
    expect(JSON.parse(printableLines(JSON.stringify(value, null, 2)))).toEqual(value)
  })

  it('makes one line of many', () => {
    expect(oneLine(' a\n  b\u001b[1m\tc ')).toBe('a b\\u001b[1m c')
  })
})

describe('width', () => {
  it.each([['abc', 3], ['', 0], ['漢字', 4], ['👍🏽', 2], ['e\u0301', 1]])('of %j is %d', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  it.each([
    ['abcdef', 6, 'end', 'abcdef'],
    ['abcdef', 5, 'end', 'abcd…'],
    ['abcdef', 5, 'middle', 'ab…ef'],
    ['abcdef', 4, 'middle', 'ab…f'],
    ['漢字漢字', 5, 'end', '漢字…'],
  ] as const)('cuts %j to %d at the %s: %j', (text, width, at, shown) => {
    expect(cut(text, width, at)).toBe(shown)
  })
})
