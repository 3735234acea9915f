/** The entries of a run. */
import type { AppendBatch, StoredEntry } from '../../journal/store.ts'
import { appendedRow, checkAppend, runIsGone } from '../append.ts'
import type { Connection } from './connection.ts'
import { damagedRow, findRun, keyOf, updateRun } from './row.ts'
import { toBytes } from './text.ts'

export function appendEntries(connection: Connection, runId: string, batch: AppendBatch): void {
  const found = findRun(connection, runId)
  if (!found) throw runIsGone(runId)
  checkAppend(found.row, batch)
  insertEntries(connection, found.key, batch.entries)
  updateRun(connection, { key: found.key, row: appendedRow(found.row, batch) })
}

export function insertEntries({ sql }: Connection, run: number, entries: readonly StoredEntry[]): void {
  const insert = sql('INSERT INTO journal (run, seq, body, sum) VALUES (?, ?, ?, ?)')
  for (const { seq, body, sum } of entries) insert.run(run, seq, body, sum)
}

/** Behind nothing stands all there is: also what is numbered as nothing can be, or nobody would find it. */
export const behind = (after: number): number | bigint => (after === 0 ? -(2n ** 63n) : after)

export function readEntries(connection: Connection, runId: string, after: number): StoredEntry[] {
  keyOf(connection, runId) // where its index is damaged, nothing is read by it
  const rows = connection.sql('SELECT seq, body, sum FROM journal WHERE run = (SELECT key FROM runs WHERE run_id = ?) AND seq > ? ORDER BY seq')
    .all(toBytes(runId), behind(after)) as unknown as StoredEntry[]
  return rows.map(({ seq, body, sum }) => {
    if (typeof seq !== 'number' || typeof body !== 'string' || typeof sum !== 'string') throw damagedRow(`entry ${String(seq)} is none`, runId)
    return { seq, body, sum }
  })
}
