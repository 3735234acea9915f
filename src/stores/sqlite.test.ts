import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { storeConformance } from './conformance.ts'
import { entries, newRun, T0 } from './conformance/sample.ts'
import type { SqliteStoreOptions } from './sqlite.ts'
import { sqliteStore } from './sqlite.ts'

describe('the SQLite store', () => {
  const cases = storeConformance(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
    const file = join(folder, 'runs.db')
    return {
      store: sqliteStore(file),
      another: async () => sqliteStore(file),
      cleanup: async () => rmSync(folder, { recursive: true }),
    }
  })
  for (const { name, run } of cases) it(name, run)

  it('keeps ids with lone surrogates apart', async () => {
    const { store } = await openedStore()
    const ids = ['\ud800', '\ud801', '\ufffd', 'a\udc00']
    for (const runId of ids) expect(await store.create(newRun(runId, { threadId: runId }))).toBe(true)
    for (const runId of ids) expect((await store.list({ threadId: runId })).map((row) => row.runId)).toEqual([runId])
  })

  it('loads node:sqlite when it is opened, not before', () => {
    const program = `
      const loaded = () => process.moduleLoadList.includes('NativeModule sqlite')
      const { sqliteStore } = await import(${JSON.stringify(new URL('sqlite.ts', import.meta.url).href)})
      const store = sqliteStore(${JSON.stringify(join(tmpdir(), 'holdfast-never-made.db'))}, { create: false })
      const before = loaded()
      process.getBuiltinModule('node:sqlite')
      console.log(before, loaded())
    `
    const { stdout } = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], { encoding: 'utf8' })
    expect(stdout).toBe('false true\n')
  })

  it('is opened again after it was closed', async () => {
    const { store } = await openedStore()
    await store.create(newRun('a'))
    await store.close()
    await store.open()
    expect((await store.get('a'))?.lastSeq).toBe(1)
  })

  it('leaves one file when it is closed', async () => {
    const { store, file } = await openedStore()
    await store.create(newRun('a'))
    expect(existsSync(`${file}-wal`)).toBe(true)
    await store.close()
    expect([existsSync(`${file}-wal`), existsSync(`${file}-shm`)]).toEqual([false, false])
  })
})

describe('a SQLite store while another program holds the lock', () => {
  it('waits without blocking the event loop, then writes in the order of the calls; reading does not wait', async () => {
    const { store, file } = await openedStore()
    await store.create(newRun('a'))
    const other = lockedBy(file)
    const settled: string[] = []
    const writes = [2, 3, 4].map(async (seq) => {
      await store.append('a', { token: 0, entries: entries(seq, seq), now: T0 })
      settled.push(`entry ${seq}`)
    })
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
    expect((await store.read('a')).length).toBe(1)
    expect(settled).toEqual([])
    other.exec('COMMIT')
    await Promise.all(writes)
    expect(settled).toEqual(['entry 2', 'entry 3', 'entry 4'])
    expect(await store.read('a')).toEqual(entries(1, 4))
  })

  it('gives up after busyTimeoutMs with STORE_UNAVAILABLE, having stored nothing', async () => {
    const { store, file } = await openedStore({ busyTimeoutMs: 5 })
    await store.create(newRun('a'))
    const other = lockedBy(file)
    await expect(store.append('a', { token: 0, entries: entries(2, 2), now: T0 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE', runId: 'a', message: expect.stringContaining('held the write lock'),
    })
    other.exec('COMMIT')
    expect(await store.read('a')).toEqual(entries(1, 1))
    await store.append('a', { token: 0, entries: entries(2, 2), now: T0 })
  })
})

async function openedStore(options: SqliteStoreOptions = {}): Promise<{ store: ReturnType<typeof sqliteStore>; file: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  const file = join(folder, 'runs.db')
  const store = sqliteStore(file, options)
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  await store.open()
  return { store, file }
}

/** Another connection that holds the write lock. */
function lockedBy(file: string): DatabaseSync {
  const other = new DatabaseSync(file)
  onTestFinished(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  return other
}
