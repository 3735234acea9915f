/** What the command line shows of secrets, of what is redacted, and of an encrypted store. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { command } from './fixtures/test-io.ts'
import { again, eachInItsOwn, fixture } from './fixtures/workplace.ts'

const module = ['--module', fixture('guarded')]
const SECRET = 'sk_live_4eC39HqLyjWD'
const KEYS = `k1:${Buffer.alloc(32, 1).toString('base64')}`
const start = ['run', 'leak', '--id', 'r', '--input', '{"email":"me@home"}', ...module]
let folder: string
let store: string

eachInItsOwn((place) => ({ folder, store } = place))
beforeEach(() => void vi.stubEnv('FIXTURE_SECRET', SECRET))

const bytesOf = (path: string): string => readdirSync(path).map((name) => readFileSync(join(path, name), 'latin1')).join('\n')

describe('with secrets and redact', () => {
  it.each([['show', 'r'], ['show', 'r', '--json'], ['show', 'r', '--raw'], ['list', '--json']])('%s %s %s of the module masks both; by the store alone, secrets have their names', async (...argv) => {
    expect(await command(start)).toMatchObject({ code: 1 })
    const masked = await again([...argv, ...module])
    expect(masked.code).toBe(0)
    for (const text of [SECRET, 'me@home']) expect(masked.out + masked.err).not.toContain(text)
    const { out } = await command([...argv, '--store', store])
    expect(out).not.toContain(SECRET)
    if (argv[0] === 'show') expect(out).toContain('{{secret:TOKEN}}')
    if (argv[0] === 'show') expect(out).toContain('me@home')
  })

  it('the progress and the error of run, in words and as JSON, mask both', async () => {
    for (const argv of [start, ['resume', 'r', '--json', ...module]]) {
      const { out, err } = await again(argv, { env: { HOLDFAST_DEBUG: '1' } })
      expect(err).toMatch(/run-failed.*401 for \{\{secret:TOKEN\}\}, \[redacted\]/)
      expect(out + err).toMatch(/RUN_FAILED[^]*401 for \{\{secret:TOKEN\}\}, \[redacted\]/)
      for (const text of [SECRET, 'me@home']) expect(out + err).not.toContain(text)
    }
  })

  it.each([
    ['show', SECRET, ...module], ['show', SECRET, '--json', ...module], ['resolve', SECRET, '0', '--rerun', ...module], ['approve', 'r', SECRET, ...module],
    ['resume', SECRET, ...module], ['run', SECRET, '--id', 'r', ...module], ['resume', 'r', '--redo', SECRET, ...module],
    ['run', 'leak', '--id', 'r', '--input', `{"a":"${SECRET}",}`, ...module], ['run', 'leak', '--id', 'r', '--input', SECRET, ...module], ['resolve', 'r', '0', '--result', `{"a":${SECRET}`, ...module], ['approve', 'r', '0', '--input', SECRET, ...module],
  ])('%s says nothing of a secret again that it was given, in its error (%s)', async (...argv) => {
    const { code, out, err } = await again(argv, { env: { HOLDFAST_DEBUG: '1' } })
    expect(code).not.toBe(0)
    expect(out + err).not.toContain(SECRET.slice(0, 8))
  })

  it('resolve by the store alone stores no result that may hold a secret, until their values are given', async () => {
    expect((await command(['run', 'pay', '--id', 'r', ...module])).code).toBe(1)
    const settle = (result: string, env: Record<string, string> = {}): ReturnType<typeof command> => command(['resolve', 'r', '0', '--store', store, '--result', result], { env })
    const result = JSON.stringify({ token: SECRET })
    expect(await settle(result)).toMatchObject({ code: 2, err: expect.stringMatching(/SECRET_MISSING: run "r" has named secrets[^]*--module FILE[^]*HOLDFAST_SECRETS/) })
    for (const wrong of [`{"TOKEN":"${SECRET}`, `["${SECRET}"]`]) {
      const { code, err } = await settle(result, { HOLDFAST_SECRETS: wrong })
      expect(code).toBe(2)
      expect(err).not.toContain(SECRET)
    }
    // Its runner would look for that name from then on, and could not go on.
    for (const [wrong, words] of [[{ OTHER: SECRET }, /does not give TOKEN, which run "r" holds/], [{ TOKEN: 'another-value', OTHER: SECRET }, /holds OTHER of HOLDFAST_SECRETS, and run "r" has no secret of that name/]] as const) {
      expect(await settle(result, { HOLDFAST_SECRETS: JSON.stringify(wrong) })).toMatchObject({ code: 2, err: expect.stringMatching(words) })
    }
    // What does not store it needs none, whatever is given.
    expect((await command(['list', '--store', store], { env: { HOLDFAST_SECRETS: `TOKEN=${SECRET}` } })).code).toBe(0)
    expect(await settle(result, { HOLDFAST_SECRETS: JSON.stringify({ TOKEN: SECRET, UNUSED: 'not in the result' }) })).toMatchObject({ code: 0 })
    expect(bytesOf(folder)).toContain('{{secret:TOKEN}}')
    expect(bytesOf(folder)).not.toContain(SECRET)
  })

  it('the journal as it is stored, with --raw', async () => {
    await command(['run', 'pay', '--id', 'r', ...module])
    const lines = (await command(['show', 'r', '--raw', '--store', store])).out.trimEnd().split('\n').map((line) => JSON.parse(line) as object)
    const database = new DatabaseSync(store, { readOnly: true })
    const stored = (database.prepare('SELECT seq, body FROM journal ORDER BY seq').all() as { seq: number; body: string }[]).map(({ seq, body }) => ({ seq, ...(JSON.parse(body) as object) }))
    database.close()
    expect(lines).toEqual(stored)
    expect(JSON.stringify(lines)).toContain('["URL","https://a.b/?k={{secret:TOKEN|uri}}"]')
  })

  it('resume without a secret that the run holds says which one', async () => {
    await command(start)
    vi.stubEnv('FIXTURE_SECRET', '')
    expect(await again(['resume', 'r', ...module])).toMatchObject({ code: 2, err: expect.stringMatching(/^holdfast: SECRET_MISSING: run "r" holds the secret TOKEN/) })
  })
})

describe('with an encrypted store', () => {
  beforeEach(() => void vi.stubEnv('FIXTURE_KEYS', KEYS))

  it('list and show read it with HOLDFAST_KEYS, and through the module', async () => {
    expect((await command(start)).code).toBe(1)
    expect(await command(['show', 'r', '--store', store], { env: { HOLDFAST_KEYS: KEYS } })).toMatchObject({ code: 0, out: expect.stringContaining('log in') })
    expect(await again(['show', 'r', ...module])).toMatchObject({ code: 0, out: expect.stringContaining('log in') })
    expect(await command(['list', '--store', store])).toMatchObject({ code: 0, out: expect.stringMatching(/^r +leak +failed/m) })
  })

  it.each<[string, Record<string, string>, string, RegExp]>([
    ['no key', {}, 'KEY_MISSING', /is encrypted with the key "k1"[^]*HOLDFAST_KEYS/],
    ['another key of that name', { HOLDFAST_KEYS: `k1:${Buffer.alloc(32, 2).toString('base64')}` }, 'KEY_WRONG', /entry 1 of run "r" is encrypted with another key "k1"/],
    ['another key of another name', { HOLDFAST_KEYS: `k2:${Buffer.alloc(32, 2).toString('base64')}` }, 'KEY_MISSING', /the key "k1", which was not given/],
    ['a variable that is no list of keys', { HOLDFAST_KEYS: 'abc' }, 'INVALID_OPTIONS', /HOLDFAST_KEYS must be id:base64/],
  ])('show with %s says so, and not that the store is damaged', async (_what, env, code, message) => {
    await command(start)
    const { code: exit, err } = await command(['show', 'r', '--store', store], { env })
    expect(exit).toBe(2)
    expect(err).toContain(`holdfast: ${code}: `)
    expect(err).toMatch(message)
  })
})
