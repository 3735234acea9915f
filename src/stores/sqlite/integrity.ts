/** What SQLite itself finds wrong with a file: pages, indexes, references. Reads all of it, and changes nothing. */
import { resolve } from 'node:path'
import { storeFailure } from './failure.ts'
import { openFile } from './open.ts'

const MOST = 100

/**
 * What is wrong with the file, a sentence each, at most 100; a journal that has lost its run is among it.
 *
 * @throws HoldfastError a `STORE_...` code when the file is not there, not ours or cannot be read.
 */
export function sqliteFileFaults(path: string): string[] {
  const file = resolve(path)
  const database = openFile(file, false, true)
  try {
    const found = database.prepare(`PRAGMA integrity_check(${MOST})`).all() as { integrity_check: string }[]
    const orphans = database.prepare('PRAGMA foreign_key_check').all() as { table: string; rowid: number }[]
    const faults = found.map(({ integrity_check }) => integrity_check).filter((text) => text !== 'ok')
    return [...faults, ...orphans.map(({ table, rowid }) => `row ${rowid} of table ${table} belongs to no run`)].slice(0, MOST)
  } catch (error) {
    throw storeFailure(error, file)
  } finally {
    database.close()
  }
}
