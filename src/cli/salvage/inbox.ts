/** What of a damaged run's inbox counts on. Pure. */
import { HoldfastError } from '../../errors.ts'
import type { Placed } from '../../journal/chain.ts'
import { newestTaken, readMessage, settledMessages, type Message } from '../../journal/message.ts'
import type { RecordReader } from '../../journal/store.ts'
import type { RunRecord } from '../../stores/sqlite.ts'
import { countIn } from './count.ts'

export interface HeldInbox {
  /** Its rows as they are to stand. Those that are given up go, and with them what they have answered: it can be answered anew. */
  readonly rows: RunRecord['inbox']
  /** Those of them that the journal has not taken in. */
  readonly unread: readonly Message[]
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
  const whole = new Map<number, Whole>()
  for (const row of seen.inbox) {
    const found = wholeOf(runId, row, reader)
    if (found) whole.set(found.seq, found)
  }
  const own = whole.size
  for (const row of copy?.inbox ?? []) {
    const found = wholeOf(runId, row, reader)
    if (found && found.seq <= known && !whole.has(found.seq)) whole.set(found.seq, found)
  }
  const within = (after: number, until: number): Whole[] => [...whole.values()].filter(({ seq }) => seq > after && seq <= until).sort((a, b) => a.seq - b.seq)
  const kept = within(taken, newest)
  const unread = kept.map(({ message }) => message)
  const fromCopy = whole.size - own
  if (isLost || taken > known || kept.length !== newest - taken) return { rows: [], unread: [], newest, upTo: newest, fromCopy: 0, isChanged: true }
  const counting = within(settled, newest)
  if (counting.length === newest - settled && (fromCopy > 0 || seen.inbox.length === counting.length)) return { rows: rowsOf(counting), unread, newest, upTo: undefined, fromCopy, isChanged: fromCopy > 0 }
  return { rows: rowsOf(kept), unread, newest, upTo: taken, fromCopy, isChanged: true }
}

type Row = RunRecord['inbox'][number]

interface Whole {
  readonly seq: number
  readonly row: Row
  readonly message: Message
}

const rowsOf = (whole: readonly Whole[]): Row[] => whole.map(({ row }) => row)

function wholeOf(runId: string, row: Row, reader: RecordReader | undefined): Whole | undefined {
  const { seq: number, body } = row
  const seq = countIn(number)
  if (seq === undefined || seq < 1 || typeof body !== 'string') return undefined
  try {
    return { seq, row, message: readMessage(runId, reader ? reader.message(runId, { seq, body }) : { seq, body }) }
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === 'STORE_CORRUPT') return undefined
    throw error
  }
}
