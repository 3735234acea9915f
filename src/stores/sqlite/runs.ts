/** Runs as a whole: create, list, lease, remove. */
import { HoldfastError } from '../../errors.ts'
import type { NewRun, RunFilter, RunRow, TakeLease } from '../../journal/store.ts'
import { checkFirstEntries, firstRow } from '../append.ts'
import type { Connection } from './connection.ts'
import { insertEntries } from './journal.ts'
import type { StoredRow } from './row.ts'
import { damagedRow, findRun, insertRun, keyOf, OTHER_STATUS, toRow, updateRun } from './row.ts'
import { fromBytes, toBytes } from './text.ts'

export function createRun(connection: Connection, run: NewRun): boolean {
  checkFirstEntries(run)
  const key = insertRun(connection, firstRow(run))
  if (key === undefined) return false
  insertEntries(connection, key, run.entries)
  return true
}

export function takeLease(connection: Connection, runId: string, { expectedToken, owner, leaseUntil, now }: TakeLease): number | null {
  const found = findRun(connection, runId)
  if (found?.row.token !== expectedToken) return null
  const token = expectedToken + 1
  const row: RunRow = { ...found.row, status: 'running', resumeAt: null, token, owner, leaseUntil, updatedAt: now }
  updateRun(connection, { key: found.key, row })
  return token
}

export function renewLease(connection: Connection, runId: string, token: number, leaseUntil: number): boolean {
  const key = keyOf(connection, runId)
  return key !== undefined && connection.sql('UPDATE runs SET lease_until = ? WHERE key = ? AND token = ? AND owner IS NOT NULL').run(leaseUntil, key, token).changes > 0
}

/** The journal and the inbox go with the row (ON DELETE CASCADE). */
export function removeRun(connection: Connection, runId: string, now: number): boolean {
  const key = keyOf(connection, runId)
  return key !== undefined && connection.sql('DELETE FROM runs WHERE key = ? AND (owner IS NULL OR lease_until <= ?)').run(key, now).changes > 0
}

export function listRuns({ sql }: Connection, { agent, status, threadId, dueBy, limit = 100, onDamaged }: RunFilter): RunRow[] {
  const terms: string[] = []
  const values: (string | number | Uint8Array)[] = []
  const where = (term: string, ...given: (string | number | Uint8Array)[]): void => {
    terms.push(term)
    values.push(...given)
  }
  if (agent !== undefined) where('agent = ?', toBytes(agent))
  if (threadId !== undefined) where('thread_id = ?', toBytes(threadId))
  // Which status one has whose status is none nobody knows.
  if (status !== undefined) where(`(status IN (${status.map(() => '?').join(', ')})${onDamaged ? ` OR ${OTHER_STATUS}` : ''})`, ...status)
  if (dueBy !== undefined) where(`status = 'suspended' AND resume_at <= ?`, dueBy)
  const filter = terms.length > 0 ? `WHERE ${terms.join(' AND ')}` : ''
  const select = (columns: string): unknown[] => sql(`SELECT ${columns} FROM runs ${filter} ORDER BY updated_at DESC, run_id LIMIT ?`).all(...values, Number.isFinite(limit) ? limit : -1)
  try {
    return (select('*') as StoredRow[]).map(toRow)
  } catch (error) {
    if (!onDamaged || !isOfRow(error)) throw error
  }
  // One by one: a number that JavaScript does not have ends the reading of all.
  return (select('CAST(key AS TEXT) AS digits, run_id') as (Pick<StoredRow, 'run_id'> & { digits: string })[]).flatMap(({ digits, run_id }) => {
    try {
      return [toRow(sql('SELECT * FROM runs WHERE key = CAST(? AS INTEGER)').get(digits) as StoredRow)]
    } catch (error) {
      if (!isOfRow(error)) throw error
      onDamaged(HoldfastError.isInstance(error) ? error : damagedRow('it holds a number that is too large', fromBytes(run_id)))
      return []
    }
  })
}

/** Not of the file as a whole. */
const isOfRow = (error: unknown): boolean => (HoldfastError.isInstance(error) ? error.code === 'STORE_CORRUPT' : (error as { code?: unknown }).code === 'ERR_OUT_OF_RANGE')
