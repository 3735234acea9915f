/** Everything that is wrong with a run, from what its store gives. Pure. */
import { HoldfastError, withoutAdvice } from '../errors.ts'
import { type FaultType, type Placed, readLink, START, type Tip } from './chain.ts'
import { newestTaken, readMessage, settledMessages, type Message } from './message.ts'
import { rowFaults } from './row-faults.ts'
import type { InboxMessage, RunRow, StoredEntry } from './store.ts'
import { repeatedStep } from './step-id.ts'
import { valueFault } from './value-fault.ts'

/**
 * What is wrong with an entry; `missing`: it is not there; `row`: the run's row says otherwise; `inbox`: a message; `not-encrypted`: in a store
 * that is; `store`: its row, or all of it, cannot be read.
 */
export type FindingType = FaultType | 'missing' | 'row' | 'inbox' | 'not-encrypted' | 'store'

export interface Finding {
  readonly runId: string
  /** Position in the journal, or of the message in the inbox; null: of the run as a whole. */
  readonly seq: number | null
  readonly type: FindingType
  readonly message: string
}

/** A row that cannot be read, and why. */
export interface UnreadableRow {
  readonly runId: string
  readonly fault: string
}

/** A record as it was opened; `isPlain`: it need not have been, where the others had to be. */
export type Opened<R> = R & { readonly isPlain?: boolean }

/** A record that does not open, and why. */
export interface Unopened {
  readonly seq: number
  readonly fault: { readonly type: FindingType; readonly message: string }
}

/** `inbox`: all messages, from the first on; those that a salvage has settled count no more. The row must have been read before the entries, and these before the messages. */
export function verifyRun(row: RunRow | UnreadableRow, stored: readonly (Opened<StoredEntry> | Unopened)[], inbox: readonly (Opened<InboxMessage> | Unopened)[]): Finding[] {
  const { runId } = row
  const findings: Finding[] = []
  const found = (seq: number | null, type: FindingType, message: string): void => void findings.push({ runId, seq, type, message })
  // A key that is not there, or a store that was begun in another way, is one thing to put right, however many records it is about.
  const said = new Set<string>()
  const foundOnce = (seq: number | null, type: FindingType, message: string): void => {
    if (said.has(message)) return
    said.add(message)
    found(seq, type, message)
  }
  const entries: Placed[] = []
  let tip: Tip = START
  for (const each of stored) {
    if (each.seq < 1) {
      found(each.seq, 'gap', 'it stands before the first entry')
      continue
    }
    if ('fault' in each) {
      if (each.seq !== tip.seq + 1) found(tip.seq + 1, 'gap', `entry ${each.seq} stands there`)
      if (each.fault.type === 'encrypted') foundOnce(each.seq, each.fault.type, each.fault.message)
      else found(each.seq, each.fault.type, each.fault.message)
      tip = { seq: each.seq, sum: '', isUnknown: true, ...(tip.format !== undefined && { format: tip.format }) }
      continue
    }
    if (each.isPlain) foundOnce(each.seq, 'not-encrypted', 'it stands in the clear in an encrypted store')
    const link = readLink(runId, each, tip)
    if ('fault' in link) found(tip.seq + 1, link.fault.type, link.fault.message)
    else {
      entries.push({ seq: each.seq, entry: link.entry })
      const fault = valueFault(link.entry)
      if (fault !== undefined) found(each.seq, 'codec', fault)
    }
    tip = link.tip
    // What a newer build wrote, or a key hides, cannot be judged.
    if ('fault' in link && (link.fault.type === 'format' || link.fault.type === 'encrypted')) return findings
  }
  const repeated = repeatedStep(entries)
  if (repeated) found(repeated.seq, 'schema', repeated.message)
  if ('fault' in row) found(null, 'store', row.fault)
  else {
    if (tip.seq < Math.max(1, row.lastSeq)) found(tip.seq + 1, 'missing', `the journal ${tip.seq === 0 ? 'has no entry' : `ends at entry ${tip.seq}`}, it had ${Math.max(1, row.lastSeq)}`)
    // What came in after the row was read has not changed it.
    const unread = inbox.flatMap((message) => (message.seq > newestTaken(entries) && message.seq <= row.inboxSeq ? (messageIn(runId, message) ?? []) : []))
    if (findings.length === 0) for (const message of rowFaults(row, entries.map(({ entry }) => entry), unread)) found(null, 'row', message)
  }
  const settled = settledMessages(entries)
  // What is hidden may say that they are settled.
  const isHidden = findings.some(({ type }) => type === 'encrypted')
  for (const { seq } of inbox) if (seq < 1) found(seq, 'inbox', 'it stands before the first message')
  const counting = inbox.filter(({ seq }) => seq > settled)
  counting.forEach((message, i) => {
    if (message.seq !== settled + i + 1 && !isHidden) found(message.seq, 'inbox', `message ${settled + i + 1} is missing`)
    else if (!('fault' in message)) {
      const fault = messageFaultOf(runId, message)
      if (fault !== undefined) found(message.seq, 'inbox', fault)
    } else if (message.fault.type === 'encrypted') foundOnce(null, 'encrypted', message.fault.message)
    else found(message.seq, 'inbox', message.fault.message)
  })
  if ('fault' in row || isHidden) return findings
  const ends = settled + counting.length
  if (ends > row.inboxSeq) found(null, 'row', `the run's row knows of ${row.inboxSeq} messages, its inbox has ${ends}`)
  if (ends < row.inboxSeq) found(ends + 1, 'inbox', `the inbox ends at message ${ends}, it had ${row.inboxSeq}`)
  return findings
}

function messageIn(runId: string, message: Opened<InboxMessage> | Unopened): Message | undefined {
  return 'fault' in message || messageFaultOf(runId, message) !== undefined ? undefined : readMessage(runId, message)
}

function messageFaultOf(runId: string, message: InboxMessage): string | undefined {
  try {
    readMessage(runId, message)
    return undefined
  } catch (error) {
    return HoldfastError.isInstance(error) ? withoutAdvice(error) : String(error)
  }
}
