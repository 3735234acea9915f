import { describe, expect, it } from 'vitest'
import type { Entry, Outcome, Settlement, StepRef } from '../journal/entry.ts'
import { isExpected, isInDoubt, isNotDoneBelievable, isUnknown } from './doubt.ts'
import { isSilent, SILENT, wouldBeRepeated, type Effect } from './effect.ts'
import { Ledger } from './ledger.ts'

const REF = { name: 'refund', key: '' }
const refOf = (id: string): StepRef => ({ id, branch: '', kind: 'tool', name: 'refund' })
const value = (json: string): Outcome => ({ type: 'value', value: { json } })
const unknown: Outcome = { type: 'unknown', cause: 'timeout', error: { json: 'unknown' } }

const started = (id: string, at = 1): Entry => ({ type: 'step-started', at, step: refOf(id), fingerprint: `f-${id}`, idempotencyKey: `k-${id}`, effect: REF })
const ended = (id: string, outcome: Outcome): Entry =>
  ({ type: 'step-ended', at: 2, step: refOf(id), fingerprint: `f-${id}`, effect: REF, outcome, tries: 1, ms: 1 })
const settled = (step: string, settlement: Settlement): Entry => ({ type: 'settled', at: 3, step, by: 'reconcile', settlement })
const superseded = (...ids: string[]): Entry => ({ type: 'superseded', at: 4, by: 'divergence', step: ids[0]!, reason: 'a test', ids })
const consumed = (effects: string[], decisions: number[] = []): Entry => ({ type: 'consumed', at: 5, step: 'x', effects, decisions })
const decision = (inbox: number, step: string): Entry => ({ type: 'decision', at: 6, inbox, step, effect: REF, fingerprint: 'f', since: 9, decision: { type: 'rerun' } })

function ledgerOf(...entries: Entry[]): Ledger {
  const ledger = new Ledger()
  for (const entry of entries) ledger.apply(entry, 0)
  return ledger
}
const standing = (ledger: Ledger): string[] => ledger.standing(REF).map((effect) => effect.step.id)
const idle = (): boolean => false

