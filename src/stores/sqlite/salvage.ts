/** A run as its tables have it, whatever of it is damaged, and a journal put in the place of a damaged one: for `holdfast salvage`. */
import { HoldfastError } from '../../errors.ts'
import type { RunRow, RunStatus, StoredEntry } from '../../journal/store.ts'
import type { Connection } from './connection.ts'
import { rowsOf, withFile } from './damaged-file.ts'
import { isBound, isCorrupt, isTaken } from './failure.ts'
import { countFaults } from './integrity.ts'
import { insertEntries } from './journal.ts'
import { freeKey, isNoIndex, toRow, type StoredRow } from './row.ts'
import { fromBytes, toBytes } from './text.ts'

/** What each row holds, by its columns; nothing of it is checked. A number that JavaScript does not have exactly is a BigInt. */
export interface RunRecord {
  /** That stands for the run in all tables; its row may have another one, which leads to no journal. */
  readonly key: number | bigint
  /** Undefined: it is lost. */
  readonly row: Readonly<Record<string, unknown>> | undefined
  /** What the store reads of the row; undefined: it cannot be read. */
  readonly readable: RunRow | undefined
  readonly journal: readonly Readonly<Record<string, unknown>>[]
  readonly inbox: readonly Readonly<Record<string, unknown>>[]
  /** There is more of it, on pages that SQLite cannot read. */
  readonly isTorn: boolean
}

/**
 * Undefined: there is no such run. Read row by row, and not by the indexes, which may have lost some.
 *
 * @throws HoldfastError a `STORE_...` code.
 */
export const sqliteRunRecord = (path: string, runId: string): Promise<RunRecord | undefined> => withFile(path, true, (open) => recordOf(open, runId))

/**
 * What no run is found by: journals whose row is lost, or has another id than they. `isOf` looks at the first entry of a journal under an id that may be right,
 * or (`isLost`) under none.
 *
 * @throws HoldfastError a `STORE_...` code.
 */
export const sqliteLostRecord = (path: string, isOf: (journal: RunRecord['journal'], isLost: boolean) => boolean): Promise<RunRecord | undefined> => withFile(path, true, (open) => {
  const journals = (how: string): unknown[] => rowsOf(open.sql(`SELECT DISTINCT run, run IN (SELECT key FROM runs) AS known FROM journal ${how} ORDER BY run DESC`))
  for (const { run, known } of orByIndex(() => journals('NOT INDEXED'), () => journals('')) as { run: number | bigint; known: number }[]) {
    const isLost = known === 0
    const first = rowsOf(open.sql(`SELECT seq, body, sum FROM journal WHERE run = ? ${isLost ? '' : 'AND seq = 1'} ORDER BY seq`), run)
    if (isOf(first, isLost)) return recordBy(open, run)
  }
  return undefined
})

export interface Replacement {
  /** The run as it was looked at: what changed since is not written over. */
  readonly seen: RunRecord
  readonly entries: readonly StoredEntry[]
  /** The others go: what they have answered can be answered anew. */
  readonly inbox: RunRecord['inbox']
  readonly status: RunStatus
  readonly agent: string
  readonly threadId: string | null
  readonly createdAt: number
  readonly resumeAt: number | null
  readonly token: number
  readonly inboxSeq: number
  /** The indexes are made anew first: something is wrong with them, or with pages. */
  readonly reindex: boolean
  /** ms since the epoch. */
  readonly now: number
}

/**
 * Puts another journal, inbox and row in place of a run's, in one transaction. Resolves to whether rows of it stay in the file, under a key of no run.
 *
 * @throws HoldfastError `STALE_TOKEN` where the run has changed since.
 */
export async function sqliteReplaceRun(path: string, runId: string, replacement: Replacement): Promise<boolean> {
  const { seen: { isTorn }, reindex: isWanted } = replacement
  const replace = (isReindexed: boolean, isLeft: boolean): Promise<void> => withFile(path, false, (open) => {
    if (isLeft) open.sql('PRAGMA foreign_keys = OFF').run()
    open.transaction(() => replaceRun(open, runId, replacement, { isReindexed, isLeft }))
  })
  try {
    await replace(isWanted && !isTorn, isTorn).catch((error: unknown) => {
      // Pages of others may be in the way of the indexes alone. In a transaction anew: SQLite commits none in which it has met one.
      if (!isWanted || isTorn || !isCorrupt((error as Error).cause)) throw error
      return replace(false, false)
    })
    return isTorn
  } catch (error) {
    // SQLite reads something else where a row of it was: by one index it is still of the run, and by its number it is not found.
    if (isTorn || !isBound(error)) throw error
    await replace(false, true)
    return true
  }
}

