/** What is wrong with the row of a run. */
import type { Entry } from './entry.ts'
import type { Message } from './message.ts'
import { resumeAtFault } from './resume-at.ts'
import { NEWEST_TOKEN } from './schema.ts'
import type { RunRow, RunStatus } from './store.ts'

/** What the row of a run says besides its journal, and must not say otherwise: nothing protects it by a checksum. `unread`: the messages that the journal has not taken in. */
export function rowFaults(row: RunRow, entries: readonly Entry[], unread: readonly Message[]): string[] {
  const [created] = entries
  if (created?.type !== 'run-created') return []
  const token = entries.reduce((newest, entry) => (entry.type === 'attempt-started' ? Math.max(newest, entry.token) : newest), 0)
  const end = entries.findLast((entry) => entry.type === 'run-ended' || entry.type === 'attempt-started')
  const ended = end?.type === 'run-ended' ? end.status : undefined
  const faults: string[] = []
  const differs = (field: string, there: unknown, journal: unknown): void => {
    if (there !== journal) faults.push(`the run's row says ${field} ${JSON.stringify(there)}, the journal ${JSON.stringify(journal)}`)
  }
  differs('agent', row.agent, created.agent)
  differs('threadId', row.threadId, created.threadId ?? null)
  differs('createdAt', row.createdAt, created.at)
  const tokenIs = tokenFault(row.token)
  if (tokenIs !== undefined) faults.push(tokenIs)
  else if (row.token < token) faults.push(`the run's row says token ${row.token}, the journal has an attempt with ${token}`)
  if (row.lastSeq < entries.length) faults.push(`the run's row knows of ${row.lastSeq} entries, the journal has ${entries.length}: nothing can be written behind them`)
  // Between its end and its row's an attempt may have died; the next one mends that.
  if (row.status === 'completed' || row.status === 'cancelled') differs('status', row.status, ended ?? 'not ended')
  if (row.status === 'failed' || row.status === 'suspended') differs('status', row.status, leftAs(entries))
  if (!isTime(row.updatedAt)) faults.push(`the run's row says updatedAt ${row.updatedAt}, which is no time that there was`)
  else if (row.status === 'suspended' && leftAs(entries) === 'suspended') {
    const resumeIs = resumeAtFault(row, entries, unread)
    if (resumeIs !== undefined) faults.push(resumeIs)
  }
  if (row.owner !== null && !isOwner(row.owner)) faults.push(`the run's row names an owner that is none: ${JSON.stringify(row.owner.slice(0, 60))}; until its lease ends the run counts as driven`)
  if (isTime(row.updatedAt) && !isLease(row)) faults.push(`the run's row says that its lease ends in the year ${yearOf(row.leaseUntil)}; until then the run counts as driven`)
  return faults
}

/** What is wrong with a fencing token that an attempt would raise; undefined: nothing. */
export const tokenFault = (token: number): string | undefined =>
  Number.isSafeInteger(token) && token >= 0 && token < NEWEST_TOKEN ? undefined : `the run's row says token ${token}, which no attempt can raise`

/** How the newest attempt that came to any step left the run. One that was opened and not begun, since something was in its way, left it as it was. */
function leftAs(entries: readonly Entry[]): RunStatus {
  const left = entries.findLastIndex(({ type }) => type === 'run-ended' || type === 'suspended' || type === 'salvaged')
  const begun = entries.findLastIndex(({ type }) => type === 'attempt-started')
  if (left < begun && entries.slice(begun).some(({ type }) => type === 'step-started' || type === 'step-ended')) return 'running'
  const entry = entries[left]
  return entry === undefined ? 'running' : entry.type === 'run-ended' ? entry.status : 'suspended'
}

/** Far beyond what anybody gives: it is renewed while its owner lives. */
const LONGEST_LEASE_MS = 366 * 24 * 3_600_000

/** Whether a clock has given that time. */
const isTime = (at: number): boolean => at >= 0 && !Number.isNaN(new Date(at).getTime())

/** Whether a lease may end then. */
export const isLease = ({ leaseUntil, updatedAt }: Pick<RunRow, 'leaseUntil' | 'updatedAt'>): boolean => leaseUntil - updatedAt <= LONGEST_LEASE_MS

const yearOf = (at: number): string | number => (Number.isNaN(new Date(at).getTime()) ? 'beyond all years' : new Date(at).getUTCFullYear())

function isOwner(text: string): boolean {
  try {
    const owner: unknown = JSON.parse(text)
    return typeof owner === 'object' && owner !== null && 'pid' in owner && 'host' in owner
  } catch {
    return false
  }
}
