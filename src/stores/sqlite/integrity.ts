/** What SQLite itself finds wrong with a file: pages, indexes, references. Reads all of it, and changes nothing. */
import { resolve } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { storeFailure } from './failure.ts'
import { whenUnlocked } from './lock.ts'
import { openFile } from './open.ts'
import { SQLITE_DEFAULTS } from './options.ts'

const MOST = 100

/**
 * What is wrong with the file, a sentence each, at most 100; a journal that has lost its run is among it.
 *
 * @throws HoldfastError a `STORE_...` code when the file is not there, not ours or cannot be read.
 */
export async function sqliteFileFaults(path: string): Promise<string[]> {
  const file = resolve(path)
  try {
    return await whenUnlocked(systemClock, SQLITE_DEFAULTS.busyTimeoutMs, () => faultsIn(file))
  } catch (error) {
    throw storeFailure(error, file)
  }
}

function faultsIn(file: string): string[] {
  const database = openFile(file, false, true)
  try {
    const found = database.prepare(`PRAGMA integrity_check(${MOST})`).all() as { integrity_check: string }[]
    const orphans = database.prepare('PRAGMA foreign_key_check').all() as { table: string; rowid: number }[]
    const faults = found.map(({ integrity_check }) => integrity_check).filter((text) => text !== 'ok')
    return [...faults, ...orphans.map(({ table, rowid }) => `row ${rowid} of table ${table} belongs to no run`)].slice(0, MOST)
  } finally {
    database.close()
  }
}
