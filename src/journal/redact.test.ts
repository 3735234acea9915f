import { inspect } from 'node:util'
import { runInNewContext } from 'node:vm'
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

  it('reaches into JSON text in JSON text, however often it was written so', () => {
    let [text, shown] = ['{"to":{"password":"x"}}', '{"to":{"password":"[redacted]"}}']
    for (let i = 0; i < 8; i++) [text, shown] = [JSON.stringify(i % 2 === 0 ? text : { deep: [text] }), JSON.stringify(i % 2 === 0 ? shown : { deep: [shown] })]
    expect(show({ text }, 'to.password')).toEqual({ text: shown })
    expect(show({ text }, 'from.password')).toEqual({ text })
  })

  const json = JSON.stringify
  it.each<[string, string, string]>([
    ['at a path that leads through texts', json({ customer: json({ email: 'a@b', name: 'A' }), email: 'c@d' }), json({ customer: json({ email: '[redacted]', name: 'A' }), email: 'c@d' })],
    ['with nothing to mask', ` { "a": "{ \\"b\\": 1 }", "c": "\\"d\\"", "e": "{ no JSON" } `, ` { "a": "{ \\"b\\": 1 }", "c": "\\"d\\"", "e": "{ no JSON" } `],
  ])('reaches into JSON text %s', (_what, text, shown) => {
    expect(show({ input: text }, 'password', 'customer.email')).toEqual({ input: shown })
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

  it('is an entry whose texts are masked also where they hold JSON in JSON', () => {
    const text = (password: string): string => JSON.stringify({ deep: JSON.stringify({ password }) })
    const [{ entry: shown }] = redaction.entries([{ seq: 3, entry: { ...entry, input: encode({ call: JSON.stringify([{ input: text('hunter2') }]) }) } }]) as [Placed & { entry: { input: unknown } }]
    expect(decode(shown.input)).toEqual({ call: JSON.stringify([{ input: text('[redacted]') }]) })
  })

  it('is an event with its messages, result and error masked, and its ids as they are', () => {
    const reason = { type: 'retry-after', step: '0/c:4242424242424242', message: `for ${KEY}` }
    expect(redaction.event({ type: 'run-suspended', runId: 'order-4242424242424242', at: 1, reasons: [reason] })).toEqual({ type: 'run-suspended', runId: 'order-4242424242424242', at: 1, reasons: [{ ...reason, message: 'for {{secret:KEY}}' }] })
    expect(redaction.event({ type: 'run-completed', result: { password: 1, card: '4242424242424242' } })).toEqual({ type: 'run-completed', result: { password: '[redacted]', card: '[redacted]' } })
    expect(redaction.event({ type: 'run-failed', error: new Error(KEY) })).toMatchObject({ error: { message: '{{secret:KEY}}' } })
  })
})

