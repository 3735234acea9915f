/** What of a damaged run's inbox counts on. Pure. */
import { HoldfastError } from '../../errors.ts'
import type { Placed } from '../../journal/chain.ts'
import { readMessage, settledMessages } from '../../journal/message.ts'
import type { RecordReader } from '../../journal/store.ts'
import { newestTaken } from '../../run/inbox.ts'
import type { RunRecord } from '../../stores/sqlite.ts'
import { countIn } from './count.ts'

export interface HeldInbox {
  /** Its rows as they are to stand. Those that are given up go, and with them what they have answered: it can be answered anew. */
  readonly rows: RunRecord['inbox']
  /** `seq` of the newest message. */
  readonly newest: number
  /** Messages up to this one are given up; undefined: none is. */
  readonly upTo: number | undefined
  readonly fromCopy: number
  /** They do not stand so yet. */
  readonly isChanged: boolean
}

/**
 * A message that is not read yet and does not hold takes all with it: which of those after it still mean what they were sent for, nobody knows.
 * One that the journal has taken in is needed no more.
 *
 * @param isLost Entries are given up: what they had used of the inbox must not be used again.
 * @throws HoldfastError `STORE_NEWER`, `KEY_MISSING` and the like: what cannot be judged is not given up.
 */
export function holdingInbox(runId: string, { seen, copy, entries, reader, isLost }: {
  readonly seen: RunRecord
  readonly copy: RunRecord | undefined
  readonly entries: readonly Placed[]
  readonly reader: RecordReader | undefined
  readonly isLost: boolean
}): HeldInbox {
  const taken = newestTaken(entries)
  const settled = settledMessages(entries)
  // Where the row knows of fewer than there are, it is the row that is wrong; where there is none, they are all.
  const known = Math.max(countIn(seen.row?.['inbox_seq']) ?? 0, ...seen.inbox.map(({ seq }) => countIn(seq) ?? 0), ...(seen.row ? [] : [taken]))
  const newest = Math.max(known, taken)
  const rows = new Map<number, Row>()
  for (const row of seen.inbox) if (isWhole(runId, row, reader)) rows.set(row['seq'] as number, row)
  const own = rows.size
  for (const row of copy?.inbox ?? []) {
    if (isWhole(runId, row, reader) && (row['seq'] as number) <= known && !rows.has(row['seq'] as number)) rows.set(row['seq'] as number, row)
  }
  const within = (after: number, until: number): Row[] => [...rows.values()].filter((row) => (row['seq'] as number) > after && (row['seq'] as number) <= until).sort((a, b) => (a['seq'] as number) - (b['seq'] as number))
  const unread = within(taken, newest)
  const fromCopy = rows.size - own
  if (isLost || taken > known || unread.length !== newest - taken) return { rows: [], newest, upTo: newest, fromCopy: 0, isChanged: true }
  const counting = within(settled, newest)
  if (counting.length === newest - settled && (fromCopy > 0 || seen.inbox.length === counting.length)) return { rows: counting, newest, upTo: undefined, fromCopy, isChanged: fromCopy > 0 }
  return { rows: unread, newest, upTo: taken, fromCopy, isChanged: true }
}

type Row = RunRecord['inbox'][number]

function isWhole(runId: string, { seq, body }: Row, reader: RecordReader | undefined): boolean {
  const number = countIn(seq)
  if (number === undefined || number < 1 || typeof body !== 'string') return false
  try {
    readMessage(runId, reader ? reader.message(runId, { seq: number, body }) : { seq: number, body })
    return true
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === 'STORE_CORRUPT') return false
    throw error
  }
}
