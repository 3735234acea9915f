/** A step that is not answered from the journal: guarded, written ahead, executed, recorded (R2, R3, R6). */
import { sleep } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'
import type { Consumption, GuardVerdict } from '../effects/guard.ts'
import { decode, encode } from '../journal/codec.ts'
import type { DoubtCause, Outcome, Settlement, StepRef, SuspendReason } from '../journal/entry.ts'
import type { NewEntry } from '../journal/writer.ts'
import { classifyError, execute, nextDelay, type Category, type Execution, type LateOutcome, type Reconciled, type TryContext } from '../reliability/index.ts'
import type { Ticket } from '../replay/claim.ts'
import type { Effect } from '../effects/ledger.ts'
import type { Attempt } from './attempt.ts'
import { inContext } from './current.ts'
import type { Drive, Ended } from './drive.ts'
import { ofStep, type StepSpec } from './step.ts'

/** `not-done` is believed this long after the former owner could last act, where the tool has no timeout to go by, ms. */
const SETTLE_AFTER_MS = 60_000

/** After these a call may have taken effect although it threw (R6). */
const DOUBTFUL: ReadonlySet<Category> = new Set<Category>(['network', 'timeout', 'overloaded', 'server'])

export async function performLive(drive: Drive, ticket: Ticket, spec: StepSpec): Promise<void> {
  const { attempt } = drive
  for (;;) {
    if (drive.isOver) return
    const delayed = attempt.delayOf(ticket.ref.id)
    if (delayed) {
      const leftMs = delayed.until - attempt.clock.now()
      if (leftMs > spec.retry.inlineWaitMs) return drive.hold(ticket, delayed, delayed.until)
      await sleep(attempt.clock, leftMs, attempt.signal).catch(() => {})
      continue
    }
    const reason = await mayNotStart(drive, ticket, spec)
    if (reason) {
      await drive.park(ticket, reason)
      continue
    }
    const verdict = drive.machine.guard(ticket, { asked: drive.asked, taken: drive.taken })
    switch (verdict.type) {
      case 'start':
        return using(drive, verdict.consumes, () => start(drive, ticket, spec, verdict.consumes))
      case 'answer':
        return using(drive, verdict.consumes, () => record(drive, ticket, spec, { outcome: verdict.outcome, asked: [] }, { tries: 0, ms: 0 }, verdict.consumes))
      case 'skip': {
        const error = unknownOutcome(spec, 'it was interrupted', ticket.ref.id)
        const ended = { outcome: unknown('interrupted', error), asked: [] }
        return using(drive, verdict.consumes, () => record(drive, ticket, spec, ended, { tries: 0, ms: 0 }, verdict.consumes))
      }
      case 'reconcile':
        attempt.emit({ type: 'step-in-doubt', ...ofStep(verdict.effect.step), cause: 'reconcile' })
        await reconcile(drive, ticket, spec, verdict.effect)
        break
      case 'wait': {
        const effects = verdict.effects.map((effect) => effect.step.id)
        attempt.emit({ type: 'step-in-doubt', ...ofStep(ticket.ref), cause: verdict.why })
        await drive.park(ticket, waitReason(attempt.runId, ticket, verdict, effects), dueAt(drive, spec, verdict.effects))
        break
      }
    }
  }
}

/** Keeps what a verdict uses up from other calls until it is written down, or was not. */
async function using(drive: Drive, consumes: Consumption, work: () => Promise<void>): Promise<void> {
  const release = drive.take(consumes)
  await work().finally(release)
}

/** What keeps any step from starting, whatever it does. */
async function mayNotStart(drive: Drive, ticket: Ticket, spec: StepSpec): Promise<SuspendReason | undefined> {
  if (drive.attempt.draining) return { type: 'draining', message: 'the runner is closing' }
  if (!spec.claim.effect) return undefined
  for (const response of drive.unrecordedResponses) {
    if (ticket.ref.id.startsWith(`${response}/`)) {
      return { type: 'not-recorded', step: ticket.ref.id, message: `${spec.label} was asked for by a response that could not be recorded` }
    }
  }
  return undefined
}

