import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Decision, EffectRef, Entry, Outcome, StepRef } from '../journal/entry.ts'
import { guard, type EffectPolicy, type GuardVerdict } from './guard.ts'
import { Ledger } from './ledger.ts'

const refOf = (id: string): StepRef => ({ id, branch: '', kind: 'tool', name: 'refund' })

/** What is known of one step, kept apart from the ledger under test and as plainly as can be. */
interface Fact {
  readonly key: string
  readonly args: string
  open: 'no' | 'running' | 'interrupted' | 'told unknown'
  happened: boolean
  ended: boolean
  superseded: boolean
  used: boolean
}

/** A run in which anything may happen, in any order, that a program, a crash, the outside world or a person can do. */
class World {
  readonly ledger = new Ledger()
  readonly facts = new Map<string, Fact>()
  readonly asked = new Set<string>()
  /** Decisions by their place in the inbox, and which of them were used. */
  readonly decisions: { step: string; type: Decision['type']; key: string; used: boolean }[] = []
  readonly verdicts: string[] = []

  do({ op, n, policy, decision }: Op): void {
    const id = `s${n}`
    const fact = this.facts.get(id)
    switch (op) {
      case 'call':
        if (!fact?.ended && !fact?.superseded && fact?.open !== 'running') this.#call(id, n, policy)
        break
      case 'end':
        if (fact?.open === 'running') this.#end(id, { type: 'value', value: { json: id } })
        break
      case 'fail':
        if (fact?.open === 'running') this.#end(id, { type: 'error', error: { json: 'declined' } })
        break
      case 'time out':
        if (fact?.open === 'running') this.#end(id, { type: 'unknown', cause: 'timeout', error: { json: 'late' } })
        break
      case 'kill':
        for (const each of this.facts.values()) if (each.open === 'running') each.open = 'interrupted'
        this.asked.clear()
        break
      case 'find done':
      case 'find not done': {
        if (fact?.open !== 'interrupted' && fact?.open !== 'told unknown') break
        const done = op === 'find done'
        Object.assign(fact, { open: 'no', happened: done })
        this.#apply({ type: 'settled', at: 0, step: id, by: 'reconcile', settlement: done ? { type: 'completed', outcome: { type: 'value', value: { json: id } } } : { type: 'not-done' } })
        break
      }
      case 'supersede':
        if (!fact || fact.open === 'running') break
        fact.superseded = true
        this.#apply({ type: 'superseded', at: 0, by: 'divergence', step: id, reason: 'a test', ids: [id] })
        break
      case 'decide': {
        this.decisions.push({ step: id, type: decision, key: keyOf(n), used: false })
        const made: Decision = decision === 'result' || decision === 'reuse' ? { type: decision, value: { json: 'by hand' } } : { type: decision }
        this.#apply({ type: 'decision', at: 0, inbox: this.decisions.length - 1, step: id, effect: effectOf(n), fingerprint: argsOf(n), since: 1_000, decision: made }, 1_001)
        break
      }
    }
  }

