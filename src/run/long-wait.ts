/** Waits that are longer than what is waited in the process, or than the run has time (R10, R11). */
import { notify } from '../core/notify.ts'
import { HoldfastError } from '../errors.ts'
import type { RetryAfterReason, SuspendReason } from '../journal/entry.ts'
import { nextDelay, type Execution, type ResolvedRetry, type RetryEvent } from '../reliability/index.ts'
import type { Ticket } from '../replay/claim.ts'
import type { Attempt } from './attempt.ts'
import type { Drive } from './drive.ts'
import { messageOf } from './outcome.ts'
import { ofStep, type StepSpec } from './step.ts'

export type FailedExecution = Execution<unknown> & { readonly type: 'failed' }

/** A run that nobody keeps cannot be suspended until then. */
export const retryOf = ({ attempt }: Drive, { retry }: Pick<StepSpec, 'retry'>): ResolvedRetry => (attempt.policies.isKept ? retry : { ...retry, onLongWait: 'fail' })

/** What is tried again. */
export interface Tried {
  readonly step: string
  readonly label: string
  /** What it asks for, where it says so: what asks for the very same waits too. */
  readonly ask?: string | undefined
}

export const tried = (ticket: Ticket, { label }: StepSpec): Tried => ({ step: ticket.ref.id, label, ask: askOf(ticket) })

/** What a step asks for, where it says so. */
export const askOf = ({ claim: { kind, name, fingerprint, hasInput } }: Ticket): string | undefined => (hasInput && fingerprint !== null ? `${kind} ${name} ${fingerprint}` : undefined)

/** A shorter wait that nobody asked for is not worth a record, ms. */
const WORTH_A_RECORD_MS = 1_000

/** The step may not be tried again before `until`, whoever drives the run: in this attempt, also after `step-reset`, and in a later one. */
export function delayed(attempt: Attempt, { step, label, ask }: Tried, { error, tries, classification }: Pick<FailedExecution, 'error' | 'tries' | 'classification'>, until: number): RetryAfterReason {
  const message = attempt.told(`${label} may be tried again at ${new Date(until).toISOString()}: ${messageOf(error)}`)
  const reason = { type: 'retry-after', step, message, until, tries } as const
  noteDelay(attempt, reason, classification.retryAfterMs === null ? undefined : ask)
  return reason
}

function noteDelay(attempt: Attempt, reason: RetryAfterReason, ask?: string): void {
  attempt.delay(reason, ask)
  // Where it cannot be written, the wait goes on all the same.
  attempt.write([reason]).catch(() => {})
}

/** It has come to an end, and leaves no record of that: the next time it has all of its tries. */
export function beginsAnew(attempt: Attempt, { step, label }: Tried): void {
  if (!attempt.triesUsed.get(step)) return
  noteDelay(attempt, { type: 'retry-after', step, message: `${label} has ended`, until: attempt.clock.now(), tries: 0 })
}

/** Longer than what is waited in the process, or than its run has time. */
export const isLongWait = ({ clock, budget }: Attempt, { inlineWaitMs }: ResolvedRetry, until: number): boolean => until - clock.now() > inlineWaitMs || until >= budget.ends

/** A wait in the process may outlive it: killed, aborted or closed, the run goes on in another one, which must not ask earlier. */
export function noteWait(attempt: Attempt, what: Tried, { delayMs, classification, error, try: tries }: RetryEvent): void {
  if (classification.retryAfterMs !== null || delayMs >= WORTH_A_RECORD_MS) delayed(attempt, what, { error, tries, classification }, attempt.clock.now() + delayMs)
}

/** The step has failed, and the other side has said from when on it may be asked again: that holds for who drives the run again at once, too. */
export function noteHint(attempt: Attempt, what: Tried, { error, tries, ending, classification, resumeAt }: FailedExecution): void {
  const { retryAfterMs } = classification
  if (retryAfterMs === null || retryAfterMs === 0) return
  // What could not be tried again in the time of the run has no record: under a later deadline it goes on with the tries that are left.
  delayed(attempt, what, { error, classification, tries: ending === 'deadline' ? tries : 0 }, resumeAt ?? attempt.clock.now() + retryAfterMs)
}

/** Why a step that has failed was not tried again although it may be, in words; undefined: it may not. `broken`: from when on, of a stream that broke. */
export function notTriedAgain({ ending, resumeAt }: FailedExecution, broken: number | undefined): string | undefined {
  const from = broken ?? resumeAt
  if (from === undefined) return undefined
  const why = ending === 'deadline' ? ', when the time of the run is over' : ': a runner with a store suspends the run until then (retry.onLongWait)'
  return `It may be tried again at ${new Date(from).toISOString()}${why}`
}

/** It may not be tried yet, and its policy does not suspend a run for that. */
export const notYet = ({ attempt }: Drive, { ref }: Ticket, { message }: SuspendReason): HoldfastError =>
  new HoldfastError('STEP_FAILED', message, { runId: attempt.runId, step: ref.id })

/** The wait ends behind the deadline of the run, which does not stand still. */
export function tooLate(drive: Drive, { ref }: Ticket, until: number, cause?: unknown): void {
  const { deadline } = drive.attempt.budget.limits
  drive.end({ type: 'limit', reached: { limit: 'deadline', used: until, max: deadline }, step: ref.id, ...(cause !== undefined && { cause }) })
}

/**
 * Parts of a broken stream were passed on: the handler starts over, after the wait that would have been waited inline. True: it does; a time
 * (ms since the epoch): it could not before then, which is too late.
 */
export function driveAgain(drive: Drive, ticket: Ticket, spec: StepSpec, execution: FailedExecution): true | number {
  const { attempt } = drive
  const { tries, error, classification } = execution
  const retry = retryOf(drive, spec)
  const delayMs = nextDelay(retry.backoff, tries, attempt.options.random, classification.retryAfterMs)
  const until = attempt.clock.now() + delayMs
  const isLong = isLongWait(attempt, retry, until)
  if (isLong && retry.onLongWait === 'fail') return until
  attempt.triesUsed.set(ticket.ref.id, tries)
  if (!isLong) noteWait(attempt, tried(ticket, spec), { label: spec.label, delayMs, classification, error, try: tries })
  attempt.emit({ type: 'step-reset', ...ofStep(ticket.ref), tries, delayMs, category: classification.category, message: messageOf(error) })
  if (isLong && until >= attempt.budget.limits.deadline) tooLate(drive, ticket, until, error)
  else if (isLong) drive.end({ type: 'suspended', reasons: [delayed(attempt, tried(ticket, spec), execution, until)], resumeAt: until })
  else {
    notify(retry.onRetry, { label: spec.label, try: tries, delayMs, classification, error })
    drive.end({ type: 'again', step: ticket.ref.id, tries, delayMs })
  }
  return true
}
