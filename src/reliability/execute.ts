/** The one retry loop of the whole code. */
import { sleep } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Random } from '../core/random.ts'
import { HoldfastError } from '../errors.ts'
import { nextDelay } from './backoff.ts'
import { classifyError } from './classification/index.ts'
import type { Classification, Classifier, ErrorContext } from './classification/index.ts'
import type { ResolvedRetry } from './policy.ts'
import { limitError } from './timeout.ts'
import { runTry } from './try.ts'
import type { LateOutcome, TryOutcome, Work } from './try.ts'

/** A retry that is about to be waited for. */
export interface RetryEvent {
  /** The try that failed, from 1. */
  readonly try: number
  /** How long the next one is waited for, ms. */
  readonly delayMs: number
  readonly classification: Classification
  readonly error: unknown
}

export interface ExecuteOptions<T> {
  /** How often, for what, and after which delays it is tried again. */
  readonly retry: ResolvedRetry
  /** Longest duration of each try, ms. Absent: none. */
  readonly timeoutMs?: number | undefined
  /** Longest duration of each try without `progress()`, ms. Absent: none. */
  readonly idleTimeoutMs?: number | undefined
  /** When the run's time ends, ms since the epoch: cuts each try and each wait. Absent: never. */
  readonly deadline?: number | undefined
  /** Cancellation from outside: never retried, ends a try and a wait at once, its reason is the error. */
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly random: Random
  /** Default: {@link classifyError}. */
  readonly classify?: Classifier | undefined
  /** Tries already used by earlier drives of this step: they share the budget. Default 0. */
  readonly triesBefore?: number | undefined
  /** Names the work in errors, such as `tool search`. Default `the step`. */
  readonly label?: string | undefined
  /** Whether another try is possible at all after this error: false once something was passed on. Default: always. */
  readonly mayRetry?: ((error: unknown) => boolean) | undefined
  /** Called before each wait. */
  readonly onRetry?: ((event: RetryEvent) => void) | undefined
  /** Called when work that was no longer waited for settles after all. Must not throw. */
  readonly onLate?: ((outcome: LateOutcome<T>) => void) | undefined
}

/**
 * Why there was no further try: the error is not retryable (`final`), all tries are used (`exhausted`), something was passed on
 * (`passed-on`), the caller cancelled (`cancelled`), the wait would be longer than the policy allows (`long-wait`), or the run's time is used
 * up or would be before the next try (`deadline`).
 */
export type Ending = 'final' | 'exhausted' | 'passed-on' | 'cancelled' | 'long-wait' | 'deadline'

/** How the work ended. `tries` counts the tries of earlier drives too. */
export type Execution<T> =
  | { readonly type: 'ok'; readonly value: T; readonly tries: number }
  | {
    readonly type: 'failed'
    readonly error: unknown
    readonly classification: Classification
    readonly tries: number
    readonly ending: Ending
    /** Whether work of some try may still be running. */
    readonly abandoned: boolean
  }
  | { readonly type: 'wait'; readonly resumeAt: number; readonly error: unknown; readonly classification: Classification; readonly tries: number }

/**
 * Runs `work`, again and again as `retry` says. Never rejects.
 *
 * - `ok`: its value.
 * - `failed`: the last error as it was thrown; a `HoldfastError` `STEP_TIMEOUT` or `RUN_TIMEOUT` for a limit; the signal's reason when cancelled.
 * - `wait`: the next try is due at `resumeAt`, further away than `retry.inlineWaitMs`: the caller suspends. It may lie beyond the deadline,
 *   since time while suspended may not count: the caller decides.
 */
export async function execute<T>(work: Work<T>, options: ExecuteOptions<T>): Promise<Execution<T>> {
  const { retry, clock, signal, deadline, label = 'the step' } = options
  let tries = options.triesBefore ?? 0
  let running = 0
  const failed = (error: unknown, classification: Classification, ending: Ending): Execution<T> =>
    ({ type: 'failed', error, classification, tries, ending, abandoned: running > 0 })
  const cancelled = (): Execution<T> => failed(signal.reason, classifyCancellation(signal.reason, options), 'cancelled')
  const onLate = (outcome: LateOutcome<T>): void => {
    running--
    options.onLate?.(outcome)
  }

  try {
    for (;;) {
      if (signal.aborted) return cancelled()
      if (tries >= retry.maxAttempts) {
        const error = new HoldfastError('STEP_FAILED', `${label} has no tries left: ${tries} of ${retry.maxAttempts} are used`)
        return failed(error, classify(error, options), 'exhausted')
      }
      if (deadline !== undefined && clock.now() >= deadline) {
        const error = limitError('deadline', options, label)
        return failed(error, classify(error, options, { aborted: true, abortReason: 'timeout' }), 'deadline')
      }
      tries++
      running++
      const outcome = await runTry(work, { ...options, label, number: tries, onLate })
      if (outcome.type === 'ok' || outcome.type === 'thrown') running--
      if (outcome.type === 'ok') return { type: 'ok', value: outcome.value, tries }
      if (outcome.type === 'cancelled') return cancelled()

      const { error } = outcome
      const classification = classify(error, options, outcome.type === 'limit' ? { aborted: true, abortReason: 'timeout' } : {})
      const ending = endingOf(outcome, classification, tries, options)
      if (ending !== undefined) return failed(error, classification, ending)

      const delayMs = nextDelay(retry.backoff, tries, options.random, classification.retryAfterMs)
      const resumeAt = clock.now() + delayMs
      if (delayMs > retry.inlineWaitMs) {
        return retry.onLongWait === 'suspend' ? { type: 'wait', resumeAt, error, classification, tries } : failed(error, classification, 'long-wait')
      }
      if (deadline !== undefined && resumeAt >= deadline) return failed(error, classification, 'deadline')
      options.onRetry?.({ try: tries, delayMs, classification, error })
      // An abort ends the wait at once; the next turn of the loop sees it.
      await sleep(clock, delayMs, signal).catch(() => {})
    }
  } catch (error) {
    // Nothing of the above throws, except what the caller passed in: a classifier, mayRetry, onRetry.
    return failed(error, classifyError(error, {}), 'final')
  }
}

type FailedTry<T> = Exclude<TryOutcome<T>, { type: 'ok' }>

/** Why there is no further try, undefined when there is one. */
function endingOf<T>(outcome: FailedTry<T>, classification: Classification, tries: number, options: ExecuteOptions<T>): Ending | undefined {
  const { category, retryable } = classification
  const { categories, maxAttempts } = options.retry
  if (outcome.type === 'limit' && outcome.limit === 'deadline') return 'deadline'
  if (!retryable || category === 'cancelled' || (categories !== undefined && !categories.includes(category))) return 'final'
  if (options.mayRetry?.(outcome.error) === false) return 'passed-on'
  return tries >= maxAttempts ? 'exhausted' : undefined
}

function classify<T>(error: unknown, options: ExecuteOptions<T>, context: ErrorContext = {}): Classification {
  return (options.classify ?? classifyError)(error, { now: options.clock.now(), ...context })
}

/** An outer signal that a timer aborted (`AbortSignal.timeout`, the runner's own deadline) says timeout, not cancelled. It is not retried either. */
function classifyCancellation<T>(reason: unknown, options: ExecuteOptions<T>): Classification {
  const timedOut = (HoldfastError.isInstance(reason) && (reason.code === 'RUN_TIMEOUT' || reason.code === 'STEP_TIMEOUT'))
    || (reason instanceof Error && reason.name === 'TimeoutError')
  return classify(reason, options, { aborted: true, abortReason: timedOut ? 'timeout' : 'user' })
}
