/** A step that is not answered from the journal: guarded, written ahead, executed, recorded (R2, R3, R6). */
import { anyOf } from '../core/abort.ts'
import { sleep } from '../core/clock.ts'
import type { Consumption } from '../effects/guard.ts'
import { isExpected } from '../effects/doubt.ts'
import type { Effect } from '../effects/effect.ts'
import { decode } from '../journal/codec.ts'
import type { AskedCall, DoubtCause, Outcome, SuspendReason } from '../journal/entry.ts'
import { HoldfastError } from '../errors.ts'
import { execute, type Execution, type TryContext } from '../reliability/index.ts'
import { calledWith, type Ticket } from '../replay/claim.ts'
import { isWithin, turnOf } from '../replay/identity.ts'
import { effectAfter, isNotDone } from './after-error.ts'
import { answered, isGated, mayBeMade, wasLetRun } from './approval.ts'
import { inContext } from './current.ts'
import type { Drive } from './drive.ts'
import { askOf, delayed, driveAgain, isLongWait, noteHint, noteWait, notTriedAgain, notYet, retryOf, tooLate, tried, type FailedExecution } from './long-wait.ts'
import { failed, isLost, messageOf, skippedOutcome, stored, unknown, unknownOutcome } from './outcome.ts'
import { mayBeLost, presume } from './presume.ts'
import { record } from './record.ts'
import { readable } from './readable.ts'
import { reconcile } from './reconcile.ts'
import { onLate } from './settle.ts'
import { ofStep, type StepSpec } from './step.ts'
import { leaveOpenInside, SurroundingsEnded, surroundingsEnded, withInside } from './surroundings.ts'
import { never } from './waiting.ts'
import { dueAt, stillOnItsWay, waitReason } from './wait-reason.ts'
import { writeAhead, writeUsedUp } from './write-ahead.ts'

export async function performLive(drive: Drive, ticket: Ticket, asked: StepSpec): Promise<void> {
  const { attempt } = drive
  const gated = isGated(drive, ticket, asked)
  const gatedSpec = gated ? await answered(drive, ticket, asked) : asked
  if (!gatedSpec) return
  let spec = gatedSpec
  let isApproved = !gated || wasLetRun(drive, ticket)
  let knowsLate = false
  for (;;) {
    if (drive.isOver) return
    const delayed = attempt.delayOf(ticket.ref.id, askOf(ticket))
    if (delayed) {
      if (delayed.until >= attempt.budget.limits.deadline) return tooLate(drive, ticket, delayed.until)
      if (isLongWait(attempt, spec.retry, delayed.until)) {
        if (retryOf(drive, spec).onLongWait === 'suspend') return drive.hold(ticket, delayed, delayed.until)
        return record(drive, ticket, spec, { outcome: failed(notYet(drive, ticket, delayed)), asked: [] }, { tries: 0, ms: 0 })
      }
      if (drive.dropIfLeft(ticket, spec.signal)) return
      attempt.emit({ type: 'step-waiting', ...ofStep(ticket.ref), reason: delayed })
      // An effect goes on behind the end of the try around it, as far as another one asks for it.
      await sleep(attempt.clock, delayed.until - attempt.clock.now(), anyOf(attempt.signal, spec.around?.aborted ? undefined : spec.around)).catch(() => {})
      continue
    }
    if (spec.claim.effect && [...drive.unrecordableResponses].some((response) => ticket.ref.id.startsWith(`${response}/`))) {
      return drive.ended(ticket, { outcome: failed(unrecordable(drive, ticket, spec)), asked: [] }, undefined)
    }
    const reason = await mayNotStart(drive, ticket, spec)
    if (reason) {
      await drive.park(ticket, () => reason)
      continue
    }
    if (mayBeLost(drive, ticket, spec)) {
      if (!(await presume(drive, ticket, spec))) return
      continue
    }
    const verdict = drive.machine.guard(ticket, { asked: drive.asked, taken: drive.taken, underWay: drive.underWay })
    switch (verdict.type) {
      case 'start':
        if (!isApproved) {
          if (!(await mayBeMade(drive, ticket, spec))) return
          // Others may have started meanwhile.
          isApproved = true
          break
        }
        if (!knowsLate && overtakes(drive, ticket, spec, verdict.consumes)) {
          knowsLate = true
          await attempt.options.takeLate()
          break
        }
        spec = inPlaceOfFormer(ticket, spec, verdict.consumes)
        return drive.carryOut(ticket, verdict.consumes, () => start(drive, ticket, spec, verdict.consumes))
      case 'answer':
        return drive.carryOut(ticket, verdict.consumes, () => record(drive, ticket, spec, { outcome: verdict.outcome, asked: askedIn(spec, verdict.outcome) }, { tries: 0, ms: 0 }, verdict.consumes))
      case 'skip': {
        const effect = attempt.history.ledger.effects.get(ticket.ref.id)
        const outcome = skippedOutcome(spec, ticket.ref.id, { by: verdict.consumes.decisions.length > 0 ? 'decision' : 'policy', effect })
        return drive.carryOut(ticket, verdict.consumes, () => record(drive, ticket, spec, { outcome, asked: [] }, { tries: 0, ms: 0 }, verdict.consumes))
      }
      case 'reconcile':
        drive.tellDoubt({ ref: verdict.effect.step }, 'reconcile')
        await reconcile(drive, ticket, spec, verdict.effect)
        // What it said stands, and answers who asks next.
        if (drive.dropIfLeft(ticket, spec.signal)) return
        break
      case 'hold':
        await drive.park(ticket, () => stillOnItsWay(ticket), { isWork: true })
        break
      case 'wait': {
        drive.tellDoubt(ticket, verdict.why)
        await drive.park(ticket, () => waitReason(drive, ticket, spec, verdict), { resumeAt: dueAt(drive, spec, verdict.effects), signal: spec.signal })
        break
      }
    }
  }
}

