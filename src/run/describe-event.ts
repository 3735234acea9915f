/** An event in words, for logs and terminals. */
import { durationText, timeText } from '../core/moment.ts'
import { oneLine } from '../core/printable.ts'
import type { SuspendReason } from '../journal/entry.ts'
import { describeSummary, type RunEvent, type StampedEvent } from './events.ts'

/**
 * The event as one line for a log, without a time of its own: the run, the type, and what the event says. Control characters are written out.
 *
 * @example
 * const runner = createRunner({ agents: [support], store: sqliteStore('runs.db'), onEvent: (event) => process.stderr.write(`${describeEvent(event)}\n`) })
 * // ticket-123  attempt-ended  attempt 2: replayed 10 steps (5 model, 5 tool, 0 other), recorded 7 new
 */
export function describeEvent(event: StampedEvent): string {
  return oneLineWithGaps(`${event.runId}  ${event.type}  ${detailOf(event)}`)
}

/** On one line, but the two spaces between the parts stay. */
export const oneLineWithGaps = (text: string): string => text.split('  ').map(oneLine).filter((part) => part !== '').join('  ')

const FORMER = {
  none: 'for the first time', released: 'the attempt before it ended on purpose', dead: 'the process of the attempt before it died',
  expired: 'the lease of the attempt before it ran out',
} as const

const CUT = { total: 'cut after', 'first-part': 'nothing of an answer in', idle: 'no progress in' } as const

function reachedText({ limit, used, max }: RunEvent & { readonly type: 'limit-reached' }): string {
  const text = limit === 'deadline' ? timeText : limit === 'runMs' ? durationText : String
  return limit === 'deadline' ? `deadline ${text(max)}` : `${limit} ${text(max)}, used ${text(used)}`
}

/** A doubt that is only presumed, because a part of the journal was lost, is told as one. */
const typeOf = (reason: SuspendReason): string =>
  reason.type === 'in-doubt' && reason.calls?.some(({ lostBefore }) => lostBefore !== undefined) ? 'in-doubt (presumed)' : reason.type

/** What an event says beside its run, time and type. Not on one line where a message in it is not. */
export function detailOf(event: RunEvent): string {
  const step = 'kind' in event ? `${event.kind} ${event.name}  ${event.step}` : ''
  const join = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('  ')
  switch (event.type) {
    case 'run-started': return `attempt ${event.attempt}`
    case 'run-resumed': return `attempt ${event.attempt}: ${FORMER[event.former]}`
    case 'step-started': return step
    case 'step-replayed': return step
    case 'step-finished':
      if (event.tries === 0) return join(step, event.ok ? 'answered without running' : 'not run')
      return join(step, event.ok ? 'ok' : 'not ok', event.tries === 1 ? '' : `${event.tries} tries`, durationText(event.ms))
    case 'retry-wait': return join(step, `try ${event.try} failed (${event.category}: ${event.message}), again in ${durationText(event.delayMs)}`)
    case 'step-reset': return join(step, `what was shown of it is void, it is driven again: ${event.message}`)
    case 'step-timeout': return join(step, event.try === 1 ? '' : `try ${event.try}`, `${CUT[event.limit]} ${durationText(event.timeoutMs)}, and may still be running`)
    case 'step-in-doubt': return join(step, event.cause)
    case 'doubt-settled': return join(step, `${event.as}, by ${event.by}`)
    case 'approval-decided': return join(step, event.decision, event.by === undefined ? '' : `by ${event.by}`)
    case 'step-waiting': return join(step, typeOf(event.reason))
    case 'replay-diverged': return join(event.step, event.reason, `${event.superseded} superseded`)
    case 'config-changed': return join(event.step, event.changed.join(', '))
    case 'limit-reached': return join(reachedText(event), event.step ?? '')
    case 'warning': return `${event.code}: ${event.message}`
    case 'attempt-ended': return `attempt ${event.attempt}: ${describeSummary(event.summary)}`
    case 'run-suspended': {
      const until = event.resumeAt === null ? '' : `until ${timeText(event.resumeAt)}`
      return join(event.reasons.map((reason) => ('step' in reason && reason.step !== '' ? `${typeOf(reason)} ${reason.step}` : reason.type)).join(', '), until)
    }
    case 'run-completed': return ''
    case 'run-failed': return event.error instanceof Error ? `${event.error.name}: ${event.error.message}` : String(event.error)
    case 'run-cancelled': return event.reason
  }
}
