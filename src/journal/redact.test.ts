import { describe, expect, it } from 'vitest'
import type { Placed } from './chain.ts'
import { decode, encode } from './codec.ts'
import type { Entry } from './entry.ts'
import { Redaction, type RedactRule } from './redact.ts'
import { Secrets } from './secrets.ts'

const show = (value: unknown, ...rules: RedactRule[]): unknown => Redaction.of(rules, undefined)!.value(value)

describe('a RegExp', () => {
  it('masks each match in any text, key and error', () => {
    const error = Object.assign(new TypeError('card 4242424242424242'), { code: 'X', cause: new Error('4242424242424242') })
    const shown = show({ a: ['to 4242424242424242 and 4242424242424242'], '4242424242424242': 1, m: new Map([['k', '4242424242424242']]), s: new Set(['4242424242424242']), error }, /\d{16}/)
    expect(shown).toEqual({ a: ['to [redacted] and [redacted]'], '[redacted]': 1, m: new Map([['k', '[redacted]']]), s: new Set(['[redacted]']), error: expect.any(TypeError) })
    expect(shown).toMatchObject({ error: { message: 'card [redacted]', code: 'X', cause: { message: '[redacted]' } } })
    expect((shown as { error: Error }).error.stack).not.toContain('4242')
    expect(error.message).toBe('card 4242424242424242')
  })

  it('masks every time, also one that remembers where it was', () => {
    const once = /\d{4}/g
    expect(show(['1234', '1234', '1234'], once, /x/y)).toEqual(['[redacted]', '[redacted]', '[redacted]'])
  })
})

describe('a path', () => {
  const value = { customer: { email: 'a@b', name: 'A' }, email: 'c@d', list: [{ password: { old: 1, now: 2 } }], n: 7 }
  it.each<[string, string[], unknown]>([
    ['a name, at any depth, whatever it holds', ['email', 'password'], { customer: { email: '[redacted]', name: 'A' }, email: '[redacted]', list: [{ password: '[redacted]' }], n: 7 }],
    ['the end of a path', ['customer.email'], { ...value, customer: { email: '[redacted]', name: 'A' } }],
    ['any one name', ['customer.*', 'list.*.password'], { ...value, customer: { email: '[redacted]', name: '[redacted]' }, list: [{ password: '[redacted]' }] }],
    ['nothing that is not there', ['name.email', 'customer.email.x'], value],
  ])('masks %s', (_what, paths, shown) => {
    expect(show(value, ...paths)).toEqual(shown)
  })

  it('reaches into JSON text, and leaves it as it is where nothing is masked', () => {
    expect(show({ input: '{ "to": {"password":"x"}, "n": [1] }', text: '{ "n": 1 }', not: '{ "password"' }, 'to.password')).toEqual({
      input: '{"to":{"password":"[redacted]"},"n":[1]}', text: '{ "n": 1 }', not: '{ "password"',
    })
  })

  it('masks what is shared in one place and not in the other', () => {
    const shared = { email: 'a@b' }
    expect(show({ sender: shared, customer: shared, again: { customer: shared } }, 'customer.email')).toEqual({ sender: { email: 'a@b' }, customer: { email: '[redacted]' }, again: { customer: { email: '[redacted]' } } })
  })

  it('takes no exponential time for what is shared again and again, and ends with what contains itself', () => {
    let value: unknown = { password: 'x' }
    for (let i = 0; i < 60; i++) value = { a: value, b: value }
    expect(() => show(value, 'a.password', /y/)).not.toThrow()
    const cycle: Record<string, unknown> = { password: 'x' }
    cycle['self'] = { cycle }
    expect((show(cycle, 'self.cycle', 'password') as { self: unknown }).self).toEqual({ cycle: '[redacted]' })
  })
})

it('a function gives the text to show, from the text and its path', () => {
  expect(show({ a: { iban: 'DE1234' }, b: 'x' }, (text, path) => (path === 'a.iban' ? `${text.slice(0, 2)}...` : text))).toEqual({ a: { iban: 'DE...' }, b: 'x' })
})

it.each<[string, RedactRule]>([['throws', () => { throw new Error('x') }], ['gives no text', (() => undefined) as unknown as RedactRule]])('a function that %s shows nothing', (_what, rule) => {
  expect(show({ a: 'text' }, rule)).toEqual({ a: '[redacted]' })
})

describe('what is shown of a run', () => {
  const KEY = 'sk_live_4eC39HqLyjWD'
  const redaction = Redaction.of([/\d{16}/, 'password'], Secrets.of({ KEY }))!
  const entry: Entry = {
    type: 'step-ended', at: 1, step: { id: '0/c:4242424242424242', branch: '', kind: 'tool', name: 'pay' }, fingerprint: '1234567890123456', tries: 1, ms: 2,
    outcome: { type: 'value', value: encode({ at: new Date(0), password: 'x', note: `4242424242424242 ${KEY}` }) }, input: encode({ password: 1 }),
  }
  it('is an entry with its values masked and its ids as they are', () => {
    const [{ entry: shown }] = redaction.entries([{ seq: 3, entry }]) as [Placed & { entry: { outcome: { value: unknown }; input: unknown } }]
    expect(shown).toMatchObject({ step: { id: '0/c:4242424242424242' }, fingerprint: '1234567890123456' })
    expect(decode(shown.outcome.value)).toEqual({ at: new Date(0), password: '[redacted]', note: '[redacted] {{secret:KEY}}' })
    expect(decode(shown.input)).toEqual({ password: '[redacted]' })
  })

  it('is an event with its messages, result and error masked, and its ids as they are', () => {
    const reason = { type: 'retry-after', step: '0/c:4242424242424242', message: `for ${KEY}` }
    expect(redaction.event({ type: 'run-suspended', runId: 'order-4242424242424242', at: 1, reasons: [reason] })).toEqual({ type: 'run-suspended', runId: 'order-4242424242424242', at: 1, reasons: [{ ...reason, message: 'for {{secret:KEY}}' }] })
    expect(redaction.event({ type: 'run-completed', result: { password: 1, card: '4242424242424242' } })).toEqual({ type: 'run-completed', result: { password: '[redacted]', card: '[redacted]' } })
    expect(redaction.event({ type: 'run-failed', error: new Error(KEY) })).toMatchObject({ error: { message: '{{secret:KEY}}' } })
  })
})

it.each<[unknown, RegExp]>([
  [/x/, /redact must be a list/],
  [[1], /redact\[0\] must be a RegExp, a path .* got 1/],
  [['a', ''], /redact\[1\] must be/],
  [['a..b'], /redact\[0\] must be/],
])('%s is refused', (given, message) => {
  expect(() => Redaction.of(given, undefined)).toThrow(message)
})
