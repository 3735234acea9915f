/** Decisions about effects: which of them answer a step (R5: a decision belongs to the effect and is consumed by the next start). */
import type { EffectRef } from '../journal/entry.ts'
import type { Effect, Ledger, TakenDecision } from './ledger.ts'

export const sameEffect = (a: EffectRef, b: EffectRef): boolean => a.name === b.name && a.key === b.key

/** The newest decision, not yet used, about the step itself. */
export const decisionAbout = (ledger: Ledger, step: string): TakenDecision | undefined =>
  ledger.decisions.findLast((d) => !d.consumed && d.step === step)

/**
 * The newest decision, not yet used, that lets a blocked call of `ref` pass: made about the call itself, about what
 * blocks it, or about a call that was blocked in an earlier attempt and never started (its id may differ by now).
 */
export const decisionFor = (ledger: Ledger, call: string, ref: EffectRef, blockers: readonly Effect[]): TakenDecision | undefined =>
  ledger.decisions.findLast(
    (d) =>
      !d.consumed &&
      sameEffect(d.effect, ref) &&
      (d.step === call || blockers.some((b) => b.step.id === d.step) || !ledger.effects.has(d.step)),
  )
