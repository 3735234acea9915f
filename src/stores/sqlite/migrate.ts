/** Files of an older layout, brought to the newest when they are opened for writing (R15): each step is SQL, numbered, and stands for ever. */
import type { DatabaseSync } from 'node:sqlite'
import { rollback } from './connection.ts'

/** The one at index i brings layout i + 1 to layout i + 2; the last one to the `FORMAT` of schema.ts. */
export const MIGRATIONS: readonly string[] = []

/** Brings the file to the newest layout, all at once or not at all. Two processes that open it at the same time do it once. Throws SQLite's own errors. */
export function migrateFile(database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  const newest = migrations.length + 1
  if (formatIn(database) >= newest) return
  database.exec('BEGIN IMMEDIATE')
  try {
    // Read again: another process may have done it while this one waited.
    for (const migration of migrations.slice(formatIn(database) - 1)) database.exec(migration)
    database.exec(`PRAGMA user_version = ${newest}; COMMIT`)
  } catch (error) {
    rollback(database)
    throw error
  }
}

function formatIn(database: DatabaseSync): number {
  const { format } = database.prepare('SELECT user_version AS format FROM pragma_user_version').get() as { format: number }
  return format
}
