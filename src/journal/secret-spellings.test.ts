import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decode, encode } from './codec.ts'
import { fingerprint } from './fingerprint.ts'
import { encodedAs, formNamed, nameOfForm } from './secret-forms.ts'
import { Secrets, unsealed } from './secrets.ts'

const numbered = (pattern: RegExp, upper = false) => (json: string): string => json.replaceAll(pattern, (unit) => {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
  return `\\u${upper ? hex.toUpperCase() : hex}`
})

/** How programs write JSON: each turns what JSON.stringify gives into its own. */
const WRITERS: Readonly<Record<string, (json: string) => string>> = {
  'JavaScript': (json) => json,
  'PHP, which escapes / and what is not ASCII': (json) => numbered(/[\u0080-\uffff]/g)(json).replaceAll('/', '\\/'),
  'Go, which escapes <, > and &': numbered(/[<>&\u2028\u2029]/g),
  'Python, which escapes what is not ASCII': numbered(/[\u007f-\uffff]/g),
  'Gson, which escapes = and \' too': numbered(/[<>&=']/g),
  '.NET, which escapes quotes and + by number': (json) => numbered(/[<>&'+`\u0080-\uffff]/g, true)(json.replaceAll('\\"', '\\u0022')),
}

const OLD = `R&D<"key">/é=+'😀\\x-2026`
const NEW = `another "key"\\ with / and & and ä\n`

const sealed = (value: unknown, secrets: Secrets): { readonly body: string; readonly back: (by: Secrets) => unknown } => {
  const body = secrets.seal({ type: 'x', input: encode(value) })
  return { body, back: (by) => decode(unsealed('r', JSON.parse(body) as { input: unknown }, by).input) }
}
const of = (K: string): Secrets => Secrets.of({ K })!
const nest = (text: string, write: (json: string) => string): string => write(JSON.stringify({ a: ['before', text] }))
const parse = (text: unknown): unknown => (JSON.parse(text as string) as { a: unknown[] }).a[1]

describe.each(Object.keys(WRITERS))('a secret in JSON text as written by %s', (writer) => {
  const write = WRITERS[writer]!

  it('is hidden, the text comes back as it was, and reads as JSON with another value in its place', () => {
    const text = nest(`x ${OLD} y`, write)
    const { body, back } = sealed({ text }, of(OLD))
    expect(body).not.toMatch(/D.{0,14}key|2026/)
    expect(back(of(OLD))).toEqual({ text })
    const changed = back(of(NEW)) as { text: string }
    expect(parse(changed.text)).toBe(`x ${NEW} y`)
    expect(fingerprint(changed, of(NEW))).toBe(fingerprint({ text }, of(OLD)))
  })

  it.each(Object.keys(WRITERS))('and that in JSON text of %s, is so too', (outer) => {
    const text = nest(nest(`x ${OLD} y`, write), WRITERS[outer]!)
    const { body, back } = sealed(text, of(OLD))
    expect(body).not.toMatch(/D.{0,28}key|2026/)
    expect(back(of(OLD))).toBe(text)
    expect(parse(parse(back(of(NEW))))).toBe(`x ${NEW} y`)
    expect(fingerprint(back(of(NEW)), of(NEW))).toBe(fingerprint(text, of(OLD)))
  })
})

it('a secret without anything to escape stands in JSON in JSON as such: another value keeps both texts JSON', () => {
  const text = nest(nest('plain-key-2026', (json) => json), (json) => json)
  expect(parse(parse(sealed(text, of('plain-key-2026')).back(of(NEW))))).toBe(NEW)
})

it('a longer secret that JSON escapes is meant where a shorter one is a part of it', () => {
  const secrets = Secrets.of({ short: 'abcdefgh', long: 'abcdefgh&xyz' })!
  expect(secrets.hide('{"a":"abcdefgh\\u0026xyz"} abcdefgh')).toBe('{"a":"{{secret:long}}"} {{secret:short}}')
})

it('any secret in any JSON text, however it is escaped, is hidden, and back as it was', () => {
  const key = fc.string({ unit: fc.constantFrom('a', 'Z', '9', '/', '\\', '"', '&', 'é', '\n', 'n', 'u', '0', '.', '+', '-', '😀'), minLength: 8, maxLength: 12 })
  fc.assert(fc.property(key, key, fc.array(fc.constantFrom(...Object.values(WRITERS)), { minLength: 1, maxLength: 3 }), (value, other, writers) => {
    fc.pre(value.length >= 8 && other.length >= 8)
    const text = writers.reduce((inner, write) => nest(inner, write), `~${value}~`)
    const { back } = sealed(text, of(value))
    const nested = (whole: unknown): unknown => writers.reduce((inner) => parse(inner), whole)
    expect(of(value).parts(text)).toBeDefined()
    expect(back(of(value))).toBe(text)
    expect(nested(back(of(other)))).toBe(`~${other}~`)
  }), { numRuns: 2000 })
})

describe('a secret in a RegExp', () => {
  const AWS = 'wJalrXUtnFEMI.K7MDENG/bPxRf-iCYEXAMPLEKEY'
  const escape = (RegExp as unknown as { escape?: (text: string) => string }).escape
  const made: readonly (readonly [string, (text: string) => RegExp])[] = [
    ['as it is', (text) => new RegExp(text)],
    ['escaped by hand', (text) => new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), 'u')],
    ['escaped by hand with its - as \\-', (text) => new RegExp(text.replaceAll(/[-/\\^$*+?.()|[\]{}]/g, String.raw`\$&`))],
    ['escaped wherever it is no letter and no digit', (text) => new RegExp(text.replaceAll(/[^0-9A-Za-z\u0080-\uffff]/g, String.raw`\$&`))],
    ['escaped as PHP does it', (text) => new RegExp(text.replaceAll(/[.\\+*?[^\]$(){}=!<>|:\-#/]/g, String.raw`\$&`))],
    ['escaped with its -', (text) => new RegExp(text.replaceAll(/[|\\{}()[\]^$+*?.]/g, String.raw`\$&`).replaceAll('-', String.raw`\x2d`), 'u')],
    ...(escape ? [['escaped by RegExp.escape', (text: string) => new RegExp(escape(text), 'v')] as const] : []),
  ]
  it.each(made)('%s is hidden, and whole again', (_, make) => {
    const { body, back } = sealed([make(AWS), make(AWS).source], of(AWS))
    expect(body).not.toContain('K7MDENG')
    expect(back(of(AWS))).toEqual([make(AWS), make(AWS).source])
  })

  it.each(made.slice(1))('%s matches another value that it is given since', (_, make) => {
    const [pattern] = sealed([make(AWS)], of(AWS)).back(of(NEW)) as [RegExp]
    expect([pattern.test(NEW), pattern.test('another')]).toEqual([true, false])
  })

  it.runIf(escape)('is looked for as RegExp.escape writes it, whatever it holds', () => {
    fc.assert(fc.property(fc.string({ unit: fc.integer({ min: 0, max: 0x3000 }).map((code) => String.fromCharCode(code)), minLength: 8, maxLength: 12 }), (text) => {
      const pattern = new RegExp(escape!(text))
      expect(pattern.source).toBe(encodedAs(text, 'escape'))
    }))
  })
})

it('a form has one name, and other names are none', () => {
  const names = ['', 'json', 'json2', 'json3', 'uri', 'base64', 'base64-json_s5', 'json_u3U17', 'json2_u3_', 'json2__s4', 'regexpx', 'uri', 'uri2', 'uri3_L__', 'uri-json2', 'json-uri', 'uri-json-uri_L', 'uri_LPANR2fE21r3p4u5l6m7x3', 'json_m3x5', 'base64url', 'base64raw-uri', 'base64urlpad-json', 'pattern', 'pattern_E002dR002fe3r5', 'pattern_E002d-json2', 'from8', 'form-from12', 'uri_L-json_s3-from1']
  for (const name of names) expect(nameOfForm(formNamed(name)!)).toBe(name)
  for (const name of ['json1', 'json4', 'json_', 'json2_u3', '-json', 'base64-', 'base64json', 'constructor', 'json_x3', 'jsons', 'uri1', 'uri4', 'json-json', 'uri_R2', 'uri_m3', 'uri-base64', 'pattern2', 'pattern_', 'pattern_E2d', 'pattern_E002d_E002d', 'from', 'from0', 'from08', 'from8-json', 'base64-base64', '-', 'toString']) expect(formNamed(name)).toBeUndefined()
})
