/** Decisions about effects: which of them answer a step (R5: a decision belongs to the effect and is consumed by the next start). */
import type { EffectRef } from '../journal/entry.ts'
import { isCalled, parentOf, turnOf } from '../replay/identity.ts'
import { isExpected } from './doubt.ts'
import type { Effect } from './effect.ts'
import type { Ledger, TakenDecision } from './ledger.ts'

export const sameEffect = (a: EffectRef, b: EffectRef): boolean => a.name === b.name && a.key === b.key

/** A call that asks whether a decision lets it pass. */
export interface DecidedCall {
  readonly step: string
  readonly ref: EffectRef
  readonly fingerprint: string
  /** Calls of one key are the same effect by the user's own word, whatever their arguments. */
  readonly keyed: boolean
}

export interface DecisionContext {
  /** Decisions that are not to be had: they are being used up, or do not answer this call. */
  readonly isTaken: (decision: TakenDecision) => boolean
  /** Nothing can be asked for under this path any more. */
  readonly isGone: (step: string) => boolean
}

/** The newest decision about the step itself. */
export const decisionAbout = (ledger: Ledger, step: string, { isTaken }: Pick<DecisionContext, 'isTaken'>): TakenDecision | undefined =>
  ledger.decisions.findLast((d) => !d.consumed && d.step === step && !isTaken(d))

/** Whether a decision says something of an effect: it had started by then; and what was to be done in doubt is void where it is known since (C20). */
export const holdsFor = ({ decision, since }: TakenDecision, { startedSeq, settledSeq }: Effect): boolean =>
  startedSeq <= since && (settledSeq <= since || decision.type === 'result' || decision.type === 'reuse')

/** Of `blockers`, those that a decision lets a call pass: what it was made about. */
export function clearedBy(decision: TakenDecision, blockers: readonly Effect[]): readonly Effect[] {
  const about = blockers.filter((b) => b.step.id === decision.step)
  return (about.length > 0 ? about : blockers).filter((b) => holdsFor(decision, b))
}

/**
 * The newest decision that lets a blocked call pass: made about the call itself; about what blocks it, unless that comes
 * back for its decision itself; or about a call that diverged away before it could use it. That one is the call of the
 * same turn, or the only call that it can be: of the same response, with the same arguments. When in doubt whose it is, nobody has it.
 */
export function decisionFor(ledger: Ledger, call: DecidedCall, blockers: readonly Effect[], context: DecisionContext): TakenDecision | undefined {
  const isOf = (d: TakenDecision): boolean => sameEffect(d.effect, call.ref) || blockers.some((b) => b.step.id === d.step)
  const open = ledger.decisions.filter((d) => !d.consumed && !context.isTaken(d) && isOf(d) && clearedBy(d, blockers).length > 0)
  const own = open.findLast((d) => isAbout(d, call) || (blockers.some((b) => b.step.id === d.step && !isExpected(b)) && mayAnswer(d, call)))
  if (own) return own
  const gone = open.filter((d) => !ledger.effects.has(d.step) && context.isGone(d.step))
  // Of what was said of a turn the newest word counts, also if the call was another one then: it is about the same effect.
  const newest = gone.findLast((d) => turnOf(d.step) === turnOf(call.step))
  if (newest) return asksTheSame(newest, call) ? newest : undefined
  const astray = gone.filter((d) => asksTheSame(d, call))
  const [only, ...others] = astray
  if (!only || others.length > 0 || !areOfOneResponse(only.step, call.step)) return undefined
  return only
}

/** The newest decision about a call that never started: it is carried out whether or not something still stands in its way. */
export const decisionOf = (ledger: Ledger, call: DecidedCall, { isTaken }: Pick<DecisionContext, 'isTaken'>): TakenDecision | undefined =>
  ledger.decisions.findLast((d) => !d.consumed && !isTaken(d) && isAbout(d, call) && !isGivenElsewhere(ledger, d, call))

/** What an earlier call gave is given once: somebody has decided since that it is another call's. */
function isGivenElsewhere(ledger: Ledger, { decision }: TakenDecision, { step }: DecidedCall): boolean {
  const given = decision.type === 'reuse' && decision.of !== undefined ? ledger.effects.get(decision.of) : undefined
  return given?.consumed === true && given.takenBy !== undefined && given.takenBy !== step
}

/** What somebody said of one call is no answer to another one, with other arguments: it may only let that start. */
const mayAnswer = (taken: TakenDecision, call: DecidedCall): boolean => taken.decision.type === 'rerun' || asksTheSame(taken, call)

/** A call that waits has no record: in the next attempt its id may be another call's. */
const isAbout = (decision: TakenDecision, call: DecidedCall): boolean =>
  decision.step === call.step && sameEffect(decision.effect, call.ref) && asksTheSame(decision, call)

const asksTheSame = (decision: TakenDecision, call: DecidedCall): boolean => call.keyed || decision.fingerprint === call.fingerprint

/** Two calls that were asked for at the same turn: a model that is asked anew gives its calls new ids. */
export function areOfOneResponse(a: string, b: string): boolean {
  const [one, other] = [turnOf(a), turnOf(b)]
  return isCalled(one) && isCalled(other) && parentOf(one) === parentOf(other)
}