  #call(id: string, n: number, policy: EffectPolicy): void {
    const verdict = guard(
      this.ledger,
      { step: id, branch: '', ref: effectOf(n), fingerprint: argsOf(n), policy, changedAt: 0 },
      { isRunning: (step) => this.facts.get(step)?.open === 'running', asked: this.asked, taken: { effects: new Set(), decisions: new Set() }, isGone: () => false, isUnclaimed: () => false, elsewhere: [], underWay: new Set() },
    )
    this.verdicts.push(verdict.type)
    if (verdict.type === 'reconcile') {
      expect(this.asked).not.toContain(verdict.effect.step.id)
      this.asked.add(verdict.effect.step.id)
      return
    }
    if (verdict.type === 'hold') return expect.unreachable('nothing is under way')
    if (verdict.type === 'wait') {
      expect(verdict.effects.length).toBeGreaterThan(0)
      return
    }
    this.#checkDecisions(verdict, n)
    if (verdict.type === 'start') this.#checkStart(verdict, id, n, policy)
    if (verdict.type === 'answer') this.#checkAnswer(verdict, id, n, policy)
    this.#carryOut(verdict, id, n)
  }

  /** A decision is used once, and for the effect that it was made about. */
  #checkDecisions(verdict: Passing, n: number): void {
    for (const inbox of verdict.consumes.decisions) {
      expect(this.decisions[inbox]).toMatchObject({ used: false, key: keyOf(n) })
      this.decisions[inbox]!.used = true
    }
  }

  #checkStart(verdict: Passing, id: string, n: number, policy: EffectPolicy): void {
    const taken = verdict.consumes.decisions.map((inbox) => this.decisions[inbox]!)
    const isRerun = (d: { type: string }): boolean => d.type === 'rerun'
    for (const [other, fact] of this.facts) {
      if (fact.key !== keyOf(n)) continue
      const doubtful = fact.open === 'interrupted' || fact.open === 'told unknown'
      if (other === id) {
        if (doubtful) expect(policy.onIncomplete === 'rerun' || taken.some((d) => isRerun(d) && d.step === id), `${id} starts in doubt`).toBe(true)
        continue
      }
      if (fact.used || !(doubtful || (fact.happened && fact.superseded)) || (fact.superseded && policy.allowRepeat)) continue
      const comesBack = fact.open === 'interrupted' && !fact.superseded
      const isSettled = comesBack && (policy.onIncomplete === 'rerun' || this.decisions.some((d) => d.step === other && !d.used))
      // A decision about the call itself lets it pass all that stood when it was made; what was made about another uses that one up.
      const passes = taken.some((d) => isRerun(d) && (d.step === id || this.facts.get(d.step) === undefined))
      if (!isSettled && !passes) expect(verdict.consumes.effects.includes(other) && taken.some(isRerun), `${id} starts while ${other} stands`).toBe(true)
    }
  }

  #checkAnswer(verdict: Passing & { type: 'answer' }, id: string, n: number, policy: EffectPolicy): void {
    if (verdict.consumes.decisions.length > 0 || verdict.outcome.type !== 'value') return
    const { json } = verdict.outcome.value as { json: string }
    // What somebody said that a doubtful one gave.
    if (json === 'by hand') return
    const source = this.facts.get(json)!
    expect(source.happened).toBe(true)
    expect(json === id || (source.key === keyOf(n) && (policy.keyed || source.args === argsOf(n))), `${id} is answered with ${json}`).toBe(true)
  }

  #carryOut(verdict: Passing, id: string, n: number): void {
    for (const each of verdict.consumes.effects) this.facts.get(each)!.used = true
    this.#apply({ type: 'consumed', at: 0, step: id, ...verdict.consumes })
    if (verdict.type === 'start') {
      this.facts.set(id, { key: keyOf(n), args: argsOf(n), open: 'running', happened: false, ended: false, superseded: false, used: false })
      this.#apply({ type: 'step-started', at: 0, step: refOf(id), fingerprint: argsOf(n), idempotencyKey: id, effect: effectOf(n) })
    } else this.#end(id, verdict.type === 'answer' ? verdict.outcome : { type: 'unknown', cause: 'interrupted', error: { json: 'unknown' } }, n)
  }

  #end(id: string, outcome: Outcome, n = Number(id.slice(1))): void {
    const fact = this.facts.get(id)
    if (fact) {
      fact.ended = true
      if (outcome.type === 'unknown') fact.open = 'told unknown'
      else Object.assign(fact, { open: 'no', happened: outcome.type === 'value' })
    } else if (outcome.type === 'value') {
      // Answered without a start: from now on this call stands for the effect.
      this.facts.set(id, { key: keyOf(n), args: argsOf(n), open: 'no', happened: true, ended: true, superseded: false, used: false })
    }
    this.#apply({ type: 'step-ended', at: 0, step: refOf(id), fingerprint: argsOf(n), effect: effectOf(n), outcome, tries: 1, ms: 0 })
  }

  #apply(entry: Entry, seq = 0): void {
    this.ledger.apply(entry, seq)
  }
}

type Passing = GuardVerdict & { type: 'start' | 'answer' | 'skip' }
const keyOf = (n: number): string => String(n % 2)
const argsOf = (n: number): string => String(n % 3)
const effectOf = (n: number): EffectRef => ({ name: 'refund', key: keyOf(n) })

const op = fc.record({
  op: fc.constantFrom('call', 'call', 'call', 'end', 'fail', 'time out', 'kill', 'find done', 'find not done', 'supersede', 'decide'),
  n: fc.nat(7),
  policy: fc.record({ onIncomplete: fc.constantFrom('refuse', 'rerun', 'skip', 'reconcile'), allowRepeat: fc.boolean(), keyed: fc.boolean() }),
  decision: fc.constantFrom('rerun', 'skip', 'reuse', 'result'),
})
type Op = typeof op extends fc.Arbitrary<infer T> ? T : never

describe('the guard, whatever happens', () => {
  it('starts nothing over a doubt or a superseded effect without a decision, uses each decision once, and answers no call with another one\'s result', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(fc.array(op, { minLength: 3, maxLength: 40 }), (ops) => {
        const world = new World()
        for (const each of ops) world.do(each)
        for (const verdict of world.verdicts) seen.add(verdict)
      }),
      { numRuns: 1_500 },
    )
    expect([...seen].sort()).toEqual(['answer', 'reconcile', 'skip', 'start', 'wait'])
  })
})
