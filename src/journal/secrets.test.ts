import { describe, expect, it } from 'vitest'
import { decode, encode } from './codec.ts'
import { fingerprint } from './fingerprint.ts'
import { legible, Secrets, unsealed } from './secrets.ts'

const KEY = 'sk_live_4eC39HqLyjWDarjtT1'
const ODD = 'pa"ss\\wo+rd/ä = ?'
const secrets = Secrets.of({ KEY, ODD })!

/** As it is after a restart: through the text that a store keeps. */
function stored(value: unknown, with_ = secrets): { readonly body: string; readonly back: (by?: Secrets) => unknown } {
  const body = with_.seal({ type: 'x', input: encode(value) })
  return { body, back: (by = with_) => decode(unsealed('r', JSON.parse(body) as { input: unknown }, by).input) }
}

const holding: readonly (readonly [string, unknown])[] = [
  ['alone', KEY],
  ['inside a longer text', `Bearer ${KEY}, again ${KEY}`],
  ['as a key', { [KEY]: { nested: [KEY] } }],
  ['beside a Date', { at: new Date(0), header: `Bearer ${KEY}`, [KEY]: 1n }],
  ['in a Map and a Set', new Map([[KEY, new Set([KEY])]])],
  ['in an error and its cause', Object.assign(new TypeError(`401 for ${KEY}`, { cause: new Error(KEY) }), { code: KEY, headers: { authorization: `Bearer ${KEY}` } })],
  ['in a URL', { url: new URL(`https://a.b/?key=${KEY}`), text: `https://a.b/?key=${encodeURIComponent(ODD)}&again=${new URLSearchParams({ q: ODD })}` }],
  ['in a RegExp', new RegExp(KEY)],
  ['with quotes and the like', { header: `Basic ${ODD}`, [ODD]: ODD }],
  ['in JSON text, as a model writes arguments', { input: JSON.stringify({ token: ODD, list: [KEY] }), text: JSON.stringify(JSON.stringify({ token: ODD })) }],
  ['in base64', { auth: Buffer.from(ODD).toString('base64') }],
  ['under __proto__', JSON.parse(`{"__proto__":{"a":"${KEY}"},"b":1}`)],
]

