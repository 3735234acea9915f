/** The ledger of effects: what every step with effects that is not idempotent is known to have done (R2, R6). */
import type { Encoded } from '../journal/codec.ts'
import type { Decision, DecisionTaken, EffectRef, Entry, StepEffect, StepRef } from '../journal/entry.ts'
import { approvalOf, parentOf, turnOf } from '../replay/identity.ts'
import { end, isUntold, refOf, tells, wouldBeRepeated, type Effect } from './effect.ts'

export interface TakenDecision {
  readonly inbox: number
  readonly step: string
  readonly effect: EffectRef
  /** Of the arguments of the call that was decided about. */
  readonly fingerprint: string
  /** Position of the newest entry that was known when it was made: it says nothing of what started later. */
  readonly since: number
  readonly decision: Decision
  consumed: boolean
}

export class Ledger {
  readonly #hide: (text: string) => string
  /** By step id, in the order in which they started. */
  readonly effects = new Map<string, Effect>()
  readonly decisions: TakenDecision[] = []
  /** By name, and by key, the effects that may stand in the way of another start: few, however long the run. */
  readonly #standing = new Map<string, Map<string, Set<Effect>>>()
  /** By turn, the effects there that a call at another turn has used up. */
  readonly #givenAway = new Map<string, Set<Effect>>()
  /** By call, the effects that it has used up. */
  readonly #taken = new Map<string, Set<Effect>>()
  /** Names and keys of calls that were let run though one before may still tell what came of it. */
  readonly #overtaken = new Set<string>()
  /** By approval, the calls that it let run. */
  readonly #approved = new Map<string, Set<Effect>>()
  /** By path, the steps with effects at and below it. */
  readonly #within = new Map<string, Set<string>>()
  /** By turn, the effects that stand inside of it. */
  readonly #inside = new Map<string, Set<Effect>>()
  /** By name, key and arguments: calls that failed or were not done, and whose idempotency key no later one has taken over. */
  readonly #undone = new Map<string, Set<Effect>>()
  #token = 0
  /** Where the journal was cut and entries were lost, and the places of effects that something is recorded of since. */
  #lost: { readonly token: number; readonly at: number; readonly known: Set<string> } | undefined

  /** `hide`: a text as it is known now: what was written before a secret in it was named is the same effect all the same. */
  constructor(hide: (text: string) => string = (text) => text) {
    this.#hide = hide
  }

  /** Fencing token of the newest attempt. */
  get token(): number {
    return this.#token
  }

  /** Whether there are effects at or below a path. */
  hasWithin(path: string): boolean {
    return this.#within.has(path)
  }

