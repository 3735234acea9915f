/** The guard: whether a step with effects may start now, is answered, is asked about, or waits (R5, R6). Pure. */
import type { EffectRef, Outcome } from '../journal/entry.ts'
import { areOfOneResponse, clearedBy, decisionAbout, decisionFor, decisionOf, holdsFor, sameEffect, type DecisionContext } from './decision.ts'
import { isExpected, isInDoubt, isUnknown } from './doubt.ts'
import { approvalOf, keyPlaceOf, turnOf } from '../replay/identity.ts'
import { isSilent, isUntold, wouldBeRepeated, type Effect } from './effect.ts'
import type { Ledger, TakenDecision } from './ledger.ts'

/** What a tool's policy says about effects. */
export interface EffectPolicy {
  readonly onIncomplete: 'refuse' | 'rerun' | 'skip' | 'reconcile'
  /** Whether a superseded effect stands in the way of another start: `false`, it does; `true`, it does not; `known`: only while it is in doubt. */
  readonly allowRepeat: boolean | 'known'
  /** `effectKey` was given, so calls of one key are the same effect by the user's own word. */
  readonly keyed: boolean
  /** The very same call may be made again under the key that it had: it is idempotent, and was not always. */
  readonly repeatable?: boolean
}

export interface GuardedCall {
  readonly step: string
  /** Path of the branch that it stands in. */
  readonly branch: string
  readonly ref: EffectRef
  /** Of the arguments. */
  readonly fingerprint: string
  readonly policy: EffectPolicy
  /** It says nothing of what it asks for, and follows a result that may be another one since this position: what it was answered with before is no answer. 0: none. */
  readonly changedAt: number
}

/** What is used up when the verdict is carried out. */
export interface Consumption {
  readonly effects: readonly string[]
  /** Effects of other arguments that a decision let the call pass: they go on standing in the way of the very same calls. */
  readonly passed?: readonly string[]
  readonly decisions: readonly number[]
}

export type GuardVerdict =
  | { readonly type: 'start'; readonly consumes: Consumption }
  | { readonly type: 'answer'; readonly outcome: Outcome; readonly consumes: Consumption }
  /** Told that the outcome is unknown, by a decision (`consumes` says which) or by the tool's policy `skip`. */
  | { readonly type: 'skip'; readonly consumes: Consumption }
  /** Ask the outside world about this effect, append what it says, and guard again. */
  | { readonly type: 'reconcile'; readonly effect: Effect }
  /** What stands at its turn is on its way already, under a try of what it stands in that nobody waits for any more: what comes of that counts. */
  | { readonly type: 'hold' }
  /** Somebody has to decide about the call. `in-doubt`: nobody knows whether `effects` happened. `repeat`: they did, and this call would do it again. */
  | { readonly type: 'wait'; readonly why: 'in-doubt' | 'repeat'; readonly effects: readonly Effect[] }

export interface GuardContext {
  readonly isRunning: (step: string) => boolean
  /** Effects that were asked about in this attempt without an answer that may be believed. */
  readonly asked: Pick<ReadonlySet<string>, 'has'>
  /** What other calls are using up right now: given to them, and not written down yet. */
  readonly taken: { readonly effects: ReadonlySet<string>; readonly decisions: ReadonlySet<number> }
  /** Steps that are about to start, run, or are being recorded. */
  readonly underWay: ReadonlySet<string>
  /** Nothing can be asked for under this path any more. */
  readonly isGone: (step: string) => boolean
  /** Its own call has not been asked for since the drive began: it may come, or stand at another place now. */
  readonly isUnclaimed: (step: string) => boolean
  /** Effects that happened and that nobody has asked for yet, and that the call may be, at another place: what they did would be done again. */
  readonly elsewhere: readonly Effect[]
}

export function guard(ledger: Ledger, call: GuardedCall, context: GuardContext): GuardVerdict {
  const turn = turnOf(call.step)
  if ([...context.underWay].some((step) => turnOf(step) === turn)) return { type: 'hold' }
  const verdict = judge(ledger, call, context)
  if (!('consumes' in verdict)) return verdict
  const { decisions, passed = [] } = verdict.consumes
  return { ...verdict, consumes: { effects: verdict.consumes.effects, ...(passed.length > 0 && { passed }), decisions: [...decisions, ...leftOver(ledger, call, decisions)] } }
}