describe('Ledger', () => {
  it.each<[string, Entry[], Partial<Effect>]>([
    ['a start', [started('a')], { state: 'started', told: 'nothing' }],
    ['a result', [started('a'), ended('a', value('ok'))], { state: 'completed', told: 'outcome', outcome: value('ok') }],
    ['a result that could not be stored: it happened', [started('a'), ended('a', { type: 'unstored', error: { json: 'big' } })], { state: 'completed', told: 'outcome' }],
    ['a definite error', [started('a'), ended('a', { type: 'error', error: { json: 'no' } })], { state: 'failed', told: 'outcome' }],
    ['an unknown outcome, with its cause', [started('a'), ended('a', unknown)], { state: 'unknown', told: 'unknown', cause: 'timeout' }],
    ['a doubt settled as completed', [started('a'), ended('a', unknown), settled('a', { type: 'completed', outcome: value('ok') })], { state: 'completed', told: 'unknown', outcome: value('ok') }],
    ['a doubt settled as not done', [started('a'), settled('a', { type: 'not-done' })], { state: 'not-done', told: 'nothing', outcome: undefined }],
    ['a result after "not done"', [started('a'), settled('a', { type: 'not-done' }), settled('a', { type: 'completed', outcome: value('late') })], { state: 'completed', outcome: value('late') }],
    ['a settlement just before its caller was told "unknown"', [started('a'), settled('a', { type: 'completed', outcome: value('ok') }), ended('a', unknown)], { state: 'completed', told: 'unknown', outcome: value('ok') }],
    ['another start of the same step', [started('a'), consumed(['a']), started('a', 9)], { state: 'started', consumed: false, startedAt: 9 }],
  ])('knows after %s what became of an effect', (_, entries, expected) => {
    expect(ledgerOf(...entries).effects.get('a')).toMatchObject(expected)
  })

  it('takes a decision for one about what came before it, whatever it says itself', () => {
    const ledger = new Ledger()
    ledger.apply(decision(1, 'a'), 4)
    ledger.apply(decision(2, 'a'), 40)
    expect(ledger.decisions.map(({ since }) => since)).toEqual([3, 9])
  })

  it('keeps the first of two outcomes (C20)', () => {
    const ledger = ledgerOf(started('a'), ended('a', value('first')), settled('a', { type: 'completed', outcome: value('second') }), settled('a', { type: 'not-done' }))
    expect(ledger.effects.get('a')).toMatchObject({ state: 'completed', outcome: value('first') })
  })

  const COMPLETED: Settlement = { type: 'completed', outcome: value('of the first') }
  const refusal: Outcome = { type: 'error', error: { json: 'no' } }
  it.each<[string, Entry[], Partial<Effect>]>([
    ['that it did nothing, of the next one nothing', [{ ...settled('a', { type: 'not-done' }), start: 1 } as Entry], { state: 'started' }],
    ['that it happened, of the next one too, which is in doubt', [ended('a', unknown), { ...settled('a', COMPLETED), start: 1 } as Entry], { state: 'completed', told: 'unknown', outcome: COMPLETED.outcome }],
    ['that it happened, also where the next one was refused', [ended('a', refusal), { ...settled('a', COMPLETED), start: 1 } as Entry], { state: 'completed', told: 'unknown', outcome: COMPLETED.outcome }],
    ['that it happened, also where the next one is refused then', [{ ...settled('a', COMPLETED), start: 1 } as Entry, ended('a', refusal)], { state: 'completed', told: 'unknown', outcome: COMPLETED.outcome }],
    ['that it happened, which the next one has told already', [ended('a', value('of the second')), { ...settled('a', COMPLETED), start: 1 } as Entry], { state: 'completed', told: 'outcome', outcome: value('of the second') }],
  ])('knows, when one start of a step tells late %s', (_, entries, expected) => {
    const ledger = new Ledger()
    for (const [i, entry] of [started('a'), started('a'), ...entries].entries()) ledger.apply(entry, i + 1)
    expect(ledger.effects.get('a')).toMatchObject(expected)
  })

  it('knows nothing of a start by what one of other arguments has done', () => {
    const ledger = new Ledger()
    for (const [i, entry] of [{ ...started('a'), fingerprint: 'others' } as Entry, started('a'), { ...settled('a', COMPLETED), start: 1 } as Entry].entries()) ledger.apply(entry, i + 1)
    expect(ledger.effects.get('a')).toMatchObject({ state: 'started', outcome: undefined })
  })

  it.each<[string, Entry[], string[]]>([
    ['has done nothing', [ended('x', refusal)], ['a']],
    ['is known to have done nothing', [settled('x', { type: 'not-done' })], ['a']],
    ['has done it', [ended('x', value('ok'))], []],
    ['still runs', [], ['x']],
  ])('lets what happened stand again, though another call was let run in its place, where that %s', (_, entries, expected) => {
    const ledger = new Ledger()
    for (const [i, entry] of [started('a'), ended('a', unknown), consumed(['a']), started('x'), settled('a', COMPLETED), ...entries].entries()) ledger.apply(entry, i + 1)
    expect(standing(ledger)).toEqual(expected)
  })

  it('does not stand twice when it starts again, whatever becomes of the call that had used it up', () => {
    const ledger = new Ledger()
    for (const [i, entry] of [started('a'), consumed(['a']), started('x'), settled('a', COMPLETED), started('a'), ended('x', refusal)].entries()) ledger.apply(entry, i + 1)
    expect(standing(ledger)).toEqual(['a'])
  })

  it('remembers the attempt that started an effect last', () => {
    const attempt = (token: number): Entry => ({ type: 'attempt-started', at: 0, attempt: token, token, version: '1', former: 'expired' })
    const ledger = ledgerOf(attempt(1), started('a'), started('b'), attempt(2), started('b'))
    expect(ledger.effects.get('a')!.token).toBe(1)
    expect(ledger.effects.get('b')!.token).toBe(2)
  })

  it('enters an answer that was given without a start: it stands for the effect when it is superseded; that nobody knows leaves nothing', () => {
    expect(standing(ledgerOf(ended('b', value('ok'))))).toEqual([])
    expect(standing(ledgerOf(ended('b', value('ok')), superseded('b')))).toEqual(['b'])
    expect(ledgerOf(ended('b', unknown)).effects.size).toBe(0)
  })

  it('takes no notice of steps without effects, and of what it does not know', () => {
    const { effect: _, ...read } = started('a') as Entry & { type: 'step-started' }
    const ledger = ledgerOf(read, settled('c', { type: 'not-done' }), consumed(['d'], [7]), superseded('e'))
    expect(ledger.effects.size).toBe(0)
    expect(ledger.allStanding()).toEqual([])
  })

  it('lets stand in the way what is open, what was superseded as completed, and what was settled behind its caller, until it is consumed', () => {
    expect(standing(ledgerOf(started('a')))).toEqual(['a'])
    expect(standing(ledgerOf(started('a'), ended('a', unknown)))).toEqual(['a'])
    expect(standing(ledgerOf(started('a'), ended('a', value('ok')), superseded('a')))).toEqual(['a'])
    expect(standing(ledgerOf(started('a'), ended('a', unknown), settled('a', { type: 'completed', outcome: value('ok') })))).toEqual(['a'])
    expect(standing(ledgerOf(started('a'), ended('a', unknown), consumed(['a'])))).toEqual([])
    expect(standing(ledgerOf(started('a'), ended('a', value('ok')), superseded('a'), consumed(['a'])))).toEqual([])
  })

  it('lets nothing stand in the way that is over: told, failed, or not done; what was settled before its own call comes back stands until it does', () => {
    expect(standing(ledgerOf(started('a'), ended('a', value('ok'))))).toEqual([])
    expect(standing(ledgerOf(started('a'), ended('a', { type: 'error', error: { json: 'no' } }), superseded('a')))).toEqual([])
    expect(standing(ledgerOf(started('a'), ended('a', unknown), settled('a', { type: 'not-done' })))).toEqual([])
    expect(standing(ledgerOf(started('a'), settled('a', { type: 'completed', outcome: value('ok') })))).toEqual(['a'])
    expect(standing(ledgerOf(started('a'), settled('a', { type: 'completed', outcome: value('ok') }), ended('a', value('ok'))))).toEqual([])
  })

  it('supersedes all that lies below a path, and nothing that only begins like it', () => {
    const ledger = ledgerOf(started('3/c:x'), started('3~1/c:x'), started('31'), started('3'), superseded('3'))
    expect([...ledger.effects.values()].filter((effect) => effect.superseded).map((effect) => effect.step.id)).toEqual(['3/c:x', '3'])
  })

  it('lends the key of a call that failed or was not done to one that asks for the same, until that took it over or it happened after all', () => {
    const undone = (...entries: Entry[]): string[] => ledgerOf(...entries).undone(REF, 'f-a').map((effect) => effect.step.id)
    const same = { ...started('b'), fingerprint: 'f-a' } as Entry & { type: 'step-started' }
    const notDone = [started('a'), settled('a', { type: 'not-done' })]
    expect(undone(...notDone)).toEqual(['a'])
    expect(undone(started('a'), ended('a', { type: 'error', error: { json: 'no' } }))).toEqual(['a'])
    expect(undone(...notDone, same)).toEqual(['a'])
    expect(undone(...notDone, { ...same, idempotencyKey: 'k-a' })).toEqual([])
    expect(undone(...notDone, started('a'))).toEqual([])
    expect(undone(...notDone, settled('a', { type: 'completed', outcome: value('late') }))).toEqual([])
  })

  it('tells effects apart by name and key, whatever is in them', () => {
    const ledger = ledgerOf({ ...started('a'), effect: { name: 'a","b', key: 'c' } } as Entry)
    expect(ledger.standing({ name: 'a","b', key: 'c' })).toHaveLength(1)
    expect(ledger.standing({ name: 'a', key: 'b","c' })).toHaveLength(0)
  })

  it('uses a decision up once, by its place in the inbox', () => {
    const ledger = ledgerOf(decision(1, 'a'), decision(2, 'a'), consumed([], [2]))
    expect(ledger.decisions.map(({ inbox, consumed }) => [inbox, consumed])).toEqual([[1, false], [2, true]])
  })
})

