/** What is in doubt: a step with effects that was started, and nobody knows whether it took effect (R6). */
import type { Effect } from './effect.ts'

/** `isRunning` says whether the code of a step runs right now, under a caller that waits for it. */
export const isInDoubt = (effect: Effect, isRunning: (step: string) => boolean): boolean => !effect.consumed && isUnknown(effect, isRunning)

/** As for the step's own call: what let another call pass does not say that this one may start again. */
export const isUnknown = (effect: Effect, isRunning: (step: string) => boolean): boolean =>
  effect.state === 'unknown' || (effect.state === 'started' && !isRunning(effect.step.id))

/** Its own call was told nothing and still stands in the program: it comes back, and what is decided about it is meant for it. */
export const isExpected = (effect: Effect): boolean => effect.told === 'nothing' && !effect.superseded

/**
 * Whether the outside world's "not done" may be believed: only when nothing can still be on its way, because the
 * one who started it is known to be dead, or because enough time has passed since it could last act (R6, D13).
 */
export function isNotDoneBelievable(doubt: {
  /** The owner of the attempt that started it is known to be dead, or its work has come to an end. */
  readonly ownerGone: boolean
  /** When the lease of that attempt ended at the latest, ms since the epoch. */
  readonly leaseEnded: number
  readonly settleAfterMs: number
  readonly now: number
}): boolean {
  return doubt.ownerGone || doubt.now >= doubt.leaseEnded + doubt.settleAfterMs
}
