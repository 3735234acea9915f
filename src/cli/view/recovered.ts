/** What became of a run that was recovered, as `recover` prints it; field names are stable. */
import { HoldfastError } from '../../errors.ts'
import type { Outcome } from '../../runner/outcome.ts'
import { describeError, type ErrorReport } from '../error-report.ts'
import { timeText } from '../moment.ts'
import { oneLine } from '../printable.ts'
import type { Paint, Style } from '../style.ts'
import { table, type Cell } from '../table.ts'
import { reasonView } from './waits.ts'

export interface RecoveredView {
  readonly runId: string
  /** `error`: it could not be driven, or somebody else has it now. */
  readonly status: Outcome['status'] | 'failed' | 'stalled' | 'error'
  readonly result?: unknown
  readonly reasons?: readonly object[]
  readonly resumeAt?: number
  readonly owner?: string
  readonly reason?: string
  readonly error?: ErrorReport
}

/** @param became How it ended: an outcome; or why not, and whether it was the run that failed. */
export function recoveredView(runId: string, became: Outcome | { readonly error: unknown; readonly hasFailed: boolean }): RecoveredView {
  if (!('error' in became)) return { runId, ...became, ...(became.status === 'suspended' && { reasons: became.reasons.map(reasonView) }) }
  const { error, hasFailed } = became
  const isStalled = HoldfastError.isInstance(error) && error.code === 'RUN_STALLED'
  return { runId, status: isStalled ? 'stalled' : hasFailed ? 'failed' : 'error', error: describeError(error) }
}

const STYLES: Readonly<Record<RecoveredView['status'], Style>> = {
  completed: 'green', failed: 'red', stalled: 'red', error: 'red', suspended: 'yellow', running: 'cyan', cancelled: 'dim',
}

export function recoveredText(runs: readonly RecoveredView[], options: Parameters<typeof table>[2]): string {
  if (runs.length === 0) return 'no runs to recover'
  const rows = runs.map((run): Cell[] => [run.runId, { text: run.status, style: STYLES[run.status] }, noteOf(run)])
  return table([{ title: 'RUN', cut: 'middle' }, { title: 'STATUS' }, { title: 'NOTE', cut: 'end' }], rows, options).join('\n')
}

/** The same as one line of a log. */
export const recoveredLine = (run: RecoveredView, at: string, paint: Paint): string =>
  `${paint('dim', at)}  ${oneLine(run.runId)}  ${paint(STYLES[run.status], run.status)}  ${noteOf(run)}`.trimEnd()

function noteOf({ reasons = [], resumeAt, owner, reason, error }: RecoveredView): string {
  if (error) return oneLine(`${error.code}: ${error.message}`)
  const [first] = reasons as readonly { readonly message?: string }[]
  const until = resumeAt === undefined ? '' : `${first ? ' ' : ''}(due ${timeText(resumeAt)})`
  return `${oneLine(first?.message ?? owner ?? reason ?? '')}${until}`
}
