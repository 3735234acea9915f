/** Who is told what happens in a run, and of what. */
import { notify } from '../core/notify.ts'
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

export function both<E>(first: ((event: E) => unknown) | undefined, second: ((event: E) => unknown) | undefined): (event: E) => void {
  return (event) => {
    notify(first, event)
    notify(second, event)
  }
}
