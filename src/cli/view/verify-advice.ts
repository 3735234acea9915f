/** What to do about what `verify` finds: each kind has its own way out (R15). */
import type { FindingType } from '../../journal/verify-run.ts'

export type Kind = FindingType | 'file'

const RESTORE = 'What is damaged: restore the store from a copy; without one, `holdfast salvage ID` cuts a run where it ends to hold, taking what it can from a copy that is older (--from).'
const FILE = 'file: an index that is wrong is made anew by `holdfast salvage ID`, of any run. Pages that SQLite cannot read stay as they are: salvage takes a run off those of the journal and the inbox; for those of the table of runs, or of an index, restore a copy, or save what can be read into another file, with a sqlite3 that has it: `sqlite3 FILE .recover | sqlite3 NEW`.'
const KEYS = 'encrypted: give the keys, HOLDFAST_KEYS=id:base64 with commas; it does not say that anything is damaged.'

const ADVICE: Readonly<Record<Kind, string>> = {
  'format': 'format: a newer build wrote it: update holdfast here; it does not say that anything is damaged.',
  'encrypted': KEYS,
  'not-encrypted': 'not-encrypted: a store is kept in one way: use it without HOLDFAST_KEYS, or begin another file for the encrypted runs, and drive those in the clear to their end in this one.',
  'row': 'row: a run is driven by its journal; what its row says otherwise shows in lists, or keeps it from going on by itself, and is put right when the run is driven, by `holdfast salvage ID`, or from a copy.',
  'gap': RESTORE, 'missing': RESTORE, 'checksum': RESTORE, 'not-an-entry': RESTORE, 'schema': RESTORE, 'codec': RESTORE, 'other-run': RESTORE,
  'inbox': RESTORE, 'store': RESTORE, 'file': FILE,
}

/** A sentence for each kind of thing that was found, the first found first. */
export const adviceFor = (kinds: readonly Kind[]): string[] => [...new Set(kinds.map((kind) => ADVICE[kind]))]
