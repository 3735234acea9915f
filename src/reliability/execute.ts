/** The one retry loop of the whole code. */
import { sleep } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { notify } from '../core/notify.ts'
import type { Random } from '../core/random.ts'
import { HoldfastError } from '../errors.ts'
import { nextDelay } from './backoff.ts'
import { thrownBy } from './classification/answer.ts'
import { classifyError } from './classification/index.ts'
import type { Classification, ErrorContext } from './classification/index.ts'
import type { FailedTry, ResolvedRetry, RetryEvent } from './policy.ts'
import { limitError } from './timeout.ts'
import type { Limit, Limits } from './timeout.ts'
import { runTry } from './try.ts'
import type { LateOutcome, TryOutcome, Work } from './try.ts'

/** A try that one of its own limits has cut. */
export interface TimeoutEvent {
  /** Which try it was, from 1. */
  readonly try: number
  readonly limit: Exclude<Limit, 'deadline'>
  /** How long the limit is, ms. */
  readonly timeoutMs: number
}

/** The limits are those of each try; `deadline` cuts each wait too. */
export interface ExecuteOptions<T> extends Limits {
  /** How often, for what, and after which delays it is tried again. */
  readonly retry: ResolvedRetry
  /** When the run's time ends also if it stands still for as long as the run is suspended, ms since the epoch. Default: `deadline`. */
  readonly absoluteDeadline?: number | undefined
  /** Cancellation from outside: never retried, ends a try and a wait at once, its reason is the error. */
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly random: Random
  /** Tries already used by earlier drives of this step: they share the budget. Default 0. */
  readonly triesBefore?: number | undefined
  /** Names the work in errors, such as `tool search`. Default `the step`. */
  readonly label?: string | undefined
  /** Whether another try is possible at all after this error: false once something was passed on. Default: always. */
  readonly mayRetry?: ((error: unknown) => boolean) | undefined
  /** Called when a limit has cut a try. */
  readonly onTimeout?: ((event: TimeoutEvent) => void) | undefined
  /** Called before each wait, and before what the retry policy tells. */
  readonly onRetry?: ((event: RetryEvent) => void) | undefined
  /** Called when what the policy's own code said is not heeded: it threw, or its answer is none. With what happened, in words. */
  readonly onIgnored?: ((what: string) => void) | undefined
  /** Called when work that was no longer waited for settles after all. Must not throw. */
  readonly onLate?: ((outcome: LateOutcome<T>) => void) | undefined
}

/**
 * Why there was no further try: the error is not retryable (`final`), all tries are used (`exhausted`), something was passed on
 * (`passed-on`), the caller cancelled (`cancelled`), the wait would be longer than the policy allows (`long-wait`), or the run's time is used
 * up or would be before the next try (`deadline`). `final` is also what `shouldRetry` refuses, or does not answer clearly.
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
    /** From when on the next try would have been possible, ms since the epoch; of `long-wait`, and of a `deadline` that would be over by then. */
    readonly resumeAt?: number
  }
  | { readonly type: 'wait'; readonly resumeAt: number; readonly error: unknown; readonly classification: Classification; readonly tries: number }

/**
 * Runs `work`, again and again as `retry` says. Never rejects.
 *
 * - `ok`: its value.
 * - `failed`: the last error as it was thrown; a `HoldfastError` `STEP_TIMEOUT` or `RUN_TIMEOUT` for a limit; the signal's reason when cancelled.
 * - `wait`: the next try is due at `resumeAt`, further away than `retry.inlineWaitMs`, or behind the deadline but not behind the absolute one: the
 *   caller suspends. Of a wait that is longer than `inlineWaitMs` it may lie beyond that too: the caller decides.
 */
