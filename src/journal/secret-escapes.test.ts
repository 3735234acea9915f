/** Secrets as programs write them into URLs, alone and in each other's texts. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decode, encode } from './codec.ts'
import { fingerprint } from './fingerprint.ts'
import { Secrets, unsealed } from './secrets.ts'

const of = (K: string): Secrets => Secrets.of({ K })!

const sealed = (value: unknown, secrets: Secrets): { readonly body: string; readonly text: unknown; readonly back: (by: Secrets) => unknown } => {
  const body = secrets.seal({ type: 'x', input: encode(value) })
  const record = JSON.parse(body) as { input: unknown }
  return { body, text: decode(record.input), back: (by) => decode(unsealed('r', record, by).input) }
}

const lower = (text: string): string => text.replaceAll(/%../g, (escape) => escape.toLowerCase())
const escaping = (chars: RegExp) => (text: string): string => text.replaceAll(chars, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
const keeping = (chars: string) => (text: string): string => [...encodeURIComponent(text).matchAll(/(?:%..)+|[^%]+/g)].map(([run]) => [...decodeURIComponent(run)].map((char) => (chars.includes(char) ? char : encodeURIComponent(char))).join('')).join('')
const plus = (text: string): string => text.replaceAll('%20', '+')

/** How programs write a text into a URL, and how it is read. */
const WRITERS: Readonly<Record<string, readonly [write: (text: string) => string, read: (text: string) => string]>> = {
  'encodeURIComponent': [encodeURIComponent, decodeURIComponent],
  'encodeURIComponent, in lower case': [(text) => lower(encodeURIComponent(text)), decodeURIComponent],
  'encodeURI': [encodeURI, decodeURIComponent],
  'URLSearchParams': [(text) => new URLSearchParams([['', text]]).toString().slice(1), (text) => new URLSearchParams(`a=${text}`).get('a')!],
  'Python, which leaves /': [keeping('/'), decodeURIComponent],
  'PHP, which escapes !\'()* too': [(text) => escaping(/[!'()*]/g)(encodeURIComponent(text)), decodeURIComponent],
  'Java, which writes + for a space': [(text) => plus(escaping(/[!'()~]/g)(encodeURIComponent(text))), (text) => decodeURIComponent(text.replaceAll('+', ' '))],
  '.NET, which does so in lower case': [(text) => lower(plus(escaping(/['~]/g)(encodeURIComponent(text)))), (text) => decodeURIComponent(text.replaceAll('+', ' '))],
  'what escapes all': [(text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''), decodeURIComponent],
  'what leaves other letters': [(text) => [...text].map((char) => (char > '\u007f' ? char : encodeURIComponent(char))).join(''), decodeURIComponent],
}

const OLD = `pa/ss+"w\\ö rd€ (a)~'!*&=%2f😀`
const NEW = `another "one" & / % + 'ä'~`

describe.each(Object.keys(WRITERS))('a secret in a URL as written by %s', (writer) => {
  const [write, read] = WRITERS[writer]!
  const url = (secret: string): string => `https://a.b/x?k=${write(secret)}&l=100%25`

  it('is hidden, the text comes back as it was, and holds another value in its place', () => {
    const { body, text, back } = sealed(url(OLD), of(OLD))
    expect(text).toMatch(/^https:\/\/a\.b\/x\?k=\{\{secret:K\|[\w-]+\}\}&l=100%25$/)
    expect(body).not.toContain(write(OLD))
    // No letter of it is told by how it is written.
    expect(text).not.toMatch(/[RE](?:3\d|[4-7][1-9a])/)
    expect(back(of(OLD))).toBe(url(OLD))
    const changed = back(of(NEW)) as string
    expect(read(changed.slice('https://a.b/x?k='.length, -'&l=100%25'.length))).toBe(NEW)
    expect(fingerprint(changed, of(NEW))).toBe(fingerprint(url(OLD), of(OLD)))
  })

  it('that stands in another URL, in JSON text or in JSON text in a URL is so too', () => {
    const json = JSON.stringify({ url: url(OLD), own: OLD })
    for (const value of [`https://c.d/?next=${encodeURIComponent(url(OLD))}`, json, `https://c.d/?q=${write(json)}`, JSON.stringify([`https://c.d/?q=${lower(encodeURIComponent(json))}`])]) {
      const { text, back } = sealed(value, of(OLD))
      expect(text).toContain('{{secret:K')
      expect(of(OLD).parts(text as string)).toBeUndefined()
      expect(back(of(OLD))).toBe(value)
      expect(fingerprint(back(of(NEW)), of(NEW))).toBe(fingerprint(value, of(OLD)))
    }
  })
})

it('URLs themselves keep it as their parts are written, and in lower case', () => {
  const url = new URL(`https://a.b/?k=${lower(encodeURIComponent(OLD))}`)
  const { body, back } = sealed({ url }, of(OLD))
  expect(body).not.toMatch(/pa%2f|ss%2b/)
  expect(back(of(OLD))).toEqual({ url })
  expect((back(of(NEW)) as { url: URL }).url.searchParams.get('k')).toBe(NEW)
})

describe('any secret', () => {
  const unit = fc.constantFrom('a', 'Z', '9', '/', '\\', '"', '&', 'é', '€', '\n', 'n', 'u', '0', '.', '+', '-', '😀', ' ', '%', '\'', '~')
  const key = fc.string({ unit, minLength: 8, maxLength: 12 }).filter((value) => value.length >= 8)
  /** Not as any program does: each character in its own way. `%` is escaped, and `+` where it could be a space, or nobody could read it. */
  const written = (value: string, ways: readonly number[]): string => {
    const chars = [...value].map((char, i) => [char, ways[i % ways.length]!] as const)
    const hasPlus = chars.some(([char, way]) => char === ' ' && way % 4 === 3)
    return chars.map(([char, way]) => {
      if (way % 4 === 0 && char !== '%' && !(char === '+' && hasPlus)) return char
      if (way % 4 === 3 && char === ' ') return '+'
      return [...Buffer.from(char).toString('hex')].map((digit, i) => `${i % 2 === 0 ? '%' : ''}${(way >> (2 + (i % 6))) % 2 === 0 ? digit : digit.toUpperCase()}`).join('')
    }).join('')
  }
  const asJson = (text: string): string => JSON.stringify({ a: ['before', text] })
  const mixed = (text: string): string => asJson(text).replaceAll(/[^ -~]/g, (char) => `\\u${[...char.charCodeAt(0).toString(16).padStart(4, '0')].map((digit, i) => (i % 2 ? digit.toUpperCase() : digit)).join('')}`)
  const wraps = fc.array(fc.constantFrom(asJson, mixed, encodeURIComponent, (text: string) => lower(encodeURIComponent(text))), { maxLength: 2 })

  it('is hidden in any URL, however its characters are written, in other texts too, and back as it was', () => {
    fc.assert(fc.property(key, key, fc.array(fc.nat(255), { minLength: 1, maxLength: 12 }), wraps, (value, other, ways, wrap) => {
      const text = wrap.reduce((inner, put) => put(inner), `~x=${written(value, ways)};~`)
      const { text: shown, back } = sealed(text, of(value))
      expect(shown).toContain('{{secret:K')
      expect(of(value).parts(shown as string)).toBeUndefined()
      expect(back(of(value))).toBe(text)
      expect(() => back(of(other))).not.toThrow()
    }), { numRuns: 1000 })
  })

  it('is hidden in JSON text whose escapes are in both cases', () => {
    fc.assert(fc.property(key, (value) => {
      const text = mixed(mixed(value))
      const { text: shown, back } = sealed(text, of(value))
      expect(of(value).parts(shown as string)).toBeUndefined()
      expect(back(of(value))).toBe(text)
    }), { numRuns: 1000 })
  })

  it('is hidden in base64, with = or without, in the alphabet of URLs or the other, and in a URL', () => {
    fc.assert(fc.property(key, key, fc.constantFrom(...BASE64), wraps, (value, other, write, wrap) => {
      const text = wrap.reduce((inner, put) => put(inner), `Basic ${write(value)}.`)
      const { text: shown, back } = sealed({ text }, of(value))
      expect(JSON.stringify(shown)).not.toContain(write(value).replaceAll('=', ''))
      expect((shown as { text: string }).text).toContain('{{secret:K|base64')
      expect(back(of(value))).toEqual({ text })
      expect(fingerprint(back(of(other)), of(other))).toBe(fingerprint({ text }, of(value)))
    }), { numRuns: 1000 })
  })
})

const BASE64: readonly ((text: string) => string)[] = [
  (text) => Buffer.from(text).toString('base64'), (text) => Buffer.from(text).toString('base64').replaceAll('=', ''),
  (text) => Buffer.from(text).toString('base64url'), (text) => Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_'),
]

it('what only looks like an escape is left alone', () => {
  const secrets = of('plain-key-2026')
  for (const text of ['100% plain-key-2026', '%zz%C3plain-key-2026%E0%80%80', '%plain-key-2026%', 'a+b plain-key-2026+']) {
    const { text: shown, back } = sealed(text, secrets)
    expect(shown).toBe(text.replace('plain-key-2026', '{{secret:K}}'))
    expect(back(secrets)).toBe(text)
  }
})