function judge(ledger: Ledger, call: GuardedCall, context: GuardContext): GuardVerdict {
  const effects: string[] = []
  const passed: string[] = []
  const decisions: number[] = []
  const consumes: Consumption = { effects, passed, decisions }

  const deciding: DecisionContext = { isTaken: (d) => decisions.includes(d.inbox) || context.taken.decisions.has(d.inbox) || (d.since < call.changedAt && isAnswer(d)), isGone: context.isGone }

  /** The call is `own`, and none of the others: they go on standing in the way of their own. */
  const letPass = (all: readonly Effect[], own: Effect | undefined): void => {
    for (const effect of all) (effect === own ? effects : passed).push(effect.step.id)
  }

  /** What was known by this position does not hold the call: somebody decided about the call since. */
  let passes = -1

  const own = ledger.effects.get(call.step)
  if (own && own.state !== 'not-done') {
    const decided = decisionAbout(ledger, call.step, deciding)
    // Somebody has let another call pass in its place: what that did would be done again, and who decided about this one before has not known of it.
    const taker = takerOf(ledger, own, context)
    const isOlder = taker !== undefined && decided !== undefined && decided.since < Math.max(taker.startedSeq, taker.settledSeq)
    if (decided && !isOlder && holdsFor(decided, own)) {
      decisions.push(decided.inbox)
      // What it is answered with becomes its outcome; that nobody knows stands as before.
      if (decided.decision.type !== 'rerun') return carryOut(decided, consumes)
      passes = decided.since
    } else if (own.outcome) {
      return { type: 'answer', outcome: own.outcome, consumes }
    } else if (taker && isUnknown(own, context.isRunning) && !call.policy.allowRepeat) {
      return { type: 'wait', why: taker.state === 'completed' ? 'repeat' : 'in-doubt', effects: [taker, own] }
    } else if (isUnknown(own, context.isRunning)) {
      if (call.policy.onIncomplete === 'skip') return { type: 'skip', consumes }
      if (call.policy.onIncomplete === 'reconcile' && !context.asked.has(own.step.id)) return { type: 'reconcile', effect: own }
      if (call.policy.onIncomplete !== 'rerun') return { type: 'wait', why: 'in-doubt', effects: [own] }
    }
  }

  // One approval is one call: at another place it has what came of it here. With other arguments it is another one, whoever gave both the same id.
  const approval = approvalOf(call.step)
  if (approval !== undefined) {
    if ([...context.underWay].some((step) => approvalOf(step) === approval)) return { type: 'hold' }
    const made = ledger.approvedAs(approval).find(({ step, ref, fingerprint, state, outcome }) => step.id !== call.step && ref.name === call.ref.name && fingerprint === call.fingerprint && state === 'completed' && outcome)
    if (made) return { type: 'answer', outcome: made.outcome!, consumes }
  }

  for (;;) {
    const blockers = blockersOf(ledger, call, context).filter((b) => !effects.includes(b.step.id) && !passed.includes(b.step.id) && Math.max(b.startedSeq, b.settledSeq) > passes)
    const [first] = blockers
    const decidedCall = { ...call, keyed: call.policy.keyed }
    if (!first) {
      const settled = own ? undefined : decisionOf(ledger, decidedCall, deciding)
      if (settled && settled.decision.type !== 'rerun') {
        decisions.push(settled.inbox)
        return carryOut(settled, consumes)
      }
      return { type: 'start', consumes }
    }

    const decided = decisionFor(ledger, decidedCall, blockers, deciding)
    if (decided) {
      decisions.push(decided.inbox)
      const about = blockers.find((b) => b.step.id === decided.step)
      if (!about) passes = decided.since
      const cleared = clearedBy(decided, blockers)
      const { decision } = decided
      const given = cleared.find((b) => decision.type === 'reuse' && b.step.id === decision.of)
      const used = about ?? given ?? theSame(cleared, call)
      // Nobody was asked about the very same call, also where both have one key: it goes on standing in the way of that.
      const isUsedUp = used && (used === about || (used === given && !call.policy.keyed) || used.fingerprint === call.fingerprint)
      if (used) (isUsedUp ? effects : passed).push(used.step.id)
      if (decided.decision.type !== 'rerun') return carryOut(decided, consumes)
      continue
    }

    if (call.policy.repeatable) {
      const same = blockers.filter((b) => b.fingerprint === call.fingerprint)
      letPass(same, theSame(same, call) ?? same[0])
      if (same.length > 0) continue
    }

    // Settled after its caller was told "unknown": the same effect is answered with what it turned out to be; so is the call itself, where that failed its run.
    const known = blockers.find((b) => b.told === 'unknown' && b.state === 'completed' && (b.superseded ? isFailedBefore(b, call) : call.policy.keyed || isAskedAgain(b, call)))
    if (known?.outcome) {
      return { type: 'answer', outcome: known.outcome, consumes: { ...consumes, effects: [...effects, known.step.id] } }
    }
    const doubtful = blockers.filter((b) => isUnknown(b, context.isRunning))
    // What an earlier attempt told of as doubtful is settled as the policy says; in this one its caller was told not to repeat it (R6).
    const left = doubtful.filter((b) => b.told === 'unknown' && b.toldIn !== ledger.token && (!b.superseded || isDrivenAgain(b, call)))
    if (call.policy.onIncomplete === 'skip' && left.length > 0) return { type: 'skip', consumes }
    if (call.policy.onIncomplete === 'rerun' && left.length > 0) {
      letPass(left, theSame(left, call))
      continue
    }
    if (call.policy.onIncomplete === 'reconcile') {
      const next = doubtful.find((b) => b.ref.name === call.ref.name && !context.asked.has(b.step.id))
      if (next) return { type: 'reconcile', effect: next }
    }
    // A question names all that its answer lets the call pass: first that the very same was made already, whatever else is in doubt.
    if (doubtful.length === blockers.length) return { type: 'wait', why: 'in-doubt', effects: doubtful }
    const made = blockers.filter((b) => b.state === 'completed' && b.fingerprint === call.fingerprint)
    return { type: 'wait', why: 'repeat', effects: [...new Set([...made, ...doubtful, ...blockers])] }
  }
}

