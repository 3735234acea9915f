import { createDecipheriv, createHmac, createSecretKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { unlink } from '../journal/chain.ts'
import { EVERY_MESSAGE } from '../journal/fixtures/every-entry.ts'
import { writeMessage } from '../journal/message.ts'
import type { Store } from '../journal/store.ts'
import { storeConformance } from './conformance.ts'
import { drivenRun, entries, entry, newRun, T0 } from './conformance/sample.ts'
import { encryptedStore, type EncryptionOptions, parseKeys } from './encrypted.ts'
import { memoryStore } from './memory.ts'
import { sqliteStore } from './sqlite.ts'

const A = randomBytes(32), B = randomBytes(32)
const under = (store: Store, current: 'a' | 'b' = 'a', keys: EncryptionOptions['keys'] = { a: A, b: B }): Store => encryptedStore(store, { keys, current })
const WORDS = '{"text":"the quick brown fox, umlaut ä"}'

describe('an encrypted store', () => {
  describe('around the memory store', () => {
    for (const { name, run } of storeConformance(async () => ({ store: under(memoryStore()) }))) it(name, run)
  })

  describe('around the SQLite store', () => {
    const cases = storeConformance(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
      const file = join(folder, 'runs.db')
      return {
        store: under(sqliteStore(file)),
        another: async () => under(sqliteStore(file)),
        cleanup: async () => rmSync(folder, { recursive: true }),
      }
    })
    for (const { name, run } of cases) it(name, run)
  })

  it('gives the store within nothing to read, to recognise or to guess', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const plain = sqliteStore(join(folder, 'runs.db'))
    const store = under(plain)
    await store.open()
    await drivenRun(store, 'r', { entries: [entry(1, WORDS)] })
    await store.append('r', { token: 1, entries: [entry(2, WORDS)], now: T0 })
    await store.send('r', { question: 'resolve me@home 0', body: WORDS, now: T0 })
    expect(await store.read('r')).toEqual([entry(1, WORDS), entry(2, WORDS)])
    const [one, two] = await plain.read('r')
    expect(one!.body).toMatch(/^\{"type":"encrypted","v":1,"key":"a","check":"[\w-]{8}","data":"[\w+/=]+"\}$/)
    expect(one!.body.slice(0, 60)).not.toContain('fox')
    expect(one!.body).not.toBe(two!.body)
    expect([one!.sum, two!.sum]).toEqual(['', ''])
    const bytes = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1')).join()
    for (const text of ['quick brown', 'me@home', entry(1).sum, A.toString('latin1'), A.toString('base64')]) expect(bytes).not.toContain(text)
    await store.close()
  })

  it('is made as docs/format.md says, by node:crypto alone', async () => {
    const plain = memoryStore()
    await under(plain).create(newRun('order-ä'))
    const { body, seq } = (await plain.read('order-ä'))[0]!
    const { check, data } = JSON.parse(body) as { check: string; data: string }
    const derived = (...parts: string[]): Buffer => {
      const hmac = createHmac('sha256', A)
      for (const part of parts) hmac.update(`${part.length}:`).update(Buffer.from(part, 'utf16le'))
      return hmac.digest()
    }
    expect(check).toBe(derived('holdfast key check').toString('base64url').slice(0, 8))
    const bytes = Buffer.from(data, 'base64')
    const decipher = createDecipheriv('aes-256-gcm', derived('holdfast records', 'order-ä'), bytes.subarray(0, 12))
    decipher.setAAD(Buffer.from(JSON.stringify([1, 'entry', 'order-ä', seq, 'a', check])))
    decipher.setAuthTag(bytes.subarray(-16))
    const text = decipher.update(bytes.subarray(12, -16)).toString() + decipher.final().toString()
    expect(text).toBe(`${entry(1).sum}\n${entry(1).body}`)
  })

  it('reads what was made with an old key while that is given, and writes with the current one', async () => {
    const plain = memoryStore()
    await drivenRun(under(plain, 'a'), 'r')
    const rotated = under(plain, 'b')
    await rotated.append('r', { token: 1, entries: [entry(2)], now: T0 })
    expect(await rotated.read('r')).toEqual(entries(1, 2))
    expect((await plain.read('r')).map(({ body }) => (JSON.parse(body) as { key: string }).key)).toEqual(['a', 'b'])
    await expect(under(plain, 'b', { b: B }).read('r')).rejects.toMatchObject({ code: 'KEY_MISSING', runId: 'r', message: expect.stringMatching(/entry 1 of run "r" is encrypted with the key "a", which was not given/) })
    expect(await under(plain, 'b', { b: B }).read('r', 1)).toEqual([entry(2)])
  })

  it('knows a question again after the key was changed: it is answered once', async () => {
    const plain = memoryStore()
    await under(plain, 'a').create(newRun('r'))
    expect(await under(plain, 'a').send('r', { question: 'q', body: '{}', now: T0 })).toBe(1)
    expect(await under(plain, 'b').send('r', { question: 'q', body: '{}', now: T0 })).toBeNull()
    expect(await under(plain, 'b').send('r', { question: 'p', body: '{}', now: T0 })).toBe(2)
    expect(await under(plain, 'b').inbox('r', 0)).toEqual([{ seq: 1, body: '{}' }, { seq: 2, body: '{}' }])
  })

  it('tells another key under the same id from damage', async () => {
    const plain = memoryStore()
    await drivenRun(under(plain), 'r')
    await under(plain).send('r', { question: null, body: '{}', now: T0 })
    const wrong = under(plain, 'a', { a: randomBytes(32) })
    await expect(wrong.read('r')).rejects.toMatchObject({ code: 'KEY_WRONG', message: expect.stringMatching(/entry 1 of run "r" is encrypted with another key "a"/) })
    await expect(wrong.inbox('r', 0)).rejects.toMatchObject({ code: 'KEY_WRONG' })
  })

  it.each<[string, (bodies: string[]) => string, string, RegExp]>([
    ['was changed', ([one]) => one!.replace(/(?<="data":".{40})./, (c) => (c === 'A' ? 'B' : 'A')), 'STORE_CORRUPT', /entry 1 of run "r" does not open, although its key "a" is the right one/],
    ['was cut', ([one]) => `${one!.slice(0, -9)}"}`, 'STORE_CORRUPT', /does not open/],
    ['is empty', ([one]) => one!.replace(/"data":".*"/, '"data":""'), 'STORE_CORRUPT', /does not open/],
    ['stood at another position', ([, two]) => two!, 'STORE_CORRUPT', /changed, or made for another place/],
    ['belonged to another run', ([, , other]) => other!, 'STORE_CORRUPT', /changed, or made for another place/],
    ['was a message', ([, , , message]) => message!, 'STORE_CORRUPT', /changed, or made for another place/],
    ['has another check value', ([one]) => one!.replace(/(?<="check":")./, (c) => (c === 'A' ? 'B' : 'A')), 'STORE_CORRUPT', /opens, and its envelope is not the one/],
    ['names another key that is there', ([one]) => one!.replace('"key":"a"', '"key":"b"'), 'STORE_CORRUPT', /does not open, although/],
    ['names a key that is not', ([one]) => one!.replace('"key":"a"', '"key":"c"'), 'STORE_CORRUPT', /does not open, although/],
    ['names a key that is not, with another check value', ([one]) => one!.replace(/"key":"a","check":"./, (c) => `"key":"c","check":"${c.endsWith('A') ? 'B' : 'A'}`), 'STORE_CORRUPT', /opens, and its envelope/],
    ['says another version', ([one]) => one!.replace('"v":1', '"v":3'), 'STORE_CORRUPT', /opens, and its envelope is not the one/],
    ['says that it is something else', ([one]) => one!.replace('encrypted', 'encrypteD'), 'STORE_CORRUPT', /neither encrypted nor/],
    ['begins with another letter', ([one]) => `[${one!.slice(1)}`, 'STORE_CORRUPT', /neither encrypted nor/],
    ['has a blank more', ([one]) => one!.replace('{', '{ '), 'STORE_CORRUPT', /neither encrypted nor/],
    ['has a field more', ([one]) => `${one!.slice(0, -1)},"x":1}`, 'STORE_CORRUPT', /neither encrypted nor/],
    ['lacks its end', ([one]) => one!.slice(0, -9), 'STORE_CORRUPT', /neither encrypted nor/],
    ['has another field', ([one]) => one!.replace('"data"', '"dats"'), 'STORE_CORRUPT', /neither encrypted nor/],
    ['has data of other letters', ([one]) => one!.replace(/(?<="data":")./, '!'), 'STORE_CORRUPT', /neither encrypted nor/],
    ['is gone', () => '', 'STORE_CORRUPT', /neither encrypted nor/],
    ['is of a newer build', () => '{"type":"encrypted","v":2,"keys":["a"],"data":"AAAA"}', 'STORE_NEWER', /in a way that this build does not know/],
    ['is of a newer build in the same shape', () => `{"type":"encrypted","v":2,"key":"a","check":"AAAAAAAA","data":"${randomBytes(60).toString('base64')}"}`, 'STORE_NEWER', /in a way that this build does not know/],
  ])('refuses a record that %s', async (_what, change, code, message) => {
    const plain = memoryStore()
    const store = under(plain)
    await drivenRun(store, 'r', { entries: entries(1, 2) })
    await store.create(newRun('other'))
    await store.send('r', { question: null, body: '{"entry":1}', now: T0 })
    const bodies = [...(await plain.read('r')), ...(await plain.read('other')), ...(await plain.inbox('r', 0))].map(({ body }) => body)
    const tampered = { ...plain, read: async (runId: string) => (await plain.read(runId)).map((row, i) => (i === 0 ? { ...row, body: change(bodies) } : row)) }
    await expect(under(tampered).read('r')).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })

  it.each(['entry', 'message'] as const)('says of an %s that was written without encryption that it was', async (what) => {
    const plain = memoryStore()
    await drivenRun(plain, 'r')
    await plain.send('r', { question: null, body: writeMessage('r', EVERY_MESSAGE[0]!), now: T0 })
    await expect(what === 'entry' ? under(plain).read('r') : under(plain).inbox('r', 0)).rejects.toMatchObject({ code: 'STORE_NOT_ENCRYPTED', message: expect.stringMatching(`^${what}.* of run "r" is not encrypted`) })
  })

  it('finds every change of a bit in a record', async () => {
    const plain = memoryStore()
    await drivenRun(under(plain), 'r')
    const [row] = await plain.read('r')
    const bytes = Buffer.from(row!.body)
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      const tampered = { ...plain, read: async () => [{ ...row!, body: changed.toString('utf8') }] }
      await expect(under(tampered).read('r')).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
    }
  })

  it('reads what two keys of one id have made, where both are given under ids of their own', async () => {
    const plain = memoryStore()
    await drivenRun(under(plain, 'a', { a: A }), 'r')
    await drivenRun(under(plain, 'a', { a: B }), 's')
    const both = under(plain, 'a', { a: A, other: B })
    expect([await both.read('r'), await both.read('s')]).toEqual([entries(1, 1), entries(1, 1)])
  })

  it('read without it says which key is needed, not that it is damaged', async () => {
    const plain = memoryStore()
    await drivenRun(under(plain), 'r')
    const stored = await plain.read('r')
    expect(() => unlink('r', stored)).toThrow(expect.objectContaining({ code: 'KEY_MISSING', message: expect.stringMatching(/entry 1 of run "r" cannot be read: it is encrypted with the key "a"/) }))
  })
})

describe('the keys of an encrypted store', () => {
  const key = A.toString('base64')

  it.each<[string, EncryptionOptions['keys']]>([['bytes', { k: new Uint8Array(A) }], ['base64', { k: key }], ['base64url', { k: A.toString('base64url') }], ['a KeyObject', { k: createSecretKey(A) }]])('may be %s', async (_what, keys) => {
    const plain = memoryStore()
    await encryptedStore(plain, { keys: { k: A }, current: 'k' }).create(newRun('r'))
    expect(await encryptedStore(plain, { keys, current: 'k' }).read('r')).toEqual(entries(1, 1))
  })

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /takes \{ keys: \{ id: key \}, current: id \}/],
    ['a key that is too short', { keys: { k: A.subarray(1) }, current: 'k' }, /keys\.k must be 32 bytes.*got 31/],
    ['a password', { keys: { k: 'correct horse battery' }, current: 'k' }, /keys\.k must be 32 bytes.*openssl rand/],
    ['a variable that is not set', { keys: { k: undefined }, current: 'k' }, /got undefined: is its environment variable set\?/],
    ['a public key', { keys: { k: generateKeyPairSync('ed25519').publicKey }, current: 'k' }, /must be a secret key, got a public one/],
    ['an id with a blank', { keys: { 'a b': A }, current: 'a b' }, /"a b" cannot be the id of a key/],
    ['a current that is none', { keys: { k: A }, current: 'x' }, /current must be the id of one of the keys \(k\), got "x"/],
    ['another option', { keys: { k: A }, current: 'k', key: A }, /key is not an option/],
  ])('may not be %s', (_what, options, message) => {
    expect(() => encryptedStore(memoryStore(), options as EncryptionOptions)).toThrow(message)
    expect(() => encryptedStore(memoryStore(), options as EncryptionOptions)).not.toThrow(key)
  })

  it('are read from a variable of the environment, the current one first', () => {
    expect(parseKeys(`b:${key}, a:AAAA`, 'HOLDFAST_KEYS')).toEqual({ keys: { b: key, a: 'AAAA' }, current: 'b' })
    for (const text of ['', key, ':x', `a:${key},a:AAAA`]) expect(() => parseKeys(text, 'HOLDFAST_KEYS')).toThrow(/HOLDFAST_KEYS/)
  })
})
