/** Waiting for SQLite's lock without blocking the event loop. */
import type { Clock } from '../../core/clock.ts'
import { sleep } from '../../core/clock.ts'
import { isBusy } from './failure.ts'

/**
 * Transactions take a fraction of a millisecond, so looking again soon is cheap; the longest gap is for a lock that stays.
 * SQLite's own waiting (`PRAGMA busy_timeout`) is not used: Node builds SQLite without `usleep`, so that it looks once a SECOND,
 * blocks the event loop meanwhile, and between busy writers gives up after five unlucky looks (seen with 22.13 and 24.21).
 */
const GAPS_MS = [1, 1, 2, 3, 5, 8, 13, 20]

/** Calls `work`, which leaves nothing behind when it throws, until no other connection is in its way; after `timeoutMs` its error is thrown. */
export async function whenUnlocked<T>(clock: Clock, timeoutMs: number, work: () => T): Promise<T> {
  const giveUpAt = clock.now() + timeoutMs
  for (let attempt = 0; ; attempt++) {
    try {
      return work()
    } catch (error) {
      const left = giveUpAt - clock.now()
      if (!isBusy(error) || left <= 0) throw error
      await sleep(clock, Math.min(left, GAPS_MS[attempt] ?? GAPS_MS.at(-1)!))
    }
  }
}

/** Runs one piece of work after the other, in the order of the calls: one that waits for the lock is not overtaken. */
export interface Turns {
  take<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when all that was asked for has ended. */
  over(): Promise<void>
}

export function turns(): Turns {
  let last: Promise<unknown> = Promise.resolve()
  return {
    take(work) {
      const turn = last.then(work)
      last = turn.catch(() => undefined)
      return turn
    },
    over: async () => void await last,
  }
}