async function start(drive: Drive, ticket: Ticket, spec: StepSpec, consumes: Consumption): Promise<void> {
  const { attempt } = drive
  const { effect } = spec.claim
  const idempotencyKey = keyOf(attempt, ticket, consumes)
  if (isOver(attempt)) return
  if (effect) {
    const started: NewEntry = {
      type: 'step-started',
      step: ticket.ref,
      fingerprint: spec.claim.fingerprint ?? '',
      ...drive.machine.rangeOf(ticket),
      idempotencyKey,
      effect: { name: effect.name, key: effect.key },
      ...encodedInput(spec),
      ...modelParts(spec),
    }
    try {
      await attempt.write([...consumed(ticket.ref.id, consumes), started])
    } catch (error) {
      if (isLost(error)) return attempt.abort(error)
      // Refused write-ahead: the code is not called (R2). The run waits for a store that takes the record.
      return drive.hold(ticket, { type: 'not-recorded', step: ticket.ref.id, message: `${spec.label} was not started: ${messageOf(error)}` })
    }
    if (drive.isOver || !attempt.options.lease.isHeld) return notCalled(drive, ticket)
  }
  drive.machine.started(ticket)
  if (effect) drive.wake()
  attempt.emit({ type: 'step-started', ...ofStep(ticket.ref) })
  const began = attempt.clock.now()
  const execution = await execute<unknown>((context) => call(drive, ticket, spec, { ...context, idempotencyKey }), {
    retry: spec.retry,
    timeoutMs: spec.timeoutMs,
    idleTimeoutMs: spec.idleTimeoutMs,
    deadline: attempt.options.deadline,
    signal: spec.signal ? AbortSignal.any([attempt.signal, spec.signal]) : attempt.signal,
    clock: attempt.clock,
    random: attempt.options.random,
    triesBefore: attempt.triesUsed.get(ticket.ref.id),
    label: spec.label,
    mayRetry: spec.mayRetry && (() => spec.mayRetry!()),
    onRetry: ({ try: number, delayMs, classification, error }) =>
      attempt.emit({ type: 'retry-wait', ...ofStep(ticket.ref), try: number, delayMs, category: classification.category, message: messageOf(error) }),
    onLate: (late) => onLate(drive, ticket, spec, late),
  })
  await finish(drive, ticket, spec, execution, attempt.clock.now() - began)
}

/**
 * A step that starts again has the key that it had. So has one that somebody let run in place of a call in doubt with the same
 * arguments: should that one land after all, the outside world can tell that it is the same.
 */
function keyOf(attempt: Attempt, ticket: Ticket, consumes: Consumption): string {
  const { effects } = attempt.history.ledger
  // A step of the handler at another place is another intention; what a model asks for again, or a handler that diverged, may be the same.
  const isSame = (e: Effect): boolean => e.state !== 'completed' && e.fingerprint === ticket.claim.fingerprint && (e.superseded || ticket.ref.kind === 'tool')
  const before = effects.get(ticket.ref.id) ?? consumes.effects.map((id) => effects.get(id)!).find(isSame)
  return before?.idempotencyKey || attempt.idempotencyKey(ticket)
}

/** The run's time is over: its drive ends, and nothing is decided about its steps. */
const isOver = ({ options, clock }: Attempt): boolean => options.deadline !== undefined && clock.now() >= options.deadline

/** The drive ended while `started` was written: the code was not called, so there is nothing to be in doubt about. */
async function notCalled(drive: Drive, ticket: Ticket): Promise<void> {
  // Where this cannot be written either, whoever comes next finds a doubt, which is the safe side.
  await drive.attempt.write([{ type: 'settled', step: ticket.ref.id, by: 'owner', settlement: { type: 'not-done' } }]).catch(() => {})
}

/** Calls the step's code, in its own branch where it may hold steps. */
async function call(
  drive: Drive,
  ticket: Ticket,
  spec: StepSpec,
  { signal, try: number, progress, pause, idempotencyKey }: TryContext & { idempotencyKey: string },
): Promise<unknown> {
  const context = { runId: drive.attempt.runId, step: ticket.ref.id, idempotencyKey, attempt: number, signal, progress }
  if (!spec.hasInside) return spec.work(context)
  const branch = drive.machine.openBranch(ticket.ref.branch, { step: ticket.ref.id })
  if (branch === undefined) return spec.work(context)
  drive.onPause(ticket.ref.id, pause)
  // Work that is no longer waited for may go on, but it may not ask for steps; nor does its end close the branch of the try after it.
  const close = (): void => {
    if (drive.tries.get(branch) === context) drive.machine.closeBranch(branch)
  }
  drive.tries.set(branch, context)
  signal.addEventListener('abort', close, { once: true })
  try {
    return await inContext({ drive, branch, step: context }, () => spec.work(context))
  } finally {
    signal.removeEventListener('abort', close)
    close()
  }
}

