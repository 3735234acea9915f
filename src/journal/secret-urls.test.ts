import { describe, expect, it } from 'vitest'
import { decode, encode } from './codec.ts'
import { Secrets, unsealed } from './secrets.ts'

const OLD = 'sk_live_abcdef0123'
const NEW = 'new#value&amount=500+x%41/"ä\\'
const of = (K: string): Secrets => Secrets.of({ K })!

/** The value as it is read under another secret. */
function rotated(value: unknown, from = OLD, to = NEW): unknown {
  const record = JSON.parse(of(from).seal({ type: 'x', input: encode(value) })) as { input: unknown }
  expect(decode(unsealed('r', record, of(from)).input)).toStrictEqual(value)
  return decode(unsealed('r', record, of(to)).input)
}

describe('a text that is a URL, or holds one, whose secret was changed since', () => {
  it.each<[string, (secret: string) => string, (text: string) => string | null]>([
    ['its query', (s) => `https://pay.test/cb?token=${s}&amount=5`, (text) => new URL(text).searchParams.get('token')],
    ['its path', (s) => `https://pay.test/${s}/5`, (text) => decodeURIComponent(new URL(text).pathname.slice(1, -2))],
    ['its fragment', (s) => `https://pay.test/#${s}`, (text) => decodeURIComponent(new URL(text).hash.slice(1))],
    ['its password', (s) => `postgres://user:${s}@db.test:5432/main`, (text) => decodeURIComponent(new URL(text).password)],
    ['one inside of it', (s) => `https://a.test/go?to=${encodeURIComponent(`https://b.test/?k=${s}`)}&l=1`, (text) => new URL(new URL(text).searchParams.get('to')!).searchParams.get('k')],
    ['one among words', (s) => `see <https://a.test/?k=${s}>, or "https://b.test/"`, (text) => new URL(/<(.*?)>/.exec(text)![1]!).searchParams.get('k')],
    ['one in JSON text', (s) => JSON.stringify({ at: [`look:\nhttps://a.test/?k=${s}`] }), (text) => new URL((JSON.parse(text) as { at: string[] }).at[0]!.slice(6)).searchParams.get('k')],
    ['one in JSON text of PHP', (s) => JSON.stringify({ at: `https://a.test/?k=${s}` }).replaceAll('/', String.raw`\/`), (text) => new URL((JSON.parse(text) as { at: string }).at).searchParams.get('k')],
    ['one in JSON in JSON', (s) => JSON.stringify({ at: JSON.stringify([`https://a.test/?k=${s}`]) }), (text) => new URL((JSON.parse((JSON.parse(text) as { at: string }).at) as string[])[0]!).searchParams.get('k')],
  ])('holds the new value in %s, and stays one', (_, make, read) => {
    expect(read(rotated(make(OLD)) as string)).toBe(NEW)
    // Of letters and digits alone nothing tells how it is written there.
    expect(rotated(make(OLD), OLD, 'plain_value_2026')).toBe(make('plain_value_2026'))
  })

  it('is one from its scheme on, up to the next space, quote or angle bracket; elsewhere the value stands as it is', () => {
    for (const make of [(s: string) => `token=${s}`, (s: string) => `https://a.test/ ${s}`, (s: string) => `"https://a.test/"${s}`, (s: string) => `Bearer ${s}`, (s: string) => `://${s}`, (s: string) => `${s}://a.test/`]) {
      expect(rotated(make(OLD))).toBe(make(NEW))
    }
  })

  it('is left as it is where the secret is itself a URL', () => {
    expect(rotated('postgres://u:p@old.test/db', 'postgres://u:p@old.test/db', 'postgres://v:q@new.test/db')).toBe('postgres://v:q@new.test/db')
  })
})
