/** What a run tells while it is driven, one line an event. */
import { describeSummary, type StampedEvent } from '../run/events.ts'
import type { Io } from './io.ts'
import { jsonLine } from './json.ts'
import { clockText, durationText, timeText } from './moment.ts'
import { oneLine } from './printable.ts'
import { paintFor, type Style } from './style.ts'

const FORMER = {
  none: 'for the first time', released: 'the attempt before it ended on purpose', dead: 'the process of the attempt before it died',
  expired: 'the lease of the attempt before it ran out',
} as const

function reachedText({ limit, used, max }: StampedEvent & { readonly type: 'limit-reached' }): string {
  const text = limit === 'deadline' ? timeText : limit === 'runMs' ? durationText : String
  return limit === 'deadline' ? `deadline ${text(max)}` : `${limit} ${text(max)}, used ${text(used)}`
}

/** What the event says, after its time and type. */
export function describeEvent(event: StampedEvent): string {
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
    case 'step-timeout': return join(step, `after ${durationText(event.timeoutMs)}${event.mayStillRun ? ', and may still be running' : ''}`)
    case 'step-in-doubt': return join(step, event.cause)
    case 'doubt-settled': return join(step, `${event.as}, by ${event.by}`)
    case 'step-waiting': return join(step, event.reason.type)
    case 'replay-diverged': return join(event.step, event.reason, `${event.superseded} superseded`)
    case 'config-changed': return join(event.step, event.changed.join(', '))
    case 'limit-reached': return join(reachedText(event), event.step ?? '')
    case 'warning': return `${event.code}: ${event.message}`
    case 'attempt-ended': return `attempt ${event.attempt}: ${describeSummary(event.summary)}`
    case 'run-suspended': {
      const until = event.resumeAt === null ? '' : `until ${timeText(event.resumeAt)}`
      return join(event.reasons.map((reason) => ('step' in reason && reason.step !== '' ? `${reason.type} ${reason.step}` : reason.type)).join(', '), until)
    }
    case 'run-completed': return ''
    case 'run-failed': return event.error instanceof Error ? `${event.error.name}: ${event.error.message}` : String(event.error)
    case 'run-cancelled': return event.reason
  }
}

const STYLES: Readonly<Partial<Record<StampedEvent['type'], Style>>> = {
  'step-finished': 'green', 'run-completed': 'green', 'step-replayed': 'cyan', 'retry-wait': 'yellow', 'step-reset': 'yellow', 'step-timeout': 'yellow',
  'step-in-doubt': 'yellow', 'step-waiting': 'yellow', 'run-suspended': 'yellow', 'replay-diverged': 'yellow', 'config-changed': 'yellow', 'warning': 'yellow',
  'limit-reached': 'red', 'run-failed': 'red', 'run-cancelled': 'red',
}

/** Writes each event to standard error: a line for people, or with `json` the event itself. */
export function progress(io: Io, { json }: { readonly json: boolean }): (event: StampedEvent) => void {
  if (json) return (event) => io.err.write(jsonLine(event))
  const paint = paintFor(io.err, io.env)
  return (event) => {
    const { type, at } = event
    io.err.write(`${paint('dim', clockText(at))}  ${paint(STYLES[type], type.padEnd(15))} ${oneLineWithGaps(describeEvent(event))}`.trimEnd() + '\n')
  }
}

/** As oneLine, but the two spaces between the parts stay. */
const oneLineWithGaps = (text: string): string => text.split('  ').map(oneLine).filter((part) => part !== '').join('  ')