const isAnswer = ({ decision }: TakenDecision): boolean => decision.type === 'result' || decision.type === 'reuse'

/** A model asks for the same again, a handler under the same key; a step of the handler at another turn is another intention, also with the same input. */
const isAskedAgain = ({ step, fingerprint }: Effect, call: GuardedCall): boolean =>
  fingerprint === call.fingerprint && (step.kind === 'tool' || turnOf(step.id) === turnOf(call.step) || (keyPlaceOf(call.step) !== undefined && keyPlaceOf(step.id) === keyPlaceOf(call.step)))

/** The call itself, after that it failed its run was all that happened: what it follows is the same, if it says nothing of what it asks. */
const isFailedBefore = (effect: Effect, call: GuardedCall): boolean => effect.superseded === 'failure' && effect.startedSeq >= call.changedAt && isDrivenAgain(effect, call)

/** The call at its own turn, after another one stood there, or it failed its run. */
const isDrivenAgain = ({ step, fingerprint }: Effect, call: GuardedCall): boolean => fingerprint === call.fingerprint && turnOf(step.id) === turnOf(call.step)

/** Effects of the same name and key that stand in the way of a new start. */
function blockersOf(ledger: Ledger, call: GuardedCall, context: GuardContext): Effect[] {
  // By the user's own word calls of one key are the same: who has used it up was this call, too.
  const isLeft = ({ step, ref, fingerprint }: Effect): boolean =>
    !call.policy.keyed && turnOf(step.id) === turnOf(call.step) && sameEffect(ref, call.ref) && fingerprint === call.fingerprint
  const away = ledger.givenAway(call.step).filter(isLeft)
  const takers = away.flatMap((effect) => (isUnknown(effect, context.isRunning) ? (takerOf(ledger, effect, context) ?? []) : []))
  return [...new Set([...ledger.standing(call.ref), ...context.elsewhere, ...away, ...takers])].filter((effect) => {
    // A step of the handler that may be made again is no other one.
    if (call.policy.repeatable && effect.step.kind === 'step' && !isDrivenAgain(effect, call)) return false
    if (effect.step.id === call.step || (context.taken.effects.has(effect.step.id) && !isLeft(effect))) return false
    if (away.includes(effect)) return isUnknown(effect, context.isRunning) ? call.policy.allowRepeat !== true : wouldBeRepeated(effect) && !call.policy.allowRepeat
    if (effect.passed && effect.fingerprint !== call.fingerprint && !call.policy.keyed) return false
    // Its own call runs again, by a decision or its policy, before this call or after it: two that were interrupted side by side must not wait
    // for each other. Where it does not come, the decision holds for what asks for something else.
    if (isExpected(effect) && isSettledByItsCall(ledger, effect, call.policy) && (!context.isUnclaimed(effect.step.id) || (!call.policy.keyed && effect.fingerprint !== call.fingerprint))) return false
    if (isInDoubt(effect, context.isRunning)) return !(effect.superseded && call.policy.allowRepeat === true)
    if (takers.includes(effect)) return !call.policy.allowRepeat
    // What a response asked for beside it is no answer to what came of it.
    if (wouldBeRepeated(effect)) return effect.superseded ? !call.policy.allowRepeat : call.policy.keyed || !areOfOneResponse(effect.step.id, call.step)
    return !call.policy.allowRepeat && (context.elsewhere.includes(effect) || (isUntold(effect) && context.isUnclaimed(effect.step.id)))
  })
}

