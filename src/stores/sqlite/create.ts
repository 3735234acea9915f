/** Makes a new file so that it appears whole or not at all. */
import { closeSync, constants, copyFileSync, existsSync, fsyncSync, linkSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { corrupt } from './failure.ts'
import { loadSqlite } from './load.ts'
import { APPLICATION_ID, FORMAT, TABLES } from './schema.ts'

/**
 * Creates `file` and the folders above it; where another process creates it at the same time, one of them does and both go on.
 *
 * SQLite itself would create an empty file first and fill it later: a second process in between would see an empty file, which is
 * a user's mistake when it is found (`STORE_EMPTY`), and a kill in between would leave one. So the file is made under another
 * name and linked into place, which fails when the name is taken; a rename would replace the file that another just created.
 */
export function createFile(file: string): void {
  const folder = dirname(file)
  const firstMade = mkdirSync(folder, { recursive: true })
  refuseOrphans(file)
  const workshop = mkdtempSync(`${file}.new-`)
  try {
    const draft = join(workshop, 'draft')
    writeEmptyStore(draft)
    place(draft, file)
  } finally {
    rmSync(workshop, { recursive: true, force: true })
  }
  syncFolders(folder, firstMade)
}

/** A complete file with no runs. In WAL mode from the start: switching later needs the file for oneself. */
export function writeEmptyStore(file: string): void {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(file)
  try {
    database.exec(`
      PRAGMA synchronous = FULL;
      BEGIN;
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${FORMAT};
      ${TABLES}
      COMMIT;
      PRAGMA journal_mode = WAL;
    `)
  } finally {
    database.close()
  }
}

function place(draft: string, file: string): void {
  try {
    linkSync(draft, file)
  } catch (error) {
    if (isTaken(error)) return
    // A file system without hard links, such as exFAT. A copy is not atomic: a second process that creates the same file in
    // this very moment may be told that it is damaged, and finds it whole when it is started again.
    copyUnlessTaken(draft, file)
  }
}

function copyUnlessTaken(draft: string, file: string): void {
  try {
    copyFileSync(draft, file, constants.COPYFILE_EXCL)
  } catch (error) {
    if (!isTaken(error)) throw error
  }
}

/**
 * A `-wal` or `-journal` without its file holds commits of a store that was moved or deleted alone. SQLite would play it into the
 * new file. The log is looked for first: a process that is just creating the store brings its file before its log.
 */
function refuseOrphans(file: string): void {
  const orphan = [`${file}-wal`, `${file}-journal`].find((log) => existsSync(log))
  if (orphan === undefined || existsSync(file)) return
  throw corrupt(file, `the file is gone, but its log ${orphan}, which may hold the newest entries, is still there; bring back the file, `
    + 'or delete the log too')
}

/** Makes the new names themselves survive a power failure: of the file in its folder, and of each new folder in the one above. */
function syncFolders(folder: string, firstMade: string | undefined): void {
  const top = firstMade === undefined ? folder : dirname(firstMade)
  for (let at = folder; ; at = dirname(at)) {
    syncFolder(at)
    if (at === top || at === parse(at).root) return
  }
}

function syncFolder(folder: string): void {
  if (process.platform === 'win32') return // a folder cannot be opened there; NTFS journals names itself
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST'
}
