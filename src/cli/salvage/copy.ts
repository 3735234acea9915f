/** All that there is of a run, kept in a file of its own before anything of it is changed: JSON, one row a line. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { RunRecord } from '../../stores/sqlite.ts'

export interface KeptCopy {
  readonly path: string
  readonly name: string
}

/** Written to the disk when it returns; never over another file. */
export function keepCopy(file: string, runId: string, { row, journal, inbox }: RunRecord, now: number): KeptCopy {
  const name = `${basename(file)}.${encodeURIComponent(runId).replaceAll('*', '%2A').slice(0, 80)}.${new Date(now).toISOString().replaceAll(':', '-')}.jsonl`
  const path = join(dirname(file), name)
  const lines = [['runs', row ? [row] : []], ['journal', journal], ['inbox', inbox]] as const
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    for (const [table, rows] of lines) for (const each of rows) writeSync(descriptor, `${JSON.stringify({ table, ...asJson(each) })}\n`)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  return { path, name }
}

/** Bytes as hexadecimal digits, as SQLite writes them. */
const asJson = (row: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value]))
