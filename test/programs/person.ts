/** Whoever answers for a run that waits: decides at random, knowing what the outside world knows. */
import { HoldfastError, type DecisionInput, type Runner, type SuspendReason } from '../../src/index.ts'
import { isEffectReason, type EffectReason } from '../../src/journal/suspend-reason.ts'
import { answerQuestion, isApproval } from './approver.ts'
import { outputOf } from './tools.ts'
import type { Session } from './session.ts'
import { mayBe, type Call } from './call.ts'

export interface Asked {
  readonly runner: Runner
  readonly runId: string
  /** The attempt that suspended. */
  readonly session: Session
  readonly reasons: readonly SuspendReason[]
  readonly random: () => number
  /** Decides about all of it; else about some. */
  readonly all: boolean
  /** The run is driven meanwhile: there may be nothing to decide any more. */
  readonly late: boolean
}

/** Decides about what the run waits for. */
export async function settle(asked: Asked): Promise<void> {
  const { runner, runId, session, reasons, random, all, late } = asked
  for (const reason of reasons.filter(isApproval)) if (all || random() >= 0.3) await answerQuestion(asked, reason)
  const questions = reasons.filter(isEffectReason)
  const refused: string[] = []
  let settled = 0
  for (const question of questions) {
    if (!all && random() < 0.3) continue
    const decision = decisionFor(session, question, random)
    const { world } = session
    const positionOf = (step: string): string | undefined => session.steps.get(step) ?? world.steps.get(step)
    const about = question.effects.flatMap((step) => positionOf(step) ?? [])
    const position = positionOf(question.step)
    const call = position === undefined ? undefined : world.get(position)
    const wasAuthorised = call?.authorised ?? false
    // Where calls move about, an id may have been another call's.
    const known = question.type === 'in-doubt' && !late && !world.loose ? about.find((each) => world.isNeedless(session, each)) : undefined
    if (known !== undefined) world.violate('needless-doubt', `a person is asked about ${known}, whose outcome is known`)
    if (call?.spec.repeatable) world.violate('needless-doubt', `a person is asked about ${position}, which may run again`)
    // Under a key or without one it may be the same at another place, as long as nobody has asked for that there.
    const other = about.map((each) => world.get(each)).find((each) => each && call?.spec.effect !== undefined && each.spec.effect !== call.spec.effect && !mayBe(each.spec, call.spec))?.spec.position
    if (other !== undefined && !session.world.loose) world.violate('needless-doubt', `${position} waits because of ${other}, which is another effect`)
    // Told first: the run may take it up at once.
    if (position !== undefined) world.decide(position, typeof decision === 'string' ? decision : 'result', about)
    try {
      await runner.resolve(runId, question, decision)
    } catch (error) {
      if (call && !wasAuthorised) call.authorised = false
      const isMissing = HoldfastError.isInstance(error) && error.code === 'NOTHING_TO_RESOLVE'
      if (isMissing && decision === 'reuse') continue
      // Its own end is on its way to the run.
      if (isMissing && error.message.includes('has come to its end meanwhile')) return
      refused.push(`${question.step} (${position}) waits as ${question.type}, but: ${String(error)}`)
      continue
    }
    settled++
  }
  // One that waits for another one only cannot be resolved itself; where that one waits for the store, the run goes on by itself.
  const goesOn = reasons.some(({ type }) => type === 'not-recorded')
  if (!late && !goesOn && settled === 0 && refused.length === questions.length && refused.length > 0) session.world.violate('unresolvable', refused.join('; '))
}

/** What a person says that the call gave. */
const resultOf = ({ spec }: Call): unknown => ({ ...outputOf(spec.position, spec.input ?? null), ...(spec.uses !== undefined && { uses: spec.uses }) })

function decisionFor({ world, steps }: Session, { type, step, effects }: EffectReason, random: () => number): DecisionInput {
  const position = steps.get(step) ?? world.steps.get(step)
  const call = position === undefined ? undefined : world.get(position)
  const pick = random()
  if (type === 'in-doubt' && effects.length === 1 && effects[0] === step && call) {
    const key = call.starts.at(-1)?.key
    const isDone = key !== undefined && world.effects.has(key)
    if (pick < 0.15) return 'skip'
    if (isDone ? pick < 0.85 : pick < 0.25) return { result: resultOf(call) }
    return 'rerun'
  }
  if (pick < 0.2) return 'skip'
  if (pick < 0.4) return 'reuse'
  if (pick < 0.6 && call) return { result: resultOf(call) }
  return 'rerun'
}
