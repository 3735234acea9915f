/** A call that a person has to agree to: the question, and what comes of the answer (R10). It fails closed. */
import { anyOf } from '../core/abort.ts'
import { hasExpired, type Question } from '../effects/approvals.ts'
import { isUnknown } from '../effects/doubt.ts'
import { HoldfastError } from '../errors.ts'
import { decode } from '../journal/codec.ts'
import { copyOf } from '../journal/copy.ts'
import type { SuspendReason } from '../journal/entry.ts'
import type { NewEntry } from '../journal/writer.ts'
import { execute } from '../reliability/index.ts'
import type { Ticket } from '../replay/claim.ts'
import { parentOf } from '../replay/identity.ts'
import type { Drive } from './drive.ts'
import { hiddenClaim } from './hidden-claim.ts'
import { failed, isLost, isOfRecord, messageOf, unknown, unknownOutcome } from './outcome.ts'
import { encodedInput, record } from './record.ts'
import { noRoom } from './room.ts'
import { ofStep, type StepSpec } from './step.ts'

/** How long the condition of an approval may take to say, where the tool has no timeout to go by, ms. */
const CONDITION_MS = 60_000

/**
 * The step as it was answered: with the arguments that were approved. Undefined: it was denied, or those do not fit, and that is recorded as
 * what came of it. What nobody has answered is as it was asked.
 */
export async function answered(drive: Drive, ticket: Ticket, spec: StepSpec): Promise<StepSpec | undefined> {
  const { attempt } = drive
  const question = standingFor(drive, ticket)
  if (!question) return spec
  const decision = question.decision ?? (hasExpired(question, attempt.inboxTakenAt) ? { type: 'expired' } as const : undefined)
  if (decision === undefined) return spec
  if (!question.decision && !(await written(drive, ticket, { type: 'approval-decided', step: ticket.ref.id, decision: { type: 'expired' } }))) return undefined
  attempt.emit({ type: 'approval-decided', ...ofStep(ticket.ref), decision: decision.type, ...('by' in decision && decision.by !== undefined && { by: decision.by }) })
  if (decision.type !== 'approved') {
    await notMade(drive, ticket, spec, decision.type === 'denied'
      ? `was denied${decision.reason === undefined ? '' : `: ${decision.reason}`}`
      : 'was denied: nobody approved it in time')
    return undefined
  }
  if (!decision.input || !spec.withInput) return spec
  try {
    const approved = await spec.withInput(decode(decision.input, `approved arguments of ${spec.label}`))
    // What it does is told by what it is called with; what it is known by stays what was asked for.
    ticket.claim = attempt.secrets ? hiddenClaim(approved.claim, attempt.secrets) : approved.claim
    return { ...approved, claim: ticket.claim, around: spec.around }
  } catch (error) {
    const what = `was approved with arguments that it does not take: ${messageOf(error)}`
    // What was called with them before is in doubt as ever, and is not called with others.
    if (wasLetRun(drive, ticket)) return { ...spec, work: () => Promise.reject(notApproved(spec, what, ticket.ref.id)) }
    await notMade(drive, ticket, spec, what)
    return undefined
  }
}

/** What may have been called in a part of the journal that was lost is in doubt, whatever somebody says of it now. */
function notMade(drive: Drive, ticket: Ticket, spec: StepSpec, what: string): Promise<void> {
  const { id } = ticket.ref
  const own = drive.attempt.history.ledger.effects.get(id)
  const outcome = own && isUnknown(own, () => false)
    ? unknown('interrupted', unknownOutcome(spec, `${spec.label} ${what}`, id))
    : failed(notApproved(spec, what, id))
  return record(drive, ticket, spec, { outcome, asked: [] }, { tries: 0, ms: 0 })
}

const notApproved = ({ label }: StepSpec, what: string, step: string): HoldfastError => new HoldfastError('APPROVAL_DENIED', `${label} ${what}. It was not called`, { step })

/** Whether somebody has to agree to it, or was asked: what was asked and answered stands, whatever the policy of its tool says by now. */
export const isGated = (drive: Drive, ticket: Ticket, { approval }: StepSpec): boolean => approval !== undefined || questionOf(drive, ticket) !== undefined

/** It was started before: nobody had to agree to it then, or somebody has, and that stands. Whether it may be made again is asked as a doubt. */
export function wasLetRun({ attempt }: Drive, { ref }: Ticket): boolean {
  const own = attempt.history.ledger.effects.get(ref.id)
  return own !== undefined && own.lostBefore === undefined && own.state !== 'not-done'
}

