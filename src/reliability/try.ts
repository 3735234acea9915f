/** One try of a piece of work, raced against its limits and against cancellation. */
import type { Clock } from '../core/clock.ts'
import { limitError, startLimits } from './timeout.ts'
import type { Limit, Limits } from './timeout.ts'

/** What the work is given. */
export interface TryContext {
  /** Aborts when the try is over before the work is: a limit was reached, or the caller cancelled. Its reason is the error that the try ends with. */
  readonly signal: AbortSignal
  /** Which try this is, from 1; earlier drives of the same step count. */
  readonly try: number
  /** Says that the first part of what the work gives is there: ends the limit for that. */
  begin(): void
  /** Says that the work goes on; extends the idle limit. */
  progress(): void
  /** Stops the clock of the try's limits (waiting for a person is no work) until the returned function is called. */
  pause(): () => void
}

export type Work<T> = (context: TryContext) => PromiseLike<T> | T

/** How work ended that was no longer waited for. */
export type LateOutcome<T> =
  | { readonly ok: true; readonly value: T; readonly try: number }
  | { readonly ok: false; readonly error: unknown; readonly try: number }

/** How a try ended. `thrown`: the work itself failed; `limit` and `cancelled`: it was no longer waited for and may still be running. */
export type TryOutcome<T> =
  | { readonly type: 'ok'; readonly value: T }
  | { readonly type: 'thrown'; readonly error: unknown }
  | { readonly type: 'limit'; readonly limit: Limit; readonly error: unknown }
  | { readonly type: 'cancelled'; readonly error: unknown }

export interface TryOptions<T> extends Limits {
  readonly number: number
  readonly label: string
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly onLate: (outcome: LateOutcome<T>) => void
}

/**
 * Runs `work` once. Never rejects. The outer signal gets one listener, which is gone when this resolves; the work's own signal is a new one,
 * so nothing that the work hangs on it can pile up on a signal that lives as long as the run.
 */
export function runTry<T>(work: Work<T>, options: TryOptions<T>): Promise<TryOutcome<T>> {
  const { signal: outer, number } = options
  return new Promise((resolve) => {
    const controller = new AbortController()
    let over = false
    // The outcome stands before the signal aborts: what the work throws because of the abort comes too late to be taken for the reason.
    const end = (outcome: TryOutcome<T>): void => {
      over = true
      limits.stop()
      outer.removeEventListener('abort', onAbort)
      resolve(outcome)
      if (outcome.type === 'limit' || outcome.type === 'cancelled') controller.abort(outcome.error)
    }
    const onAbort = (): void => end({ type: 'cancelled', error: outer.reason })
    const limits = startLimits(options, options.clock, (limit) => {
      end({ type: 'limit', limit, error: limitError(limit, options, options.label) })
    })
    outer.addEventListener('abort', onAbort, { once: true })

    const context: TryContext = { signal: controller.signal, try: number, begin: limits.begin, progress: limits.progress, pause: limits.pause }
    // A promise's executor turns a throw of `work`, or of the `then` that it returns, into a rejection.
    new Promise<T>((settle) => { settle(work(context)) }).then(
      (value) => over ? options.onLate({ ok: true, value, try: number }) : end({ type: 'ok', value }),
      (error: unknown) => over ? options.onLate({ ok: false, error, try: number }) : end({ type: 'thrown', error }),
    )
  })
}
