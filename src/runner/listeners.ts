/** Who is told what happens in a run, and of what. */
import { notify } from '../core/notify.ts'
import { roundTrip } from '../journal/codec.ts'
import type { Redaction } from '../journal/redact.ts'
import type { StampedEvent } from '../run/events.ts'

/** What cannot be masked is not shown; that is no reason to end a run. */
export function masked(tell: (event: StampedEvent) => void, redaction: Redaction): (event: StampedEvent) => void {
  return (event) => {
    let shown: StampedEvent
    try {
      shown = redaction.event(event)
    } catch {
      return
    }
    tell(shown)
  }
}

export function both(first: ((event: StampedEvent) => unknown) | undefined, second: ((event: StampedEvent) => unknown) | undefined): (event: StampedEvent) => void {
  return (event) => {
    for (const listener of [first, second]) if (listener) notify((each: StampedEvent) => listener(apart(each)), event)
  }
}

/** What one listener makes of its event reaches neither the run nor the other. An error is the one that is thrown: it is known by its class. */
function apart(event: StampedEvent): StampedEvent {
  if (!('error' in event)) return roundTrip(event) as StampedEvent
  const { error, ...rest } = event
  return { ...(roundTrip(rest) as typeof rest), error }
}
