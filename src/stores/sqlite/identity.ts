/** Whose file it is, found out before it is opened for writing, so that another program's file stays as it is. */
import { spawnSync } from 'node:child_process'
import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { HoldfastError } from '../../errors.ts'
import { corrupt, isNotDatabase } from './failure.ts'
import { loadSqlite } from './load.ts'
import { APPLICATION_ID, FORMAT } from './schema.ts'

/** Throws `STORE_FOREIGN`, `STORE_NEWER` or `STORE_CORRUPT` unless the header says that the file is ours and that we can read it. */
export function identify(file: string): void {
  const { applicationId, format } = readHeader(file)
  if (applicationId !== APPLICATION_ID) {
    throw foreign(file, 'it is the SQLite database of another program')
  }
  checkFormat(file, format)
}

/** Throws `STORE_NEWER` or `STORE_CORRUPT` for a format that this build does not know. */
export function checkFormat(file: string, format: number): void {
  if (format > FORMAT) {
    throw new HoldfastError('STORE_NEWER', `${file} has format ${format}, this version of Holdfast knows formats up to ${FORMAT}`, {
      advice: 'Upgrade Holdfast here, or give another path. The file was not changed',
    })
  }
  if (format < 1) throw corrupt(file, `there is no format ${format}`)
}

interface Header {
  readonly applicationId: number
  readonly format: number
}

/**
 * Reads the two numbers of the header, which a store's file has from the moment it appears, and looks at nothing else: without its log
 * the rest may be in the middle of a checkpoint, which is no damage (a kill, a full disk, another process at work).
 *
 * Through SQLite, not with `node:fs`: closing any descriptor of a file drops the POSIX locks that this whole process, all its threads,
 * holds on it (https://sqlite.org/howtocorrupt.html, 2.2), those of a store that is open on it too.
 * Seen with Node 22.13: the next process to close the file then takes itself for the last, and deletes the log that the store writes to.
 */
function readHeader(file: string): Header {
  let database: DatabaseSync | undefined
  try {
    database = openImmutable(file)
    if (!database) return headerReadElsewhere(file)
    // So that the file may be shorter than its header says: the first page is copied before those that made it longer.
    database.exec('PRAGMA writable_schema = ON')
    // Not through the functions of the same names, for which SQLite would read the list of tables first.
    const { application_id: applicationId } = database.prepare('PRAGMA application_id').get() as { application_id: number }
    const { user_version: format } = database.prepare('PRAGMA user_version').get() as { user_version: number }
    return { applicationId, format }
  } catch (error) {
    if (isNotDatabase(error)) throw notDatabase(file, error)
    throw error
  } finally {
    database?.close()
  }
}

/**
 * `immutable` keeps SQLite from locking, from reading the log, from recovering what another program left, and from creating `-wal` and
 * `-shm` beside it: what it gives may not fit together where somebody has the file open, or was killed while he had.
 * Undefined: Node 22.13 and 22.14 take no URL, and `immutable` is said in one.
 */
export function openImmutable(file: string): DatabaseSync | undefined {
  const { DatabaseSync } = loadSqlite()
  const url = pathToFileURL(file)
  url.searchParams.set('immutable', '1')
  try {
    // Newer versions of Node are defensive unless told otherwise, and `writable_schema` is then without effect.
    return new DatabaseSync(url, { readOnly: true, defensive: false })
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** The first bytes of a database (https://sqlite.org/fileformat.html, 1.3): its magic text and, big-endian, `user_version` and `application_id`. */
const MAGIC = 'SQLite format 3\0'
const USER_VERSION_AT = 60
const APPLICATION_ID_AT = 68

/** Programs that print the first bytes of a file, the quicker one first: not every container has it. */
const PRINTERS = (file: string): readonly (readonly [program: string, args: readonly string[]])[] => [
  ['dd', [`if=${file}`, 'bs=100', 'count=1']],
  [process.execPath, ['-e', "const fs = require('node:fs'), bytes = Buffer.alloc(100); fs.readSync(fs.openSync(process.argv[1]), bytes); process.stdout.write(bytes)", file]],
]

/** By a process of its own: what that closes drops no locks of this one. */
function headerReadElsewhere(file: string): Header {
  for (const [program, args] of PRINTERS(file)) {
    const { error, status, stdout, stderr } = spawnSync(program, args, { env: { ...process.env, NODE_OPTIONS: '' } })
    if (error) continue
    if (status !== 0) throw unopened(file, stderr.toString().trim())
    if (stdout.toString('latin1', 0, MAGIC.length) !== MAGIC) throw notDatabase(file)
    return { applicationId: stdout.readInt32BE(APPLICATION_ID_AT), format: stdout.readInt32BE(USER_VERSION_AT) }
  }
  throw unopened(file, 'no process could be started to look at it')
}

const unopened = (file: string, why: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `${file}: it cannot be opened (${why})`, { advice: 'Check the path and the permissions of the file and its folder' })

export function notDatabase(file: string, cause?: unknown): HoldfastError {
  return foreign(file, 'it is not a SQLite database, or its first bytes are damaged', cause)
}

function foreign(file: string, what: string, cause?: unknown): HoldfastError {
  const advice = 'Give another path. The file was not changed'
  return new HoldfastError('STORE_FOREIGN', `${file} is not a Holdfast file: ${what}`, { cause, advice })
}
