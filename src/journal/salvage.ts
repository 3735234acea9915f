/** What holds of a damaged journal: from its first entry on, as far as each follows from those before, by all that reading and `holdfast verify` look at (R15). Looks, and changes nothing. */
import { HoldfastError } from '../errors.ts'
import { failure, type Placed, readLink, START, type Tip } from './chain.ts'
import { StepIds } from './step-id.ts'
import type { RecordReader, StoredEntry } from './store.ts'
import { valueFault } from './value-fault.ts'

export interface Holding {
  /** As they are stored. */
  readonly rows: readonly StoredEntry[]
  readonly entries: readonly Placed[]
  /** Where the next entry goes on. */
  readonly tip: Tip
  /** How many of them only a copy has. */
  readonly fromCopy: number
  /** What is wrong with the one that would be next; undefined: there is none. */
  readonly fault: string | undefined
}

/**
 * @param copies Other copies of the journal, older or newer: an entry that is damaged is taken from the first that has it whole, and those after it go on from there.
 * @param reader Opens the records, where they are encrypted.
 * @throws HoldfastError `STORE_NEWER`, `KEY_MISSING` and the like: what cannot be judged is not cut away.
 */
export function holdingOf(runId: string, stored: readonly StoredEntry[], copies: readonly (readonly StoredEntry[])[], reader?: RecordReader): Holding {
  const sources = [stored, ...copies].map((rows) => new Map(rows.map((row) => [row.seq, row])))
  const rows: StoredEntry[] = []
  const entries: Placed[] = []
  let tip: Tip = START
  let fromCopy = 0
  const ids = new StepIds()
  for (;;) {
    let fault: string | undefined
    let next: { readonly row: StoredEntry; readonly placed: Placed; readonly tip: Tip; readonly isCopy: boolean } | undefined
    for (const [i, source] of sources.entries()) {
      const row = source.get(tip.seq + 1)
      if (!row) continue
      const read = readRow(runId, row, tip, reader)
      if ('fault' in read) fault ??= read.fault
      else if (ids.fault(read.placed) !== undefined) fault ??= 'schema'
      else if (valueFault(read.placed.entry) !== undefined) fault ??= 'codec'
      else next ??= { row, ...read, isCopy: i > 0 }
    }
    // What stands further on has lost what it follows from.
    if (!next) return { rows, entries, tip, fromCopy, fault: fault ?? (stored.some(({ seq }) => seq > tip.seq) ? 'gap' : undefined) }
    rows.push(next.row)
    entries.push(next.placed)
    ids.take(next.placed)
    tip = next.tip
    if (next.isCopy) fromCopy++
  }
}

function readRow(runId: string, row: StoredEntry, tip: Tip, reader: RecordReader | undefined): { readonly placed: Placed; readonly tip: Tip } | { readonly fault: string } {
  let opened: StoredEntry
  try {
    opened = reader ? reader.entry(runId, row) : row
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === 'STORE_CORRUPT') return { fault: 'checksum' }
    throw error
  }
  const link = readLink(runId, opened, tip)
  if (!('fault' in link)) return { placed: { seq: row.seq, entry: link.entry }, tip: link.tip }
  const { fault } = link
  if (fault.type === 'format' || fault.type === 'encrypted') throw failure(runId, row.seq, fault)
  return { fault: fault.type }
}
