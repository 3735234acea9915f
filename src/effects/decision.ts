/** Decisions about effects: which of them answer a step (R5: a decision belongs to the effect and is consumed by the next start). */
import type { EffectRef } from '../journal/entry.ts'
import { isExpected } from './doubt.ts'
import type { Effect, Ledger, TakenDecision } from './ledger.ts'

export const sameEffect = (a: EffectRef, b: EffectRef): boolean => a.name === b.name && a.key === b.key

/** The newest decision, not yet used, about the step itself. */
export const decisionAbout = (ledger: Ledger, step: string): TakenDecision | undefined =>
  ledger.decisions.findLast((d) => !d.consumed && d.step === step)

/**
 * The newest decision, not yet used, that lets a blocked call of `ref` pass: made about the call itself, about what
 * blocks it (unless that comes back for its decision itself), or about a call that was blocked in an earlier attempt and
 * never started (its id may differ by now). `used`: decisions that this call uses up already.
 */
export const decisionFor = (
  ledger: Ledger, call: string, ref: EffectRef, blockers: readonly Effect[], used: readonly number[],
): TakenDecision | undefined =>
  ledger.decisions.findLast(
    (d) =>
      !d.consumed &&
      !used.includes(d.inbox) &&
      sameEffect(d.effect, ref) &&
      (d.step === call || blockers.some((b) => b.step.id === d.step && !isExpected(b)) || !ledger.effects.has(d.step)),
  )
