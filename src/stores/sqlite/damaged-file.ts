/** A file of which anything may be damaged: opened for one piece of work, and what its tables hold as they hold it. */
import { resolve } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { connection, type Connection } from './connection.ts'
import { corrupt, isCorrupt, storeFailure } from './failure.ts'
import { whenUnlocked } from './lock.ts'
import { openFile } from './open.ts'
import { SQLITE_DEFAULTS } from './options.ts'

/** With numbers as they are: one beyond 2^53, which no build writes, ends the reading of all otherwise. */
export function rowsOf(statement: ReturnType<Connection['sql']>, ...values: readonly (number | bigint | Uint8Array)[]): Readonly<Record<string, unknown>>[] {
  statement.setReadBigInts(true)
  return statement.all(...values).map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [column, exact(value)])))
}

const exact = (value: unknown): unknown => (typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value)

export async function withFile<T>(path: string, readOnly: boolean, work: (open: Connection) => T): Promise<T> {
  const file = resolve(path)
  try {
    return await whenUnlocked(systemClock, SQLITE_DEFAULTS.busyTimeoutMs, () => {
      const open = connection(openFile(file, false, readOnly), file)
      try {
        return work(open)
      } finally {
        open.close()
      }
    })
  } catch (error) {
    if (!isCorrupt(error)) throw storeFailure(error, file)
    throw corrupt(file, `SQLite cannot read what this takes (${error instanceof Error ? error.message : ''})`, { cause: error, advice: PAGES })
  }
}

const PAGES = 'Nothing was changed. Put a copy of the store in its place; without one, save what can be read into another file, with a sqlite3 that has it: `sqlite3 FILE .recover | sqlite3 NEW`, and salvage the run there'
