/** The chain of a journal: each entry's text with a checksum that covers the one before (R15). */
import { hash } from '../core/hash.ts'
import { HoldfastError } from '../errors.ts'
import { FORMAT, type Entry } from './entry.ts'
import type { StoredEntry } from './store.ts'

/** The last link: where the next entry goes on. */
export interface Tip {
  readonly seq: number
  readonly sum: string
}

export const START: Tip = { seq: 0, sum: '' }

export function link(tip: Tip, entry: Entry): StoredEntry {
  const body = JSON.stringify(entry)
  return { seq: tip.seq + 1, body, sum: hash(tip.sum, body) }
}

/** Entry and its place in the journal. */
export interface Placed {
  readonly seq: number
  readonly entry: Entry
}

/**
 * Reads stored entries back, checked from `tip` on.
 *
 * @throws HoldfastError `STORE_CORRUPT` with the place; `STORE_NEWER` when a newer build wrote the journal. Nothing is changed then.
 */
export function unlink(runId: string, stored: readonly StoredEntry[], tip: Tip = START): { entries: Placed[]; tip: Tip } {
  const entries: Placed[] = []
  let { seq, sum } = tip
  for (const row of stored) {
    if (row.seq !== seq + 1) throw corrupt(runId, seq + 1, `entry ${row.seq} stands there`)
    const entry = parse(row)
    // Before the checksum: a newer build may reckon it in another way.
    if (entry?.type === 'run-created' && entry.format > FORMAT) {
      throw new HoldfastError('STORE_NEWER', `run "${runId}" was written in format ${entry.format}, this build reads up to ${FORMAT}`, {
        runId,
        advice: 'Update holdfast; nothing was changed',
      })
    }
    if (row.sum !== hash(sum, row.body)) throw corrupt(runId, row.seq, 'its checksum does not match')
    if (!entry) throw corrupt(runId, row.seq, 'it is not an entry')
    entries.push({ seq: row.seq, entry })
    ;({ seq, sum } = row)
  }
  return { entries, tip: { seq, sum } }
}

function parse(row: StoredEntry): Entry | undefined {
  try {
    const entry: unknown = JSON.parse(row.body)
    return typeof entry === 'object' && entry !== null && 'type' in entry && typeof entry.type === 'string' ? (entry as Entry) : undefined
  } catch {
    return undefined
  }
}

const corrupt = (runId: string, seq: number, what: string): HoldfastError =>
  new HoldfastError('STORE_CORRUPT', `the journal of run "${runId}" is damaged at entry ${seq}: ${what}`, {
    runId,
    advice: 'Nothing was changed. Restore the store from a copy',
  })