describe('what is no plain data', () => {
  const KEY = 'sk_live_4eC39HqLyjWD', PASSWORD = 'hunter2-pass'
  const mask = (value: unknown): unknown => Redaction.of(['password'], Secrets.of({ KEY }))!.value(value)
  class Client {
    apiKey = KEY
    password = PASSWORD;
    [inspect.custom](): string { return this.apiKey }
  }
  const headers = { authorization: `Bearer ${KEY}`, password: PASSWORD }
  const shownHeaders = { authorization: 'Bearer {{secret:KEY}}', password: '[redacted]' }

  it.each<[string, unknown, unknown]>([
    ['an instance of a class', new Client(), '[Client]'],
    ['one inside', { client: new Client() }, { client: '[Client]' }],
    ['Headers', new Headers(headers), shownHeaders],
    ['a Response', new Response('', { status: 401, headers }), expect.objectContaining({ status: 401, headers: expect.objectContaining(shownHeaders) })],
    ['a Request', new Request('https://a.b/', { headers }), '[Request]'],
    ['URLSearchParams', new URLSearchParams({ k: KEY }), 'k={{secret:KEY}}'],
    ['a function with properties', Object.assign(() => 1, { KEY }), '[function]'],
    ['a Date with properties', Object.assign(new Date(0), { KEY }), new Date(0)],
    ['a list with properties', Object.assign([1], { KEY }), [1]],
    ['a boxed text', Object(KEY), '{{secret:KEY}}'],
    ['a RegExp', new RegExp(KEY), '/{{secret:KEY}}/'],
    ['a RegExp without', /a/g, /a/g],
    ['a symbol', Symbol(KEY), 'Symbol({{secret:KEY}})'],
    ['a Promise', Promise.resolve(KEY), '[Promise (not awaited)]'],
    ['a WeakRef', new WeakRef({ KEY }), '[WeakRef]'],
    ['a Proxy', new Proxy({ KEY }, { ownKeys: () => { throw new Error(KEY) } }), '[Proxy]'],
    ['a getter', { get a() { return KEY }, get b(): string { throw new Error(KEY) } }, { a: '{{secret:KEY}}', b: '[redacted]' }],
    ['bytes', { bytes: new Uint8Array([1, 2]) }, { bytes: new Uint8Array([1, 2]) }],
    ['an object of another context', runInNewContext(`({ password: 1, list: ['${KEY}'] })`), { password: '[redacted]', list: ['{{secret:KEY}}'] }],
  ])('is shown without what it holds: %s', (_, value, shown) => {
    expect(mask(value)).toEqual(shown)
    expect(inspect(mask(value), { depth: 9, showHidden: true })).not.toMatch(new RegExp(`${KEY}|${PASSWORD}`))
  })

  it('is masked on an error, as HTTP clients put it there', () => {
    const error = Object.assign(new Error(`401 for ${KEY}`), { client: new Client(), headers: new Headers(headers), request: { url: new URL(`https://a.b/?k=${KEY}`) } })
    const shown = mask(error)
    expect(shown).toMatchObject({ message: '401 for {{secret:KEY}}', client: '[Client]', headers: shownHeaders })
    expect(inspect(shown, { depth: 9 })).not.toMatch(new RegExp(`${KEY}|${PASSWORD}`))
  })

  it('is not shown of an error under a symbol, which says nothing of what it is; marks are kept', () => {
    const error = Object.assign(new Error('no'), { [Symbol('request')]: { authorization: KEY }, [Symbol.for('client.url')]: `https://a.b/?k=${KEY}`, [Symbol.for('client.error')]: true })
    const shown = mask(error) as Error
    expect(Object.getOwnPropertySymbols(shown)).toEqual([Symbol.for('client.error')])
    expect(inspect(shown, { depth: 9, showHidden: true })).not.toContain(KEY)
  })

  it('is masked in the names of properties of errors, which keep what errors have of their own', () => {
    const redaction = Redaction.of([/\d{16}|message/], Secrets.of({ KEY }))!
    const error = Object.assign(new Error('no', { cause: Object.assign(new Error('why'), { [KEY]: 1 }) }), { [`x-${KEY}`]: KEY, '4242424242424242': 1 })
    const shown = redaction.value(error) as Error
    expect({ ...shown }).toEqual({ 'x-{{secret:KEY}}': '{{secret:KEY}}', '[redacted]': 1 })
    expect([shown.message, { ...(shown.cause as Error) }]).toEqual(['no', { '{{secret:KEY}}': 1 }])
    const event = redaction.event({ type: 'run-completed', result: [error] })
    expect(inspect([shown, event], { depth: 9, showHidden: true })).not.toMatch(new RegExp(`${KEY}|42424242`))
  })

  it('is not shown where it is nested too deep to look at, and nothing is thrown', () => {
    let list: unknown = KEY
    for (let i = 0; i < 20_000; i++) list = [list]
    expect(JSON.stringify(mask({ list })).replaceAll(/[[\]]/g, '')).toBe('{"list":"redacted"}')
    const text = `${'['.repeat(20_000)}{"password":"${PASSWORD}"}${']'.repeat(20_000)}`
    expect(mask({ text })).toEqual({ text: '[redacted]' })
    const redaction = Redaction.of(['password'], undefined)!
    expect(redaction.event({ type: 'run-failed', error: Object.assign(new Error('failed'), { list }) })).toMatchObject({ type: 'run-failed', error: { message: 'failed' } })
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