async function finish(drive: Drive, ticket: Ticket, spec: StepSpec, execution: Execution<unknown>, ms: number): Promise<void> {
  const { attempt } = drive
  const { tries } = execution
  if (execution.type === 'ok') {
    const described = spec.describe?.(execution.value)
    const ended = { outcome: stored(spec, execution.value, ticket.ref.id), asked: described?.asked ?? [] }
    return record(drive, ticket, spec, ended, { tries, ms, ...(described?.usage && { usage: described.usage }) })
  }
  if (execution.type === 'wait') {
    const until = new Date(execution.resumeAt).toISOString()
    const message = `${spec.label} may be tried again at ${until}: ${messageOf(execution.error)}`
    return drive.hold(ticket, { type: 'retry-after', step: ticket.ref.id, message, until: execution.resumeAt, tries }, execution.resumeAt)
  }
  // The attempt ended around it: nothing was decided about the step. If it has effects, its `started` says the rest.
  if (execution.ending === 'cancelled' && attempt.signal.aborted) return
  if (execution.ending === 'deadline' && isOver(attempt)) return
  if (execution.ending === 'passed-on' && execution.tries < spec.retry.maxAttempts) {
    attempt.triesUsed.set(ticket.ref.id, tries)
    attempt.emit({ type: 'step-reset', ...ofStep(ticket.ref), tries, message: messageOf(execution.error) })
    return drive.end({ type: 'again', step: ticket.ref.id, tries, delayMs: delayAfter(drive, spec, execution) })
  }
  if (execution.abandoned) attempt.abandoned.add(ticket.ref.id)
  const isTimeout = HoldfastError.isInstance(execution.error) && execution.error.code === 'STEP_TIMEOUT'
  if (isTimeout) attempt.emit({ type: 'step-timeout', ...ofStep(ticket.ref), timeoutMs: spec.timeoutMs ?? 0, mayStillRun: execution.abandoned })
  const cause = doubtAfter(execution, isTimeout)
  if (spec.claim.effect && cause) {
    attempt.emit({ type: 'step-in-doubt', ...ofStep(ticket.ref), cause })
    const error = unknownOutcome(spec, messageOf(execution.error), ticket.ref.id, execution.error)
    return record(drive, ticket, spec, { outcome: unknown(cause, error), asked: [] }, { tries, ms })
  }
  const error = spec.failure?.(execution.error, tries) ?? execution.error
  // An agent has only its inner steps: they replay, and fail it again where they failed it. The error is theirs.
  if (ticket.ref.kind === 'agent') return drive.ended(ticket, { outcome: failed(error), asked: [], thrown: { error } }, undefined)
  // It would have to wait longer than the run has time: what comes of it under a new budget is open.
  if (execution.ending === 'deadline') {
    attempt.notRecorded('NOT_RECORDED', `${spec.label} could not be tried again in the time of the run`, ticket.ref.id)
    return drive.ended(ticket, { outcome: failed(error), asked: [] }, undefined)
  }
  return record(drive, ticket, spec, { outcome: failed(error), asked: [] }, { tries, ms })
}

/** The backoff of a step that is driven again is the one that it would have waited inline. */
const delayAfter = (drive: Drive, spec: StepSpec, { tries, classification }: Execution<unknown> & { type: 'failed' }): number =>
  nextDelay(spec.retry.backoff, tries, drive.attempt.options.random, classification.retryAfterMs)

function doubtAfter(execution: Execution<unknown> & { type: 'failed' }, isTimeout: boolean): DoubtCause | undefined {
  if (isTimeout) return 'timeout'
  if (execution.ending === 'cancelled') return 'cancelled'
  return DOUBTFUL.has(execution.classification.category) ? 'error' : undefined
}