describe('a secret', () => {
  it.each(holding)('%s is not in what is stored, and whole in what is read', (_what, value) => {
    const { body, back } = stored(value)
    for (const text of [KEY, ODD, JSON.stringify(ODD).slice(1, -1), encodeURIComponent(ODD), Buffer.from(ODD).toString('base64')]) expect(body).not.toContain(text)
    expect(body).toMatch(/\{\{secret:(KEY|ODD)/)
    expect(back()).toStrictEqual(decode(encode(value)))
  })

  it.each(holding)('%s that was changed since is read with its new value, in the form that fits, and asks for the same', (_what, value) => {
    const [key, odd] = ['another "key" altogether', 'a plain one']
    const by = Secrets.of({ KEY: key, ODD: odd })!
    const changed = stored(value).back(by)
    expect(JSON.stringify(encode(changed))).not.toContain(KEY)
    expect(fingerprint(changed, by)).toBe(fingerprint(decode(encode(value)), secrets))
    expect(fingerprint(changed, by)).not.toBe(fingerprint(changed))
  })

  it('is one, whatever else is one inside it', () => {
    const both = Secrets.of({ short: 'abcdefgh', long: 'xabcdefghx' })!
    expect(both.hide('abcdefgh xabcdefghx yabcdefghy')).toBe('{{secret:short}} {{secret:long}} y{{secret:short}}y')
  })

  it('in JSON text stays JSON text under a value with quotes', () => {
    const { back } = stored({ input: JSON.stringify({ token: KEY }) })
    expect(JSON.parse((back(Secrets.of({ KEY: 'with "quotes"' })!) as { input: string }).input)).toEqual({ token: 'with "quotes"' })
  })

  it('in messages and reasons of a record is replaced too', () => {
    const body = secrets.seal({ type: 'suspended', reasons: [{ type: 'retry-after', message: `429 for ${KEY}`, step: '0' }], reason: KEY })
    expect(body).not.toContain(KEY)
    expect(unsealed('r', JSON.parse(body) as object, secrets)).toEqual({ type: 'suspended', reasons: [{ type: 'retry-after', message: `429 for ${KEY}`, step: '0' }], reason: KEY })
  })
})

describe('a text that looks like a placeholder by chance', () => {
  const looks = 'Write {{secret:KEY}} or {{secret-2:KEY}}, {{secret:', MISSING = '{{secret:NOT_THERE}}'
  it.each<[string, unknown]>([
    ['by itself', { looks, MISSING }],
    ['beside a secret', { looks, MISSING, key: KEY, [`{{secret:KEY}}`]: KEY }],
    ['right before one, and right behind', `{{secret:${KEY}}}|json}}{{${KEY}`],
  ])('%s survives', (_what, value) => {
    expect(stored(value).back()).toStrictEqual(value)
  })

  it('is not the secret to a fingerprint', () => {
    expect(fingerprint(['{{secret:KEY}}', 'Secret("","KEY","")'], secrets)).toBe(fingerprint(['{{secret:KEY}}', 'Secret("","KEY","")']))
    expect(fingerprint(KEY, secrets)).not.toBe(fingerprint('{{secret:KEY}}', secrets))
    expect(fingerprint(KEY, secrets)).not.toBe(fingerprint(['', 'KEY', ''], secrets))
  })
})

describe('a record', () => {
  it('without a secret is stored as it is', () => {
    const record = { type: 'x', input: encode({ a: ['b', new Date(0)] }) }
    expect(secrets.seal(record)).toBe(JSON.stringify(record))
  })

  it('keeps its own words, also where one is a secret', () => {
    const silly = Secrets.of({ A: 'step-ended', B: 'fingerprint', C: 'ArrayBuffer' })!
    const record = { type: 'step-ended', fingerprint: 'f', outcome: { type: 'value', value: encode([new Uint8Array([1]), 'a step-ended here']) } }
    const read = JSON.parse(silly.seal(record)) as typeof record
    expect(read).toMatchObject({ type: 'step-ended', fingerprint: 'f' })
    expect(decode(read.outcome.value)).toEqual([new Uint8Array([1]), 'a {{secret:A}} here'])
    expect(unsealed('r', read, silly)).toEqual(record)
  })

  it('whose secret is not given is refused, with the names of all that miss', () => {
    const body = JSON.parse(secrets.seal({ type: 'x', input: encode([KEY, ODD]) })) as object
    expect(() => unsealed('r1', body, undefined)).toThrow(expect.objectContaining({ code: 'SECRET_MISSING', message: expect.stringMatching(/run "r1" holds the secrets KEY, ODD.*createRunner\(\{ secrets: \{ KEY, ODD \} \}\)/) }))
    expect(() => unsealed('r1', body, Secrets.of({ ODD }))).toThrow(expect.objectContaining({ code: 'SECRET_MISSING', message: expect.stringMatching(/holds the secret KEY, .* not given it/) }))
  })
})

describe('a placeholder with a form that is not known', () => {
  const record = { type: 'x', input: { json: ['{{secret:KEY|base99}}', '{{secret:OTHER}}'] }, secrets: '{{secret:' }

  it('is no reason to ask for its secret, which is given: the record is damaged, or of a newer version', () => {
    const of = (given: object): Secrets => Secrets.of(given)!
    expect(() => unsealed('r1', record, of({ KEY, OTHER: ODD }))).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT', runId: 'r1', message: expect.stringMatching(/run "r1" holds \{\{secret:KEY\|base99\}\}: .* newer version/) }))
    expect(() => unsealed('r1', record, of({ KEY }))).toThrow(expect.objectContaining({ code: 'SECRET_MISSING', message: expect.stringContaining('the secret OTHER,') }))
  })
})

describe('a URL or RegExp that holds a secret', () => {
  const inTypes = Secrets.of({ HOST: 'internal-host-7', GROUP: '(?<name>secret)' })!
  const value = { url: new URL('https://internal-host-7.test/a'), pattern: /x(?<name>secret)+/u, other: [new URL('https://a.b/'), /y/] }
  const record = JSON.parse(inTypes.seal({ type: 'x', input: encode(value) })) as { input: unknown }

  it('is itself to who has the value', () => {
    expect(decode(unsealed('r', record, inTypes).input)).toStrictEqual(value)
  })

  it('is a text to who has not: with the name in it, it need be none', () => {
    expect(decode(legible(record).input)).toStrictEqual({ url: 'https://{{secret:HOST|uri}}.test/a', pattern: 'x{{secret:GROUP|source}}+', other: value.other })
    expect(legible({ type: 'x', input: encode(value) })).toEqual({ type: 'x', input: encode(value) })
  })
})

describe('a key that holds a secret', () => {
  const [before, after] = [Secrets.of({ K: 'sk_live_old' })!, Secrets.of({ K: 'existing' })!]

  it.each<[string, unknown, unknown]>([
    ['an object', { sk_live_old: 1, existing: 2 }, { sk_live_old: 1, other: 2 }],
    ['an object inside', [new Date(0), { existing: 2, sk_live_old: 1 }], [new Date(0), { existing: [{ sk_live_old: 1 }] }]],
    ['a Map', new Map([['sk_live_old', 'a'], ['existing', 'a']]), new Map([['sk_live_old', 'existing']])],
    ['a Set', new Set(['sk_live_old', 'existing']), new Set(['sk_live_old', 'other'])],
  ])('of %s is not put in place of one that stands there already', (_, clashing, fine) => {
    const back = (value: unknown, by: Secrets): unknown => decode(unsealed('r', JSON.parse(before.seal({ type: 'x', input: encode(value) })) as { input: unknown }, by).input)
    expect(() => back(clashing, after)).toThrow(expect.objectContaining({ code: 'SECRET_MISSING', message: expect.stringMatching(/holds a key with the secret K in it, .* stands there already/) }))
    expect(back(clashing, before)).toEqual(clashing)
    expect(JSON.stringify(back(fine, after))).toBe(JSON.stringify(fine).replaceAll('sk_live_old', 'existing'))
  })
})

it('a key that is __proto__ under another value is an own property', () => {
  for (const value of [{ [KEY]: 1, other: [2] }, [new Date(0), { [KEY]: { [KEY]: 1n } }], Object.assign(new Error('e'), { [KEY]: new Date(0), data: { [KEY]: 1 } })]) {
    const back = stored(value, Secrets.of({ KEY })).back(Secrets.of({ KEY: '__proto__' }))
    const keys = (node: unknown): unknown[] => (typeof node === 'object' && node !== null ? Object.entries(node).flatMap(([key, inner]) => [key, ...keys(inner)]) : [])
    expect(keys(back)).toEqual(keys(value).map((key) => (key === KEY ? '__proto__' : key)))
  }
})

describe('what is given as secrets', () => {
  it.each<[string, unknown, RegExp]>([
    ['a list', [KEY], /secrets must be an object/],
    ['a short text', { PIN: '1234567' }, /secrets\.PIN has 7 characters, at least 8 are needed/],
    ['nothing', { KEY: undefined }, /secrets\.KEY must be a text, got undefined: is its environment variable set\?/],
    ['a number', { KEY: 12345678 }, /secrets\.KEY must be a text, got number/],
    ['a bad name', { 'my key': KEY }, /"my key" cannot be a name/],
    ['half a character', { KEY: 'abcdefgh\ud800' }, /lone surrogate/],
    ['one value under two names', { A: KEY, B: KEY }, /secrets\.B has the same value as secrets\.A/],
  ])('%s is refused, without showing a value', (_what, given, message) => {
    expect(() => Secrets.of(given)).toThrow(message)
    try {
      Secrets.of(given)
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
      expect(String(error)).not.toContain(KEY)
    }
  })

  it('may be none', () => {
    expect(Secrets.of(undefined)).toBeUndefined()
    expect(Secrets.of({})).toBeUndefined()
  })
})

describe('a URL or RegExp whose secret was changed since', () => {
  const made: readonly (readonly [string, (secret: string) => URL | RegExp, (value: URL | RegExp) => string])[] = [
    ['user', (s) => new URL(`https://u:${s}@a.b/`), (url) => decodeURIComponent((url as URL).password)],
    ['path', (s) => new URL(`https://a.b/${s}/c`), (url) => decodeURIComponent((url as URL).pathname.slice(1, -2))],
    ['query', (s) => new URL(`https://a.b/?k=${s}&l=1`), (url) => (url as URL).searchParams.get('k')!],
    ['fragment', (s) => new URL(`https://a.b/#${s}`), (url) => decodeURIComponent((url as URL).hash.slice(1))],
  ]
  const NEW = 'a b/?#(c[d]&"e%zz+\\'
  it.each(made)('holds the new value, whatever is in it, in its %s', (_, make, read) => {
    const back = stored({ at: make('sk-live-abcdefghij') }, Secrets.of({ K: 'sk-live-abcdefghij' })).back(Secrets.of({ K: NEW })) as { at: URL }
    expect(read(back.at)).toBe(NEW)
  })

  it('matches the new value, as a RegExp', () => {
    for (const old of ['sk-live-abcdefghij', 'with.dots(and)', String.raw`back\slash`]) {
      const source = new RegExp(`^${old.replaceAll(/[.()\\]/g, String.raw`\$&`)}$`, 'u')
      const { at } = stored({ at: source }, Secrets.of({ K: old })).back(Secrets.of({ K: NEW })) as { at: RegExp }
      expect([at.test(NEW), at.test('sk')]).toEqual([true, false])
    }
  })

  it('makes a RegExp also between brackets', () => {
    const { at } = stored({ at: /^[__proto__x]+$/ }, Secrets.of({ K: '__proto__x' })).back(Secrets.of({ K: 'constructor-long' })) as { at: RegExp }
    expect([at.test('long-'), at.test('x')]).toEqual([true, false])
  })

  it.each(['pass&word+$,1', 'p@ss: word;=', 'a|b^c`d{e}', "it's(a)*~!"])('is hidden as a URL writes it, and whole again: %s', (odd) => {
    const by = Secrets.of({ K: odd })!
    const urls = [new URL('https://a.b/'), new URL('https://a.b/'), new URL('https://a.b/')]
    urls[0]!.password = odd
    urls[1]!.pathname = `/x/${odd}`
    urls[2]!.search = `?${odd}`
    const { body, back } = stored({ urls, texts: urls.map(String) }, by)
    for (const { password, pathname, search } of urls) for (const text of [password, pathname.slice(3), search.slice(1)]) if (text !== '') expect(body).not.toContain(text)
    expect(back()).toStrictEqual(decode(encode({ urls, texts: urls.map(String) })))
  })

  it('is refused with the name of the secret, and not taken for damage, where no form of the new value fits', () => {
    const old = 'internal-host-7'
    const { back } = stored({ url: new URL(`https://${old}.test/`) }, Secrets.of({ HOST: old }))
    expect(() => back(Secrets.of({ HOST: 'no host at all' }))).toThrow(expect.objectContaining({ code: 'SECRET_MISSING', message: expect.stringMatching(/holds a URL with the secret HOST in it.*Nothing is damaged/) }))
    expect(String((back(Secrets.of({ HOST: 'other-host-8' })) as { url: URL }).url)).toBe('https://other-host-8.test/')
  })
})
