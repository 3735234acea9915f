/** Runs and entries for the rules to work with. */
import type { NewRun, Store, StoredEntry } from '../../journal/store.ts'

/** The moment at which sample runs are created, ms since the epoch. */
export const T0 = 1_700_000_000_000

export function entry(seq: number, body = `{"entry":${seq}}`): StoredEntry {
  return { seq, body, sum: seq.toString(16).padStart(32, '0') }
}

/** Entries `first` to `last`, both included. */
export function entries(first: number, last: number): StoredEntry[] {
  return Array.from({ length: last - first + 1 }, (_, index) => entry(first + index))
}

/** A run with one entry, created at {@link T0}. */
export function newRun(runId: string, differently: Partial<NewRun> = {}): NewRun {
  return { runId, agent: 'support', threadId: null, createdAt: T0, entries: entries(1, 1), ...differently }
}

/** Creates a run and takes its lease, which ends at `T0 + 60_000`: token 1, one entry in the journal. */
export async function drivenRun(store: Store, runId: string, differently: Partial<NewRun> = {}): Promise<void> {
  await store.create(newRun(runId, differently))
  await store.take(runId, { expectedToken: 0, owner: '{"by":"one"}', leaseUntil: T0 + 60_000, now: T0 + 1 })
}