/** Resolves to whether the call may be made now; where it may not, the run waits, or the caller has been told. */
export async function mayBeMade(drive: Drive, ticket: Ticket, spec: StepSpec): Promise<boolean> {
  const { attempt } = drive
  let question = standingFor(drive, ticket)
  if (question?.decision) return true
  if (!question) {
    const asked = encodedInput(spec, spec.claim.effect ? {} : { maxBytes: attempt.policies.maxStepBytes, secrets: attempt.secrets })
    const misfit = noRoom(drive, ticket, spec, asked.input)
    // Whatever somebody said, it could not be called.
    if (misfit) {
      await record(drive, ticket, spec, { outcome: failed(misfit), asked: [] }, { tries: 0, ms: 0 })
      return false
    }
    const needed = await isNeeded(drive, ticket, spec)
    // Who would be asked, or called for, may be gone meanwhile.
    if (drive.isOver || drive.dropIfLeft(ticket, spec.signal)) return false
    if (!needed) return true
    const around = effectAround(drive, ticket)
    if (around !== undefined) {
      drive.ended(ticket, { outcome: failed(insideEffect(spec, around, attempt.runId, ticket.ref.id)), asked: [] }, undefined)
      return false
    }
    const expiresAfterMs = spec.approval?.expiresAfterMs
    if (!(await written(drive, ticket, {
      type: 'approval-asked', step: ticket.ref, fingerprint: ticket.claim.fingerprint ?? '', ...asked,
      ...(expiresAfterMs !== undefined && { expiresAt: attempt.clock.now() + expiresAfterMs }),
    }))) return false
    question = questionOf(drive, ticket)!
  }
  await drive.hold(ticket, waitReason(attempt.runId, spec, question), question.expiresAt ?? null, spec.signal)
  return false
}

/** Nobody waits for the call any more: an answer would be one to nothing. Where it is asked for again, so is the question. */
export function withdraw(drive: Drive, ticket: Ticket): void {
  const question = questionOf(drive, ticket)
  if (!question || question.decision) return
  // Where this cannot be written, somebody may answer in vain: nothing is called by that.
  drive.attempt.write([{ type: 'approval-decided', step: ticket.ref.id, decision: { type: 'withdrawn' } }]).catch(() => {})
}

const questionOf = ({ attempt }: Drive, { ref, claim }: Ticket): Question | undefined => attempt.history.approvals.of(ref, claim.fingerprint ?? '')

/** One that was answered, or can be. What is neither is asked anew. */
function standingFor(drive: Drive, ticket: Ticket): Question | undefined {
  const question = questionOf(drive, ticket)
  return question && (question.decision || drive.attempt.history.approvals.isOpen(question)) ? question : undefined
}

async function isNeeded(drive: Drive, ticket: Ticket, spec: StepSpec): Promise<boolean> {
  const { attempt } = drive
  // Without an approval somebody was asked before: that stands.
  const when = spec.approval?.when
  if (!when) return true
  const signal = anyOf(attempt.signal, spec.signal, spec.around)
  const said = await execute(async () => when(copyOf(spec.input)), {
    retry: attempt.policies.retry, timeoutMs: spec.timeoutMs ?? CONDITION_MS, deadline: attempt.budget.deadline, signal, clock: attempt.clock,
    random: attempt.options.random, label: `approval.when of ${spec.label}`,
  })
  if (said.type === 'ok' && typeof said.value === 'boolean') return said.value
  const what = said.type === 'ok' ? `must give true or false, got ${said.value === null ? 'null' : typeof said.value}` : `failed: ${messageOf(said.error)}`
  if (!signal.aborted) attempt.warn('APPROVAL_CONDITION_FAILED', `approval.when of ${spec.label} ${what}: somebody is asked`, ticket.ref.id)
  return true
}

/** A step around it that is in doubt as a whole when the run is suspended inside of it. */
function effectAround({ attempt }: Drive, { ref }: Ticket): string | undefined {
  for (let path: string | undefined = ref.branch; path !== undefined; path = parentOf(path)) if (attempt.history.ledger.effects.has(path)) return path
  return undefined
}

const insideEffect = (spec: StepSpec, around: string, runId: string, step: string): HoldfastError =>
  new HoldfastError('WAIT_INSIDE_EFFECT', `${spec.label} needs approval inside of step "${around}", which has effects of its own: the run cannot wait in the middle of that`, {
    runId, step, advice: 'Say composite: true of the tool around it, where its only effects are the steps inside; make a run.step around it a branch',
  })

/** Resolves to whether it is; where it is not, the run waits for a store that takes it. */
async function written(drive: Drive, ticket: Ticket, entry: NewEntry): Promise<boolean> {
  const { attempt } = drive
  try {
    await attempt.write([entry])
    return true
  } catch (error) {
    if (isLost(error)) attempt.abort(error)
    else if (isOfRecord(error)) drive.ended(ticket, { outcome: failed(error), asked: [] }, undefined)
    else await drive.hold(ticket, { type: 'not-recorded', step: ticket.ref.id, message: `whether ${ticket.ref.kind} "${ticket.ref.name}" may be called could not be recorded: ${messageOf(error)}` })
    return false
  }
}

function waitReason(runId: string, { label }: StepSpec, { step, seq, fingerprint, input, expiresAt }: Question): SuspendReason {
  return {
    type: 'approval',
    step: step.id,
    tool: step.name,
    message: `${label} (${step.id}) waits for somebody to agree to it: holdfast approve ${runId} ${step.id} | holdfast deny ${runId} ${step.id}`,
    fingerprint,
    question: seq,
    ...(input && { input }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
}
