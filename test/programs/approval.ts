/** What the oracle says of calls that somebody has to agree to (R10). */
import { DENIED, type Approval, type Call } from './call.ts'
import type { Program } from './program.ts'
import type { Arguments } from './scripted-model.ts'
import type { Session } from './session.ts'
import type { World } from './world.ts'

/** What becomes of a call with these arguments. Whoever is asked says the same however often, so that executions can be compared. */
export function approvalOf(asked: Arguments): Approval | undefined {
  const { gate } = asked
  if (!gate) return undefined
  const { when, answer } = gate
  if (when === false || answer === 'approve') return { needed: when !== false, asked, made: asked }
  return { needed: true, asked, made: answer === 'change' ? { ...asked, arg: asked.arg + 10 } : undefined }
}

/** What it is made with, as far as anybody has said. */
export const madeWith = (call: Call | undefined, asked: Arguments): Arguments => (call?.mayBeAnswered && call.spec.approval?.made) || asked

/** The call's code is called with `input`. */
export function judgeApproval(world: World, session: Session, call: Call, input: unknown): void {
  const { approval, position } = call.spec
  if (!approval) return
  const said = [call, ...(world.loose ? alike(world, call) : [])].filter((each) => each.mayBeAnswered)
  const isAsAsked = same(input, approval.asked)
  if (!approval.needed && isAsAsked) return
  const mays = said.flatMap(({ spec }) => spec.approval?.made ?? [])
  if (mays.some((made) => same(made, input))) return
  if (said.length > 0 && mays.length === 0) return world.violate('denial', `${position} is started in attempt ${session.number} although it was denied`)
  world.violate('unapproved', `${position} is started in attempt ${session.number} with ${JSON.stringify(input)}; approved: ${JSON.stringify(mays)}`)
}

/** Its caller is told what came of it. */
export function judgeDenial(world: World, session: Session, call: Call, outcome: string): void {
  const { number, timeline } = session
  const { approval, position } = call.spec
  if (!approval || world.loose) return
  const isDenied = outcome === DENIED
  // The model reads who denied it: somebody, or the time that was over before they did.
  if (isDenied && world.program.expiresAfterMs !== undefined && approval.asked.gate?.answer !== 'lapse') world.altered = true
  const isExpired = world.program.expiresAfterMs !== undefined && timeline.now() >= call.firstAskedAt + world.program.expiresAfterMs
  if (isDenied && call.isAnswered && approval.made && !(isExpired && refuses(world.program))) world.violate('denial', `${position} was approved, and is told to be denied in attempt ${number}`)
  else if (isDenied && !isExpired && !(call.mayBeAnswered && !approval.made)) world.violate('denial', `${position} is told to be denied in attempt ${number}, and nobody has denied it`)
  else if (!isDenied && call.isAnswered && !approval.made && !isGivenAway(world, call, outcome) && !isSkippedBefore(session, call, outcome)) world.violate('denial', `${position} was denied, and is told ${outcome} in attempt ${number}`)
}

/** By its effect key it is what another call was, of which it is known by now what came: it is not made itself. */
const isGivenAway = (world: World, { spec: { keyed, position }, starts }: Call, outcome: string): boolean =>
  keyed === true && starts.length === 0 && [...world.allowedAnswers(position)].some((other) => other !== position && outcome.startsWith(`{"of":${JSON.stringify(other)},`))

/** The answer came when the attempt had begun without it, and what is in doubt beside the call was settled before somebody is asked: by `skip`, for it too. */
const isSkippedBefore = (session: Session, { starts, answeredDuring }: Call, outcome: string): boolean =>
  outcome === '!OUTCOME_UNKNOWN' && starts.length === 0 && answeredDuring === session

/** Somebody is asked about the call. */
export function judgeQuestion(world: World, { number }: Session, call: Call, question: number): void {
  const { approval, position } = call.spec
  call.questions.add(question)
  if (world.loose) return
  // A condition that is not answered in time is as one that fails.
  const isLate = world.program.attempts.some(({ nap, pause }) => nap !== undefined || pause !== undefined)
  if (!approval || (!approval.needed && !isLate)) world.violate('needless-question', `somebody is asked about ${position}, which needs no approval, in attempt ${number}`)
  if (call.questions.size > 1 && !refuses(world.program)) world.violate('needless-question', `somebody is asked about ${position} a second time, in attempt ${number}`)
}

/** What is asked for again because it could not be recorded is asked about again. */
const refuses = ({ attempts }: Program): boolean => attempts.some(({ refuse }) => refuse !== undefined)

/** Where calls move about, an answer belongs to what was asked for. */
const alike = (world: World, { spec }: Call): Call[] =>
  [...world.calls.values()].filter((other) => other.spec.position !== spec.position && other.spec.what === spec.what && same(other.spec.approval?.asked, spec.approval?.asked))

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
