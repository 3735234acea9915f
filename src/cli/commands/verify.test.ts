import { appendFileSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { chained, EVERY_MESSAGE, everyEntry } from '../../journal/fixtures/every-entry.ts'
import { writeMessage } from '../../journal/message.ts'
import { encryptedStore } from '../../stores/encrypted.ts'
import { sqliteStore } from '../../stores/sqlite.ts'
import { command, testIo } from '../fixtures/test-io.ts'
import { main } from '../main.ts'

const ENTRIES = everyEntry('r-1').length

/** A store with runs r-1 and r-2; `damage` is SQL. */
async function storeWith(damage = ''): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-verify-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'runs.db')
  const store = sqliteStore(file)
  await store.open()
  for (const runId of ['r-1', 'r-2']) {
    const entries = everyEntry(runId)
    await store.create({ runId, agent: 'desk', threadId: 'thread-9', createdAt: entries[0]!.at, entries: chained(entries) })
    for (let expectedToken = 0; expectedToken < 4; expectedToken++) await store.take(runId, { expectedToken, owner: '{}', leaseUntil: 1, now: 1 })
    await store.append(runId, { token: 4, entries: [], patch: { status: 'completed', release: true }, now: 2 })
    for (const message of EVERY_MESSAGE) await store.send(runId, { question: null, body: writeMessage(runId, message), now: 3 })
  }
  await store.close()
  const database = new DatabaseSync(file)
  database.exec(damage)
  database.close()
  return file
}

const contentOf = (file: string): Record<string, string> =>
  Object.fromEntries(readdirSync(join(file, '..')).map((name) => [name, readFileSync(join(file, '..', name), 'base64')]))