/** Whether it starts, or one of its effect did, while nobody knows what came of one before: that may have been told since. */
function overtakes({ attempt: { history: { ledger } } }: Drive, { ref }: Ticket, { claim }: StepSpec, { effects, passed = [] }: Consumption): boolean {
  return claim.effect !== undefined && ([ref.id, ...effects, ...passed].some((id) => ledger.effects.has(id) && !ledger.effects.get(id)!.outcome) || ledger.isOvertaken(claim.effect))
}

/** What is idempotent by now, and is made in place of what was not, is written ahead: its key has to outlive its process. */
function inPlaceOfFormer(ticket: Ticket, spec: StepSpec, { effects }: Consumption): StepSpec {
  const { effect, former } = spec.claim
  if (effect || !former?.policy.repeatable || effects.length === 0) return spec
  ticket.claim = { ...ticket.claim, effect: former }
  return { ...spec, claim: { ...spec.claim, effect: former } }
}

/** A model response that answers asks for tool calls as if it had come just now. */
const askedIn = (spec: StepSpec, outcome: Outcome): readonly AskedCall[] =>
  outcome.type === 'value' && spec.describe ? (spec.describe(decode(outcome.value)).asked ?? []) : []

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

/** Nothing would say who has asked for it, in no attempt. */
const unrecordable = ({ attempt: { runId } }: Drive, { ref }: Ticket, { label }: StepSpec): HoldfastError =>
  new HoldfastError('VALUE_NOT_STORABLE', `${label} was asked for by a model request that holds what has no fingerprint, so it is not recorded who asked. It was not called`, {
    runId, step: ref.id, advice: 'Leave functions, instances of classes and cycles out of the messages, tools and options of the request',
  })

