/** The outside world is asked about an effect that is in doubt (R6), no earlier than it said that it may be asked (R11). */
import { sleep } from '../core/clock.ts'
import { shown } from '../core/shown.ts'
import type { Effect } from '../effects/effect.ts'
import { decode } from '../journal/codec.ts'
import type { Settlement } from '../journal/entry.ts'
import { execute, type Reconciled, type RetryEvent } from '../reliability/index.ts'
import type { Ticket } from '../replay/claim.ts'
import { askingAbout } from '../replay/identity.ts'
import type { Drive } from './drive.ts'
import { beginsAnew, delayed, isLongWait, noteHint, noteWait, retryOf, type Tried } from './long-wait.ts'
import { messageOf, stored } from './outcome.ts'
import { readable } from './readable.ts'
import { withinRecord } from './reduced.ts'
import { SETTLE_AFTER_MS, settle, settleAfter } from './settle.ts'
import { ofStep, type StepSpec } from './step.ts'

/** Asks, where that may be done now. What comes of it is in the journal, or the doubt stands. */
export async function reconcile(drive: Drive, ticket: Ticket, spec: StepSpec, effect: Effect): Promise<void> {
  const { attempt } = drive
  const { step } = effect
  const asking: Tried = { step: askingAbout(step.id), label: `reconcile of ${spec.label}` }
  const retry = retryOf(drive, attempt.policies)
  const notYet = attempt.delayOf(asking.step)
  if (notYet && !isLongWait(attempt, retry, notYet.until)) {
    attempt.emit({ type: 'step-waiting', ...ofStep(step), reason: notYet })
    // Whoever waited may find it settled then.
    return sleep(attempt.clock, notYet.until - attempt.clock.now(), attempt.signal).catch(() => {})
  }
  drive.asked.set(step.id, retry.onLongWait === 'suspend' ? notYet : undefined)
  if (notYet || !spec.reconcile) return
  // What is said of it then is told of work that has come to its end by then.
  const isOver = attempt.believesNotDone(effect, settleAfter(spec)) === true
  const onRetry = (event: RetryEvent): void => {
    const { try: number, delayMs, classification: { category }, error } = event
    noteWait(attempt, asking, event)
    attempt.emit({ type: 'retry-wait', ...ofStep(step), try: number, delayMs, category, message: `${asking.label}: ${messageOf(error)}` })
  }
  const asked = await execute(() => ask(drive, spec, effect).catch((thrown: unknown) => { throw readable(thrown, asking.label) }), {
    retry,
    timeoutMs: spec.timeoutMs ?? SETTLE_AFTER_MS,
    deadline: attempt.budget.deadline,
    absoluteDeadline: attempt.budget.limits.deadline,
    signal: attempt.signal,
    clock: attempt.clock,
    random: attempt.options.random,
    triesBefore: attempt.triesUsed.get(asking.step),
    label: asking.label,
    onRetry,
  })
  if (asked.type === 'wait') {
    drive.asked.set(step.id, delayed(attempt, asking, asked, asked.resumeAt))
    return
  }
  if (asked.type === 'failed') {
    if (attempt.signal.aborted) return
    // In the time of the run it was not asked as often as it may be: it goes on from there under a later deadline.
    if (asked.ending !== 'deadline') beginsAnew(attempt, asking)
    noteHint(attempt, asking, asked)
    attempt.warn('RECONCILE_FAILED', `${asking.label} failed: ${messageOf(asked.error)}`, ticket.ref.id)
    return
  }
  beginsAnew(attempt, asking)
  const said = asked.value
  if (typeof said === 'string') {
    // Before it is cut: a part of a secret would not be known as one.
    const got = attempt.secrets?.hide(said) ?? said
    attempt.warn('RECONCILE_FAILED', `${asking.label} must give { status: 'completed', output } or { status: 'not-done' }, got ${got.slice(0, 200)}: the doubt stands`, ticket.ref.id)
    return
  }
  if (said.status === 'not-done' && !isOver) return
  const settlement: Settlement = said.status === 'not-done' ? { type: 'not-done' } : { type: 'completed', outcome: withinRecord(drive, spec, stored(spec, said.output, step.id, attempt.secrets), step.id) }
  await settle(drive, 'reconcile', { step: step.id, start: effect.startedSeq, settlement })
}

/** Its answer, or in words what it gave in place of one. That is looked at in here, where what goes wrong counts as the asking's: it may be anything. */
async function ask({ attempt }: Drive, spec: StepSpec, effect: Effect): Promise<Reconciled<unknown> | string> {
  const value: unknown = await spec.reconcile!({
    input: effect.input === undefined ? undefined : decode(effect.input),
    idempotencyKey: effect.idempotencyKey,
    runId: attempt.runId,
    step: effect.step.id,
    toolName: effect.ref.name,
  })
  // What a service's own lookup gives (nothing, a record with a status of its own) says neither: taken for one, it would settle a doubt about money wrongly.
  if (typeof value === 'object' && value !== null && 'status' in value) {
    if (value.status === 'not-done') return { status: 'not-done' }
    if (value.status === 'completed' && 'output' in value) return { status: 'completed', output: value.output }
  }
  return shown(value)
}
