/** Whoever is asked whether a call may be made: says what the call's arguments tell them to, now or later. */
import { HoldfastError, type ApprovalReason, type Runner, type SuspendReason } from '../../src/index.ts'
import { judgeQuestion } from './approval.ts'
import type { Session } from './session.ts'

export const isApproval = (reason: SuspendReason): reason is ApprovalReason => reason.type === 'approval'

export interface Questioned {
  readonly runner: Runner
  readonly runId: string
  /** The attempt that asks. */
  readonly session: Session
  /** The run is driven meanwhile: the question may be settled already. */
  readonly late: boolean
}

/** Answers the question; whose answer is to let its time pass does nothing. */
export async function answerQuestion({ runner, runId, session, late }: Questioned, reason: ApprovalReason): Promise<void> {
  const { world } = session
  const position = session.steps.get(reason.step) ?? world.steps.get(reason.step)
  const call = position === undefined ? undefined : world.get(position)
  const approval = call?.spec.approval
  if (!call || !approval) return world.violate('needless-question', `somebody is asked about ${reason.step}, which needs no approval`)
  judgeQuestion(world, session, call, reason.question)
  const { made, asked } = approval
  if (made === undefined && asked.gate?.answer === 'lapse' && reason.expiresAt !== undefined) return
  world.log.push(`   ${made ? 'approves' : 'denies'} ${position}`)
  // Told first: the run may take it up at once.
  call.answering++
  try {
    await (made === undefined ? runner.deny(runId, reason, { reason: 'no' }) : runner.approve(runId, reason, made === asked ? {} : { input: made }))
    call.isAnswered = true
    call.answeredDuring = world.owner
    world.answers++
  } catch (error) {
    if (!HoldfastError.isInstance(error) || error.code !== 'NOTHING_TO_APPROVE') throw error
    const isExpired = reason.expiresAt !== undefined && session.timeline.now() >= reason.expiresAt
    if (!late && !isExpired && !call.isAnswered && call.answering === 1) world.violate('unresolvable', `${reason.step} (${position}) waits for approval, but: ${error.message}`)
  } finally {
    call.answering--
  }
}
