import { describe, expect, it } from 'vitest'
import type { Effect, EffectState } from '../../effects/effect.ts'
import { failure, ref, unknown, value } from '../fixtures/journal.ts'
import { answerOf, stateOf, whyOf, type StepFacts } from './step-state.ts'

const effect = (state: EffectState, more: Partial<Pick<Effect, 'consumed' | 'cause' | 'lostBefore'>> = {}): StepFacts['effect'] =>
  ({ state, cause: undefined, consumed: false, lostBefore: undefined, step: ref('tool 0/c:a refund'), ...more })

const facts = (some: Partial<StepFacts>): StepFacts =>
  ({ end: undefined, effect: undefined, isDriven: false, isWaiting: false, superseded: undefined, decided: [], ...some })

const ran = (outcome: ReturnType<typeof value>, tries = 1): StepFacts['end'] => ({ outcome, tries })
const superseded = { by: 'divergence', reason: 'argument "order" differs' } as const

describe('a step', () => {
  it.each<[string, Partial<StepFacts>, string, string | null]>([
    ['with a value', { end: ran(value(1)) }, 'completed', 'ran'],
    ['with an error', { end: ran(failure('no')) }, 'failed', 'ran'],
    ['whose result could not be stored', { end: ran({ ...failure('too large'), type: 'unstored' } as ReturnType<typeof value>), effect: effect('completed') }, 'completed', 'ran'],
    ['that was started in an attempt that is over', { effect: effect('started') }, 'in-doubt', null],
    ['that was started and is driven', { effect: effect('started'), isDriven: true }, 'running', null],
    ['whose caller was told that its outcome is unknown', { end: ran(unknown()), effect: effect('unknown') }, 'in-doubt', null],
    ['the same, while another step is driven', { end: ran(unknown()), effect: effect('unknown'), isDriven: true }, 'in-doubt', null],
    ['in doubt whose record is superseded', { effect: effect('started'), superseded }, 'in-doubt', null],
    ['in doubt that the run waits with', { effect: effect('started'), isWaiting: true }, 'in-doubt', null],
    ['with a value that is superseded', { end: ran(value(1)), superseded }, 'superseded', 'ran'],
    ['that was not started and waits', { isWaiting: true }, 'waiting', null],
    ['that turned out to be done', { end: ran(unknown()), effect: effect('completed') }, 'completed', 'settled'],
    ['that turned out to be done before it was told', { effect: effect('completed') }, 'completed', 'settled'],
    ['that turned out not to be done', { effect: effect('not-done') }, 'not-done', null],
    ['that a decision skipped', { end: ran(unknown('interrupted'), 0), effect: effect('unknown', { consumed: true }), decided: ['skip'] }, 'skipped', null],
    ['that a decision skipped before it started', { end: ran(unknown('interrupted'), 0), decided: ['skip'] }, 'skipped', null],
    ['that the policy skip told as unknown', { end: ran(unknown('interrupted'), 0), effect: effect('unknown') }, 'in-doubt', null],
    ['in doubt that another call was allowed to follow', { end: ran(unknown()), effect: effect('unknown', { consumed: true }) }, 'unknown', null],
    ['with a result by decision', { end: ran(value(1), 0), decided: ['result'] }, 'completed', 'result'],
    ['with the result of an earlier call', { end: ran(value(1), 0), decided: ['reuse'] }, 'completed', 'reuse'],
    ['answered with what was found out', { end: ran(value(1), 0), effect: effect('completed') }, 'completed', 'settled'],
    ['that a decision let run again', { end: ran(value(1)), effect: effect('completed'), decided: ['rerun'] }, 'completed', 'ran'],
  ])('%s', (_what, some, state, answer) => {
    expect([stateOf(facts(some)), answerOf(facts(some))]).toEqual([state, answer])
  })

  it.each<[Partial<StepFacts>, string | null]>([
    [{ end: ran(value(1)) }, null],
    [{ end: ran(failure('no such order')) }, 'TypeError: no such order'],
    [{ effect: effect('started') }, 'its attempt ended before its outcome was recorded'],
    [{ effect: effect('started', { lostBefore: 1_800_000_000_000 }) }, 'it is presumed: it may have been called in the part of the journal that was lost before 2027-01-15 08:00:00Z'],
    [{ end: ran(unknown('error')), effect: effect('unknown') }, 'it failed in a way that says nothing about its effect; its caller was told that the outcome is unknown'],
    [{ end: ran(value(1)), superseded }, 'argument "order" differs'],
    [{ end: ran(value(1), 0), decided: ['result'] }, 'a decision gave its result'],
    [{ isWaiting: true }, 'it was not started, and waits'],
  ])('says why: %#', (some, why) => {
    expect(whyOf(facts(some))).toBe(why)
  })
})
