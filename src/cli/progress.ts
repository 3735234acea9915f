/** What a run tells while it is driven, one line an event. */
import { detailOf, oneLineWithGaps } from '../run/describe-event.ts'
import type { StampedEvent } from '../run/events.ts'
import type { Io } from './io.ts'
import { jsonLine } from './json.ts'
import { clockText } from './moment.ts'
import { paintFor, type Style } from './style.ts'

const STYLES: Readonly<Partial<Record<StampedEvent['type'], Style>>> = {
  'step-finished': 'green', 'run-completed': 'green', 'step-replayed': 'cyan', 'retry-wait': 'yellow', 'step-reset': 'yellow', 'step-timeout': 'yellow',
  'step-in-doubt': 'yellow', 'step-waiting': 'yellow', 'run-suspended': 'yellow', 'replay-diverged': 'yellow', 'config-changed': 'yellow', 'warning': 'yellow',
  'limit-reached': 'red', 'run-failed': 'red', 'run-cancelled': 'red',
}

/** Writes each event to standard error: a line for people (with its run, where they are `ofSeveral`), or with `json` the event itself. */
export function progress(io: Io, { json, ofSeveral = false }: { readonly json: boolean; readonly ofSeveral?: boolean }): (event: StampedEvent) => void {
  if (json) return (event) => io.err.write(jsonLine(event))
  const paint = paintFor(io.err, io.env)
  return (event) => {
    const { type, at, runId } = event
    const run = ofSeveral ? `${oneLineWithGaps(runId)}  ` : ''
    io.err.write(`${paint('dim', clockText(at))}  ${run}${paint(STYLES[type], type.padEnd(15))} ${oneLineWithGaps(detailOf(event))}`.trimEnd() + '\n')
  }
}