function replaceRun(open: Connection, runId: string, replacement: Replacement, { isReindexed, isLeft }: { readonly isReindexed: boolean; readonly isLeft: boolean }): void {
  const { seen, entries, inbox, status, agent, threadId, createdAt, resumeAt, token, inboxSeq, now } = replacement
  // Whoever writes to a run changes its row. What may be unreadable is not looked at in here.
  const rowKey = keyOfRow(seen)
  const [row] = rowsOf(open.sql('SELECT * FROM runs WHERE key = ?'), rowKey)
  if (isReindexed) reindex(open, runId, seen.key)
  if (asText(row) !== asText(seen.row) || open.sql('SELECT 1 FROM runs WHERE run_id = ? AND key <> ?').get(toBytes(runId), rowKey)) {
    throw new HoldfastError('STALE_TOKEN', 'the run has changed since it was looked at', { runId, advice: 'Nothing was changed here. Look again' })
  }
  // What is on pages that cannot be read cannot be taken away, and stays where it is, under a key of no run.
  if (!isLeft) for (const table of ['journal', 'inbox']) open.sql(`DELETE FROM ${table} WHERE run = ?`).run(seen.key)
  open.sql('DELETE FROM runs WHERE key = ?').run(rowKey)
  // The same key, where it can be read.
  const key = typeof seen.key === 'number' && !isLeft ? seen.key : freeKey(open)
  open.sql(`
    INSERT INTO runs (key, run_id, status, agent, thread_id, created_at, updated_at, resume_at, token, owner, lease_until, last_seq, inbox_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 0, ?, ?)
  `).run(key, toBytes(runId), status, toBytes(agent), threadId === null ? null : toBytes(threadId), createdAt, now, resumeAt, token, entries.length, inboxSeq)
  insertEntries(open, key, entries)
  for (const { seq, question, body } of inbox) open.sql('INSERT INTO inbox (run, seq, question, body) VALUES (?, ?, ?, ?)').run(key, seq as number, question as Uint8Array | null, body as string)
}

/** Of its row, which may have another one than its journal. */
const keyOfRow = ({ key, row }: RunRecord): number | bigint => (row?.['key'] as number | bigint | undefined) ?? key

/** For comparing. */
const asText = (row: RunRecord['row']): string | undefined => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))

/**
 * Makes all indexes anew from their tables. False, and nothing is changed: pages are in the way, or no less is wrong by that than the `faults` before.
 *
 * @throws HoldfastError a `STORE_...` code; `STORE_CORRUPT` where what can be there only once is there twice.
 */
export const sqliteReindex = (path: string, runId: string, faults: number): Promise<boolean> => withFile(path, false, (open) => {
  try {
    open.transaction(() => {
      reindex(open, runId)
      if (countFaults(open.sql) >= faults) throw NO_HELP
    })
    return true
  } catch (error) {
    if (error === NO_HELP || isCorrupt(error)) return false
    throw error
  }
})

/** Takes the transaction back. */
const NO_HELP = new Error('the indexes are not what is wrong')

/** @param mended Key of the run whose row is about to be put in place. */
function reindex(open: Connection, runId: string, mended?: number | bigint): void {
  const { sql } = open
  const lost = lostRows(open).filter(({ key }) => key !== mended)
  if (lost.length > 0) {
    throw new HoldfastError('STORE_CORRUPT', `the table of runs has lost the rows of ${lost.map(({ id }) => `run ${JSON.stringify(id)}`).join(', ')}: its indexes still know of them`, {
      runId, advice: 'Nothing was changed: without these indexes, they would be started anew. holdfast salvage with that id, or restore a copy',
    })
  }
  try {
    sql('REINDEX').run()
  } catch (cause) {
    if (!isTaken(cause)) throw cause
    throw new HoldfastError('STORE_CORRUPT', `the indexes of the store cannot be made anew: ${twice(open).join(', ') || 'what can be there only once'} is there twice (${cause instanceof Error ? cause.message : ''})`, {
      runId, cause, advice: 'Nothing was changed. Restore a copy; without one, look with sqlite3 which of the rows counts, and take the other one away',
    })
  }
}

