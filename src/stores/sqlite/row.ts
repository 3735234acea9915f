/** The row of a run in the table `runs`. */
import { HoldfastError } from '../../errors.ts'
import type { RunRow, RunStatus } from '../../journal/store.ts'
import type { Connection } from './connection.ts'
import { isCorrupt } from './failure.ts'
import { SECOND_INDEX } from './schema.ts'
import { fromBytes, toBytes } from './text.ts'

/** A row as SQLite gives it. STRICT tables hold what the schema says. */
export type StoredRow = {
  key: number
  run_id: Uint8Array
  agent: Uint8Array
  thread_id: Uint8Array | null
  status: RunStatus
  created_at: number
  updated_at: number
  resume_at: number | null
  token: number
  owner: string | null
  lease_until: number
  last_seq: number
  inbox_seq: number
}

const STATUSES: readonly RunStatus[] = ['cancelled', 'completed', 'failed', 'running', 'stalled', 'suspended']

/** Where a status is none: before, between and behind those that there are in their order, each by the index over them. */
export const OTHER_STATUS = ['', ...STATUSES].map((status, i) => [...(i > 0 ? [`status > '${status}'`] : []), ...(i < STATUSES.length ? [`status < '${STATUSES[i]}'`] : [])].join(' AND ')).join(' OR ')

export function damagedRow(what: string, runId?: string): HoldfastError {
  const advice = 'It was not changed. Restore a copy; without one, holdfast salvage makes the row of a run anew from its journal'
  return new HoldfastError('STORE_CORRUPT', `a row of ${runId === undefined ? 'the store' : `run "${runId}"`} is damaged: ${what}`, { advice, ...(runId !== undefined && { runId }) })
}

/** A run's row with the number that stands for the run in the other tables. */
export interface KeyedRow {
  readonly key: number
  readonly row: RunRow
}

/**
 * Above the keys of all that is in the store: what a run left behind that has lost its row must not be taken for another's. Not above those that no build
 * gives: a key with one high bit too many would make all later runs unreadable.
 */
const FREE_KEY = `1 + max(${['key FROM runs WHERE key', 'run FROM journal WHERE run', 'run FROM inbox WHERE run'].map((column) => `coalesce((SELECT ${column} BETWEEN 0 AND ${2 ** 52} ORDER BY 1 DESC LIMIT 1), 0)`).join(', ')})`

export const freeKey = ({ sql }: Connection): number => sql(`SELECT ${FREE_KEY} AS key`).get()!['key'] as number

/** Adds a row and gives its key; undefined, changing nothing, when the id exists. @throws HoldfastError `STORE_CORRUPT` where the indexes do not agree whether it does. */
export function insertRun(connection: Connection, row: RunRow): number | undefined {
  if (keyOf(connection, row.runId) !== undefined) return undefined
  addSecondIndex(connection)
  const inserted = connection.sql(`
    INSERT INTO runs (key, run_id, agent, thread_id, status, created_at, updated_at, resume_at, token, owner, lease_until, last_seq, inbox_seq)
    VALUES (${FREE_KEY}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING
  `).run(
    toBytes(row.runId), toBytes(row.agent), row.threadId === null ? null : toBytes(row.threadId), row.status, row.createdAt,
    row.updatedAt, row.resumeAt, row.token, row.owner, row.leaseUntil, row.lastSeq, row.inboxSeq,
  )
  return inserted.changes === 0 ? undefined : Number(inserted.lastInsertRowid)
}

/**
 * A file that was made before there was one is given it with the next run that is made in it: until then runs are looked for row by row. So they are where the
 * runs cannot be read to their end: those that can are to be driven all the same.
 */
function addSecondIndex({ sql }: Connection): void {
  if (hasSecondIndex(sql)) return
  try {
    sql(SECOND_INDEX).run()
  } catch (error) {
    if (!isCorrupt(error)) throw error
  }
}

function hasSecondIndex(sql: Connection['sql']): boolean {
  try {
    return sql('SELECT 1 FROM runs INDEXED BY runs_by_id LIMIT 0') !== undefined
  } catch (error) {
    if (isNoIndex(error)) return false
    throw error
  }
}

/** Of the file: one that was made before there was that index. */
export const isNoIndex = (error: unknown): boolean => error instanceof Error && error.message.startsWith('no such index')

export function findRun({ sql }: Connection, runId: string): KeyedRow | undefined {
  const found = lookUp<StoredRow>(sql, 'runs.*', runId)
  return found && { key: found.key, row: toRow(found) }
}

