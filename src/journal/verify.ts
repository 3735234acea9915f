/** Everything that is wrong with a run, not only the first thing: for `holdfast verify`. Looks, and changes nothing. */
import { HoldfastError, withoutAdvice } from '../errors.ts'
import type { InboxMessage, RecordReader, RunRow, Store, StoredEntry } from './store.ts'
import { type Finding, type Opened, type UnreadableRow, type Unopened, verifyRun } from './verify-run.ts'

export interface Verified {
  readonly findings: readonly Finding[]
  readonly entries: number
  readonly messages: number
  /** There is no such run, or none any more. */
  readonly isGone?: true
}

/** A run whose owner is at work is looked at again, this often. */
const LOOKS = 3

/**
 * Looks at a run in a store. A run that is removed meanwhile has nothing wrong with it.
 *
 * @param reader Opens the records one by one, where they are encrypted: the store is then the one within, or the first record that does not open would hide the others.
 */
export async function verifyStored(store: Store, runId: string, reader?: RecordReader): Promise<Verified> {
  for (let look = 1; ; look++) {
    let verified: Verified
    let updatedAt: number | undefined
    try {
      const row = await rowOf(store, runId)
      if (!row) return { findings: [], entries: 0, messages: 0, isGone: true }
      updatedAt = 'fault' in row ? undefined : row.updatedAt
      const stored = await store.read(runId)
      const inbox = await store.inbox(runId, 0)
      const [entries, messages] = reader ? [openEach(stored, 'entry', runId, reader), openEach(inbox, 'message', runId, reader)] : [stored, inbox]
      verified = { findings: verifyRun(row, entries, messages), entries: stored.length, messages: inbox.length }
    } catch (error) {
      if (!HoldfastError.isInstance(error)) throw error
      verified = { findings: [{ runId, seq: null, type: 'store', message: withoutAdvice(error) }], entries: 0, messages: 0 }
    }
    // What was written between the reads looks like damage.
    if (verified.findings.length === 0 || look === LOOKS || updatedAt === undefined) return verified
    if ((await store.get(runId))?.updatedAt === updatedAt) return verified
  }
}

async function rowOf(store: Store, runId: string): Promise<RunRow | UnreadableRow | undefined> {
  try {
    return await store.get(runId)
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === 'STORE_CORRUPT') return { runId, fault: withoutAdvice(error) }
    throw error
  }
}

function openEach<R extends StoredEntry | InboxMessage>(records: readonly R[], what: 'entry' | 'message', runId: string, reader: RecordReader): (Opened<R> | Unopened)[] {
  return records.map((record): Opened<R> | Unopened => {
    try {
      return (what === 'entry' ? reader.entry(runId, record as StoredEntry) : reader.message(runId, record)) as R
    } catch (error) {
      if (!HoldfastError.isInstance(error)) throw error
      if (error.code === 'STORE_NOT_ENCRYPTED') return { ...record, isPlain: true }
      const type = error.code.startsWith('KEY_') ? 'encrypted' : error.code === 'STORE_NEWER' ? 'format' : 'checksum'
      const place = what === 'entry' ? `entry ${record.seq} of run "${runId}" ` : `message of run "${runId}" `
      return { seq: record.seq, fault: { type, message: withoutAdvice(error).replace(place, 'it ') } }
    }
  })
}
