/** What a salvage has put back, of whatever run, in words. */
import type { PutBack } from '../../stores/sqlite.ts'
import { oneLine } from '../printable.ts'

const ROW = { runs: () => 'its row', journal: (seq: unknown) => `entry ${seq}`, inbox: (seq: unknown) => `message ${seq}` } as const

/** A line for each row, or for the table where it is not known which of them it was. */
export const putBackText = (tables: readonly PutBack[]): string => tables.flatMap(({ table, rows }) => (rows.length === 0
  ? [`rows of the table ${table} stood where they are not found: it is written anew\n`]
  : rows.map(({ runId, seq, under }) => `run ${oneLine(runId)}: ${ROW[table](seq)} stood under ${under === null ? 'no run' : `run ${oneLine(under)}`}, and is put back\n`))).join('')