describe('verify', () => {
  it.each<[string, RegExp]>([
    ['journal', /- +file +file .*malformed[^]*r-1 +run +store .*malformed[^]*r-2 +run +store[^]*2 runs, 0 entries/],
    ['runs_by_status', new RegExp(`- +file +file .*\\n\\n2 runs, ${2 * ENTRIES} entries`)],
    ['runs', /- +file +file .*malformed[^]*- +file +file +the runs cannot be listed[^]*0 runs/],
  ])('goes on where SQLite cannot read a page of %s, and says which runs that hurts', async (table, words) => {
    const file = await storeWith('PRAGMA wal_checkpoint(TRUNCATE)')
    const database = new DatabaseSync(file)
    const { root } = database.prepare('SELECT rootpage AS root FROM sqlite_master WHERE name = ?').get(table) as { root: number }
    const { size } = database.prepare('SELECT page_size AS size FROM pragma_page_size').get() as { size: number }
    database.close()
    const bytes = readFileSync(file)
    bytes[(root - 1) * size]! ^= 0x40
    writeFileSync(file, bytes)
    expect(await command(['verify', '--store', file])).toMatchObject({ code: 1, out: expect.stringMatching(words) })
    if (table === 'runs') expect(await command(['verify', 'r-1', '--store', file])).toMatchObject({ code: 1, out: expect.stringMatching(/the runs cannot be listed/) })
  })

  it('says that all is well, and of how much', async () => {
    const file = await storeWith()
    expect(await command(['verify', '--store', file])).toEqual({ code: 0, err: '', out: `all is well: 2 runs, ${2 * ENTRIES} entries, ${2 * EVERY_MESSAGE.length} messages\n` })
    expect(JSON.parse((await command(['verify', '--json'], { env: { HOLDFAST_STORE: file } })).out)).toEqual({ ok: true, runs: 2, entries: 2 * ENTRIES, messages: 2 * EVERY_MESSAGE.length, findings: [], advice: [] })
  })

  it.each<[string, string, string]>([
    ['a changed body', `UPDATE journal SET body = replace(body, 'desk', 'disk') WHERE run = 1 AND seq = 1`, 'r-1 +entry 1 +checksum +its checksum does not match'],
    ['a changed checksum', `UPDATE journal SET sum = 'x' WHERE run = 1 AND seq = ${ENTRIES}`, `r-1 +entry ${ENTRIES} +checksum`],
    ['a row that is gone', 'DELETE FROM journal WHERE run = 1 AND seq = 3', 'r-1 +entry 3 +gap +entry 4 stands there'],
    ['a cut end', `DELETE FROM journal WHERE run = 1 AND seq = ${ENTRIES}`, `r-1 +entry ${ENTRIES} +missing`],
    ['a foreign body', `UPDATE journal SET body = 'hello' WHERE run = 1 AND seq = 2`, 'r-1 +entry 2 +checksum'],
    ['a message that is none', `UPDATE inbox SET body = '[]' WHERE run = 1 AND seq = 2`, 'r-1 +message 2 +inbox'],
    ['a row that says something else', `UPDATE runs SET agent = CAST('other' AS BLOB) WHERE key = 1`, 'r-1 +run +row +the run\'s row says agent "other"'],
    ['journals that were swapped', 'PRAGMA foreign_keys = OFF; UPDATE journal SET run = run + 10; UPDATE journal SET run = 13 - run', 'r-1 +entry 1 +other-run +it begins the journal of run "r-2"'],
    ['a row that is none', `UPDATE runs SET status = 'sleeping' WHERE key = 1`, 'r-1 +run +store +a row of run "r-1" is damaged: status is'],
    ['an owner that is none', `UPDATE runs SET owner = '{garb' WHERE key = 1`, 'r-1 +run +row +the run\'s row names an owner that is none: "\\{garb"; until its lease ends'],
    ['a lease of centuries', `UPDATE runs SET owner = '{"pid":1,"host":"h"}', lease_until = 9999999999999 WHERE key = 1`, 'r-1 +run +row +the run\'s row says that its lease ends in the year 2286'],
    ['a message that is gone', 'DELETE FROM inbox WHERE run = 1 AND seq = 1', 'r-1 +message 2 +inbox +message 1 is missing'],
    ['a run whose id is none', `UPDATE runs SET run_id = x'c328' WHERE key = 1`, '- +file +file +row 1 of table runs has no id: its journal is that of run "r-1", which nobody finds'],
    ['a run without an id', `UPDATE runs SET run_id = x'' WHERE key = 2`, '- +file +file +row 2 of table runs has no id: its journal is that of run "r-2"'],
    ['a row that knows of fewer entries', 'UPDATE runs SET last_seq = 5 WHERE key = 1', `r-1 +run +row +the run's row knows of 5 entries, the journal has ${ENTRIES}`],
    ['a row that knows of fewer messages', 'UPDATE runs SET inbox_seq = 1 WHERE key = 1', `r-1 +run +row +the run's row knows of 1 messages, its inbox has ${EVERY_MESSAGE.length}`],
    ['a journal without its run', `PRAGMA foreign_keys = OFF; INSERT INTO journal VALUES (9, 1, '{}', '')`, '- +file +file +row \\d+ of table journal belongs to no run'],
  ])('names the place of %s, exits with 1 and changes nothing', async (_, damage, line) => {
    const file = await storeWith(damage)
    const before = contentOf(file)
    const { code, out } = await command(['verify', '--store', file])
    expect([code, out]).toEqual([1, expect.stringMatching(new RegExp(`^${line}`, 'm'))])
    expect(out).toContain('Nothing was changed.')
    expect(JSON.parse((await command(['verify', '--store', file, '--json'])).out)).toMatchObject({ ok: false, findings: expect.arrayContaining([expect.objectContaining({ message: expect.any(String) })]) })
    if (!/^v22\.1[34]\./.test(process.version)) expect(contentOf(file)).toEqual(before)
  })

  it('goes on after a row that cannot be read, and lists what else is wrong', async () => {
    const file = await storeWith(`UPDATE runs SET status = 'sleeping' WHERE key = 1; UPDATE journal SET sum = 'x' WHERE seq = ${ENTRIES}`)
    const { out } = await command(['verify', '--store', file])
    for (const line of ['r-1 +run +store', `r-1 +entry ${ENTRIES} +checksum`, `r-2 +entry ${ENTRIES} +checksum`]) expect(out).toMatch(new RegExp(`^${line}`, 'm'))
    expect(out).toContain(`2 runs, ${2 * ENTRIES} entries`)
    expect(await command(['list', '--store', file])).toMatchObject({ code: 6, err: expect.stringContaining('a row of run "r-1" is damaged') })
    expect(await command(['list', '--status', 'completed', '--store', file])).toMatchObject({ code: 0, out: expect.stringMatching(/^r-2/m) })
  })

  it('finds what stands behind the end of the file', async () => {
    const file = await storeWith()
    appendFileSync(file, 'B'.repeat(777))
    expect(await command(['verify', '--store', file])).toMatchObject({ code: 1, out: expect.stringMatching(/^- +file +file +777 bytes stand behind its end/m) })
  })

  it.each<[string, string, RegExp]>([
    ['damaged', `UPDATE journal SET sum = 'x' WHERE seq = 2`, /restore the store from a copy/],
    ['of a newer format', `UPDATE journal SET body = replace(body, '"format":1', '"format":9') WHERE seq = 1`, /update holdfast here/],
    ['a row', `UPDATE runs SET status = 'cancelled'`, /a run is driven by its journal/],
    ['encrypted', `UPDATE journal SET body = '{"type":"encrypted","v":1,"key":"a"}'`, /HOLDFAST_KEYS/],
  ])('says what to do about what is %s, and about nothing else', async (_, damage, advice) => {
    const file = await storeWith(damage)
    const given = (JSON.parse((await command(['verify', '--store', file, '--json'])).out) as { advice: string[] }).advice
    expect(given).toEqual([expect.stringMatching(advice)])
    expect((await command(['verify', '--store', file])).out).toContain(given[0])
  })

  it('looks at one run only, where one is named', async () => {
    const file = await storeWith('DELETE FROM journal WHERE run = 1 AND seq = 3')
    expect(await command(['verify', 'r-2', '--store', file])).toMatchObject({ code: 0 })
    expect(await command(['verify', 'r-1', '--store', file])).toMatchObject({ code: 1 })
    expect(await command(['verify', 'r-9', '--store', file])).toMatchObject({ code: 2, err: expect.stringContaining('UNKNOWN_RUN') })
  })

  it('finds damage of the file that no entry shows', async () => {
    const file = await storeWith()
    const damaged = `${file}.copy`
    copyFileSync(file, damaged)
    const { rootpage } = new DatabaseSync(damaged, { readOnly: true }).prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'runs_by_status'`).get() as { rootpage: number }
    const bytes = readFileSync(damaged)
    bytes[rootpage * 4096 - 9] = 0x78
    writeFileSync(damaged, bytes)
    expect(await command(['verify', '--store', damaged])).toMatchObject({ code: 1, out: expect.stringMatching(/^- +file +file +.*runs_by_status/m) })
  })

  it('is an error of its own where the store cannot be opened, or is not named', async () => {
    const file = await storeWith()
    writeFileSync(file, 'notes\n'.repeat(1000))
    expect(await command(['verify', '--store', file])).toMatchObject({ code: 6, err: expect.stringContaining('STORE_FOREIGN') })
    expect(await command(['verify', '--store', `${file}.none`])).toMatchObject({ code: 6, err: expect.stringContaining('STORE_NOT_FOUND') })
    expect(await command(['verify'])).toMatchObject({ code: 2, err: expect.stringContaining('MISSING_STORE') })
  })

  it('tells how far it is, at most once a second', async () => {
    const file = await storeWith()
    const io = testIo()
    let now = 0
    expect(await main(['verify', '--store', file], { ...io, now: () => (now += 600) })).toBe(0)
    expect(io.written.err).toBe('verified 1 of 2 runs\n')
  })
})

describe('verify of an encrypted store', () => {
  const [A, B] = ['YWFh'.repeat(10) + 'YWE=', 'YmJi'.repeat(10) + 'YmI=']
  async function encrypted(damage: (row: { run: number; seq: number; body: string }) => string): Promise<string> {
    const file = await storeWith('DELETE FROM runs')
    const store = encryptedStore(sqliteStore(file), { keys: { a: A! }, current: 'a' })
    await store.open()
    for (const runId of ['r-1', 'r-2']) {
      const entries = everyEntry(runId).slice(0, 9)
      await store.create({ runId, agent: 'desk', threadId: 'thread-9', createdAt: entries[0]!.at, entries: chained(entries) })
      for (let expectedToken = 0; expectedToken < 4; expectedToken++) await store.take(runId, { expectedToken, owner: '{}', leaseUntil: 1, now: 1 })
      await store.append(runId, { token: 4, entries: [], patch: { release: true }, now: 2 })
      await store.send(runId, { question: null, body: writeMessage(runId, EVERY_MESSAGE[0]!), now: 3 })
    }
    await store.close()
    const database = new DatabaseSync(file)
    for (const row of database.prepare('SELECT run, seq, body FROM journal').all() as { run: number; seq: number; body: string }[]) {
      database.prepare('UPDATE journal SET body = ? WHERE run = ? AND seq = ?').run(damage(row), row.run, row.seq)
    }
    database.close()
    return file
  }
  const flipped = (body: string): string => body.replace(/(?<="data":".{40})./, (c) => (c === 'A' ? 'B' : 'A'))
  interface Report { readonly entries: number; readonly findings: readonly { readonly runId: string; readonly seq: number | null; readonly type: string; readonly message: string }[]; readonly advice: readonly string[] }
  const verified = async (file: string, keys: string | undefined): Promise<Report> =>
    JSON.parse((await command(['verify', '--store', file, '--json'], { env: keys === undefined ? {} : { HOLDFAST_KEYS: keys } })).out) as Report
  const places = ({ findings }: Report): unknown[] => findings.map(({ runId, seq, type }) => [runId, seq, type])

  it('says that all is well with the keys', async () => {
    expect(await verified(await encrypted(({ body }) => body), `a:${A}`)).toMatchObject({ ok: true, entries: 18, messages: 2 })
  })

  it('goes on after a record that does not open, and names each by its number', async () => {
    const report = await verified(await encrypted(({ run, seq, body }) => (run === 1 && (seq === 4 || seq === 7) ? flipped(body) : run === 2 && seq === 3 ? body.slice(0, 30) : body)), `a:${A}`)
    expect(places(report)).toEqual([['r-1', 4, 'checksum'], ['r-1', 7, 'checksum'], ['r-2', 3, 'checksum']])
    expect(report.findings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^it does not open, although its key "a" is the right one: it was changed, or made for another place$/), expect.any(String), expect.stringMatching(/^it is neither encrypted nor/),
    ])
    expect(report.entries).toBe(18)
    expect(report.advice).toEqual([expect.stringMatching(/restore the store/)])
  })

  it.each<[string, string | undefined]>([['without keys', undefined], ['with another key of that id', `a:${B}`], ['with another key', `b:${B}`]])('says %s that it needs a key, once for a run, and not that anything is damaged', async (_, keys) => {
    const report = await verified(await encrypted(({ body }) => body), keys)
    expect(places(report)).toEqual([['r-1', 1, 'encrypted'], ['r-2', 1, 'encrypted']])
    expect(report.advice).toEqual([expect.stringMatching(/^encrypted: give the keys/)])
  })

  it('says which runs stand in the clear', async () => {
    const report = await verified(await storeWith(), `a:${A}`)
    expect(places(report)).toEqual([['r-1', 1, 'not-encrypted'], ['r-2', 1, 'not-encrypted']])
  })
})