/** The number that stands for a run; undefined: there is no such run. @throws HoldfastError `STORE_CORRUPT`, as {@link lookUp}. */
export const keyOf = ({ sql }: Connection, runId: string): number | undefined => lookUp<{ readonly key: number }>(sql, 'runs.key', runId)?.key

/**
 * Columns of the row of a run; undefined: there is no such run. No single index decides that: by one that has lost the row the run would be started anew, and by one
 * that leads to another row it would be given what is that run's. One statement, so that nobody writes in between.
 *
 * @throws HoldfastError `STORE_CORRUPT` where the indexes do not agree with each other or with the row.
 */
function lookUp<T>(sql: Connection['sql'], columns: string, runId: string): T | undefined {
  const id = toBytes(runId)
  const { led, other, stands, ...row } = statement(sql, columns).get(id, id) as { led: number | null; other: number | null; stands: unknown }
  if (led === null) {
    if (other !== null) throw damagedIndex('does not lead to it', runId)
    return undefined
  }
  if (!(stands instanceof Uint8Array)) throw damagedRow('its index leads to it, and it is not there', runId)
  if (Buffer.compare(stands, id) !== 0) throw damagedIndex(`leads to run "${fromBytes(stands)}"`, runId)
  return row as T
}

function statement(sql: Connection['sql'], columns: string): ReturnType<Connection['sql']> {
  const past = (other: string): ReturnType<Connection['sql']> => sql(`
    SELECT led, CASE WHEN led IS NULL THEN (SELECT 1 FROM runs ${other} WHERE run_id = ?) END AS other, runs.run_id AS stands, ${columns}
    FROM (SELECT (SELECT key FROM runs WHERE run_id = ?) AS led) LEFT JOIN runs ON runs.key = led
  `)
  try {
    return past('INDEXED BY runs_by_id')
  } catch (error) {
    if (isNoIndex(error)) return past('NOT INDEXED')
    throw error
  }
}

function damagedIndex(what: string, runId: string): HoldfastError {
  const advice = `Nothing was changed. holdfast verify lists all that is damaged, holdfast salvage ${JSON.stringify(runId)} makes the indexes of the store anew`
  return new HoldfastError('STORE_CORRUPT', `run "${runId}" is in the store, and its index is damaged: it ${what}`, { runId, advice })
}

/** Writes back what may change in a row. */
export function updateRun({ sql }: Connection, { key, row }: KeyedRow): void {
  sql(`
    UPDATE runs SET status = ?, updated_at = ?, resume_at = ?, token = ?, owner = ?, lease_until = ?, last_seq = ?, inbox_seq = ?
    WHERE key = ?
  `).run(row.status, row.updatedAt, row.resumeAt, row.token, row.owner, row.leaseUntil, row.lastSeq, row.inboxSeq, key)
}

const COLUMNS: Readonly<Record<keyof StoredRow, (value: unknown) => boolean>> = (() => {
  const integer = (value: unknown): boolean => Number.isSafeInteger(value)
  const bytes = (value: unknown): boolean => value instanceof Uint8Array
  const orNull = (is: (value: unknown) => boolean) => (value: unknown): boolean => value === null || is(value)
  const isText = (value: unknown): boolean => typeof value === 'string'
  return {
    key: integer, run_id: bytes, agent: bytes, thread_id: orNull(bytes), status: (value) => STATUSES.includes(value as RunStatus), created_at: integer,
    updated_at: integer, resume_at: orNull(integer), token: integer, owner: orNull(isText), lease_until: integer, last_seq: integer, inbox_seq: integer,
  }
})()

const shown = (value: unknown): string => (value === undefined ? 'missing' : typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : `a ${typeof value}`)

/** Of a damaged file even the types of a STRICT table do not hold. */
export function toRow(stored: StoredRow): RunRow {
  for (const [column, holds] of Object.entries(COLUMNS)) {
    const value = stored[column as keyof StoredRow]
    if (!holds(value)) throw damagedRow(`${column} is ${shown(value)}`, stored.run_id instanceof Uint8Array ? fromBytes(stored.run_id) : undefined)
  }
  return {
    runId: fromBytes(stored.run_id),
    agent: fromBytes(stored.agent),
    status: stored.status,
    threadId: stored.thread_id === null ? null : fromBytes(stored.thread_id),
    createdAt: stored.created_at,
    updatedAt: stored.updated_at,
    resumeAt: stored.resume_at,
    token: stored.token,
    owner: stored.owner,
    leaseUntil: stored.lease_until,
    lastSeq: stored.last_seq,
    inboxSeq: stored.inbox_seq,
  }
}
