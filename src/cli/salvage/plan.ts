/** What becomes of a damaged run: decided from what its tables hold, before anything is changed. Pure. */
import { HoldfastError } from '../../errors.ts'
import { link } from '../../journal/chain.ts'
import type { Entry, RunCreated } from '../../journal/entry.ts'
import { settledMessages } from '../../journal/message.ts'
import { resumeAtOf } from '../../journal/resume-at.ts'
import { isLease, rowFaults, tokenFault } from '../../journal/row-faults.ts'
import { holdingOf } from '../../journal/salvage.ts'
import type { RecordReader, RunRow, RunStatus, StoredEntry } from '../../journal/store.ts'
import { ownership } from '../../run/lease.ts'
import { decodeOwner, describeOwner } from '../../run/owner.ts'
import type { RunRecord } from '../../stores/sqlite.ts'
import { statusOf } from '../view/run-status.ts'
import { countIn } from './count.ts'
import { holdingInbox } from './inbox.ts'

type Replacement = Omit<Parameters<typeof import('../../stores/sqlite.ts').sqliteReplaceRun>[2], 'reindex'>

export interface Plan {
  /** How many entries hold, how many there were. */
  readonly holds: number
  readonly had: number
  readonly fromCopy: number
  readonly messagesFromCopy: number
  readonly fault: string | undefined
  /** Entries are given up. */
  readonly lost: boolean
  /** Some of it cannot be read, nor taken away. */
  readonly isTorn: boolean
  readonly status: RunStatus
  /** `copy`: name of the file in which what was there is kept. */
  replacement(copy: string): Replacement
}

export interface PlanOptions {
  readonly copy: RunRecord | undefined
  readonly now: number
  /** Where the store is encrypted. */
  readonly reader: RecordReader | undefined
  readonly seal: ((row: StoredEntry) => StoredEntry) | undefined
}

/** Undefined: nothing is damaged. @throws HoldfastError `RUN_BUSY` while somebody drives it; `STORE_CORRUPT` where nothing holds; those of {@link holdingOf}. */
export function planOf(runId: string, seen: RunRecord, { copy, now, reader, seal = (row) => row }: PlanOptions): Plan | undefined {
  if (seen.row) refuseOwned(runId, seen.row, now)
  const stored = rowsOf(seen)
  if (copy) refuseOther(runId, seen, copy)
  const holding = holdingOf(runId, stored, copy ? [rowsOf(copy)] : [], reader)
  const created = holding.entries[0]?.entry as RunCreated | undefined
  if (!created) {
    throw new HoldfastError('STORE_CORRUPT', `nothing of run "${runId}" holds: its first entry is damaged, which says what it was started with`, {
      runId, advice: 'Nothing was changed. Give --from a copy of the store that has it, or start the run under another id once you know what it did',
    })
  }
  const entries = holding.entries.map(({ entry }) => entry)
  const holds = holding.rows.length
  const had = Math.max(countIn(seen.row?.['last_seq']) ?? 0, stored.at(-1)?.seq ?? 0)
  const lost = had > holds
  const inbox = holdingInbox(runId, { seen, copy, entries: holding.entries, reader, isLost: lost })
  const isRowRight = seen.readable?.runId === runId && seen.readable.inboxSeq === inbox.newest && rowFaults(seen.readable, entries, inbox.unread).length === 0
  // Under numbers that no entry has, or twice.
  const isMore = !lost && seen.journal.length > holds - holding.fromCopy
  if (!inbox.isChanged && !isMore && !seen.isTorn && holding.fromCopy === 0 && isRowRight) return undefined

  const newestToken = tokenBefore(seen, entries)
  const fault = holding.fault ?? (lost ? 'missing' : inbox.upTo === undefined ? undefined : 'inbox')
  const left = statusOf({ status: 'suspended' } as RunRow, holding.entries)
  // Where nothing else says that it waits for somebody, the journal would say that it is driven.
  const isTold = inbox.upTo !== undefined || left === 'running'
  const status = left === 'completed' || left === 'cancelled' || !isTold ? left : 'suspended'
  return {
    holds, had, fromCopy: holding.fromCopy, messagesFromCopy: inbox.fromCopy, fault, lost, isTorn: seen.isTorn, status,
    replacement: (name) => {
      const added: Entry[] = isTold ? [{ type: 'salvaged', at: now, fault: fault ?? 'row', had, inbox: inbox.upTo ?? settledMessages(holding.entries), token: newestToken, copy: name }] : []
      return {
        seen,
        entries: [...holding.rows, ...added.map((entry) => seal(link(holding.tip, entry)))],
        inbox: inbox.rows,
        status,
        agent: created.agent,
        threadId: created.threadId ?? null,
        createdAt: created.at,
        resumeAt: status === 'suspended' ? resumeAtOf([...entries, ...added], inbox.unread, now) : null,
        // Whoever drove it last, and does not know of this, writes no more.
        token: newestToken + 1,
        inboxSeq: inbox.newest,
        now,
      }
    },
  }
}

function rowsOf({ journal }: RunRecord): StoredEntry[] {
  return journal.flatMap(({ seq, body, sum }) => (typeof seq === 'number' && typeof body === 'string' && typeof sum === 'string' ? [{ seq, body, sum }] : []))
}

/** Of the newest attempt, as far as anybody can know. */
function tokenBefore({ row }: RunRecord, entries: readonly Entry[]): number {
  const written = Math.max(0, ...entries.map((entry) => (entry.type === 'attempt-started' ? entry.token : 0)))
  const token = row?.['token']
  // How often the run was taken without a word in its journal nobody knows then.
  return typeof token === 'number' && tokenFault(token) === undefined ? Math.max(token, written) : written + UNWRITTEN_TAKES
}

const UNWRITTEN_TAKES = 1_000_000

/**
 * An owner that cannot be read is none: nobody could give the lease back. So is one whose lease cannot be: a process that lives renews it, and by that puts it right;
 * and one that is taken for dead all the same writes no more.
 */
function refuseOwned(runId: string, { owner, lease_until: leaseUntil }: Row, now: number): void {
  if (typeof owner !== 'string' || !decodeOwner(owner) || typeof leaseUntil !== 'number' || !isLease({ leaseUntil, updatedAt: now })) return
  const owned = ownership({ owner, leaseUntil, token: 0 } as RunRow, now)
  if (owned.free) return
  throw new HoldfastError('RUN_BUSY', `run "${runId}" is driven by ${describeOwner(owned.owner)}`, { runId, advice: 'Stop that process first' })
}

type Row = NonNullable<RunRecord['row']>

/** What is no copy of the run would give nothing, or another one's entries. @throws HoldfastError `INVALID_OPTIONS`. */
function refuseOther(runId: string, seen: RunRecord, copy: RunRecord): void {
  const there = new Set(rowsOf(copy).map((row) => JSON.stringify(row)))
  const stored = rowsOf(seen)
  if (stored.some((row) => there.has(JSON.stringify(row))) || (stored.length === 0 && seen.row?.['created_at'] === copy.row?.['created_at'])) return
  throw new HoldfastError('INVALID_OPTIONS', `what --from has under the id "${runId}" is another run: none of its entries is one of this run`, { runId, advice: 'Nothing was changed. Give a copy of this very store' })
}
