/** What to do about what `verify` finds: each kind has its own way out (R15). */
import type { FindingType } from '../../journal/verify-run.ts'

export type Kind = FindingType | 'file'

const RESTORE = 'What is damaged: restore the store from a copy; without one, `holdfast salvage ID` cuts a run where it ends to hold, and what SQLite can still read of a file, `sqlite3 FILE .recover` saves.'
const KEYS = 'encrypted: give the keys, HOLDFAST_KEYS=id:base64 with commas; it does not say that anything is damaged.'

const ADVICE: Readonly<Record<Kind, string>> = {
  'format': 'format: a newer build wrote it: update holdfast here; it does not say that anything is damaged.',
  'encrypted': KEYS,
  'not-encrypted': 'not-encrypted: a store is kept in one way: use it without HOLDFAST_KEYS, or begin another file for the encrypted runs, and drive those in the clear to their end in this one.',
  'row': 'row: a run is driven by its journal; what its row says otherwise shows in lists, and is put right when the run is driven, by `holdfast salvage ID`, or from a copy.',
  'gap': RESTORE, 'missing': RESTORE, 'checksum': RESTORE, 'not-an-entry': RESTORE, 'schema': RESTORE, 'codec': RESTORE, 'other-run': RESTORE,
  'inbox': RESTORE, 'store': RESTORE, 'file': RESTORE,
}

/** A sentence for each kind of thing that was found, the first found first. */
export const adviceFor = (kinds: readonly Kind[]): string[] => [...new Set(kinds.map((kind) => ADVICE[kind]))]