  /** Effects of one name and key that are running, in doubt, superseded or settled behind their caller's back or before it came back, and not consumed. */
  standing(ref: EffectRef): readonly Effect[] {
    return [...(this.#standing.get(ref.name)?.get(ref.key) ?? [])]
  }

  /** Of the same name, those that may be the same thing although only one of the two says which it is about: one without a key is about any. */
  standingOtherwise({ name, key }: EffectRef): readonly Effect[] {
    const byKey = this.#standing.get(name)
    if (!byKey) return []
    return key === '' ? [...byKey].flatMap(([other, set]) => (other === '' ? [] : [...set])) : [...(byKey.get('') ?? [])]
  }

  /** Whether it is one of those that may stand in the way of another start. */
  isStanding(effect: Effect): boolean {
    return this.#standing.get(effect.ref.name)?.get(effect.ref.key)?.has(effect) ?? false
  }

  /** Effects at the turn of a step that a call at another turn has used up: that was no word on the call that stands there. */
  givenAway(step: string): readonly Effect[] {
    return [...(this.#givenAway.get(turnOf(step)) ?? [])]
  }

  /** Effects that stand inside of a step at its turn, where that had none of its own then: what it does itself by now may be what they did. */
  insideOf(step: string): readonly Effect[] {
    const turn = turnOf(step)
    return [...(this.#inside.get(turn) ?? [])].filter((effect) => {
      if (this.effects.get(effect.step.id) !== effect) return false
      for (let path = parentOf(effect.step.id); path !== undefined; path = parentOf(path)) {
        const around = this.effects.get(path)
        // Nothing had come of that when this was done, in another version of the code.
        if (around && !(around.state === 'not-done' && around.settledSeq < effect.startedSeq)) return false
      }
      return true
    })
  }

  /** All effects that are standing, whatever their name. */
  allStanding(): readonly Effect[] {
    return [...this.#standing.values()].flatMap((byKey) => [...byKey.values()].flatMap((set) => [...set]))
  }

  /** Calls with these arguments that failed or were not done, the newest last: another one may take over their idempotency key. */
  undone(ref: EffectRef, fingerprint: string): readonly Effect[] {
    return [...(this.#undone.get(askOf(ref, fingerprint)) ?? [])]
  }

  /** The calls that an approval let run, wherever they stand: it was given for one. */
  approvedAs(approval: string): readonly Effect[] {
    return [...(this.#approved.get(approval) ?? [])]
  }

  /** Whether a call of this name and key was let run, or may be, though one before may still tell what came of it: somebody decided so, or the outside world said that it was not done. */
  isOvertaken(ref: EffectRef): boolean {
    return this.#overtaken.has(refOf(ref))
  }

  /** Whether a call may have been made in a part of the journal that was lost: nothing is recorded of it, nor since then of its place. */
  mayBeLost(step: string): boolean {
    return this.#lost !== undefined && !this.effects.has(step) && !this.#lost.known.has(turnOf(step))
  }

  apply(entry: Entry, seq: number): void {
    switch (entry.type) {
      case 'salvaged':
        // It stands where the first of them stood.
        if (entry.had >= seq) this.#lost = { token: entry.token, at: entry.at, known: new Set() }
        break
      case 'attempt-started':
        this.#token = entry.token
        break
      case 'step-started':
        if (entry.effect) this.#start(entry.step, entry.effect, entry, seq, entry.presumed ? (this.#lost ?? { token: this.#token, at: entry.at }) : undefined)
        break
      case 'step-ended': {
        // Its tool may be one without effects by now: its end settles what was started before. What a provider may have done for a request is not told by another one.
        let effect = this.effects.get(entry.step.id)
        if (effect && !entry.effect && entry.step.kind === 'model') break
        if (!effect) {
          if (!entry.effect) break
          // Answered without a start: an answer stands for the effect from now on; that nobody knows is what stands already.
          if (entry.outcome.type === 'unknown') break
          effect = this.#start(entry.step, entry.effect, { ...entry, idempotencyKey: '' }, seq)
        }
        end(effect, entry.outcome)
        effect.toldIn = this.#token
        this.#track(effect)
        break
      }
      case 'settled': {
        const effect = this.effects.get(entry.step)
        if (!effect || !tells(effect, entry)) break
        if (effect.state === 'failed') effect.told = 'unknown'
        if (entry.by === 'reconcile' && entry.settlement.type === 'not-done') this.#overtaken.add(refOf(effect.ref))
        effect.state = entry.settlement.type
        effect.settledSeq = seq
        effect.outcome = entry.settlement.type === 'completed' ? entry.settlement.outcome : undefined
        this.#track(effect)
        break
      }
      case 'superseded':
        for (const id of entry.ids.flatMap((path) => [...(this.#within.get(path) ?? [])])) {
          const effect = this.effects.get(id)!
          const before = effect.superseded
          if (entry.by !== 'failure') effect.superseded = 'divergence'
          if (before) continue
          effect.superseded ??= 'failure'
          if (entry.by === 'failure') effect.hasFailed = true
          // Used up by its own call, while its record answered: nobody was asked about making it once more. Where another call has, that stands for it.
          if (this.#givenAway.get(turnOf(id))?.has(effect)) continue
          effect.consumed = effect.passed = false
          this.#track(effect)
        }
        break
      case 'decision': {
        // Whatever it says: nobody can have known what came after it.
        const taken = { ...entry, since: Math.min(entry.since, seq - 1) }
        const { inbox, step, effect, fingerprint, since, decision } = taken
        this.decisions.push({ inbox, step, effect, fingerprint, since, decision, consumed: this.#settledBy(taken, seq) })
        break
      }
      case 'consumed':
        for (const step of entry.effects) {
          const effect = this.effects.get(step)
          if (!effect) continue
          effect.consumed = true
          if (effect.outcome === undefined) this.#overtaken.add(refOf(effect.ref))
          if (step !== entry.step) this.#take(effect, entry.step, seq)
          this.#track(effect)
          this.#giveAway(effect, turnOf(step) !== turnOf(entry.step))
        }
        for (const step of entry.passed ?? []) {
          const effect = this.effects.get(step)
          if (effect) effect.passed = true
        }
        for (const decision of this.decisions) if (entry.decisions.includes(decision.inbox)) decision.consumed = true
        break
    }
  }

  /** It is in doubt, and its record stands: what somebody says that it gave is what is known of it from now on, whether or not its own call comes back. */
  #settledBy({ step, since, decision }: DecisionTaken, seq: number): boolean {
    const effect = this.effects.get(step)
    if (!effect || (effect.state !== 'unknown' && effect.state !== 'started') || effect.startedSeq > since || effect.superseded || effect.consumed || (decision.type !== 'result' && decision.type !== 'reuse')) return false
    effect.state = 'completed'
    effect.outcome = { type: 'value', value: decision.value }
    effect.settledSeq = seq
    this.#track(effect)
    return true
  }

  /** `lost`: it may have been started in a part of the journal that was lost, by that attempt, before that time. */
  #start(step: StepRef, { name, key, called }: StepEffect, entry: { fingerprint: string; idempotencyKey: string; input?: Encoded; at: number }, seq: number, lost?: { readonly token: number; readonly at: number }): Effect {
    const ref = { name: this.#hide(name), key: this.#hide(key) }
    const former = this.effects.get(step.id)
    if (former) this.#replace(former)
    if (former && former.outcome === undefined) this.#overtaken.add(refOf(ref))
    const effect: Effect = {
      step,
      ref,
      fingerprint: called ?? entry.fingerprint,
      asked: entry.fingerprint,
      idempotencyKey: entry.idempotencyKey,
      input: entry.input,
      token: lost?.token ?? this.#token,
      startedSeq: seq,
      settledSeq: -1,
      startedBefore: former && former.fingerprint === (called ?? entry.fingerprint) ? [...former.startedBefore, former.startedSeq] : [],
      startedAt: lost ? undefined : entry.at,
      lostBefore: lost?.at,
      state: 'started',
      cause: undefined,
      outcome: undefined,
      told: 'nothing',
      toldIn: -1,
      superseded: undefined,
      hasFailed: false,
      takenBy: undefined,
      takenSeq: -1,
      consumed: false,
      passed: false,
    }
    this.effects.set(step.id, effect)
    this.#lost?.known.add(turnOf(step.id))
    const approval = approvalOf(step.id)
    if (approval !== undefined) {
      const same = this.#approved.get(approval) ?? new Set()
      if (former) same.delete(former)
      this.#approved.set(approval, same.add(effect))
    }
    this.#takeOver(effect)
    for (let path: string | undefined = step.id; path !== undefined; path = parentOf(path)) {
      const within = this.#within.get(path)
      if (within) within.add(step.id)
      else this.#within.set(path, new Set([step.id]))
      if (path !== step.id) this.#inside.set(turnOf(path), (this.#inside.get(turnOf(path)) ?? new Set()).add(effect))
    }
    this.#track(effect)
    return effect
  }

  /** It starts again: what becomes of the call that had used it up says nothing of this one. */
  #replace(former: Effect): void {
    this.#stand(former, false)
    if (former.takenBy !== undefined) this.#taken.get(former.takenBy)?.delete(former)
  }

  #take(effect: Effect, by: string, seq: number): void {
    effect.takenBy = by
    effect.takenSeq = seq
    this.#taken.set(by, (this.#taken.get(by) ?? new Set()).add(effect))
  }

  #giveAway(effect: Effect, isAway: boolean): void {
    const turn = turnOf(effect.step.id)
    const away = this.#givenAway.get(turn)
    if (!isAway) away?.delete(effect)
    else if (away) away.add(effect)
    else this.#givenAway.set(turn, new Set([effect]))
  }

  /** What had this key before, failed or not done, is under way again: should this one succeed, a later call is another one. */
  #takeOver({ ref, fingerprint, idempotencyKey }: Effect): void {
    const undone = this.#undone.get(askOf(ref, fingerprint))
    for (const former of undone ?? []) if (former.idempotencyKey === idempotencyKey) undone!.delete(former)
  }

  /** Not where it turned out since to have happened, and the call that was let run in its place has done nothing: another one would repeat it. */
  #isUsedUp({ consumed, state, settledSeq, takenSeq, takenBy }: Effect): boolean {
    const taker = takenBy === undefined ? undefined : this.effects.get(takenBy)
    return consumed && !(state === 'completed' && settledSeq > takenSeq && (taker?.state === 'failed' || taker?.state === 'not-done'))
  }

  #stand(effect: Effect, stands: boolean): void {
    const { name, key } = effect.ref
    const byKey = this.#standing.get(name) ?? new Map<string, Set<Effect>>()
    const set = byKey.get(key) ?? new Set()
    if (stands) this.#standing.set(name, byKey.set(key, set.add(effect)))
    else if (set.delete(effect) && set.size === 0) byKey.delete(key)
  }

  #track(effect: Effect): void {
    // What it was let run in place of may stand again by what becomes of it.
    for (const each of [effect, ...(this.#taken.get(effect.step.id) ?? [])]) {
      const open = each.state === 'started' || each.state === 'unknown'
      this.#stand(each, !this.#isUsedUp(each) && (open || wouldBeRepeated(each) || isUntold(each)))
    }
    const undone = this.#undone.get(askOf(effect.ref, effect.fingerprint))
    if (effect.state !== 'failed' && effect.state !== 'not-done') undone?.delete(effect)
    else if (undone) undone.add(effect)
    else this.#undone.set(askOf(effect.ref, effect.fingerprint), new Set([effect]))
  }
}

const askOf = (ref: EffectRef, fingerprint: string): string => JSON.stringify([ref.name, ref.key, fingerprint])
