/** An open file: its statements, prepared once, and its transactions. */
import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { HoldfastError } from '../../errors.ts'

export interface Connection {
  /** The statement for this SQL; prepared when first asked for. */
  sql(text: string): StatementSync
  /** Runs `work` in one transaction that holds the write lock from its start, and commits it; when `work` throws, nothing of it remains. */
  transaction<T>(work: () => T): T
  close(): void
}

export function connection(database: DatabaseSync, file: string): Connection {
  const statements = new Map<string, StatementSync>()
  const opened = identityOf(file)
  const sql = (text: string): StatementSync => {
    let statement = statements.get(text)
    if (!statement) statements.set(text, statement = database.prepare(text))
    return statement
  }

  return {
    sql,
    transaction(work) {
      if (identityOf(file) !== opened) throw replaced(file)
      // Not a deferred BEGIN: one that reads and then writes fails at once when another has written in between.
      sql('BEGIN IMMEDIATE').run()
      try {
        const result = work()
        sql('COMMIT').run()
        return result
      } catch (error) {
        rollback(database)
        throw error
      }
    },
    close() {
      statements.clear()
      database.close()
    },
  }
}

/** SQLite has already rolled back by itself after some errors (a full disk, an I/O error); a second ROLLBACK is then refused. */
export function rollback(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // the error that led here is the one to report
  }
}

/** Which file the path leads to, or undefined when it leads nowhere. */
function identityOf(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/** An open file that was deleted takes commits as before, and they vanish with the process; a second one would drive the same runs. */
function replaced(file: string): HoldfastError {
  return new HoldfastError('STORE_UNAVAILABLE', `${file} was deleted or replaced while it was open`, {
    advice: 'Nothing of this call was stored. Restart the process to go on with the file that is there now',
  })
}
