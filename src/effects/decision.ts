/** Decisions about effects: which of them answer a step (R5: a decision belongs to the effect and is consumed by the next start). */
import type { EffectRef } from '../journal/entry.ts'
import { isExpected } from './doubt.ts'
import type { Effect, Ledger, TakenDecision } from './ledger.ts'

export const sameEffect = (a: EffectRef, b: EffectRef): boolean => a.name === b.name && a.key === b.key

/** A call that asks whether a decision lets it pass. */
export interface DecidedCall {
  readonly step: string
  readonly ref: EffectRef
  readonly fingerprint: string
  /** Calls of one key are the same effect by the user's own word, whatever their arguments. */
  readonly keyed: boolean
}

/** The newest decision about the step itself. `used`: decisions that are being used up. */
export const decisionAbout = (ledger: Ledger, step: string, used: (inbox: number) => boolean): TakenDecision | undefined =>
  ledger.decisions.findLast((d) => !d.consumed && d.step === step && !used(d.inbox))

/**
 * The newest decision that lets a blocked call pass: made about the call itself, about what blocks it (unless that comes
 * back for its decision itself), or about a call that was blocked in an earlier attempt and never started (its id may
 * differ by now). What answers a call was decided for its arguments; leave to run again or to skip, for the effect.
 */
export function decisionFor(ledger: Ledger, call: DecidedCall, blockers: readonly Effect[], used: (inbox: number) => boolean): TakenDecision | undefined {
  return ledger.decisions.findLast((d) => {
    if (d.consumed || used(d.inbox) || !sameEffect(d.effect, call.ref)) return false
    if (d.step === call.step || blockers.some((b) => b.step.id === d.step && !isExpected(b))) return true
    const answers = d.decision.type === 'result' || d.decision.type === 'reuse'
    return !ledger.effects.has(d.step) && (!answers || call.keyed || d.fingerprint === call.fingerprint)
  })
}
