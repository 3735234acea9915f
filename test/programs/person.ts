/** Whoever answers for a run that waits: decides at random, knowing what the outside world knows. */
import { HoldfastError, type DecisionInput, type Runner, type SuspendReason } from '../../src/index.ts'
import { outputOf } from './tools.ts'
import type { Session } from './session.ts'
import type { World } from './world.ts'

type Question = SuspendReason & { readonly type: 'in-doubt' | 'repeat' }

export const isQuestion = (reason: SuspendReason): reason is Question => reason.type === 'in-doubt' || reason.type === 'repeat'

/** Decides about some of what the run waits for; `all`: about all of it. */
export async function settle(runner: Runner, runId: string, session: Session, reasons: readonly SuspendReason[], random: () => number, all: boolean): Promise<void> {
  const questions = reasons.filter(isQuestion)
  const refused: string[] = []
  let settled = 0
  for (const question of questions) {
    if (!all && random() < 0.3) continue
    const decision = decisionFor(session.world, question, random)
    const { world } = session
    const about = question.effects.flatMap((step) => world.steps.get(step) ?? [])
    const position = world.steps.get(question.step)
    const known = question.type === 'in-doubt' ? about.find((each) => world.isNeedless(session, each)) : undefined
    if (known !== undefined) world.violate('needless-doubt', `a person is asked about ${known}, whose outcome is known`)
    try {
      await runner.resolve(runId, question.step, decision)
    } catch (error) {
      const isMissing = HoldfastError.isInstance(error) && error.code === 'NOTHING_TO_RESOLVE'
      if (isMissing && decision === 'reuse') continue
      refused.push(`${question.step} (${position}) waits as ${question.type}, but: ${String(error)}`)
      continue
    }
    settled++
    if (position !== undefined) world.decide(position, typeof decision === 'string' ? decision : 'result', about)
  }
  // One that waits for another one only cannot be resolved itself.
  if (settled === 0 && refused.length === questions.length && refused.length > 0) session.world.violate('unresolvable', refused.join('; '))
}

function decisionFor(world: World, { type, step, effects }: Question, random: () => number): DecisionInput {
  const position = world.steps.get(step)
  const call = position === undefined ? undefined : world.get(position)
  const pick = random()
  if (type === 'in-doubt' && effects.length === 1 && effects[0] === step && call) {
    const key = call.starts.at(-1)?.key
    const isDone = key !== undefined && world.effects.has(key)
    if (pick < 0.15) return 'skip'
    if (isDone ? pick < 0.85 : pick < 0.25) return { result: outputOf(call.spec.position, call.spec.input ?? null) }
    return 'rerun'
  }
  if (pick < 0.2) return 'skip'
  if (pick < 0.4) return 'reuse'
  if (pick < 0.6 && call) return { result: outputOf(call.spec.position, call.spec.input ?? null) }
  return 'rerun'
}
