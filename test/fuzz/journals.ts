/** The journals that are damaged: real ones, and one with every type of entry. */
import { readFileSync } from 'node:fs'
import type { InboxMessage, RunRow, StoredEntry } from '../../src/journal/store.ts'

export interface Journal {
  readonly row: RunRow
  readonly journal: readonly StoredEntry[]
  readonly inbox: readonly InboxMessage[]
}

const golden = JSON.parse(readFileSync(new URL('../golden/format-1.json', import.meta.url), 'utf8')) as { runs: Journal[] }

export const JOURNALS: readonly Journal[] = golden.runs