async function start(drive: Drive, ticket: Ticket, spec: StepSpec, consumes: Consumption): Promise<void> {
  const { attempt } = drive
  const { effect } = spec.claim
  const idempotencyKey = keyOf(drive, ticket, consumes)
  const reached = attempt.budget.start(ticket.ref, spec.hasInside && !effect && attempt.history.childrenOf(ticket.ref.id).length > 0)
  if (reached) {
    // What was let in before it fits: once that is written down, it is called.
    await attempt.options.writer.settled()
    await attempt.clock.idle()
    return drive.end({ type: 'limit', reached, label: spec.label, step: ticket.ref.id })
  }
  drive.machine.started(ticket)
  if (effect) {
    if (!(await writeAhead(drive, ticket, spec, { idempotencyKey, consumes }))) return
    if (drive.isOver || !attempt.options.lease.check() || attempt.budget.over) return notCalled(drive, ticket)
  } else if (consumes.effects.length + consumes.decisions.length > 0 && !(await writeUsedUp(drive, ticket, spec, consumes))) return
  // What it stands in has timed out meanwhile, or ended without it; or who asked for the effect has given it up.
  if (drive.machine.isAbandoned(ticket) || (effect && spec.signal?.aborted)) {
    if (effect) await notCalled(drive, ticket)
    drive.dropIfLeft(ticket, spec.signal)
    return
  }
  if (effect) drive.wake()
  attempt.emit({ type: 'step-started', ...ofStep(ticket.ref) })
  const began = attempt.clock.now()
  const triesBefore = attempt.triesUsed.get(ticket.ref.id) ?? 0
  const execution = await execute<unknown>((context) => call(drive, ticket, spec, { ...context, idempotencyKey }).catch((thrown: unknown) => { throw readable(thrown, spec.label) }), {
    retry: retryOf(drive, spec),
    timeoutMs: spec.timeoutMs,
    firstPartTimeoutMs: spec.firstPartTimeoutMs,
    idleTimeoutMs: spec.idleTimeoutMs,
    deadline: attempt.budget.deadline,
    absoluteDeadline: attempt.budget.limits.deadline,
    signal: anyOf(attempt.signal, spec.signal, effect ? drive.openEffects.begin(ticket, spec.label) : spec.around),
    clock: attempt.clock,
    random: attempt.options.random,
    triesBefore,
    label: spec.label,
    mayRetry: spec.mayRetry && (() => spec.mayRetry!()),
    onTimeout: (event) => attempt.emit({ type: 'step-timeout', ...ofStep(ticket.ref), ...event }),
    onRetry: (event) => {
      const { try: number, delayMs, classification, error } = event
      noteWait(attempt, tried(ticket, spec), event)
      attempt.emit({ type: 'retry-wait', ...ofStep(ticket.ref), try: number, delayMs, category: classification.category, message: messageOf(error) })
    },
    onIgnored: (what) => attempt.warnOnce('RETRY_HOOK_FAILED', `${spec.label}: ${what}`, ticket.ref.id),
    onLate: (late) => onLate(drive, ticket, spec, late),
  })
  const isCutBefore = execution.type === 'failed' && execution.tries === triesBefore && execution.ending !== 'exhausted'
  if (effect && isCutBefore) {
    await notCalled(drive, ticket)
    drive.dropIfLeft(ticket, spec.signal)
  } else await finish(drive, ticket, spec, execution, attempt.clock.now() - began)
  drive.openEffects.end(ticket)
}

/**
 * A step that starts again has the key that it had. So has one that somebody let run in place of a call in doubt with the same
 * arguments, one that failed the run and is driven again, and one that is asked for again after "not done": should the former one have
 * landed after all, the outside world can tell that it is the same.
 */
function keyOf({ attempt, taken }: Drive, ticket: Ticket, consumes: Consumption): string {
  const { ledger } = attempt.history
  const { ref, claim } = ticket
  const called = calledWith(claim)
  const isSameTurn = ({ step }: Effect): boolean => turnOf(step.id) === turnOf(ref.id)
  // A step of the handler at another turn is another intention; what a model asks for again may be the same.
  const isAskedAgain = ({ step }: Effect): boolean => ref.kind === 'tool' && turnOf(step.branch) === turnOf(ref.branch)
  // What is idempotent by now is made in place of that one, wherever it stood, and whatever is known of it.
  const isInPlace = claim.effect?.policy.repeatable === true
  const isSame = (former: Effect): boolean => former.fingerprint === called && (isInPlace || (former.state !== 'completed' && (isSameTurn(former) || isAskedAgain(former))))
  // One whose own call comes back for it needs its key itself; two that ask for the same at once are two.
  const isFree = (former: Effect): boolean => !isExpected(former) && !taken.keys.has(former.idempotencyKey)
  const isUndone = (former: Effect): boolean => isFree(former) && (isSameTurn(former) || (former.state === 'not-done' && isAskedAgain(former)))
  const before = ledger.effects.get(ref.id)
    ?? consumes.effects.map((id) => ledger.effects.get(id)!).find(isSame)
    ?? (claim.effect && ledger.undone(claim.effect, called).findLast(isUndone))
  return before?.idempotencyKey || attempt.idempotencyKey(ticket)
}