/** Durable before announced (R3). */
async function record(
  drive: Drive,
  ticket: Ticket,
  spec: StepSpec,
  end: Ended,
  measured: { readonly tries: number; readonly ms: number; readonly usage?: object },
  consumes: Consumption = { effects: [], decisions: [] },
): Promise<void> {
  const { attempt } = drive
  const { ref } = ticket
  const { fingerprint, effect } = spec.claim
  const ok = end.outcome.type === 'value' || end.outcome.type === 'unstored'
  if (fingerprint === null) {
    attempt.notRecorded('NOT_FINGERPRINTED', `${spec.label} holds what has no fingerprint: it is neither recorded nor replayed`, ref.id)
    if (ref.kind === 'model') drive.unrecordedResponses.add(ref.id)
    return drive.ended(ticket, end, undefined)
  }
  const entry: NewEntry = {
    type: 'step-ended',
    step: ref,
    fingerprint,
    ...drive.machine.rangeOf(ticket),
    outcome: end.outcome,
    ...(effect && { effect: { name: effect.name, key: effect.key } }),
    ...modelParts(spec),
    ...(end.asked.length > 0 && { asked: end.asked }),
    ...measured,
  }
  let seq: number | undefined
  try {
    seq = await attempt.write([...consumed(ref.id, consumes), entry])
    attempt.countRecorded(ref.kind, ref.id)
  } catch (error) {
    if (isLost(error)) return attempt.abort(error)
    const message = `${spec.label} ended, but the store refused its record: ${messageOf(error)}`
    // Its outcome cannot be made durable, so it cannot be announced; its `started` stands, and with it the doubt.
    if (effect) return drive.hold(ticket, { type: 'not-recorded', step: ref.id, message })
    attempt.notRecorded('NOT_RECORDED', message, ref.id)
    if (ref.kind === 'model') drive.unrecordedResponses.add(ref.id)
  }
  attempt.emit({ type: 'step-finished', ...ofStep(ref), ok, tries: measured.tries, ms: measured.ms })
  drive.ended(ticket, end, seq)
  if (effect) drive.wake()
}

/** Asks the outside world about an effect that is in doubt. */
async function reconcile(drive: Drive, ticket: Ticket, spec: StepSpec, effect: Effect): Promise<void> {
  const { attempt } = drive
  drive.asked.add(effect.step.id)
  const ask = spec.reconcile
  if (!ask) return
  const asked = await execute(
    () => ask({
      input: effect.input === undefined ? undefined : decode(effect.input),
      idempotencyKey: effect.idempotencyKey,
      runId: attempt.runId,
      step: effect.step.id,
      toolName: effect.ref.name,
    }),
    {
      retry: attempt.policies.retry,
      timeoutMs: spec.timeoutMs ?? SETTLE_AFTER_MS,
      deadline: attempt.options.deadline,
      signal: attempt.signal,
      clock: attempt.clock,
      random: attempt.options.random,
      label: `reconcile of ${spec.label}`,
    },
  )
  if (asked.type !== 'ok') {
    attempt.warn('RECONCILE_FAILED', `reconcile of ${spec.label} failed: ${messageOf(asked.error)}`, ticket.ref.id)
    return
  }
  const { value } = asked
  if (!isReconciled(value)) {
    const got = JSON.stringify(value) ?? String(value)
    attempt.warn('RECONCILE_FAILED', `reconcile of ${spec.label} must give { status: 'completed', output } or { status: 'not-done' }, got ${got.slice(0, 200)}: the doubt stands`, ticket.ref.id)
    return
  }
  if (value.status === 'not-done' && attempt.believesNotDone(effect, spec.settleAfterMs ?? spec.timeoutMs ?? SETTLE_AFTER_MS) !== true) return
  const settlement: Settlement = value.status === 'not-done'
    ? { type: 'not-done' }
    : { type: 'completed', outcome: stored(spec, value.output, effect.step.id) }
  await settle(drive, effect.step, 'reconcile', settlement)
}

/** What a service's own lookup gives (nothing, a record with a status of its own) says neither: taken for one, it would settle a doubt about money wrongly. */
const isReconciled = (value: unknown): value is Reconciled<unknown> =>
  typeof value === 'object' && value !== null && 'status' in value && ((value.status === 'completed' && 'output' in value) || value.status === 'not-done')

async function settle(drive: Drive, step: StepRef, by: 'reconcile' | 'late-result', settlement: Settlement): Promise<void> {
  const { attempt } = drive
  try {
    await attempt.write([{ type: 'settled', step: step.id, by, settlement }])
  } catch (error) {
    if (isLost(error)) attempt.abort(error)
    return
  }
  attempt.emit({ type: 'doubt-settled', ...ofStep(step), by, as: settlement.type })
  drive.wake()
}

