/** A store in this process's memory: for tests, demos, and runs that need no second life. */
import { HoldfastError } from '../errors.ts'
import type { InboxMessage, RunFilter, RunRow, Store, StoredEntry } from '../journal/store.ts'
import { appendedRow, checkAppend, checkFirstEntries, firstRow, runIsGone, sentRow } from './append.ts'

interface KeptRun {
  row: RunRow
  readonly journal: StoredEntry[]
  readonly inbox: InboxMessage[]
  readonly questions: Set<string>
}

/**
 * A store that lives and dies with this process (`durability: 'process'`). After `close` it refuses everything until it is opened
 * again; what it holds stays as long as the object does, so a test can "restart" on it.
 *
 * @example
 * const runner = createRunner({ agents: [support], store: memoryStore() })
 */
export function memoryStore(): Store {
  const runs = new Map<string, KeptRun>()
  let closed = false

  const find = (runId: string): KeptRun | undefined => {
    refuseWhenClosed()
    return runs.get(runId)
  }
  const refuseWhenClosed = (): void => {
    if (closed) throw new HoldfastError('STORE_UNAVAILABLE', 'the memory store is closed', { advice: 'Call open() to use it again' })
  }

  return {
    kind: 'memory',
    durability: 'process',

    async open() {
      closed = false
    },

    async create(run) {
      if (find(run.runId)) return false
      checkFirstEntries(run)
      runs.set(run.runId, { row: firstRow(run), journal: run.entries.map(copyEntry), inbox: [], questions: new Set() })
      return true
    },

    async get(runId) {
      const run = find(runId)
      return run && { ...run.row }
    },

    async list(filter = {}) {
      refuseWhenClosed()
      const rows = [...runs.values()].map((run) => run.row).filter((row) => matches(row, filter))
      return rows.sort(newestFirst).slice(0, filter.limit ?? 100).map((row) => ({ ...row }))
    },

    async read(runId, after = 0) {
      return (find(runId)?.journal ?? []).slice(after).map(copyEntry)
    },

    async take(runId, { expectedToken, owner, leaseUntil, now }) {
      const run = find(runId)
      if (run?.row.token !== expectedToken) return null
      const token = expectedToken + 1
      run.row = { ...run.row, status: 'running', resumeAt: null, token, owner, leaseUntil, updatedAt: now }
      return token
    },

    async renew(runId, token, leaseUntil) {
      const run = find(runId)
      if (run?.row.token !== token || run.row.owner === null) return false
      run.row = { ...run.row, leaseUntil }
      return true
    },

    async append(runId, batch) {
      const run = find(runId)
      if (!run) throw runIsGone(runId)
      checkAppend(run.row, batch)
      for (const entry of batch.entries) run.journal.push(copyEntry(entry))
      run.row = appendedRow(run.row, batch)
    },

    async send(runId, message) {
      const { question, body } = message
      const run = find(runId)
      if (!run) throw new HoldfastError('UNKNOWN_RUN', 'there is no such run to send a message to', { runId })
      if (question !== null) {
        if (run.questions.has(question)) return null
        run.questions.add(question)
      }
      run.row = sentRow(run.row, message)
      const seq = run.row.inboxSeq
      run.inbox.push({ seq, body })
      return seq
    },

    async inbox(runId, after) {
      return (find(runId)?.inbox ?? []).slice(after).map((message) => ({ ...message }))
    },

    async remove(runId, now) {
      const run = find(runId)
      if (!run || (run.row.owner !== null && run.row.leaseUntil > now)) return false
      return runs.delete(runId)
    },

    async close() {
      closed = true
    },
  }
}

/** What is kept shares nothing with the caller, who may go on changing its objects. */
function copyEntry({ seq, body, sum }: StoredEntry): StoredEntry {
  return { seq, body, sum }
}

function matches(row: RunRow, { agent, status, threadId, dueBy }: RunFilter): boolean {
  return (agent === undefined || row.agent === agent)
    && (status === undefined || status.includes(row.status))
    && (threadId === undefined || row.threadId === threadId)
    && (dueBy === undefined || (row.status === 'suspended' && row.resumeAt !== null && row.resumeAt <= dueBy))
}

function newestFirst(a: RunRow, b: RunRow): number {
  return b.updatedAt - a.updatedAt || (a.runId < b.runId ? -1 : 1)
}
