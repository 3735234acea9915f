/** A number that cannot be, anywhere in the rows of a run, hurts that run alone, and salvage puts it right (R15); what it was is kept. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { command } from '../src/cli/fixtures/test-io.ts'
import { createRunner, defineAgent, sqliteStore, type Runner } from '../src/index.ts'
import { closing } from './support/closing.ts'

const BIG = '(1 << 60)'
const DIGITS = '1152921504606846976'
let folder: string
let file: string
let calls: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-row-'))
  file = join(folder, 'runs.db')
  calls = 0
})
afterEach(() => rmSync(folder, { recursive: true }))

const desk = defineAgent('a', async (run) => {
  await run.step('one', { key: 'one' }, () => ++calls)
  return run.step('two', { key: 'two' }, () => {
    if (calls === 1) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    return ++calls
  })
})
const withRunner = <T>(use: (runner: Runner) => Promise<T>): Promise<T> =>
  closing(createRunner({ agents: [desk], store: sqliteStore(file), idleMs: 5, retry: { maxAttempts: 1 } }), use)
/** A run with an answer that it has not taken in yet, and one beside it that has none. */
const begun = (): Promise<void> => withRunner(async (runner) => {
  await runner.run('a', null, { runId: 'r' }).catch(() => {})
  await runner.resolve('r', 's:two:two#0', { result: 'told' })
})
const cli = (...args: string[]): ReturnType<typeof command> => command([...args, '--store', file])
function sql(...statements: string[]): void {
  const database = new DatabaseSync(file)
  for (const statement of statements) database.exec(statement)
  database.close()
}
const kept = (): string => readdirSync(folder).filter((name) => name.endsWith('.jsonl')).map((name) => readFileSync(join(folder, name), 'utf8')).join('')

it.each<[string, string, string]>([
  ...['created_at', 'updated_at', 'resume_at', 'token', 'lease_until', 'last_seq', 'inbox_seq'].map((column): [string, string, string] => [`runs.${column}`, `UPDATE runs SET ${column} = ${BIG}`, 'told']),
  ['runs.key', `PRAGMA foreign_keys = OFF; UPDATE runs SET key = ${BIG}; UPDATE journal SET run = ${BIG}; UPDATE inbox SET run = ${BIG}`, 'told'],
  ['all of them', `UPDATE runs SET created_at = ${BIG}, updated_at = ${BIG}, resume_at = ${BIG}, token = ${BIG}, lease_until = ${BIG}, last_seq = ${BIG}, inbox_seq = ${BIG}`, 'told'],
  ['a second entry', `INSERT INTO journal SELECT run, ${BIG}, body, sum FROM journal WHERE seq = 1`, 'told'],
  ['the token that none can follow', 'UPDATE runs SET token = 9007199254740991', 'told'],
  ['the newest message that none can follow', 'UPDATE runs SET inbox_seq = 9007199254740991', 'told'],
])('a number that cannot be in %s is put right, and nothing is lost', async (_, damage, result) => {
  await begun()
  sql(damage)
  expect((await cli('verify')).code).toBe(1)
  expect(await cli('salvage', 'r')).toMatchObject({ code: 0, out: expect.stringMatching(/^run r: (\d+) of its \1 entries hold\n/) })
  if (damage.includes(BIG)) expect(kept()).toContain(`{"number":"${DIGITS}"}`)
  expect((await cli('verify')).code).toBe(0)
  expect(await cli('salvage', 'r')).toMatchObject({ code: 2, err: expect.stringContaining('nothing of run "r" is damaged') })
  expect(await withRunner((runner) => runner.resume('r'))).toEqual({ status: 'completed', result })
  expect(calls).toBe(1)
  expect((await cli('verify')).code).toBe(0)
})

