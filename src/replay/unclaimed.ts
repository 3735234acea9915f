/**
 * Effects of earlier drives that nobody has asked for yet in this one: a call that runs live elsewhere may be one of them, at another
 * place (R5). What is asked for leaves, so it is small where there is much that runs live.
 */
import { isInDoubt, isUnknown } from '../effects/doubt.ts'
import { isDone, isUntold, refOf, wasToldOtherwise, wouldBeRepeated, type Effect } from '../effects/effect.ts'
import type { Ledger } from '../effects/ledger.ts'
import type { EffectRef, StepRef } from '../journal/entry.ts'
import { calledWith, type KeysNow, type Ticket } from './claim.ts'
import { isWithin, parentOf, turnOf } from './identity.ts'

export class Unclaimed {
  readonly #ledger: Ledger
  /** By name and key, and by step. */
  readonly #effects = new Map<string, Map<string, Effect>>()
  /** By name, the keys of those of tools. */
  readonly #keys = new Map<string, Set<string>>()
  /** Those of the handler's own steps, superseded ones too, by name and by call (turn and arguments): what was asked for again at its turn is no other one. */
  readonly #ofSteps = new Map<string, Map<string, Effect[]>>()
  /** All of these calls. */
  readonly #stood = new Set<string>()
  /** By name, turn and arguments what is driven again, with the attempt that had made it: asked for there it is that, and nothing that was done elsewhere by then. */
  readonly #again = new Map<string, number>()
  /** By what makes the keys of calls now, and by tool, the calls of earlier attempts by those keys: one change of a key must not cost each call a look at all of them. */
  readonly #keysNow = new Map<object, Map<string, Map<string, Effect[]>>>()
  /** Steps that a record answers together with all that they hold. */
  readonly #whole = new Set<string>()