describe('doubt', () => {
  const effectOf = (...entries: Entry[]): Effect => ledgerOf(...entries).effects.get('a')!

  it('is what was started and does not run, or whose caller was told so', () => {
    expect(isInDoubt(effectOf(started('a')), idle)).toBe(true)
    expect(isInDoubt(effectOf(started('a')), (step) => step === 'a')).toBe(false)
    expect(isInDoubt(effectOf(started('a'), ended('a', unknown)), () => true)).toBe(true)
    expect(isInDoubt(effectOf(started('a'), ended('a', value('ok'))), idle)).toBe(false)
    expect(isInDoubt(effectOf(started('a'), settled('a', { type: 'not-done' })), idle)).toBe(false)
  })

  it('is over for others when it was consumed, not for its own call', () => {
    const effect = effectOf(started('a'), consumed(['a']))
    expect(isInDoubt(effect, idle)).toBe(false)
    expect(isUnknown(effect, idle)).toBe(true)
  })

  it('has a call to come back for it until that was told something or superseded', () => {
    expect(isExpected(effectOf(started('a')))).toBe(true)
    expect(isExpected(effectOf(started('a'), ended('a', unknown)))).toBe(false)
    expect(isExpected(effectOf(started('a'), superseded('a')))).toBe(false)
  })

  it('repeats what completed only where its caller does not know or no record says so', () => {
    expect(wouldBeRepeated(effectOf(started('a'), ended('a', value('ok'))))).toBe(false)
    expect(wouldBeRepeated(effectOf(started('a'), ended('a', value('ok')), superseded('a')))).toBe(true)
    expect(wouldBeRepeated(effectOf(started('a'), ended('a', unknown)))).toBe(false)
  })

  it.each([
    ['the owner is dead', { ownerGone: true, leaseEnded: 1_000, settleAfterMs: 500, now: 0 }, true],
    ['its lease runs', { ownerGone: false, leaseEnded: 1_000, settleAfterMs: 500, now: 999 }, false],
    ['its lease is over for less than it takes', { ownerGone: false, leaseEnded: 1_000, settleAfterMs: 500, now: 1_499 }, false],
    ['its lease is over for long enough', { ownerGone: false, leaseEnded: 1_000, settleAfterMs: 500, now: 1_500 }, true],
  ])('believes "not done" or not when %s (D13)', (_, doubt, believed) => {
    expect(isNotDoneBelievable(doubt)).toBe(believed)
  })
})

