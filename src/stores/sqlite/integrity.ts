/** What SQLite itself finds wrong with a file: pages, indexes, references. Reads all of it, and changes nothing. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../core/clock.ts'
import { storeFailure } from './failure.ts'
import { whenUnlocked } from './lock.ts'
import { openFile } from './open.ts'
import { SQLITE_DEFAULTS } from './options.ts'
import { fromBytes } from './text.ts'

const MOST = 100

/**
 * What is wrong with the file, a sentence each, at most 100; a journal that has lost its run is among it.
 *
 * @throws HoldfastError a `STORE_...` code when the file is not there, not ours or cannot be read.
 */
export const sqliteFileFaults = (path: string): Promise<string[]> => looking(path, faultsIn)

export interface RunIds {
  readonly runIds: readonly string[]
  /** Why there may be more; undefined: these are all. */
  readonly fault: string | undefined
}

/** The ids of all runs, also of those whose row cannot be read otherwise. @throws HoldfastError as {@link sqliteFileFaults}. */
export const sqliteRunIds = (path: string): Promise<RunIds> => looking(path, runIdsIn)

async function looking<T>(path: string, look: (database: DatabaseSync, file: string) => T): Promise<T> {
  const file = resolve(path)
  try {
    return await whenUnlocked(systemClock, SQLITE_DEFAULTS.busyTimeoutMs, () => {
      const database = openFile(file, false, true)
      try {
        return look(database, file)
      } finally {
        database.close()
      }
    })
  } catch (error) {
    throw storeFailure(error, file)
  }
}

function faultsIn(database: DatabaseSync, file: string): string[] {
  const behind = bytesBehind(database, file)
  const found = database.prepare(`PRAGMA integrity_check(${MOST})`).all() as { integrity_check: string }[]
  const orphans = database.prepare('PRAGMA foreign_key_check').all() as { table: string; rowid: number }[]
  return [
    ...found.map(({ integrity_check }) => integrity_check).filter((text) => text !== 'ok'),
    ...orphans.map(({ table, rowid }) => `row ${rowid} of table ${table} belongs to no run`),
    ...(behind > 0 ? [`${behind} bytes stand behind its end: they are none of the store's, and nothing reads them`] : []),
  ].slice(0, MOST)
}

/** How many bytes of the file SQLite does not take for its own. While there is a log, that says how long the file is. */
function bytesBehind(database: DatabaseSync, file: string): number {
  if (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size) return 0
  const { pages } = database.prepare('SELECT page_count AS pages FROM pragma_page_count').get() as { pages: number }
  const { size } = database.prepare('SELECT page_size AS size FROM pragma_page_size').get() as { size: number }
  return statSync(file).size - pages * size
}

function runIdsIn(database: DatabaseSync): RunIds {
  const runIds: string[] = []
  try {
    for (const { run_id } of database.prepare('SELECT run_id FROM runs ORDER BY key').iterate() as Iterable<{ run_id: unknown }>) {
      if (!(run_id instanceof Uint8Array)) return { runIds, fault: 'a run has no id' }
      runIds.push(fromBytes(run_id))
    }
    return { runIds, fault: undefined }
  } catch (error) {
    return { runIds, fault: `the runs cannot be listed: ${error instanceof Error ? error.message : String(error)}` }
  }
}
