/** A run that an index of the store does not lead to any more is there all the same (R15): it is not started anew, and nothing of it is made again. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { command } from '../src/cli/fixtures/test-io.ts'
import { createRunner, defineAgent, sqliteStore, type Runner } from '../src/index.ts'
import { closing } from './support/closing.ts'
import { damageIndex } from './support/damaged-index.ts'

let folder: string
let file: string
let charged: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-index-'))
  file = join(folder, 'runs.db')
  charged = 0
})
afterEach(() => rmSync(folder, { recursive: true }))

const desk = defineAgent('desk', (run) => run.step('charge', () => ++charged))
const withRunner = <T>(use: (runner: Runner) => Promise<T>): Promise<T> =>
  closing(createRunner({ agents: [desk], store: sqliteStore(file) }), use)
const again = (): Promise<unknown> => withRunner((runner) => runner.run(desk, null, { runId: 'order-7' }))
const cli = (...args: string[]): ReturnType<typeof command> => command([...args, '--store', file])
function sql(...statements: string[]): Record<string, unknown>[] {
  const database = new DatabaseSync(file)
  const rows = statements.flatMap((statement) => database.prepare(statement).all())
  database.close()
  return rows
}
const corrupt = { code: 'STORE_CORRUPT', runId: 'order-7', message: expect.stringMatching(/is in the store, and its index is damaged.*holdfast salvage "order-7"/) }

describe('a run that the index over run ids has lost', () => {
  beforeEach(async () => {
    await again()
    damageIndex(file, 'sqlite_autoindex_runs_1')
  })

  it('is STORE_CORRUPT to each call that names it, and never begun anew', async () => {
    await expect(again()).rejects.toMatchObject(corrupt)
    await withRunner(async (runner) => {
      await expect(runner.resume('order-7')).rejects.toMatchObject(corrupt)
      await expect(runner.get('order-7')).rejects.toMatchObject(corrupt)
      await expect(runner.resolve('order-7', '0', 'rerun')).rejects.toMatchObject(corrupt)
      expect((await runner.list()).map(({ runId }) => runId)).toEqual(['order-7'])
      expect(await runner.run(desk, null, { runId: 'order-8' })).toEqual({ status: 'completed', result: 2 })
    })
    const store = sqliteStore(file)
    await store.open()
    await expect(store.remove('order-7', 1)).rejects.toMatchObject(corrupt)
    await expect(store.read('order-7')).rejects.toMatchObject(corrupt)
    await store.close()
    expect(sql(`SELECT count(*) AS n FROM runs NOT INDEXED WHERE run_id = CAST('order-7' AS BLOB)`)).toEqual([{ n: 1 }])
  })

  it('is found by verify, also where that is asked for it alone, and by salvage, which makes the indexes anew', async () => {
    expect(await cli('verify', 'order-7')).toMatchObject({ code: 1, out: expect.stringMatching(/order-7 +run +store .*its index is damaged/) })
    expect(await cli('verify', 'order-9')).toMatchObject({ code: 2, err: expect.stringContaining('UNKNOWN_RUN') })
    expect(await cli('salvage', 'order-7')).toMatchObject({ code: 0, out: expect.stringMatching(/all of it holds; the indexes of the store, by which it is found, were damaged, and are made anew/) })
    expect(await cli('verify')).toMatchObject({ code: 0 })
    expect(await cli('salvage', 'order-7', '--json')).toMatchObject({ code: 2, out: expect.stringContaining('nothing of run') })
    expect([await again(), charged]).toEqual([{ status: 'completed', result: 1 }, 1])
  })

  it('is found in a file that has no second index, also where that is only read', async () => {
    sql('DROP INDEX runs_by_id')
    expect(await cli('verify', 'order-7')).toMatchObject({ code: 1, out: expect.stringMatching(/its index is damaged/) })
    await expect(again()).rejects.toMatchObject(corrupt)
    const seconds = (): unknown => sql(`SELECT count(*) AS n FROM sqlite_schema WHERE name = 'runs_by_id'`)
    expect(seconds()).toEqual([{ n: 0 }])
    expect(await withRunner((runner) => runner.run(desk, null, { runId: 'order-8' }))).toMatchObject({ status: 'completed' })
    expect(seconds()).toEqual([{ n: 1 }])
  })

  it('is found by salvage in a file that has no second index: what that would say is not asked for', async () => {
    sql('DROP INDEX runs_by_id')
    expect(await cli('salvage', 'order-7')).toMatchObject({ code: 0, out: expect.stringMatching(/all of it holds; the indexes of the store, by which it is found, were damaged, and are made anew/) })
    expect(await cli('verify')).toMatchObject({ code: 0 })
    expect([await again(), charged]).toEqual([{ status: 'completed', result: 1 }, 1])
  })
})

it('where both indexes have lost a run verify says so, and does not call well what it has not read', async () => {
  await again()
  damageIndex(file, 'sqlite_autoindex_runs_1')
  damageIndex(file, 'runs_by_id')
  expect(await cli('verify', 'order-7')).toMatchObject({ code: 1, out: expect.stringMatching(/order-7 +run +store +it is in the store, and by its id it is not found/) })
  expect(await cli('salvage', 'order-7')).toMatchObject({ code: 0 })
  expect(await cli('verify')).toMatchObject({ code: 0 })
})

it('a damaged second index is in nobody\'s way, and is made anew too', async () => {
  await again()
  damageIndex(file, 'runs_by_id')
  expect(await again()).toEqual({ status: 'completed', result: 1 })
  expect(await cli('verify')).toMatchObject({ code: 1, out: expect.stringMatching(/missing from index runs_by_id/) })
  expect(JSON.parse((await cli('salvage', 'order-7', '--json')).out)).toMatchObject({ holds: 6, had: 6, fault: 'index', kept: null })
  expect(await cli('verify')).toMatchObject({ code: 0 })
})

it('an index that leads to another run gives nothing of that one, and removes nothing', async () => {
  await again()
  await withRunner((runner) => runner.run(desk, null, { runId: 'order-8' }))
  sql('PRAGMA wal_checkpoint(TRUNCATE)')
  const bytes = readFileSync(file)
  const rootpage = sql(`SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_runs_1'`)[0]!['rootpage'] as number
  const at = bytes.indexOf('order-8', (rootpage - 1) * 4096)
  bytes.write('order-9', at)
  writeFileSync(file, bytes)
  const store = sqliteStore(file)
  await store.open()
  for (const call of [store.get('order-9'), store.read('order-9'), store.remove('order-9', 1), store.send('order-9', { question: null, body: '{}', now: 1 })]) {
    await expect(call).rejects.toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringContaining('leads to run "order-8"') })
  }
  await expect(store.get('order-8')).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect(await store.get('order-7')).toMatchObject({ runId: 'order-7' })
  await store.close()
})

it('entries that the index has lost are no lost entries: they are found and none is given up', async () => {
  const runner = createRunner({ agents: [defineAgent('desk', async (run) => [await run.step('charge', () => ++charged), await run.read('look', () => 1)])], store: sqliteStore(file) })
  await runner.run('desk', null, { runId: 'order-7' })
  await runner.close()
  damageIndex(file, 'sqlite_autoindex_journal_1')
  await expect(withRunner((runner) => runner.resume('order-7'))).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect(await cli('salvage', 'order-7')).toMatchObject({ code: 0, out: expect.stringMatching(/all of it holds/) })
  expect(await cli('verify')).toMatchObject({ code: 0 })
})

it('a question that the index of answers has lost is not answered twice', async () => {
  await again()
  const store = sqliteStore(file)
  await store.open()
  expect(await store.send('order-7', { question: 'q', body: '{}', now: 1 })).toBe(1)
  await store.close()
  damageIndex(file, 'sqlite_autoindex_inbox_2')
  await store.open()
  expect(await store.send('order-7', { question: 'q', body: '{}', now: 1 })).toBeNull()
  await store.close()
})

it('a run that is in the file twice is told as that by verify and by salvage', async () => {
  await again()
  damageIndex(file, 'sqlite_autoindex_runs_1')
  sql(`INSERT INTO runs SELECT 9, run_id, agent, thread_id, status, created_at, updated_at, resume_at, token, owner, lease_until, last_seq, inbox_seq FROM runs NOT INDEXED`)
  for (const args of [['verify'], ['verify', 'order-7']]) expect(await cli(...args)).toMatchObject({ code: 1, out: expect.stringMatching(/order-7 +run +store +it is in several rows of the table runs: 1, 9/) })
  expect(await cli('salvage', 'order-7')).toMatchObject({ code: 6, err: expect.stringMatching(/run "order-7" is 2 times in the store: in the rows 1, 9/) })
})

describe('a row that the table of runs has lost, and its indexes have not', () => {
  beforeEach(async () => {
    for (const runId of ['order-1', 'order-2', 'order-7']) await withRunner((runner) => runner.run(desk, null, { runId }))
    charged = 0
    damageIndex(file, 'runs')
  })

  it('is not forgotten when the indexes are made anew for another run', async () => {
    await expect(again()).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
    expect(await cli('salvage', 'order-1')).toMatchObject({ code: 6, err: expect.stringMatching(/has lost the rows of run "order-7"/) })
    sql(`UPDATE journal SET sum = 'x' WHERE run = 1 AND seq = 3`)
    expect(await cli('salvage', 'order-1')).toMatchObject({ code: 6, err: expect.stringMatching(/has lost the rows of run "order-7"/) })
    // Nothing was changed, so there is nothing that would have to be kept.
    expect(readdirSync(folder).filter((name) => name.endsWith('.jsonl'))).toEqual([])
    await expect(again()).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
    expect(charged).toBe(0)
  })

  it('is put in place again by a salvage of its run', async () => {
    expect(await cli('salvage', 'order-7')).toMatchObject({ code: 0 })
    expect((await cli('verify')).out).not.toMatch(/(from|in) index|^order/m)
    expect([await again(), charged]).toEqual([{ status: 'completed', result: 3 }, 0])
  })
})
