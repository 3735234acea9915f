/** All that there is of a run, kept in a file of its own before anything of it is changed: JSON, one row a line. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HoldfastError } from '../../errors.ts'
import type { RunRecord } from '../../stores/sqlite.ts'

export interface KeptCopy {
  readonly path: string
  readonly name: string
}

/** Written to the disk when it returns; never over another file. @throws HoldfastError `STORE_UNAVAILABLE` where it cannot be. */
export function keepCopy(file: string, runId: string, { row, journal, inbox }: RunRecord, now: number): KeptCopy {
  const name = `${basename(file)}.${encodeURIComponent(runId).replaceAll('*', '%2A').slice(0, 80)}.${new Date(now).toISOString().replaceAll(':', '-')}.jsonl`
  const path = join(dirname(file), name)
  const lines = [['runs', row ? [row] : []], ['journal', journal], ['inbox', inbox]] as const
  try {
    write(path, lines.flatMap(([table, rows]) => rows.map((each) => `${JSON.stringify({ table, ...asJson(each) })}\n`)))
  } catch (cause) {
    const advice = 'Nothing was changed. Make room and give permission to write in the folder of the store'
    throw new HoldfastError('STORE_UNAVAILABLE', `what there is of run "${runId}" cannot be kept in ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { runId, cause, advice })
  }
  return { path, name }
}

function write(path: string, lines: readonly string[]): void {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    for (const line of lines) writeSync(descriptor, line)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const asJson = (row: Readonly<Record<string, unknown>>): Record<string, unknown> => Object.fromEntries(Object.entries(row).map(([column, value]) => [column, cell(value)]))

/** Bytes as hexadecimal digits, as SQLite writes them; numbers that JSON or its readers do not have as their digits. */
function cell(value: unknown): unknown {
  if (value instanceof Uint8Array) return { hex: Buffer.from(value).toString('hex') }
  return typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)) ? { number: String(value) } : value
}