/** It ended, or was left, when `started` was written and its code not called yet: there is nothing to be in doubt about. */
async function notCalled(drive: Drive, ticket: Ticket): Promise<void> {
  // Where this cannot be written either, whoever comes next finds a doubt, which is the safe side.
  await drive.attempt.write([{ type: 'settled', step: ticket.ref.id, start: ticket.start, by: 'owner', settlement: { type: 'not-done' } }]).catch(() => {})
}

/** Calls the step's code, in its own branch where it may hold steps. */
async function call(
  drive: Drive,
  ticket: Ticket,
  spec: StepSpec,
  { signal: ofTry, try: number, begin, progress, pause, idempotencyKey }: TryContext & { idempotencyKey: string },
): Promise<unknown> {
  // An effect is told to stop with what it stands in, and what comes of that is waited for.
  const signal = anyOf(ofTry, spec.around)
  const context = { runId: drive.attempt.runId, step: ticket.ref.id, idempotencyKey, attempt: number, signal, begin, progress }
  if (!spec.hasInside) return spec.work(context)
  const branch = drive.machine.openBranch(ticket.ref.branch, { step: ticket.ref.id })
  // A later try finds that what it stands in has ended meanwhile.
  if (branch === undefined) throw surroundingsEnded(drive, ticket)
  drive.onPause(ticket.ref.id, pause)
  // Work that is no longer waited for may go on, but it may not ask for steps.
  let isOver = false
  const close = (): void => {
    drive.machine.closeBranch(branch)
    drive.dropWaiting(branch.path)
  }
  signal.addEventListener('abort', close, { once: true })
  try {
    return await inContext({ drive, branch: branch.path, step: context, isOver: () => isOver }, () => spec.work(context))
  } finally {
    isOver = true
    // Woken by the error of a stream, after the end.
    if (drive.left.aborted && drive.isCutOff(ticket)) await never()
    signal.removeEventListener('abort', close)
    close()
    drive.offPause(ticket.ref.id, pause)
  }
}

