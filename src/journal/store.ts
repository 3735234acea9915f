/** The store contract: what a run's journal needs of a place that keeps it. A port; the stores implement it. */
import type { HoldfastError } from '../errors.ts'

export type RunStatus = 'running' | 'suspended' | 'completed' | 'failed' | 'cancelled' | 'stalled'

/** One entry of a journal as it is stored: opaque text, numbered from 1 without gaps, chained by `sum`. */
export interface StoredEntry {
  readonly seq: number
  /** The entry as JSON text (ASCII escapes for lone surrogates and NUL). Stores keep it byte for byte. */
  readonly body: string
  /** Checksum of the entry before it and of `body`. */
  readonly sum: string
}

/** The row of a run: what can be listed without reading its journal. */
export interface RunRow {
  readonly runId: string
  readonly agent: string
  readonly status: RunStatus
  readonly threadId: string | null
  /** ms since the epoch. */
  readonly createdAt: number
  readonly updatedAt: number
  /** From when on a suspended run can go on, ms since the epoch: by itself, or because somebody has answered; null: it waits for somebody. */
  readonly resumeAt: number | null
  /** Fencing token of the newest attempt; 0 before the first. */
  readonly token: number
  /** Who holds the lease (JSON text that `run/lease` reads), null when it was given back. */
  readonly owner: string | null
  /** When the lease ends, ms since the epoch; 0 when there is none. */
  readonly leaseUntil: number
  /** `seq` of the newest journal entry; 0 when there is none. */
  readonly lastSeq: number
  /** `seq` of the newest inbox message; 0 when there is none. */
  readonly inboxSeq: number
}

export interface NewRun {
  readonly runId: string
  readonly agent: string
  readonly threadId: string | null
  readonly createdAt: number
  /** The first entries of the journal, from seq 1. */
  readonly entries: readonly StoredEntry[]
}

/** What an append may change in the run's row, in the same transaction. */
export interface RunPatch {
  readonly status?: RunStatus
  readonly resumeAt?: number | null
  /** Gives the lease back: owner null, leaseUntil 0. The token stays. */
  readonly release?: true
}

export interface AppendBatch {
  /** The appender's fencing token: the batch is refused with `STALE_TOKEN` unless it equals the row's. */
  readonly token: number
  /** Consecutive; the first has `seq === row.lastSeq + 1`, or the batch is refused with `STALE_TOKEN`. May be empty when there is a patch. */
  readonly entries: readonly StoredEntry[]
  readonly patch?: RunPatch
  /** When given, the batch is refused with `INBOX_MOVED` unless the row's `inboxSeq` equals it. */
  readonly inboxSeq?: number
  /** ms since the epoch; becomes `updatedAt`. */
  readonly now: number
}

export interface TakeLease {
  /** The token that the taker saw: refused (returns null) unless it equals the row's. The new token is one more. */
  readonly expectedToken: number
  readonly owner: string
  readonly leaseUntil: number
  readonly now: number
}

export interface InboxMessage {
  readonly seq: number
  /** Message as JSON text. */
  readonly body: string
}

export interface NewMessage {
  /** One message per question: a second one with the same key is not stored. null: no question. */
  readonly question: string | null
  readonly body: string
  /** With it the run can go on: where it is suspended, it is due now, unless it was due before. Default false. */
  readonly wakes?: boolean
  /** ms since the epoch; becomes `updatedAt`. */
  readonly now: number
}

export interface RunFilter {
  readonly agent?: string
  readonly status?: readonly RunStatus[]
  readonly threadId?: string
  /** Only suspended runs whose `resumeAt` is not later than this, ms since the epoch. */
  readonly dueBy?: number
  /** At most this many, newest `updatedAt` first (ties: runId ascending). Default 100. */
  readonly limit?: number
  /** Told of each row that cannot be read (`STORE_CORRUPT`), which is left out, also where its status is none. Default: the first one is thrown. */
  readonly onDamaged?: (error: HoldfastError) => void
}

/**
 * A place that keeps journals. Every method is atomic and, when it resolves, durable (as far as `durability` says).
 * A store MUST NOT interpret bodies. Failures of the medium are thrown as `HoldfastError` with code `STORE_UNAVAILABLE`.
 * The suite in `holdfast/stores/conformance` states each rule as a test.
 */
export interface Store {
  /** The kind of the store, such as `sqlite`, for messages and logs. */
  readonly kind: string
  /** `durable`: survives the death of the process and of the machine. `process`: lives and dies with this process. */
  readonly durability: 'durable' | 'process'
  /** Opens (and where allowed creates) what the store needs. Called before anything else, once; idempotent. */
  open(): Promise<void>
  /** Inserts the run and its first entries, token 0, no lease, status `running`. Resolves to false, changing nothing, when the id exists. */
  create(run: NewRun): Promise<boolean>
  get(runId: string): Promise<RunRow | undefined>
  list(filter?: RunFilter): Promise<RunRow[]>
  /** Entries with `seq > after` in order, all of them. Default 0. */
  read(runId: string, after?: number): Promise<StoredEntry[]>
  /** Compare-and-set on the token. Resolves to the new token, or null when another was faster; sets status to `running`, resumeAt to null. */
  take(runId: string, lease: TakeLease): Promise<number | null>
  /** Moves the end of the lease; resolves to false, changing nothing, when the token is stale or the lease was given back. */
  renew(runId: string, token: number, leaseUntil: number): Promise<boolean>
  /** Appends all or nothing. Throws `HoldfastError` `STALE_TOKEN`, `INBOX_MOVED`, `STORE_UNAVAILABLE`, or `VALUE_TOO_LARGE` for entries that it will never take: nobody tries those again. */
  append(runId: string, batch: AppendBatch): Promise<void>
  /** Adds a message to the run's inbox, without a lease. Resolves to its seq, or null when its question was answered before. */
  send(runId: string, message: NewMessage): Promise<number | null>
  /** Messages with `seq > after`, in order. */
  inbox(runId: string, after: number): Promise<InboxMessage[]>
  /** Deletes a run with its journal and inbox, unless a lease that ends after `now` is held on it. Resolves to whether it was deleted. */
  remove(runId: string, now: number): Promise<boolean>
  close(): Promise<void>
}

/** Opens one record at a time, of a store that keeps them sealed. Both throw what is wrong with the record. */
export interface RecordReader {
  entry(runId: string, row: StoredEntry): StoredEntry
  message(runId: string, message: InboxMessage): InboxMessage
}
