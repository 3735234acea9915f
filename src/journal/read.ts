/** A run's journal as a whole: checked from its first entry to the newest that the run's row knows of (R15). */
import { HoldfastError } from '../errors.ts'
import { damaged, type Placed, type Tip, unlink } from './chain.ts'
import type { RunRow, Store } from './store.ts'

export interface Journal {
  readonly entries: Placed[]
  /** Where the next entry goes on. */
  readonly tip: Tip
}

/**
 * Reads the journal of a run whose row was read before.
 *
 * @throws HoldfastError `STORE_CORRUPT` with the place, also where entries are missing at the end; `STORE_NEWER`; `UNKNOWN_RUN` when the
 * run was removed meanwhile. Nothing is changed then.
 */
export async function readJournal(store: Store, row: RunRow): Promise<Journal> {
  const { runId } = row
  const journal = unlink(runId, await store.read(runId))
  const ends = journal.tip.seq
  if (ends >= Math.max(1, row.lastSeq)) return journal
  if (!(await store.get(runId))) throw new HoldfastError('UNKNOWN_RUN', `run "${runId}" was removed meanwhile`, { runId, advice: 'Look at list()' })
  throw damaged(runId, ends + 1, `it is missing: the journal ends at entry ${ends}, it had ${row.lastSeq}`)
}