async function finish(drive: Drive, ticket: Ticket, spec: StepSpec, execution: Execution<unknown>, ms: number): Promise<void> {
  const { attempt } = drive
  const { tries } = execution
  if (execution.type === 'ok') {
    await leaveOpenInside(drive, ticket, spec)
    const described = spec.describe?.(execution.value)
    const ended = { outcome: stored(spec, execution.value, ticket.ref.id, attempt.secrets, (error) => withInside(drive, ticket, spec, error)), asked: described?.asked ?? [] }
    return record(drive, ticket, spec, ended, { tries, ms, ...(described?.usage && { usage: described.usage }), ...(described?.files && { files: described.files }) })
  }
  if (execution.type === 'wait') {
    const { resumeAt, error } = execution
    if (resumeAt >= attempt.budget.limits.deadline) return tooLate(drive, ticket, resumeAt, error)
    return drive.hold(ticket, delayed(attempt, tried(ticket, spec), execution, resumeAt), resumeAt)
  }
  if (drive.isCutOff(ticket)) return attempt.signal.aborted ? leftOpen(drive, ticket, spec, 'cancelled') : undefined
  // Nobody waits for it: what was not asked to its end is no outcome, and is asked for anew where what it stands in is.
  if (execution.ending === 'cancelled' && spec.around?.aborted && !spec.claim.effect && !attempt.signal.aborted) {
    return drive.ended(ticket, { outcome: failed(execution.error), asked: [] }, undefined)
  }
  // The attempt ended around it: nothing was decided about the step. If it has effects, its `started` says the rest.
  if (execution.ending === 'cancelled' && attempt.signal.aborted) return leftOpen(drive, ticket, spec, 'cancelled')
  if (execution.ending !== 'passed-on') noteHint(attempt, tried(ticket, spec), execution)
  // The run's time is over, as its clock said then: its drive ends, and nothing is decided about its steps.
  if (execution.ending === 'deadline' && (execution.resumeAt === undefined || attempt.budget.over)) return leftOpen(drive, ticket, spec, 'timeout')
  if (execution.error instanceof SurroundingsEnded) return drive.ended(ticket, { outcome: failed(execution.error), asked: [] }, undefined)
  const again = execution.ending === 'passed-on' && tries < spec.retry.maxAttempts ? driveAgain(drive, ticket, spec, execution) : undefined
  if (again === true) return
  if (execution.ending === 'passed-on') noteHint(attempt, tried(ticket, spec), { ...execution, ...(again !== undefined && { resumeAt: again }) })
  if (execution.abandoned) attempt.abandoned.add(ticket.ref.id)
  const isTimeout = HoldfastError.isInstance(execution.error) && execution.error.code === 'STEP_TIMEOUT'
  // An agent that fails may be entered again, and is given what ran beside its failure.
  const open = ticket.ref.kind === 'agent' ? [] : await leaveOpenInside(drive, ticket, spec, execution.error)
  const cause = spec.claim.effect && doubtAfter(drive, ticket, spec, execution, isTimeout)
  if (cause) {
    attempt.emit({ type: 'step-in-doubt', ...ofStep(ticket.ref), cause })
    const error = unknownOutcome(spec, messageOf(execution.error), ticket.ref.id, execution.error)
    return record(drive, ticket, spec, { outcome: unknown(cause, error), asked: [] }, { tries, ms })
  }
  const isCut = isTimeout || execution.ending === 'cancelled'
  const thrown = open.length > 0 ? unknownOutcome(spec, messageOf(execution.error), ticket.ref.id, execution.error, open) : isCut ? withInside(drive, ticket, spec, execution.error) : execution.error
  const error = spec.failure?.(thrown, tries, notTriedAgain(execution, again)) ?? thrown
  // An agent has only its inner steps: they replay, and fail it again where they failed it. The error is theirs.
  if (ticket.ref.kind === 'agent') {
    drive.blame.escaped(error)
    return drive.ended(ticket, { outcome: failed(error), asked: [], thrown: { error } }, undefined)
  }
  // It would have to wait longer than the run has time: what comes of it under a new budget is open.
  if (execution.ending === 'deadline') {
    attempt.notRecorded('NOT_RECORDED', `${spec.label} could not be tried again in the time of the run`, ticket.ref.id)
    return drive.ended(ticket, { outcome: failed(error), asked: [] }, undefined)
  }
  const outcome = failed(error)
  const failedBy = spec.hasInside ? drive.blame.stepsOf(execution.error).filter((step) => isWithin(step, ticket.ref.id)) : []
  return record(drive, ticket, spec, { outcome: isOneCall(ticket, spec) && doubtAfter(drive, ticket, spec, execution, isTimeout) ? { ...outcome, mayHaveHappened: true } : outcome, failedBy, asked: [] }, { tries, ms })
}

/** Who asks for the same again means the same call: a model in the same words, a handler under the same key. A step of the handler at another turn is another intention. */
const isOneCall = ({ ref }: Ticket, { claim: { effect, former, place } }: StepSpec): boolean =>
  !effect && (ref.kind === 'tool' ? former?.policy.repeatable === true : ref.kind === 'step' && place.type === 'key')

/** Where the attempt is still the run's, it says so; who has taken the run over finds out by itself. */
function leftOpen({ attempt }: Drive, { ref }: Ticket, spec: StepSpec, cause: DoubtCause): void {
  if (!spec.claim.effect || isLost(attempt.signal.reason)) return
  attempt.leftOpen.add(ref.id)
  attempt.emit({ type: 'step-in-doubt', ...ofStep(ref), cause })
}

function doubtAfter(drive: Drive, { ref }: Ticket, spec: StepSpec, { ending, error }: FailedExecution, isTimeout: boolean): DoubtCause | undefined {
  if (isTimeout) return 'timeout'
  if (ending === 'cancelled') return 'cancelled'
  const after = effectAfter(drive, spec, ref.id, error)
  if (spec.around?.aborted) return isNotDone(after) ? undefined : 'cancelled'
  return after.verdict === 'in-doubt' ? 'error' : undefined
}
