import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { chained, EVERY_MESSAGE, everyEntry } from '../../journal/fixtures/every-entry.ts'
import { writeMessage } from '../../journal/message.ts'
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
  it('says that all is well, and of how much', async () => {
    const file = await storeWith()
    expect(await command(['verify', '--store', file])).toEqual({ code: 0, err: '', out: `all is well: 2 runs, ${2 * ENTRIES} entries, ${2 * EVERY_MESSAGE.length} messages\n` })
    expect(JSON.parse((await command(['verify', '--json'], { env: { HOLDFAST_STORE: file } })).out)).toEqual({ ok: true, runs: 2, entries: 2 * ENTRIES, messages: 2 * EVERY_MESSAGE.length, findings: [] })
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
    ['a row that is none', `UPDATE runs SET status = 'sleeping' WHERE key = 1`, '- +file +file +the runs cannot be listed: .*status is "sleeping"'],
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
