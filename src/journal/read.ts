/** A run's journal and inbox as a whole: checked up to the newest that the run's row knows of (R15). */
import { HoldfastError } from '../errors.ts'
import { damaged, type Placed, type Tip, unlink } from './chain.ts'
import { damagedMessage, readMessage } from './message.ts'
import type { InboxMessage, RunRow, Store, StoredEntry } from './store.ts'
import { repeatedStep } from './step-id.ts'

export interface Journal {
  readonly entries: Placed[]
  /** Where the next entry goes on. */
  readonly tip: Tip
  /** Of the texts of its entries, UTF-8. */
  readonly bytes: number
}

/**
 * Reads the journal of a run whose row was read before.
 *
 * @throws HoldfastError `STORE_CORRUPT` with the place, also where entries are missing at the end; `STORE_NEWER`; `UNKNOWN_RUN` when the
 * run was removed meanwhile. Nothing is changed then.
 */
export async function readJournal(store: Store, row: RunRow): Promise<Journal> {
  const { runId } = row
  const stored = await store.read(runId)
  const journal = { ...unlink(runId, stored), bytes: bytesOf(stored) }
  const repeated = repeatedStep(journal.entries)
  if (repeated) throw damaged(runId, repeated.seq, repeated.message)
  const ends = journal.tip.seq
  if (ends > row.lastSeq) {
    // Another one may have written meanwhile; then the row knows of it by now.
    const newer = await store.get(runId)
    if (newer && ends > newer.lastSeq) throw damaged(runId, newer.lastSeq + 1, `the run's row knows of ${newer.lastSeq} entries, and the journal has ${ends}: nothing can be written behind them`)
  }
  if (ends >= Math.max(1, row.lastSeq)) return journal
  if (!(await store.get(runId))) throw new HoldfastError('UNKNOWN_RUN', `run "${runId}" was removed meanwhile`, { runId, advice: 'Look at list()' })
  throw damaged(runId, ends + 1, `it is missing: the journal ${ends === 0 ? 'has no entry' : `ends at entry ${ends}`}, it had ${Math.max(1, row.lastSeq)}`)
}

/**
 * Reads the messages after those that the journal has taken in, of a run whose row was read before: all that the row knows of are there,
 * and each is as it was sent.
 *
 * @throws HoldfastError `STORE_CORRUPT` with the place; `STORE_NEWER`.
 */
export async function readInbox(store: Store, { runId, inboxSeq }: RunRow, taken: number): Promise<InboxMessage[]> {
  if (taken > inboxSeq) {
    // Another one may have taken it in since the row was read; then the row knows of it by now.
    const known = (await store.get(runId))?.inboxSeq ?? taken
    if (taken > known) throw damagedMessage(runId, known + 1, `it was taken in, and the run's row knows of ${known}`)
  }
  const messages = await store.inbox(runId, taken)
  for (const [i, message] of messages.entries()) {
    if (message.seq !== taken + i + 1) throw damagedMessage(runId, taken + i + 1, `it is missing: message ${message.seq} stands there`)
    readMessage(runId, message)
  }
  const ends = taken + messages.length
  if (ends >= inboxSeq || !(await store.get(runId))) return messages
  throw damagedMessage(runId, ends + 1, `it is missing: the inbox ends at message ${ends}, it had ${inboxSeq}`)
}

/** How many bytes (UTF-8) the texts of these entries take. */
export const bytesOf = (stored: readonly StoredEntry[]): number => stored.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)