/** Work that was no longer waited for has come to an end after all: that settles its doubt (R6). */
function onLate(drive: Drive, ticket: Ticket, spec: StepSpec, late: LateOutcome<unknown>): void {
  const { attempt } = drive
  attempt.abandoned.delete(ticket.ref.id)
  if (!spec.claim.effect) return
  const settlement = lateSettlement(spec, late, ticket.ref.id)
  if (!settlement) return
  if (attempt.over) attempt.options.onLateMessage({ type: 'late-result', step: ticket.ref.id, settlement })
  else drive.track(settle(drive, ticket.ref, 'late-result', settlement))
}

function lateSettlement(spec: StepSpec, late: LateOutcome<unknown>, step: string): Settlement | undefined {
  if (late.ok) return { type: 'completed', outcome: stored(spec, late.value, step) }
  // An error that came because the work was told to stop says nothing about its effect.
  const { category } = classifyError(late.error)
  return DOUBTFUL.has(category) || category === 'cancelled' || category === 'unknown' ? undefined : { type: 'not-done' }
}

function stored(spec: StepSpec, value: unknown, step: string): Outcome {
  const options = { path: `result of ${spec.label}`, ...(spec.maxBytes !== undefined && { maxBytes: spec.maxBytes }) }
  try {
    return { type: 'value', value: encode(value, options) }
  } catch (error) {
    if (!spec.claim.effect) return failed(error)
    const told = new HoldfastError('RESULT_NOT_STORED', `${spec.label} succeeded, but its result could not be stored: ${messageOf(error)}`, { step })
    return { type: 'unstored', error: encode(told) }
  }
}

function failed(error: unknown): Outcome {
  try {
    return { type: 'error', error: encode(error, { path: 'error' }) }
  } catch {
    // What was thrown cannot be stored, but what it says can.
    return { type: 'error', error: encode(new Error(messageOf(error))) }
  }
}

const unknown = (cause: DoubtCause, error: HoldfastError): Outcome => ({ type: 'unknown', cause, error: encode(error) })

const unknownOutcome = (spec: StepSpec, what: string, step: string, cause?: unknown): HoldfastError =>
  new HoldfastError('OUTCOME_UNKNOWN', `${spec.label}: ${what}. Its outcome is unknown: it may have taken effect, do not repeat it`, {
    step,
    ...(cause instanceof Error && { cause: new Error(cause.message) }),
  })

function waitReason(runId: string, { ref, claim }: Ticket, { why, about }: GuardVerdict & { type: 'wait' }, effects: readonly string[]): SuspendReason {
  const what = why === 'in-doubt'
    ? `nobody knows whether ${ref.kind} "${ref.name}" (${effects.join(', ')}) took effect`
    : `${ref.kind} "${ref.name}" would repeat an effect that was made already (${effects.join(', ')})`
  return {
    type: why,
    step: about,
    tool: ref.name,
    fingerprint: claim.fingerprint ?? '',
    effects,
    message: `${what}. Settle it: holdfast resolve ${runId} ${about} --rerun | --skip | --result JSON${why === 'repeat' ? ' | --reuse' : ''}`,
  }
}

/** When `not-done` may be believed, a run that waits for that is due by itself. */
function dueAt(drive: Drive, spec: StepSpec, effects: readonly Effect[]): number | null {
  const due = effects.flatMap((effect) => {
    if (!spec.reconcile || !drive.asked.has(effect.step.id)) return []
    const from = drive.attempt.believesNotDone(effect, spec.settleAfterMs ?? spec.timeoutMs ?? SETTLE_AFTER_MS)
    return typeof from === 'number' && from > drive.attempt.clock.now() ? [from] : []
  })
  return due.length > 0 ? Math.min(...due) : null
}

const consumed = (step: string, consumes: Consumption): NewEntry[] =>
  consumes.effects.length + consumes.decisions.length > 0 ? [{ type: 'consumed', step, ...consumes }] : []

const modelParts = ({ claim: { model } }: StepSpec): { config?: string; prompt?: NonNullable<StepSpec['claim']['model']>['prompt'] } =>
  model ? { config: model.config, prompt: model.prompt } : {}

function encodedInput(spec: StepSpec): { input?: ReturnType<typeof encode> } {
  if (spec.input === undefined) return {}
  try {
    return { input: encode(spec.input, { path: `input of ${spec.label}` }) }
  } catch {
    // A call is known by its fingerprint; its input is kept for reconcile and for people.
    return {}
  }
}

const isLost = (error: unknown): error is HoldfastError => HoldfastError.isInstance(error) && error.code === 'LEASE_LOST'

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