/** By name, what the tables have more than once and can have only once. */
function twice({ sql }: Connection): string[] {
  const named = (id: unknown): string => `run ${id instanceof Uint8Array ? JSON.stringify(fromBytes(id)) : 'that is lost'}`
  const runs = rowsOf(sql('SELECT run_id AS id FROM runs NOT INDEXED GROUP BY +run_id HAVING count(*) > 1')).map(({ id }) => named(id))
  const rows = ([['journal', 'entry'], ['inbox', 'message']] as const).flatMap(([table, what]) =>
    rowsOf(sql(`SELECT run_id AS id, seq FROM (SELECT run, seq FROM ${table} NOT INDEXED GROUP BY +run, +seq HAVING count(*) > 1) LEFT JOIN runs ON key = run`)).map(({ id, seq }) => `${what} ${seq} of ${named(id)}`))
  return [...runs, ...rows]
}

/** What the indexes over run ids lead to, and the table does not have. */
function lostRows({ sql }: Connection): { readonly key: number | bigint; readonly id: string }[] {
  const lost = new Map<number | bigint, string>()
  for (const index of ['sqlite_autoindex_runs_1', 'runs_by_id']) {
    try {
      const rows = rowsOf(sql(`SELECT key, run_id FROM (SELECT key, run_id FROM runs INDEXED BY ${index} ORDER BY run_id) AS known WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.key = known.key)`))
      for (const { key, run_id: id } of rows) lost.set(key as number | bigint, fromBytes(id as Uint8Array))
    } catch (error) {
      // One that cannot be read, or that an older file does not have, says nothing, and the other one does.
      if (!isCorrupt(error) && !isNoIndex(error)) throw error
    }
  }
  return [...lost].map(([key, id]) => ({ key, id }))
}

function keyOf({ sql }: Connection, runId: string): number | bigint | undefined {
  const keys = (how: string): (number | bigint)[] => rowsOf(sql(`SELECT key FROM runs ${how} WHERE run_id = ? ORDER BY key`), toBytes(runId)).map((row) => row['key'] as number | bigint)
  const [key, ...others] = orByIndex(() => keys('NOT INDEXED'), () => keys(''))
  if (others.length === 0) return key
  throw new HoldfastError('STORE_CORRUPT', `run "${runId}" is ${others.length + 1} times in the store: in the rows ${[key, ...others].join(', ')} of the table runs`, {
    runId, advice: 'Nothing was changed. Restore a copy; without one, look into them with sqlite3, and give each but one another run_id',
  })
}

/** Row by row an index that has lost some does not count; by the index a page of others that cannot be read does not. */
function orByIndex<T>(rowByRow: () => T, byIndex: () => T): T {
  try {
    return rowByRow()
  } catch (error) {
    if (isCorrupt(error)) return byIndex()
    throw error
  }
}

function recordOf(open: Connection, runId: string): RunRecord | undefined {
  const key = keyOf(open, runId)
  return key === undefined ? undefined : recordBy(open, key)
}

function recordBy({ sql }: Connection, key: number | bigint): RunRecord {
  let isTorn = false
  const all = (table: 'journal' | 'inbox', columns: string): Readonly<Record<string, unknown>>[] => orByIndex(() => rowsOf(sql(`SELECT ${columns} FROM ${table} NOT INDEXED WHERE run = ? ORDER BY seq`), key), () => {
    const places = rowsOf(sql(`SELECT rowid AS place FROM ${table} INDEXED BY sqlite_autoindex_${table}_1 WHERE run = ? ORDER BY seq`), key)
    const rows = places.flatMap(({ place }) => orByIndex(() => rowsOf(sql(`SELECT ${columns} FROM ${table} WHERE rowid = ?`), place as number), () => []))
    if (rows.length < places.length) isTorn = true
    return rows
  })
  const [row] = rowsOf(sql('SELECT * FROM runs WHERE key = ?'), key)
  const [journal, inbox] = [all('journal', 'seq, body, sum'), all('inbox', 'seq, question, body')]
  return { key, row, readable: row && readableOf(row), journal, inbox, isTorn }
}

function readableOf(row: Readonly<Record<string, unknown>>): RunRow | undefined {
  try {
    return toRow(row as StoredRow)
  } catch {
    return undefined
  }
}
