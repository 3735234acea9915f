/**
 * Rows that do not stand where they belong, as a bit of their number or id is wrong: they would be read as another run's, and go with it when that one is cut. Whose
 * they are the indexes know, until they are made anew.
 */
import type { Connection } from './connection.ts'
import { rowsOf, withFile } from './damaged-file.ts'
import { isConstraint, isCorrupt } from './failure.ts'
import { TABLES, type Table, tableStates } from './integrity.ts'
import { isNoIndex } from './row.ts'
import { fromBytes } from './text.ts'

/** A table that was written anew. */
export interface PutBack {
  readonly table: Table
  /** Those that stood elsewhere; where there is none, SQLite would not have found each by its number. */
  readonly rows: readonly PutBackRow[]
}

export interface PutBackRow {
  readonly runId: string
  /** Of the entry, or the message; null: it is the row of the run. */
  readonly seq: number | bigint | null
  /** The run under whose number, or id, it stood; null: it stood under that of none. */
  readonly under: string | null
}

/**
 * Writes the tables anew in which rows stand elsewhere than they belong, or than SQLite would find them. Nothing goes by that: a table that cannot be read whole, or
 * has two rows for one place, stays as it is.
 *
 * @throws HoldfastError a `STORE_...` code.
 */
export async function sqlitePutBack(path: string): Promise<readonly PutBack[]> {
  const wanted = await withFile(path, true, (open) => ifWhole<readonly Table[]>([], () => {
    const states = tableStates(open.sql)
    return TABLES.filter((table) => {
      const misplaced = states[table] === 'damaged' ? undefined : misplacedIn(open, table)
      return misplaced && (misplaced.length > 0 || states[table] === 'unordered')
    })
  }))
  const all: PutBack[] = []
  for (const table of wanted) {
    const rows = await withFile(path, false, (open) => {
      // Else what belongs to the runs would go with their rows.
      open.sql('PRAGMA foreign_keys = OFF').run()
      return ifWhole(undefined, () => open.transaction(() => writtenAnew(open, table)))
    })
    if (rows) all.push({ table, rows })
  }
  return all
}

function ifWhole<T>(otherwise: T, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (isCorrupt(error) || isConstraint(error)) return otherwise
    throw error
  }
}

type Key = number | bigint

/** As its index and the table have it: of a run its key and the digits of its id, else the key of the run and the number. */
interface Misplaced {
  readonly place: Key
  readonly belongs: readonly [Key, Key | string]
  readonly stands: readonly [Key, Key | string]
}

/** Undefined: its indexes know what would be lost with them. */
const misplacedIn = (open: Connection, table: Table): Misplaced[] | undefined => (table === 'runs' ? misplacedRuns(open) : misplacedRows(open, table))

/** What both indexes have otherwise than the table, which has nothing else in that place. */
function misplacedRuns({ sql }: Connection): Misplaced[] | undefined {
  const read = (how: string): (readonly [Key, string])[] => rowsOf(sql(`SELECT key, hex(run_id) AS id FROM runs ${how}`)).map(({ key, id }) => [key as Key, id as string])
  let indexes
  try {
    indexes = ['sqlite_autoindex_runs_1', 'runs_by_id'].map((index) => read(`INDEXED BY ${index} ORDER BY run_id`)) as [ReturnType<typeof read>, ReturnType<typeof read>]
  } catch (error) {
    // An older file has one alone: of that and the table nobody can tell which is wrong.
    if (isNoIndex(error)) return undefined
    throw error
  }
  const second = new Map<Key, string>(indexes[1])
  const idOf = new Map<Key, string>(indexes[0].filter(([key, id]) => second.get(key) === id))
  const keyOf = new Map<string, Key>([...idOf].map(([key, id]) => [id, key]))
  const stand = read('NOT INDEXED')
  const [keys, ids] = [new Set(stand.map(([key]) => key)), new Set(stand.map(([, id]) => id))]
  const misplaced = stand.flatMap(([key, id]): Misplaced[] => {
    const [known, home] = [idOf.get(key), keyOf.get(id)]
    if (known === id) return []
    if (known !== undefined && !ids.has(known)) return [{ place: key, stands: [key, id], belongs: [key, known] }]
    return home === undefined || keys.has(home) ? [] : [{ place: key, stands: [key, id], belongs: [home, id] }]
  })
  const found = new Set([...keys, ...misplaced.map(({ belongs: [key] }) => key)])
  return indexes.flat().every(([key]) => found.has(key)) ? misplaced : undefined
}

