/** What a salvage has kept, to be looked into: the bodies of its rows as JSON, opened where they are encrypted. */
import { usage } from '../cli-error.ts'
import type { RecordReader } from '../../journal/store.ts'

/** A row as it was, with its body read; `fault`: why it is not. */
export type KeptRow = Readonly<Record<string, unknown>>

/** @throws CliError where a line is none of those that `salvage` writes. */
export function keptRows(text: string, runId: string, reader: RecordReader | undefined): KeptRow[] {
  return text.split('\n').filter((line) => line !== '').map((line) => {
    const row = parsed(line) as KeptRow | undefined
    if (typeof row !== 'object' || row === null || !('table' in row)) throw usage('--kept names a file that salvage has not written', 'salvage prints the name of the file in which it keeps what was there')
    if (typeof row['body'] !== 'string') return row
    try {
      const body = opened(row, row['body'], runId, reader)
      return { ...row, body: JSON.parse(body) as unknown }
    } catch (error) {
      return { ...row, fault: error instanceof Error ? error.message : String(error) }
    }
  })
}

function opened({ table, seq, sum }: KeptRow, body: string, runId: string, reader: RecordReader | undefined): string {
  if (!reader || typeof seq !== 'number') return body
  return table === 'journal' && typeof sum === 'string' ? reader.entry(runId, { seq, body, sum }).body : reader.message(runId, { seq, body }).body
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}