/** The call that was made in place of one in doubt, at another turn, or may have been. */
function takerOf(ledger: Ledger, { takenBy }: Effect, { isRunning }: GuardContext): Effect | undefined {
  const taker = takenBy === undefined ? undefined : ledger.effects.get(takenBy)
  return taker && (taker.state === 'completed' || isUnknown(taker, isRunning)) ? taker : undefined
}

function isSettledByItsCall(ledger: Ledger, effect: Effect, policy: EffectPolicy): boolean {
  const decided = decisionAbout(ledger, effect.step.id, { isTaken: () => false })
  return decided ? decided.decision.type === 'rerun' : policy.onIncomplete === 'rerun'
}

/**
 * The effect that a decision about a call is about: the one that the call asks for again, at its turn, or (a model that asks again) with its
 * arguments in its branch, or by its `effectKey`; else the only one, where that was in doubt and asked for the very same, and says so. Another one that stood in
 * its way goes on standing, also one of the very same arguments at another place: that may be another call's, and nobody said that it may be made again.
 */
function theSame(effects: readonly Effect[], call: GuardedCall): Effect | undefined {
  const [turn, branch] = [turnOf(call.step), turnOf(call.branch)]
  return effects.find((e) => turnOf(e.step.id) === turn)
    ?? effects.find((e) => isAskedAgain(e, call) && turnOf(e.step.branch) === branch)
    ?? (call.policy.keyed ? effects.find((e) => e.fingerprint === call.fingerprint) : effects.length === 1 && isInDoubt(effects[0]!, () => false) && effects[0]!.fingerprint === call.fingerprint && !isSilent(effects[0]!) ? effects[0] : undefined)
}

/** Decisions about a call that goes on without them, as older ones do: kept, they would answer for its next doubt, which nobody has seen yet. */
const leftOver = (ledger: Ledger, call: GuardedCall, used: readonly number[]): number[] =>
  ledger.decisions.filter((d) => !d.consumed && d.step === call.step && !used.includes(d.inbox)).map((d) => d.inbox)

function carryOut({ decision }: TakenDecision, consumes: Consumption): GuardVerdict {
  // To skip a call settles nothing: what stood in its way goes on standing in the way of others.
  if (decision.type === 'skip' || decision.type === 'rerun') return { type: 'skip', consumes: { effects: [], decisions: consumes.decisions } }
  return { type: 'answer', outcome: { type: 'value', value: decision.value }, consumes }
}
