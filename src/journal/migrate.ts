/** Journals of older formats, brought to the one that this build works with as they are read (R15). What is stored stays as it was written. */
import { FORMAT } from './entry.ts'

/** An entry as it was parsed, of whatever format. */
export interface PlainEntry {
  readonly type: string
  readonly [field: string]: unknown
}

/**
 * From one format to the next: pure, one entry for each, because entries refer to each other by position. `seq` is its position.
 * The `format` of an entry is not its business.
 */
export type Migration = (entry: PlainEntry, seq: number) => PlainEntry

export interface Formats {
  /** What this build writes. */
  readonly newest: number
  /** The one at index i brings format i + 1 to format i + 2. */
  readonly migrations: readonly Migration[]
}

/** One migration for each format before {@link FORMAT}; a golden file of each is in test/golden. */
export const FORMATS: Formats = { newest: FORMAT, migrations: [] }

/** The entry in the newest format. */
export function migrated(entry: PlainEntry, seq: number, format: number, { migrations, newest }: Formats = FORMATS): PlainEntry {
  let current = entry
  for (let from = format; from < newest; from++) current = migrations[from - 1]!(current, seq)
  return current
}

/**
 * The format that holds from this entry on, where it says so: the creation of a run always does, the start of an attempt where a newer
 * build went on with the run.
 */
export function declaredFormat(entry: PlainEntry): number | undefined {
  const { type, format } = entry
  return (type === 'run-created' || type === 'attempt-started') && typeof format === 'number' ? format : undefined
}
