/** Opens a store's file. What is found there has its own outcome each, and none of them is "start again and overwrite". */
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { HoldfastError } from '../../errors.ts'
import { createFile } from './create.ts'
import { corrupt, isBusy, storeFailure } from './failure.ts'
import { checkFormat, identify, notDatabase, openImmutable } from './identity.ts'
import { loadSqlite } from './load.ts'
import { migrateFile } from './migrate.ts'
import { FORMAT } from './schema.ts'

/** One page of the smallest size that SQLite has, in bytes. */
const SMALLEST_DATABASE = 512

/**
 * Opens `file`, making it when it is absent and `create` says so; `readOnly` leaves it and what lies beside it as it is.
 * A log beside it belongs to it: what a kill or a full disk left half-done, in a commit or in a checkpoint, SQLite finishes or takes back.
 *
 * | found | outcome |
 * |---|---|
 * | nothing | created, or `STORE_NOT_FOUND` |
 * | an empty file without a log | `STORE_EMPTY` |
 * | another program's file, or no database | `STORE_FOREIGN` |
 * | a later format | `STORE_NEWER` |
 * | ours, damaged | `STORE_CORRUPT` |
 * | a folder, a device; no permission to read and write | `STORE_UNAVAILABLE` |
 */
export function openFile(file: string, create: boolean, readOnly = false): DatabaseSync {
  try {
    if (!checkFound(file)) {
      if (!create || readOnly) throw new HoldfastError('STORE_NOT_FOUND', `${file} does not exist`, { advice: 'Check the path' })
      createFile(file)
      if (!checkFound(file)) throw unavailable(file, 'it is a link to a file that does not exist')
    }
    identify(file)
    return readOnly ? connectToRead(file) : connect(file)
  } catch (error) {
    throw isBusy(error) ? error : storeFailure(error, file)
  }
}

/** Whether there is a file with something in it. Throws when there is something else. */
function checkFound(file: string): boolean {
  const found = statOrAbsent(file)
  if (!found) return false
  if (found.isDirectory()) throw unavailable(file, 'it is a folder')
  if (!found.isFile()) throw unavailable(file, 'it is not an ordinary file')
  if (found.size === 0) {
    if (statOrAbsent(`${file}-wal`)?.size) throw corrupt(file, `it is empty, but its log ${file}-wal, which may hold entries, is still there`)
    throw new HoldfastError('STORE_EMPTY', `${file} is an empty file, not a store`, { advice: 'Delete it or give another path' })
  }
  // SQLite takes a scrap of a file for a database that is still empty.
  if (found.size < SMALLEST_DATABASE) throw notDatabase(file)
  return true
}

function statOrAbsent(file: string): Stats | undefined {
  return statSync(file, { throwIfNoEntry: false })
}

/** A connection that commits durably, to a file that is known to be ours. */
function connect(file: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
    useWal(database)
    checkVersion(database, file)
    migrateFile(database)
    checkTables(database, file)
    // SQLite opens a file that it may not write read-only and says so at the first write, for which BEGIN IMMEDIATE does not count.
    database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${FORMAT}; ROLLBACK`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * The file is made in WAL mode and stays in it; but a copy made by `VACUUM INTO` or `.dump` is not. Switching needs the file for
 * oneself: where another has it open at the moment, its rollback journal is as safe, only slower.
 */
function useWal(database: DatabaseSync): void {
  try {
    database.exec('PRAGMA journal_mode = WAL')
  } catch (error) {
    if (!isBusy(error)) throw error
  }
}

/** A connection that changes nothing of what is there. */
function connectToRead(file: string): DatabaseSync {
  const database = openToRead(realpathSync(file)) // the logs lie beside the file that a link leads to
  try {
    database.exec('PRAGMA busy_timeout = 0; PRAGMA query_only = ON')
    checkVersion(database, file)
    checkTables(database, file)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * With locks, as somebody may write meanwhile, and a file in the middle of a checkpoint looks damaged without them.
 *
 * - A log is there: it is read, and stays, because the connection may not write.
 * - None is: SQLite makes an empty one for the time being. Only a connection that could write takes it away when it is closed.
 * - None, and none may be made: there the file is read without locks.
 */
function openToRead(file: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  if (existsSync(`${file}-wal`) || existsSync(`${file}-journal`)) return new DatabaseSync(file, { readOnly: true })
  if (mayWrite(file) && mayWrite(dirname(file))) return new DatabaseSync(file)
  return openImmutable(file) ?? new DatabaseSync(file, { readOnly: true })
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** The format as of the newest commit, which may be in the log. */
function checkVersion(database: DatabaseSync, file: string): void {
  const { format } = database.prepare('SELECT user_version AS format FROM pragma_user_version').get() as { format: number }
  checkFormat(file, format)
}

/** What the header could not say. Its cost does not grow with the file. */
function checkTables(database: DatabaseSync, file: string): void {
  const { tables } = database
    .prepare(`SELECT count(*) AS tables FROM sqlite_schema WHERE type = 'table' AND name IN ('runs', 'journal', 'inbox')`)
    .get() as { tables: number }
  if (tables !== 3) throw corrupt(file, 'a table is missing')
}

function unavailable(file: string, what: string): HoldfastError {
  return new HoldfastError('STORE_UNAVAILABLE', `${file} cannot be used: ${what}`, { advice: 'Give the path of a file' })
}
