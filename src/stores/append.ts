/** What an append may do to a run, as pure functions: every store decides alike, and only the transaction around it differs. */
import { HoldfastError } from '../errors.ts'
import type { AppendBatch, NewMessage, NewRun, RunRow, StoredEntry } from '../journal/store.ts'

/** The row of a run that was just created. */
export function firstRow(run: NewRun): RunRow {
  return {
    runId: run.runId,
    agent: run.agent,
    status: 'running',
    threadId: run.threadId,
    createdAt: run.createdAt,
    updatedAt: run.createdAt,
    resumeAt: null,
    token: 0,
    owner: null,
    leaseUntil: 0,
    lastSeq: run.entries.length,
    inboxSeq: 0,
  }
}

/** Throws `INVALID_OPTIONS` unless the first entries of a new run are numbered from 1 without gaps. */
export function checkFirstEntries(run: NewRun): void {
  if (followsOn(run.entries, 0)) return
  throw new HoldfastError('INVALID_OPTIONS', 'the first entries of a run must be numbered 1, 2, 3 ...', { runId: run.runId })
}

/** Why nothing can be appended to a run that is not there: its appender has lost it, like one whose token is stale. */
export function runIsGone(runId: string): HoldfastError {
  return new HoldfastError('STALE_TOKEN', 'the run is not in the store (any more)', { runId, advice: 'It has to be created first' })
}

/**
 * Throws `STALE_TOKEN` or `INBOX_MOVED` when the batch may not be appended to the run as it is.
 * The token is looked at first: who lost the run is told so, whatever else has changed since.
 */
export function checkAppend(row: RunRow, batch: AppendBatch): void {
  const { runId } = row
  if (batch.token !== row.token) {
    throw new HoldfastError('STALE_TOKEN', `the append carries token ${batch.token}, the run is at token ${row.token}`, {
      runId,
      advice: 'Another process has taken the run over; this one has to stop driving it',
    })
  }
  if (!followsOn(batch.entries, row.lastSeq)) {
    const seqs = batch.entries.map((entry) => entry.seq)
    throw new HoldfastError('STALE_TOKEN', `entries ${shortList(seqs)} do not follow entry ${row.lastSeq}, the newest of the journal`, {
      runId,
      advice: 'The journal holds entries that the appender has not seen; it has to stop driving the run',
    })
  }
  if (batch.inboxSeq !== undefined && batch.inboxSeq !== row.inboxSeq) {
    throw new HoldfastError('INBOX_MOVED', `the inbox is at message ${row.inboxSeq}, the append has seen ${batch.inboxSeq}`, { runId })
  }
}

/** The row after an append that {@link checkAppend} let pass. */
export function appendedRow(row: RunRow, { entries, patch = {}, now }: AppendBatch): RunRow {
  return {
    ...row,
    status: patch.status ?? row.status,
    resumeAt: patch.resumeAt === undefined ? row.resumeAt : patch.resumeAt,
    owner: patch.release ? null : row.owner,
    leaseUntil: patch.release ? 0 : row.leaseUntil,
    lastSeq: row.lastSeq + entries.length,
    updatedAt: now,
  }
}

/** The row after the next message to its run. */
export function sentRow(row: RunRow, { wakes, now }: NewMessage): RunRow {
  const isWoken = wakes === true && row.status === 'suspended'
  return { ...row, inboxSeq: row.inboxSeq + 1, updatedAt: now, ...(isWoken && { resumeAt: Math.min(row.resumeAt ?? now, now) }) }
}

function followsOn(entries: readonly StoredEntry[], lastSeq: number): boolean {
  return entries.every((entry, index) => entry.seq === lastSeq + 1 + index)
}

function shortList(seqs: readonly number[]): string {
  return seqs.length > 4 ? `${seqs.slice(0, 3).join(', ')} ... ${seqs.at(-1)}` : seqs.join(', ')
}