export async function execute<T>(work: Work<T>, options: ExecuteOptions<T>): Promise<Execution<T>> {
  const { retry, clock, signal, deadline, absoluteDeadline = deadline, label = 'the step' } = options
  let tries = options.triesBefore ?? 0
  let running = 0
  const failed = (error: unknown, classification: Classification, ending: Ending, resumeAt?: number): Execution<T> =>
    ({ type: 'failed', error, classification, tries, ending, abandoned: running > 0, ...(resumeAt !== undefined && { resumeAt }) })
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

      // Which try the last one was; the others may have failed in other ways.
      const error = outcome.type === 'limit' && outcome.limit !== 'deadline' && tries > 1 ? limitError(outcome.limit, options, `try ${tries} of ${label}`) : outcome.error
      if (outcome.type === 'limit' && outcome.limit !== 'deadline') options.onTimeout?.({ try: tries, limit: outcome.limit, timeoutMs: LIMIT_MS[outcome.limit](options) })
      const classification = classify(error, options, outcome.type === 'limit' ? { aborted: true, abortReason: 'timeout' } : {})
      const ending = endingOf(outcome, classification, tries, label, options)
      if (ending !== undefined) return failed(error, classification, ending)

      const delayMs = nextDelay(retry.backoff, tries, options.random, classification.retryAfterMs)
      const resumeAt = clock.now() + delayMs
      const isBehind = (end: number | undefined): boolean => end !== undefined && resumeAt >= end
      if (retry.onLongWait === 'suspend' && (delayMs > retry.inlineWaitMs || (isBehind(deadline) && !isBehind(absoluteDeadline)))) {
        return { type: 'wait', resumeAt, error, classification, tries }
      }
      if (delayMs > retry.inlineWaitMs) return failed(error, classification, 'long-wait', resumeAt)
      if (isBehind(deadline)) return failed(error, classification, 'deadline', resumeAt)
      const event: RetryEvent = { label, try: tries, delayMs, classification, error }
      options.onRetry?.(event)
      notify(retry.onRetry, event)
      // An abort ends the wait at once; the next turn of the loop sees it.
      await sleep(clock, delayMs, signal).catch(() => {})
    }
  } catch (error) {
    // Nothing of the above throws, except what the caller passed in: mayRetry, onRetry, onTimeout.
    return failed(error, classifyError(error, {}), 'final')
  }
}

type Unsuccessful<T> = Exclude<TryOutcome<T>, { type: 'ok' }>

const LIMIT_MS = {
  total: ({ timeoutMs = 0 }: Limits): number => timeoutMs,
  'first-part': ({ firstPartTimeoutMs = 0 }: Limits): number => firstPartTimeoutMs,
  idle: ({ idleTimeoutMs = 0 }: Limits): number => idleTimeoutMs,
}

/** Why there is no further try, undefined when there is one. */
function endingOf<T>(outcome: Unsuccessful<T>, classification: Classification, tries: number, label: string, options: ExecuteOptions<T>): Ending | undefined {
  const { category, retryable } = classification
  const { categories, maxAttempts, shouldRetry } = options.retry
  if (outcome.type === 'limit' && outcome.limit === 'deadline') return 'deadline'
  if (!retryable || category === 'cancelled' || (categories !== undefined && !categories.includes(category))) return 'final'
  const isPassedOn = options.mayRetry?.(outcome.error) === false
  if (tries >= maxAttempts) return isPassedOn ? 'passed-on' : 'exhausted'
  if (shouldRetry && !isAllowed(shouldRetry, { label, try: tries, error: outcome.error, classification }, options)) return 'final'
  return isPassedOn ? 'passed-on' : undefined
}

/** A hook that does not say clearly that there shall be another try has not said so; the error stays that of the work. */
function isAllowed<T>(shouldRetry: NonNullable<ResolvedRetry['shouldRetry']>, failure: FailedTry, { onIgnored }: ExecuteOptions<T>): boolean {
  try {
    const answer: unknown = shouldRetry(failure)
    if (typeof answer === 'boolean') return answer
    // It is not waited for, and its failure must not end the process.
    void Promise.resolve(answer).catch(() => {})
    onIgnored?.(`retry.shouldRetry must give true or false at once, got ${Object.prototype.toString.call(answer)}: there is no further try`)
  } catch (thrown) {
    onIgnored?.(`retry.shouldRetry failed, ${thrownBy(thrown)}: there is no further try`)
  }
  return false
}

function classify<T>(error: unknown, options: ExecuteOptions<T>, context: ErrorContext = {}): Classification {
  const classification = (options.retry.classify ?? classifyError)(error, { now: options.clock.now(), ...context })
  if (classification.evidence.ignored !== undefined) options.onIgnored?.(classification.evidence.ignored)
  return classification
}

/** An outer signal that a timer aborted (`AbortSignal.timeout`, the runner's own deadline) says timeout, not cancelled. It is not retried either. */
function classifyCancellation<T>(reason: unknown, options: ExecuteOptions<T>): Classification {
  const timedOut = (HoldfastError.isInstance(reason) && (reason.code === 'RUN_TIMEOUT' || reason.code === 'STEP_TIMEOUT'))
    || (reason instanceof Error && reason.name === 'TimeoutError')
  return classify(reason, options, { aborted: true, abortReason: timedOut ? 'timeout' : 'user' })
}
