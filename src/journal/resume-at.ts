/** From when on a suspended run can go on, as its journal and its inbox have it. Pure. */
import type { Entry } from './entry.ts'
import type { Message } from './message.ts'
import type { RunRow } from './store.ts'

interface Left {
  /** As the run was left, ms since the epoch; null: it waits for somebody. */
  readonly until: number | null
  /** Its caller has stopped it, maybe after somebody had answered: then the answer does not wake it. */
  readonly isStopped: boolean
}

function leftOf(entries: readonly Entry[]): Left {
  const left = entries.findLast(({ type }) => type === 'suspended' || type === 'salvaged')
  if (left?.type !== 'suspended') return { until: null, isStopped: false }
  return { until: left.resumeAt, isStopped: left.reasons.some(({ type }) => type === 'aborted') }
}

/** Whether a run that is suspended was stopped by its caller. */
export const isStopped = (entries: readonly Entry[]): boolean => leftOf(entries).isStopped

/** What its row has to say after a salvage. `unread`: the messages that the journal has not taken in. */
export function resumeAtOf(entries: readonly Entry[], unread: readonly Message[], now: number): number | null {
  const { until, isStopped } = leftOf(entries)
  return unread.some(({ type }) => type !== 'late-result' || !isStopped) ? Math.min(until ?? now, now) : until
}

/**
 * What is wrong with the time of the row of a suspended run; undefined: nothing. Whoever answers has it go on at once, and so may an attempt that came to nothing:
 * from any moment on up to the row's last change, which is that one where a clock was put back meanwhile. Whether a late result has waked it depends on how it was left when that came.
 */
export function resumeAtFault({ resumeAt, updatedAt, createdAt }: RunRow, entries: readonly Entry[], unread: readonly Message[]): string | undefined {
  const { until, isStopped } = leftOf(entries)
  const isAnswered = !isStopped && unread.some(({ type }) => type !== 'late-result')
  const isDue = resumeAt !== null && resumeAt <= updatedAt && (resumeAt >= createdAt || resumeAt === updatedAt || resumeAt === until)
  if (isDue || (resumeAt === until && !isAnswered)) return undefined
  return `the run's row says resumeAt ${resumeAt}, ${isAnswered ? 'and somebody has answered: the run can go on at once' : `the journal ${until}`}`
}