describe('a journal that was cut', () => {
  const cut = (had: number): Entry => ({ type: 'salvaged', at: 7, fault: 'checksum', had, inbox: 0, token: 3, copy: 'c' })
  const presumed = (id: string): Entry => ({ ...started(id), presumed: true } as Entry)
  const place = (...entries: Entry[]): Ledger => {
    const ledger = new Ledger()
    for (const [i, entry] of entries.entries()) ledger.apply(entry, i + 1)
    return ledger
  }

  it('may have lost each call of which nothing is recorded, until something is', () => {
    const ledger = place(started('0'), ended('0', value('ok')), cut(9), presumed('1'))
    expect(['0', '1', '1~1', '2'].map((step) => ledger.mayBeLost(step))).toEqual([false, false, false, true])
    expect(ledger.effects.get('1')).toMatchObject({ state: 'started', token: 3 })
    expect(isInDoubt(ledger.effects.get('1')!, idle)).toBe(true)
  })

  it('may have lost what came in place of a record that is older than the cut', () => {
    const ledger = place(started('0'), ended('0', value('ok')), cut(9), superseded('0'))
    expect(ledger.mayBeLost('0~1')).toBe(true)
  })

  it('has lost nothing where it had no more entries, or was not cut', () => {
    expect(place(started('0'), cut(1)).mayBeLost('1')).toBe(false)
    expect(place(started('0')).mayBeLost('1')).toBe(false)
  })
})

describe('a step that was answered without a start', () => {
  const answered = (fingerprint: string): Effect => {
    const entry = { ...ended('0', value('given')), step: { ...refOf('0'), kind: 'step' }, fingerprint } as Entry
    return ledgerOf(entry).effects.get('0')!
  }

  it('has said what it asks for, unless it has no input, although its input is not kept', () => {
    expect([answered('f'), answered(SILENT)].map(isSilent)).toEqual([false, true])
  })
})
