/** A clock that moves only when told: tests of waiting take no real time. */
import type { Clock } from './clock.ts'

/** A {@link Clock} whose time stands still until {@link ManualClock.advance} moves it. */
export interface ManualClock extends Clock {
  /**
   * Moves time by `ms` and fires what falls due, in order of its time (ties: in order of arming), timers armed meanwhile included. The event
   * loop runs dry before the first timer and after each, so that what a timer sets going has gone on when this resolves.
   */
  advance(ms: number): Promise<void>
  /** How many timers are armed: 0 after something ended means that it left nothing behind. */
  readonly pending: number
}

interface Armed {
  readonly at: number
  readonly fn: () => void
}

/** Makes a {@link ManualClock} that stands at `start` (ms since the epoch). */
export function manualClock(start = 0): ManualClock {
  let now = start
  const armed = new Set<Armed>()
  const idle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

  const nextDue = (until: number): Armed | undefined => {
    let first: Armed | undefined
    for (const timer of armed) if (timer.at <= until && (first === undefined || timer.at < first.at)) first = timer
    return first
  }

  return {
    now: () => now,
    timer(ms, fn) {
      const timer: Armed = { at: now + Math.max(0, ms), fn }
      armed.add(timer)
      return () => armed.delete(timer)
    },
    idle,
    async advance(ms) {
      const until = now + ms
      await idle()
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        armed.delete(timer)
        now = Math.max(now, timer.at)
        timer.fn()
        await idle()
      }
      now = until
    },
    get pending() {
      return armed.size
    },
  }
}
