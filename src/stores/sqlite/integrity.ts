/** What SQLite itself finds wrong with a file: pages, indexes, references. Reads all of it, and changes nothing. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { systemClock } from '../../core/clock.ts'
import { isCorrupt, storeFailure } from './failure.ts'
import { whenUnlocked } from './lock.ts'
import { openFile } from './open.ts'
import { SQLITE_DEFAULTS } from './options.ts'
import { fromBytes, toBytes } from './text.ts'

const MOST = 100

/** Enough to tell fewer from more. */
const MOST_OF_ALL = 100_000

type Prepare = (sql: string) => StatementSync

/**
 * What is wrong with the file, a sentence each, at most 100; a journal that has lost its run is among it.
 *
 * @throws HoldfastError a `STORE_...` code when the file is not there, not ours or cannot be read.
 */
export const sqliteFileFaults = (path: string): Promise<string[]> => looking(path, faultsIn)

/** How much SQLite finds wrong with pages and indexes; `Infinity`: it cannot even look through them. @throws HoldfastError as {@link sqliteFileFaults}. */
export const sqlitePageFaults = (path: string): Promise<number> => looking(path, (database) => countFaults((sql) => database.prepare(sql)))

export function countFaults(prepare: Prepare): number {
  try {
    return pageFaults(prepare, MOST_OF_ALL).length
  } catch (error) {
    if (isCorrupt(error)) return Infinity
    throw error
  }
}

export const TABLES = ['runs', 'journal', 'inbox'] as const
export type Table = (typeof TABLES)[number]

/** What SQLite finds of the tables themselves. `unordered`: nothing but that rows stand where their numbers do not lead. */
export function tableStates(prepare: Prepare): Readonly<Record<Table, 'sound' | 'unordered' | 'damaged'>> {
  const lines = pageFaults(prepare, MOST_OF_ALL).flatMap((text) => text.split('\n'))
  const stateOf = (table: Table): 'sound' | 'unordered' | 'damaged' => {
    const { root } = prepare('SELECT rootpage AS root FROM sqlite_schema WHERE name = ?').get(table) as { root: number }
    const own = lines.filter((line) => line.startsWith(`Tree ${root} `))
    return own.length === 0 ? 'sound' : own.every((line) => /: Rowid -?\d+ out of order$/.test(line)) ? 'unordered' : 'damaged'
  }
  return { runs: stateOf('runs'), journal: stateOf('journal'), inbox: stateOf('inbox') }
}

export interface RunIds {
  readonly runIds: readonly string[]
  /** Those that stand in several rows, and in which: by its id one of them is found. */
  readonly several: ReadonlyMap<string, readonly bigint[]>
  /** What is wrong with others, a sentence each: a run that has no id is found by nobody. */
  readonly faults: readonly string[]
}

/** The ids of all runs, also of those whose row cannot be read otherwise. @throws HoldfastError as {@link sqliteFileFaults}. */
export const sqliteRunIds = (path: string): Promise<RunIds> => looking(path, runIdsIn)

async function looking<T>(path: string, look: (database: DatabaseSync, file: string) => T): Promise<T> {
  const file = resolve(path)
  try {
    return await whenUnlocked(systemClock, SQLITE_DEFAULTS.busyTimeoutMs, () => {
      const database = openFile(file, false, true)
      try {
        return look(database, file)
      } finally {
        database.close()
      }
    })
  } catch (error) {
    throw storeFailure(error, file)
  }
}

function faultsIn(database: DatabaseSync, file: string): string[] {
  const behind = bytesBehind(database, file)
  const orphans = database.prepare('PRAGMA foreign_key_check').all() as { table: string; rowid: number }[]
  return [
    ...pageFaults((sql) => database.prepare(sql), MOST),
    ...orphans.map(({ table, rowid }) => `row ${rowid} of table ${table} belongs to no run`),
    ...(behind > 0 ? [`${behind} bytes stand behind its end: they are none of the store's, and nothing reads them`] : []),
  ].slice(0, MOST)
}

const pageFaults = (prepare: Prepare, most: number): string[] =>
  (prepare(`PRAGMA integrity_check(${most})`).all() as { integrity_check: string }[]).map(({ integrity_check }) => integrity_check).filter((text) => text !== 'ok')

/** How many bytes of the file SQLite does not take for its own. While there is a log, that says how long the file is. */
function bytesBehind(database: DatabaseSync, file: string): number {
  if (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size) return 0
  const { pages } = database.prepare('SELECT page_count AS pages FROM pragma_page_count').get() as { pages: number }
  const { size } = database.prepare('SELECT page_size AS size FROM pragma_page_size').get() as { size: number }
  return statSync(file).size - pages * size
}

function runIdsIn(database: DatabaseSync): RunIds {
  const keys = new Map<string, bigint[]>()
  const faults: string[] = []
  try {
    const all = database.prepare('SELECT key, run_id FROM runs NOT INDEXED ORDER BY key')
    all.setReadBigInts(true)
    for (const { key, run_id } of all.iterate() as Iterable<{ key: bigint; run_id: unknown }>) {
      if (isName(run_id)) keys.set(fromBytes(run_id), [...(keys.get(fromBytes(run_id)) ?? []), key])
      else faults.push(`row ${key} of table runs has no id: ${ownerOf(database, key)}`)
    }
  } catch (error) {
    faults.push(`the runs cannot be listed: ${error instanceof Error ? error.message : String(error)}`)
  }
  return { runIds: [...keys.keys()], several: new Map([...keys].filter(([, rows]) => rows.length > 1)), faults }
}

/** As `toBytes` writes one: another text leads to no row. */
const isName = (bytes: unknown): bytes is Uint8Array => bytes instanceof Uint8Array && bytes.length > 0 && fromBytes(bytes) !== '' && Buffer.compare(toBytes(fromBytes(bytes)), bytes) === 0

/** By the first entry of its journal, where that can be read. */
function ownerOf(database: DatabaseSync, key: bigint): string {
  try {
    const { body } = database.prepare('SELECT body FROM journal WHERE run = ? AND seq = 1').get(key) as { body: string }
    const { runId } = JSON.parse(body) as { runId?: unknown }
    if (typeof runId === 'string') return `its journal is that of run ${JSON.stringify(runId)}, which nobody finds`
  } catch {
    // It is damaged too, or encrypted.
  }
  return 'whose journal it has nobody finds'
}
