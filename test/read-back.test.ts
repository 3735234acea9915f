/** What is found where a run should be has its own outcome each, none of them "start again and overwrite" (R15, F1). */
import { DatabaseSync } from 'node:sqlite'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRunner, sqliteStore, type Store } from '../src/index.ts'
import type { StoredEntry } from '../src/journal/store.ts'
import { memoryStore } from '../src/stores/memory.ts'
import { JOURNALS } from './fuzz/journals.ts'
import { world } from './golden/desk.ts'
import { later } from './support/crash.ts'

const INPUT = { order: 7, when: new Date(0) }
const RUN = 'order-7'
const whole = gunzipSync(readFileSync(new URL('./golden/format-1.db.gz', import.meta.url)))
const [killed, every] = JOURNALS as [(typeof JOURNALS)[number], (typeof JOURNALS)[number]]
const LAST = killed.journal.length

/** A file that holds a run that was killed, changed by `damage`. */
function fileWith(damage: (file: string) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'runs.db')
  writeFileSync(file, whole)
  damage(file)
  return file
}
function sql(file: string, ...statements: string[]): void {
  const database = new DatabaseSync(file)
  for (const statement of statements) database.exec(statement)
  database.close()
}

describe('where a file should be (F1)', () => {
  it.each<[string, (file: string) => void, string, RegExp]>([
    ['nothing', (file) => rmSync(file), 'STORE_NOT_FOUND', /does not exist. Check the path/],
    ['an empty file', (file) => truncateSync(file, 0), 'STORE_EMPTY', /is an empty file, not a store. Delete it/],
    ['a file that was cut', (file) => truncateSync(file, whole.length - 5_000), 'STORE_CORRUPT', /is damaged.*Restore a copy/],
    ['one with a flipped bit in the middle', (file) => sql(file, `UPDATE journal SET body = replace(body, '"at":1', '"at":0') WHERE seq = 5`), 'STORE_CORRUPT', /damaged at entry 5: its checksum does not match.*Restore the store/],
    ["another program's file", (file) => writeFileSync(file, 'name,amount\nann,7\n'.repeat(100)), 'STORE_FOREIGN', /is not a Holdfast file.*another path/],
    ["another program's database", (file) => sql(file, 'PRAGMA application_id = 7'), 'STORE_FOREIGN', /another program/],
    ['one of a newer layout', (file) => sql(file, 'PRAGMA user_version = 99'), 'STORE_NEWER', /format 99.*Upgrade Holdfast/],
    ['one with a run of a newer format', (file) => sql(file, `UPDATE journal SET body = replace(body, '"format":1', '"format":99')`), 'STORE_NEWER', /entry 1 of run "order-7": it was written in format 99.*Update/],
  ])('%s is an error of its own: nothing runs, and it stays as it is', async (_, damage, code, words) => {
    const file = fileWith(damage)
    const before = existsSync(file) && readFileSync(file)
    const { agent, ran, model } = world()
    for (const call of ['run', 'resume'] as const) {
      const runner = createRunner({ agents: [agent], store: sqliteStore(file, { create: false }), clock: later() })
      const outcome = call === 'run' ? runner.run(agent, INPUT, { runId: RUN }) : runner.resume(RUN)
      await expect(outcome).rejects.toMatchObject({ code, message: expect.stringMatching(words) })
      await runner.close()
    }
    expect([ran, model.requests]).toEqual([[], []])
    const after = existsSync(file) && readFileSync(file)
    // A copy made without its log gets one when it is opened: that is in the first hundred bytes.
    expect(after && after.subarray(100)).toEqual(before && before.subarray(100))
  })

  it.each<[string, (file: string) => void]>([
    ['garbage after its end', (file) => appendFileSync(file, 'garbage '.repeat(700))],
    ['garbage for a log, as a kill leaves it', (file) => writeFileSync(`${file}-wal`, 'garbage '.repeat(700))],
    ['a log that was cut in its first commit', (file) => {
      const database = new DatabaseSync(file)
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; DELETE FROM journal`)
      const [content, log] = [readFileSync(file), readFileSync(`${file}-wal`)]
      database.close()
      writeFileSync(file, content)
      writeFileSync(`${file}-wal`, log.subarray(0, log.length - 1))
    }],
  ])('a whole one with %s loads as it was committed, and goes on', async (_, damage) => {
    const { agent, ran } = world()
    const runner = createRunner({ agents: [agent], store: sqliteStore(fileWith(damage), { create: false }), clock: later() })
    expect((await runner.history(RUN)).length).toBe(LAST)
    expect(await runner.resume(RUN)).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', tool: 'charge' }] })
    expect(ran).toEqual([])
    await runner.close()
  })
})

type Damage = (rows: readonly StoredEntry[]) => StoredEntry[]

/** Stores whose journal of the run is what `damage` made of it. */
const STORES: readonly [string, (damage: Damage) => Promise<Store>][] = [
  ['SQLite', async (damage) => {
    const file = fileWith((path) => {
      const database = new DatabaseSync(path)
      const { key } = database.prepare('SELECT key FROM runs WHERE run_id = ?').get(Buffer.from(RUN)) as { key: number }
      database.prepare('DELETE FROM journal WHERE run = ?').run(key)
      for (const { seq, body, sum } of damage(killed.journal)) database.prepare('INSERT INTO journal VALUES (?, ?, ?, ?)').run(key, seq, body, sum)
      database.close()
    })
    const store = sqliteStore(file)
    onTestFinished(() => store.close())
    return store
  }],
  ['memory', async (damage) => {
    const { row, journal } = killed
    const store = memoryStore()
    await store.create({ runId: RUN, agent: row.agent, threadId: row.threadId, createdAt: row.createdAt, entries: journal })
    return { ...store, read: async (_, after = 0) => damage(journal).filter(({ seq }) => seq > after) }
  }],
]
const changed = (seq: number, change: (row: StoredEntry) => Partial<StoredEntry>): Damage => (rows) => rows.map((row) => (row.seq === seq ? { ...row, ...change(row) } : row))

describe.each(STORES)('a journal in the %s store', (_store, storeWith) => {
  it.each<[string, Damage, string]>([
    ['without its last entry', (rows) => rows.slice(0, -1), `damaged at entry ${LAST}: it is missing: the journal ends at entry ${LAST - 1}, it had ${LAST}`],
    ['without an entry in the middle', (rows) => rows.filter(({ seq }) => seq !== 4), 'damaged at entry 4: entry 5 stands there'],
    ['without its first entry', (rows) => rows.slice(1), 'damaged at entry 1: entry 2 stands there'],
    ['that is gone', () => [], 'damaged at entry 1: it is missing: the journal has no entry'],
    ['with a changed bit in a body', changed(3, ({ body }) => ({ body: body.replace('"at":1', '"at":3') })), 'damaged at entry 3: its checksum does not match'],
    ['with a changed bit in a checksum', changed(3, ({ sum }) => ({ sum: (sum[0] === '0' ? '1' : '0') + sum.slice(1) })), 'damaged at entry 3: its checksum does not match'],
    ['with a body that was cut', changed(LAST, ({ body }) => ({ body: body.slice(0, -1) })), `damaged at entry ${LAST}: its checksum does not match`],
    ['with garbage after a body', changed(LAST, ({ body }) => ({ body: `${body} garbage` })), `damaged at entry ${LAST}: its checksum does not match`],
    ['with a foreign body', changed(6, () => ({ body: '{"hello":"world"}' })), 'damaged at entry 6: its checksum does not match'],
    ['of another run', () => every.journal.slice(0, LAST) as StoredEntry[], 'damaged at entry 1: it begins the journal of run "every-entry"'],
  ])('%s is refused with its place by whatever reads it, and nothing runs or changes', async (_, damage, words) => {
    const { agent, ran, model } = world()
    const store = await storeWith(damage)
    await store.open()
    const before = [await store.get(RUN), await store.read(RUN)]
    const runner = createRunner({ agents: [agent], store, clock: later() })
    const refused = { code: 'STORE_CORRUPT', runId: RUN, message: expect.stringContaining(words) as unknown }
    await expect(runner.run(agent, INPUT, { runId: RUN })).rejects.toMatchObject(refused)
    await expect(runner.resume(RUN)).rejects.toMatchObject(refused)
    await expect(runner.history(RUN)).rejects.toMatchObject(refused)
    await expect(runner.usage(RUN)).rejects.toMatchObject(refused)
    await expect(runner.resolve(RUN, 's:charge:7#0', 'rerun')).rejects.toMatchObject(refused)
    expect([await store.get(RUN), await store.read(RUN)]).toEqual(before)
    expect([ran, model.requests]).toEqual([[], []])
  })
})