it.each<[string, string]>([['no time', 'NULL'], ['the year 3000', '32503680000000']])('a run that was answered and is not due by its row, which says %s, is told by verify, and goes on by itself once it is salvaged', async (_, at) => {
  await withRunner(async (runner) => {
    await runner.run('a', null, { runId: 'r' }).catch(() => {})
    await runner.resume('r')
    await runner.resolve('r', 's:two:two#0', { result: 'told' })
  })
  expect((await cli('verify')).code).toBe(0)
  sql(`UPDATE runs SET resume_at = ${at}`)
  expect(await cli('verify')).toMatchObject({ code: 1, out: expect.stringMatching(/^r +run +row +the run's row says resumeAt/m) })
  expect(await withRunner((runner) => runner.recover())).toEqual([])
  expect(await cli('salvage', 'r')).toMatchObject({ code: 0 })
  expect((await cli('verify')).code).toBe(0)
  expect(await withRunner((runner) => runner.recover())).toEqual([{ runId: 'r', outcome: { status: 'completed', result: 'told' } }])
})

it.each<[string, string]>([['no time', 'NULL'], ['the year 3000', '32503680000000'], ['1970', '1']])('a run that waits for a time, of which its row says %s, is given it again by salvage', async (_, at) => {
  const slow = defineAgent('slow', (run) => run.read('page', () => Promise.reject(Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '3600' } }))))
  const runner = createRunner({ agents: [slow], store: sqliteStore(file), retry: { inlineWaitMs: 10 } })
  const { resumeAt } = (await runner.run(slow, null, { runId: 'r' })) as { resumeAt: number }
  await runner.close()
  expect((await cli('verify')).code).toBe(0)
  sql(`UPDATE runs SET resume_at = ${at}`)
  expect(await cli('verify')).toMatchObject({ code: 1, out: expect.stringContaining(`the journal ${resumeAt}`) })
  expect((await cli('salvage', 'r')).code).toBe(0)
  expect((await cli('verify')).code).toBe(0)
  expect(await withRunner((again) => again.get('r'))).toMatchObject({ status: 'suspended', resumeAt })
})

it.each([
  ['the number of an entry', `UPDATE journal SET seq = seq + ${BIG} WHERE seq = 5`, 'gap'],
  ['the run of an entry', `PRAGMA foreign_keys = OFF; UPDATE journal SET run = run + ${BIG} WHERE seq = 5`, 'gap'],
  ['the number of a message', `UPDATE inbox SET seq = seq + ${BIG}`, 'inbox'],
])('%s that cannot be takes away that one, and what follows it', async (_, damage, fault) => {
  await begun()
  sql(damage)
  expect((await cli('verify')).code).toBe(1)
  expect(await cli('salvage', 'r')).toMatchObject({ code: 0, out: expect.stringContaining(`what is wrong behind them: ${fault}\n`) })
  expect((await cli('verify', 'r')).code).toBe(0)
  expect((await withRunner((runner) => runner.resume('r'))).status).toBe('suspended')
  expect(calls).toBe(1)
})

it.each([
  ['an entry', `INSERT INTO journal SELECT run, 0, body, sum FROM journal WHERE seq = 1`, /^r +entry 0 +gap +it stands before the first entry/m, 'journal'],
  ['an entry', `INSERT INTO journal SELECT run, -1, body, sum FROM journal WHERE seq = 1`, /^r +entry -1 +gap/m, 'journal'],
  ['a message', `INSERT INTO inbox SELECT run, -1, NULL, body FROM inbox`, /^r +message -1 +inbox +it stands before the first message/m, 'inbox'],
])('%s before the first one is found by reading and by verify, and taken away by salvage', async (_, damage, words, table) => {
  await begun()
  sql(damage)
  expect(await cli('verify')).toMatchObject({ code: 1, out: expect.stringMatching(words) })
  await expect(withRunner((runner) => runner.resume('r'))).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect((await cli('salvage', 'r')).code).toBe(0)
  expect(kept()).toMatch(new RegExp(`"table":"${table}","seq":(0|-1),`))
  expect((await cli('verify')).code).toBe(0)
  expect((await withRunner((runner) => runner.resume('r'))).status).toBe('completed')
  expect(calls).toBe(1)
})

