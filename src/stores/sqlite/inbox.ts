/** The messages that others send to a run. */
import { HoldfastError } from '../../errors.ts'
import type { InboxMessage, NewMessage } from '../../journal/store.ts'
import { sentRow } from '../append.ts'
import type { Connection } from './connection.ts'
import { damagedRow, findRun, updateRun } from './row.ts'
import { toBytes } from './text.ts'

export function sendMessage(connection: Connection, runId: string, message: NewMessage): number | null {
  const found = findRun(connection, runId)
  if (!found) throw new HoldfastError('UNKNOWN_RUN', 'there is no such run to send a message to', { runId })
  const { question, body } = message
  const row = sentRow(found.row, message)
  const { key } = found
  const inserted = connection.sql('INSERT INTO inbox (run, seq, question, body) VALUES (?, ?, ?, ?) ON CONFLICT (run, question) DO NOTHING')
    .run(key, row.inboxSeq, question === null ? null : toBytes(question), body)
  if (inserted.changes === 0) return null
  updateRun(connection, { key, row })
  return row.inboxSeq
}

export function readInbox({ sql }: Connection, runId: string, after: number): InboxMessage[] {
  const rows = sql('SELECT seq, body FROM inbox WHERE run = (SELECT key FROM runs WHERE run_id = ?) AND seq > ? ORDER BY seq')
    .all(toBytes(runId), after) as unknown as InboxMessage[]
  return rows.map(({ seq, body }) => {
    if (typeof seq !== 'number' || typeof body !== 'string') throw damagedRow(`message ${String(seq)} is none`, runId)
    return { seq, body }
  })
}
