/** The messages that others send to a run. */
import { HoldfastError } from '../../errors.ts'
import type { InboxMessage, NewMessage } from '../../journal/store.ts'
import { sentRow } from '../append.ts'
import type { Connection } from './connection.ts'
import { behind } from './journal.ts'
import { damagedRow, findRun, keyOf, updateRun } from './row.ts'
import { toBytes } from './text.ts'

export function sendMessage(connection: Connection, runId: string, message: NewMessage): number | null {
  const found = findRun(connection, runId)
  if (!found) throw new HoldfastError('UNKNOWN_RUN', 'there is no such run to send a message to', { runId })
  const { question, body } = message
  const row = sentRow(found.row, message)
  const { key } = found
  const asked = question === null ? null : toBytes(question)
  // By the other index too: where that of the questions is damaged, one would be answered twice.
  if (asked && connection.sql('SELECT 1 FROM inbox INDEXED BY sqlite_autoindex_inbox_1 WHERE run = ? AND question = ?').get(key, asked)) return null
  const inserted = connection.sql('INSERT INTO inbox (run, seq, question, body) VALUES (?, ?, ?, ?) ON CONFLICT (run, question) DO NOTHING')
    .run(key, row.inboxSeq, asked, body)
  if (inserted.changes === 0) return null
  updateRun(connection, { key, row })
  return row.inboxSeq
}

export function readInbox(connection: Connection, runId: string, after: number): InboxMessage[] {
  keyOf(connection, runId) // where its index is damaged, nothing is read by it
  const rows = connection.sql('SELECT seq, body FROM inbox WHERE run = (SELECT key FROM runs WHERE run_id = ?) AND seq > ? ORDER BY seq')
    .all(toBytes(runId), behind(after)) as unknown as InboxMessage[]
  return rows.map(({ seq, body }) => {
    if (typeof seq !== 'number' || typeof body !== 'string') throw damagedRow(`message ${String(seq)} is none`, runId)
    return { seq, body }
  })
}