it('a key that cannot be is in no other run\'s way: they are listed, and made', async () => {
  await begun()
  sql(`PRAGMA foreign_keys = OFF; UPDATE runs SET key = ${BIG}; UPDATE journal SET run = ${BIG}; UPDATE inbox SET run = ${BIG}`)
  calls = 5
  await withRunner(async (runner) => {
    expect(await runner.run('a', null, { runId: 'other' })).toMatchObject({ status: 'completed' })
    await expect(runner.run('a', null, { runId: 'r' })).rejects.toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringContaining('holdfast salvage') })
  })
  const { out } = await cli('verify')
  expect(out).toMatch(/^r +run +store/m)
  expect(out).toMatch(/^2 runs/m)
  const store = sqliteStore(file)
  await store.open()
  const damaged: string[] = []
  expect((await store.list({ onDamaged: ({ runId }) => void damaged.push(runId!) })).map(({ runId }) => runId)).toEqual(['other'])
  expect(damaged).toEqual(['r'])
  await store.close()
})

it('an owner whose lease cannot be is taken for gone, as its run is driven by nobody for ever; one whose lease can be is not', async () => {
  await begun()
  const owned = (until: string): void => sql(`UPDATE runs SET agent = CAST('other' AS BLOB), owner = '{"id":"x","host":"elsewhere","pid":1}', lease_until = ${until}`)
  owned(String(Date.now() + 60_000))
  expect(await cli('salvage', 'r')).toMatchObject({ code: 4, err: expect.stringContaining('RUN_BUSY') })
  for (const until of ['9999999999999', BIG]) {
    owned(until)
    expect((await cli('salvage', 'r')).code).toBe(0)
    expect((await cli('verify')).code).toBe(0)
  }
})

it('a token that could not be known is passed by far: a process that has one that nobody has written down writes no more', async () => {
  await begun()
  const store = sqliteStore(file)
  await store.open()
  const { token, lastSeq } = (await store.get('r'))!
  const unwritten = (await store.take('r', { expectedToken: token, owner: '{}', leaseUntil: 1, now: 1 }))!
  await store.close()
  sql(`UPDATE runs SET token = ${BIG}`)
  expect((await cli('salvage', 'r')).code).toBe(0)
  await store.open()
  await expect(store.append('r', { token: unwritten, entries: [{ seq: lastSeq + 1, body: '{}', sum: '' }], now: 1 })).rejects.toMatchObject({ code: 'STALE_TOKEN', message: expect.stringContaining('token') })
  await store.close()
})

it.each([['a greater one', 65], ['one that cannot be', BIG]])('a row whose key leads to no entry is put back to its journal, which holds whole: %s', async (_, key) => {
  await begun()
  copyFileSync(file, join(folder, 'copy.db'))
  await withRunner((runner) => runner.resume('r'))
  sql(`PRAGMA foreign_keys = OFF; UPDATE runs SET key = ${key}`)
  expect((await cli('verify')).code).toBe(1)
  // What a copy has is older than what is there.
  for (const more of [['--from', join(folder, 'copy.db')], []]) {
    const damaged = readFileSync(file)
    expect(await cli('salvage', 'r', ...more)).toMatchObject({ code: 0, out: expect.stringMatching(/^run r: (\d+) of its \1 entries hold\n/) })
    expect((await cli('verify')).code).toBe(0)
    expect(await withRunner((runner) => runner.resume('r'))).toEqual({ status: 'completed', result: 'told' })
    if (more.length > 0) writeFileSync(file, damaged)
  }
  expect(calls).toBe(1)
})

it('an answer that was not taken in is found with the journal that the key of its row does not lead to', async () => {
  await begun()
  sql('PRAGMA foreign_keys = OFF; UPDATE runs SET key = 65')
  expect((await cli('salvage', 'r')).code).toBe(0)
  expect(await withRunner((runner) => runner.resume('r'))).toEqual({ status: 'completed', result: 'told' })
  expect(calls).toBe(1)
})

it('a row whose key leads to no entry gives an owner that lives: salvage leaves its run alone', async () => {
  await begun()
  sql(`PRAGMA foreign_keys = OFF; UPDATE runs SET key = 65, owner = '{"id":"x","host":"elsewhere","pid":1}', lease_until = ${Date.now() + 60_000}`)
  expect(await cli('salvage', 'r')).toMatchObject({ code: 4, err: expect.stringContaining('RUN_BUSY') })
})