  constructor(ledger: Ledger) {
    this.#ledger = ledger
    for (const effect of ledger.effects.values()) {
      if (effect.step.kind === 'step') this.#addStep(effect)
      // Nothing came of it, so what was done elsewhere in a later attempt may be it.
      if (effect.hasFailed || effect.state === 'not-done') this.driveAgain(effect.step, effect.fingerprint, effect.token)
      if (effect.superseded) continue
      add(this.#effects, refOf(effect.ref), effect)
      if (effect.step.kind === 'tool') this.#keys.set(effect.ref.name, (this.#keys.get(effect.ref.name) ?? new Set()).add(effect.ref.key))
    }
  }

  /** The step was asked for. */
  settle({ ref, claim, record }: Ticket): void {
    const effect = this.#ledger.effects.get(ref.id)
    if (effect) this.#effects.get(refOf(effect.ref))?.delete(ref.id)
    this.#ofSteps.get(ref.name)?.delete(callAt(ref.name, turnOf(ref.id), calledWith(claim)))
    if (record?.end && ref.kind !== 'model') this.#whole.add(ref.id)
  }

  /** Its own call has not been asked for. */
  has({ step, ref }: Effect): boolean {
    return this.#effects.get(refOf(ref))?.has(step.id) === true
  }

  /** What was asked for here in attempt `token` has failed the run, or follows a result that may be another one: the same code asks for it anew. */
  driveAgain({ name, id }: StepRef, fingerprint: string, token: number): void {
    const call = callAt(name, turnOf(id), fingerprint)
    this.#again.set(call, Math.max(token, this.#again.get(call) ?? 0))
  }

  /** Whether a call may be what was done there: it was not made at its own turn before, and failed or was replaced, or that was done in a later attempt. */
  mayBe({ name, id }: StepRef, fingerprint: string, { token }: Effect): boolean {
    return token > (this.#again.get(callAt(name, turnOf(id), fingerprint)) ?? -1)
  }

  /** Of an effect, those that happened and that the call may be: by what it asks (where it says that), or because they lie below one of `rivals`. */
  of(ref: EffectRef, asksTheSame: (effect: Effect) => boolean, rivals: readonly string[]): Effect[] {
    const unclaimed = [...(this.#effects.get(refOf(ref))?.values() ?? [])]
    return unclaimed.filter((effect) => isDone(effect) && (asksTheSame(effect) || rivals.some((rival) => isWithin(effect.step.id, rival))) && !this.#isHeld(effect.step.id))
  }

  /** Of the calls of a tool, those that happened and that a call may be since it was given a key, or has lost it. */
  otherwiseKeyedTool({ name, key }: EffectRef, isOne: (effect: Effect) => boolean): Effect[] {
    const others = key === '' ? [...(this.#keys.get(name) ?? [])].filter((other) => other !== '') : ['']
    return others.flatMap((other) => [...(this.#effects.get(refOf({ name, key: other }))?.values() ?? [])]).filter((effect) => effect.step.kind === 'tool' && isDone(effect) && isOne(effect) && !this.#isHeld(effect.step.id))
  }

  /** Of the calls of a tool in earlier attempts, those that happened or are in doubt under another key than the one that they would have now: keys are made otherwise since. */
  keyedAnew({ name, key }: EffectRef, { by, of, mayBe }: KeysNow): Effect[] {
    const byName = this.#keysNow.get(by) ?? new Map<string, Map<string, Effect[]>>()
    const byKey = byName.get(name) ?? this.#keyedNow(name, of)
    this.#keysNow.set(by, byName.set(name, byKey))
    const untold = (byKey.get('') ?? []).filter(({ input, ref }) => mayBe(input, ref.key))
    return [...(byKey.get(key) ?? []), ...untold].filter((effect) => effect.ref.key !== key && this.#ledger.effects.get(effect.step.id) === effect
      && (this.#ledger.isStanding(effect) || (isDone(effect) && this.has(effect) && !this.#isHeld(effect.step.id))))
  }

  #keyedNow(name: string, of: KeysNow['of']): Map<string, Effect[]> {
    const former = [...this.#ledger.effects.values()].filter(({ step, ref, token }) => step.kind === 'tool' && ref.name === name && ref.key !== '' && token < this.#ledger.token)
    return Map.groupBy(former, ({ input }) => of(input) ?? '')
  }

  /** Of the steps of a name, those that a step of the handler may be that was given a key, or has lost it: whatever is known of them, or in doubt. */
  otherwiseKeyed({ name, key }: EffectRef, { id }: StepRef, fingerprint: string, mayBe: (effect: Effect) => boolean): Effect[] {
    // It stood here before, under the same key or none: the others are others, but for what was done after it had failed.
    const call = callAt(name, turnOf(id), fingerprint)
    const since = this.#stood.has(call) ? (this.#again.get(call) ?? Infinity) : -1
    return [...(this.#ofSteps.get(name)?.values() ?? [])].flat().filter((effect) =>
      effect.token > since && (effect.ref.key === '') !== (key === '') && mayBe(effect)
      && (isDone(effect) || (!effect.consumed && (isInDoubt(effect, () => false) || wouldBeRepeated(effect)))) && !this.#isHeld(effect.step.id))
  }

  /** Those of which something is known, or in doubt, that no call has been answered with; and what else is in doubt, superseded, or turned out to be done when its caller had given up, or had been told that it failed. */
  left(): Effect[] {
    const unclaimed = [...this.#effects.values()].flatMap((same) => [...same.values()])
      .filter((effect) => !effect.superseded && !effect.consumed && !effect.passed && (isDone(effect) || isUnknown(effect, () => false)) && !this.#isHeld(effect.step.id))
    const standing = this.#ledger.allStanding().filter((effect) => (effect.superseded ? !effect.passed : isInDoubt(effect, () => false) || wasToldOtherwise(effect) || (isUntold(effect) && !this.#isHeld(effect.step.id))))
    return [...new Set([...unclaimed, ...standing])].filter(({ cause }) => cause !== 'skipped')
  }

  #addStep(effect: Effect): void {
    const { name } = effect.ref
    const call = callAt(name, turnOf(effect.step.id), effect.fingerprint)
    this.#stood.add(call)
    const steps = this.#ofSteps.get(name) ?? new Map<string, Effect[]>()
    this.#ofSteps.set(name, steps.set(call, [...(steps.get(call) ?? []), effect]))
  }

  #isHeld(step: string): boolean {
    for (let path = parentOf(step); path !== undefined; path = parentOf(path)) if (this.#whole.has(path)) return true
    return false
  }
}

function add(to: Map<string, Map<string, Effect>>, by: string, effect: Effect): void {
  const same = to.get(by)
  if (same) same.set(effect.step.id, effect)
  else to.set(by, new Map([[effect.step.id, effect]]))
}

const callAt = (name: string, turn: string, fingerprint: string): string => JSON.stringify([name, turn, fingerprint])
