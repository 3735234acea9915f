/** Everything that is wrong with a run, not only the first thing: for `holdfast verify`. Looks, and changes nothing. */
import { HoldfastError } from '../errors.ts'
import { type FaultType, readLink, START, type Tip } from './chain.ts'
import { decode } from './codec.ts'
import type { Entry } from './entry.ts'
import { readMessage } from './message.ts'
import { entryFault } from './schema.ts'
import { legible } from './secrets.ts'
import type { InboxMessage, RunRow, Store, StoredEntry } from './store.ts'

/** What is wrong with an entry; `missing`: it is not there; `row`: the run's row says otherwise; `inbox`: a message; `store`: it gives nothing back. */
export type FindingType = FaultType | 'missing' | 'row' | 'inbox' | 'store'

export interface Finding {
  readonly runId: string
  /** Position in the journal, or of the message in the inbox; null: of the row. */
  readonly seq: number | null
  readonly type: FindingType
  readonly message: string
}

export interface Verified {
  readonly findings: readonly Finding[]
  readonly entries: number
  readonly messages: number
}

/** A run whose owner is at work is looked at again, this often. */
const LOOKS = 3

/** Looks at a run in a store. A run that is removed meanwhile has nothing wrong with it. */
export async function verifyStored(store: Store, runId: string): Promise<Verified> {
  for (let look = 1; ; look++) {
    let verified: Verified
    let updatedAt: number | undefined
    try {
      const row = await store.get(runId)
      if (!row) return { findings: [], entries: 0, messages: 0 }
      updatedAt = row.updatedAt
      const stored = await store.read(runId)
      const inbox = await store.inbox(runId, 0)
      verified = { findings: verifyRun(row, stored, inbox), entries: stored.length, messages: inbox.length }
    } catch (error) {
      if (!HoldfastError.isInstance(error)) throw error
      verified = { findings: [{ runId, seq: null, type: 'store', message: error.message }], entries: 0, messages: 0 }
    }
    // What was written between the reads looks like damage.
    if (verified.findings.length === 0 || look === LOOKS || updatedAt === undefined) return verified
    if ((await store.get(runId))?.updatedAt === updatedAt) return verified
  }
}

/** `inbox`: all messages, from the first on. The row must have been read before the entries, and these before the messages. */
export function verifyRun(row: RunRow, stored: readonly StoredEntry[], inbox: readonly InboxMessage[]): Finding[] {
  const { runId } = row
  const findings: Finding[] = []
  const found = (seq: number | null, type: FindingType, message: string): void => void findings.push({ runId, seq, type, message })
  const entries: Entry[] = []
  let tip: Tip = START
  for (const each of stored) {
    const link = readLink(runId, each, tip)
    if ('fault' in link) found(tip.seq + 1, link.fault.type, link.fault.message)
    else {
      entries.push(link.entry)
      const fault = valueFault(legible(link.entry))
      if (fault !== undefined) found(each.seq, 'codec', fault)
    }
    tip = link.tip
    // What a newer build wrote, or a key hides, cannot be judged.
    if ('fault' in link && (link.fault.type === 'format' || link.fault.type === 'encrypted')) return findings
  }
  if (tip.seq < Math.max(1, row.lastSeq)) found(tip.seq + 1, 'missing', `the journal ends at entry ${tip.seq}, it had ${row.lastSeq}`)
  if (findings.length === 0) for (const message of rowFaults(row, entries)) found(null, 'row', message)
  inbox.forEach((message, i) => {
    const fault = message.seq === i + 1 ? messageFaultOf(runId, message) : `message ${i + 1} is missing`
    if (fault !== undefined) found(message.seq, 'inbox', fault)
  })
  if (inbox.length < row.inboxSeq) found(inbox.length + 1, 'inbox', `the inbox ends at message ${inbox.length}, it had ${row.inboxSeq}`)
  return findings
}

/** Decodes every value, which reading a journal leaves to who uses it. */
function valueFault(entry: Entry): string | undefined {
  return entryFault(entry, (value, path) => {
    try {
      decode(value, path)
      return undefined
    } catch (error) {
      return HoldfastError.isInstance(error) ? error.message : String(error)
    }
  })
}

/** What the row of a run says besides its journal, and must not say otherwise: nothing protects it by a checksum. */
function rowFaults(row: RunRow, entries: readonly Entry[]): string[] {
  const [created] = entries
  if (created?.type !== 'run-created') return []
  const token = entries.reduce((newest, entry) => (entry.type === 'attempt-started' ? Math.max(newest, entry.token) : newest), 0)
  const end = entries.findLast((entry) => entry.type === 'run-ended' || entry.type === 'attempt-started')
  const ended = end?.type === 'run-ended' ? end.status : undefined
  const faults: string[] = []
  const differs = (field: string, there: unknown, journal: unknown): void => {
    if (there !== journal) faults.push(`the run's row says ${field} ${JSON.stringify(there)}, the journal ${JSON.stringify(journal)}`)
  }
  differs('agent', row.agent, created.agent)
  differs('threadId', row.threadId, created.threadId ?? null)
  differs('createdAt', row.createdAt, created.at)
  if (row.token < token) faults.push(`the run's row says token ${row.token}, the journal has an attempt with ${token}`)
  // Between its end and its row's an attempt may have died; the next one mends that.
  if (row.status === 'completed' || row.status === 'cancelled') differs('status', row.status, ended ?? 'not ended')
  return faults
}

function messageFaultOf(runId: string, message: InboxMessage): string | undefined {
  try {
    readMessage(runId, message)
    return undefined
  } catch (error) {
    return HoldfastError.isInstance(error) ? error.message : String(error)
  }
}
