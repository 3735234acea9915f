/** What SQLite's and the file system's failures mean to somebody who uses a store. */
import { HoldfastError } from '../../errors.ts'

/** Primary result codes of SQLite (https://sqlite.org/rescode.html); `errcode` of node:sqlite carries the extended one above them. */
const CODE = {
  ERROR: 1, PERM: 3, BUSY: 5, LOCKED: 6, NOMEM: 7, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13, CANTOPEN: 14, PROTOCOL: 15,
  TOOBIG: 18, CONSTRAINT: 19, AUTH: 23, NOTADB: 26,
} as const

/** Extended codes of CONSTRAINT. */
const [FOREIGN_KEY, PRIMARY_KEY, UNIQUE] = [787, 1555, 2067]

/** The medium's failures in words, with what to do. What is not here is a mistake of ours and stays as it is. */
const UNAVAILABLE: Readonly<Record<number, readonly [reason: string, advice: string]>> = {
  [CODE.PERM]: ['access was refused', 'Check the permissions of the file and its folder'],
  [CODE.BUSY]: ['another process held the write lock for too long', 'Look for a program that keeps a transaction open on the file'],
  [CODE.LOCKED]: ['another connection held the write lock', 'Look for a program that keeps a transaction open on the file'],
  [CODE.NOMEM]: ['memory has run out', 'Give the process more memory'],
  [CODE.READONLY]: ['it cannot be written', 'Check the permissions of the file and its folder'],
  // Honest only short of a crash: a commit whose fsync failed may be found after one, whole.
  [CODE.IOERR]: ['reading or writing failed', 'Check the disk. The call took no effect; a later one may succeed'],
  [CODE.FULL]: ['the disk is full', 'Make room. The call took no effect; a later one may succeed'],
  [CODE.CANTOPEN]: ['it cannot be opened', 'Check the permissions of the file and its folder'],
  [CODE.PROTOCOL]: ['locking failed', 'The file must be on a local disk; network file systems do not lock reliably'],
  [CODE.AUTH]: ['access was refused', 'Check the permissions of the file and its folder'],
}

/** Whether another connection holds the lock at this moment, so that trying again soon helps. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === CODE.BUSY || code === CODE.LOCKED
}

/** Whether SQLite has met a page that it cannot read. */
export const isCorrupt = (error: unknown): boolean => resultCode(error) === CODE.CORRUPT

/** Whether the bytes are no SQLite database at all. */
export function isNotDatabase(error: unknown): boolean {
  return resultCode(error) === CODE.NOTADB
}

/** The error to throw in place of `error`; what is not a failure of the medium is returned as it is. */
export function storeFailure(error: unknown, file: string, runId?: string): unknown {
  if (HoldfastError.isInstance(error) || !(error instanceof Error)) return error
  const run = runId === undefined ? {} : { runId }
  const code = resultCode(error)
  if (isUnsafeNumber(error)) return corrupt(file, error.message, { ...run, cause: error, advice: 'It was not changed. Restore a copy; without one, holdfast salvage makes the row of a run anew from its journal' })
  if (code === CODE.CORRUPT || code === CODE.NOTADB || isOfDamage(error, code) || isTaken(error)) return corrupt(file, error.message, { ...run, cause: error })
  if (code === CODE.TOOBIG) {
    // It would not take it the next time either.
    return new HoldfastError('VALUE_TOO_LARGE', `${file}: a value is larger than SQLite can hold (${error.message})`, { ...run, advice: 'Store less in one step', cause: error })
  }
  const known = code === undefined ? otherFailure(error) : UNAVAILABLE[code]
  if (known === undefined) return error
  const [reason, advice] = known
  return new HoldfastError('STORE_UNAVAILABLE', `${file}: ${reason} (${error.message})`, { ...run, advice, cause: error })
}

/** Of our own statements SQLite says so only where the list of tables is damaged. */
const isOfDamage = (error: Error, code: number | undefined): boolean => code === CODE.ERROR && /^no such (table|column)|has no column|unsupported file format/.test(error.message)

/** Above 2^53, which no build writes: node:sqlite does not give it. */
const isUnsafeNumber = (error: Error): boolean => 'code' in error && error.code === 'ERR_OUT_OF_RANGE'

/** Where a row is to go there is one already, which no row of a run knows of. What may be there is asked for with ON CONFLICT. */
export const isTaken = (error: unknown): boolean => error instanceof Error && 'errcode' in error && (error.errcode === UNIQUE || error.errcode === PRIMARY_KEY)

/** Whether a row is none that may be in its table. */
export const isConstraint = (error: unknown): boolean => resultCode(error) === CODE.CONSTRAINT

/** Rows that belong to one that is to go cannot be taken away with it: their pages are misread. */
export const isBound = (error: unknown): boolean => error instanceof Error && 'errcode' in error && error.errcode === FOREIGN_KEY

/** Our file, and damaged. It is left as it is: what can be saved from it is for a person to decide. */
export function corrupt(file: string, what: string, options: { runId?: string; cause?: unknown; advice?: string } = {}): HoldfastError {
  const advice = 'It was not changed. Restore a copy, or save what can be read with `sqlite3 FILE .recover`'
  return new HoldfastError('STORE_CORRUPT', `${file} is damaged: ${what}`, { advice, ...options })
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined
  return error.errcode & 0xff
}

/** Failures that are not SQLite's: `node:fs` gives its errors an `errno`; `node:sqlite` refuses a database that was closed. */
function otherFailure(error: Error): readonly [reason: string, advice: string] | undefined {
  if ('errno' in error) return ['it cannot be opened', 'Check the path and the permissions of the file and its folder']
  if ('code' in error && error.code === 'ERR_INVALID_STATE') return ['it was closed meanwhile', 'Close a store when nothing uses it']
  return undefined
}