const INDEX = {
  // A journal has no gap, and its run knows how long it is: what is missed can be told from an index that is wrong.
  journal: {
    from: '(SELECT rowid AS place, run, seq FROM journal INDEXED BY sqlite_autoindex_journal_1 ORDER BY run, seq)',
    isMissed: 'known.seq BETWEEN 1 AND (SELECT last_seq FROM runs WHERE key = known.run)',
  },
  // Of an inbox messages may be gone: here both indexes have to say so.
  inbox: {
    from: `(SELECT place, run, seq FROM (SELECT rowid AS place, run, seq FROM inbox INDEXED BY sqlite_autoindex_inbox_1 ORDER BY run, seq)
      JOIN (SELECT rowid AS place, run FROM inbox INDEXED BY sqlite_autoindex_inbox_2 ORDER BY run, question) USING (place, run))`,
    isMissed: 'known.seq = stands.seq AND known.run IN (SELECT key FROM runs)',
  },
} as const

function misplacedRows({ sql }: Connection, table: 'journal' | 'inbox'): Misplaced[] {
  const { from, isMissed } = INDEX[table]
  // `+`: for the right side of IN an index is taken, whatever is said of the table.
  return rowsOf(sql(`
    SELECT place, known.run AS run, known.seq AS seq, stands.run AS under, stands.seq AS number
    FROM ${from} AS known JOIN (SELECT rowid AS place, run, seq FROM ${table} NOT INDEXED) AS stands USING (place)
    WHERE (known.run, known.seq) <> (stands.run, stands.seq) AND ${isMissed} AND (known.run, known.seq) NOT IN (SELECT +run, +seq FROM ${table} NOT INDEXED)
  `)).map(({ place, run, seq, under, number }) => ({ place: place as Key, belongs: [run as Key, seq as Key], stands: [under as Key, number as Key] }))
}

const KNOWN_BY = { runs: ['key', 'run_id'], journal: ['run', 'seq'], inbox: ['run', 'seq'] } as const

function writtenAnew(open: Connection, table: Table): PutBackRow[] | undefined {
  const { sql } = open
  const misplaced = misplacedIn(open, table)
  if (!misplaced) return undefined
  const [first, second] = KNOWN_BY[table]
  const columns = rowsOf(sql(`SELECT name FROM pragma_table_info('${table}')`)).map(({ name }) => name).join(', ')
  sql(`CREATE TEMP TABLE anew AS SELECT rowid AS place, ${columns} FROM ${table} NOT INDEXED`).run()
  for (const { place, belongs, stands } of misplaced) {
    sql(`UPDATE anew SET ${first} = ?, ${second} = ? WHERE place = ? AND ${first} = ? AND ${second} = ?`).run(...asStored(belongs), place, ...asStored(stands))
  }
  // Without a condition SQLite looks for no row by its number.
  sql(`DELETE FROM ${table}`).run()
  sql(`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM anew ORDER BY place`).run()
  const idOf = (key: Key): string | null => {
    const [row] = rowsOf(sql('SELECT run_id FROM runs WHERE key = ?'), key)
    return row ? fromBytes(row['run_id'] as Uint8Array) : null
  }
  return misplaced.map(({ belongs: [run, of], stands: [at, as] }) => {
    if (typeof of !== 'string') return { runId: idOf(run)!, seq: of, under: idOf(at) }
    return { runId: named(of), seq: null, under: as === of ? idOf(at) : named(as as string) }
  })
}

const asStored = ([key, of]: Misplaced['stands']): [Key, Key | Uint8Array] => [key, typeof of === 'string' ? Buffer.from(of, 'hex') : of]

const named = (digits: string): string => fromBytes(Buffer.from(digits, 'hex'))
