/** A journal that no row of a run leads to: whose it is. */
import { HoldfastError } from '../../errors.ts'
import { holdingOf } from '../../journal/salvage.ts'
import type { RecordReader, StoredEntry } from '../../journal/store.ts'
import type { RunRecord } from '../../stores/sqlite.ts'

/** Its first entry says so; where that is damaged, and its row is lost, any entry that a copy of the run has too. */
export const lostRunOf = (runId: string, reader: RecordReader | undefined, copy: RunRecord | undefined) => {
  const there = new Set(copy?.journal.map((row) => JSON.stringify(row)))
  return (journal: RunRecord['journal'], isLost: boolean): boolean => {
    const [first] = journal
    if (!first || typeof first['body'] !== 'string' || typeof first['sum'] !== 'string') return false
    try {
      if (holdingOf(runId, [first as unknown as StoredEntry], [], reader).entries.length > 0) return true
    } catch (error) {
      // What is encrypted with another key, or was written by a newer build, is of another run where that has a row; else nobody can tell.
      if (isLost || !HoldfastError.isInstance(error)) throw error
    }
    return isLost && journal.some((row) => there.has(JSON.stringify(row)))
  }
}
