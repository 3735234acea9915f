import { describe, expect, it } from 'vitest'
import type { Blamed } from './failure.ts'
import { asks, call, request, Scenario, step } from './scenario.ts'

const blamedFor = (run: Scenario, ...known: string[]): Blamed => run.machine.blamed({ known, escaped: new Set() })

/** The run failed with the errors of `failed`. */
function failedBy(run: Scenario, ...failed: string[]): Scenario {
  for (const failure of blamedFor(run, ...failed).failures) run.append({ type: 'superseded', by: 'failure', reason: 'the run failed with its error', ...failure, at: 0 })
  return run.killed()
}

const error = { type: 'error', error: { json: 'no' } } as const

describe('R4, C12: what a failed run replays', () => {
  it('everything before the failing step, not the step, and not what was asked for after its error', () => {
    const run = new Scenario()
    run.do(step('a', { input: 'a' }), 'A')
    const beside = run.ask(step('s', { key: 'beside' }))
    const failing = run.ask(step('f', { input: 'f' }))
    run.endWith(failing, error)
    run.drain()
    run.end(beside, 'beside')
    run.do(step('clean-up', { key: 'c' }), 'cleaned')
    run.drain()
    expect(blamedFor(run, '1').failures).toEqual([{ step: '1', ids: ['1', 's:clean-up:c#0'] }])

    const again = failedBy(run, '1')
    expect(again.do(step('a', { input: 'a' }))).toMatchObject({ how: 'replayed' })
    expect(again.do(step('s', { key: 'beside' }))).toMatchObject({ how: 'replayed' })
    expect(again.do(step('f', { input: 'f' }), 'F')).toMatchObject({ how: 'ran', id: '1~1', value: 'F' })
    expect(again.do(step('clean-up', { key: 'c' })).how).toBe('ran')
    expect(again.reasons).toEqual([])
  })

  it('a branch that was opened behind the failure in its own is not replayed, one beside that is, also one that came later', () => {
    const run = new Scenario()
    const [failed, beside] = [run.branch('failed'), run.branch('beside')]
    run.do(step('s', { branch: beside, input: '1' }), 'one')
    run.endWith(run.ask(step('f', { branch: failed, input: 'f' })), error)
    run.drain()
    run.do(step('s', { branch: beside, input: '2' }), 'two')
    run.do(step('s', { branch: run.branch('after', failed), input: '3' }))
    run.do(step('s', { branch: run.branch('later'), input: '4' }))
    run.do(step('s', { branch: failed, input: '5' }))
    run.do(step('s', { input: '6' }))
    expect(blamedFor(run, 'b:failed#0/0').failures).toEqual([{ step: 'b:failed#0/0', ids: ['b:failed#0/0', 'b:failed#0/1', 'b:failed#0/b:after#0', '0'] }])

    const again = failedBy(run, 'b:failed#0/0')
    const branch = again.branch('beside')
    expect(['1', '2'].map((input) => again.do(step('s', { branch, input })).how)).toEqual(['replayed', 'replayed'])
    expect(again.do(step('s', { branch: again.branch('later'), input: '4' })).how).toBe('replayed')
    expect(again.branch('after', again.branch('failed'))).toBe('b:failed#0/b:after#0~1')
  })

  it('a response that is blamed goes with the calls that it asked for', () => {
    const run = new Scenario()
    run.do(request('hi', { tools: ['t'] }), 'bad', [asks('t', 'x')])
    run.do(call('t', 'x'), 'T')
    const again = failedBy(run, '0')
    expect(again.do(request('hi', { tools: ['t'] }), 'good', [asks('t', 'x')])).toMatchObject({ how: 'ran', value: 'good' })
    expect(again.do(call('t', 'x'), 'T2')).toMatchObject({ how: 'ran', value: 'T2' })
  })

  it('C38: an effect of the clean-up is not repeated without a decision', () => {
    const run = new Scenario()
    run.endWith(run.ask(step('f', { input: 'f' })), error)
    run.drain()
    run.do(step('refundDeposit', { effect: true }), 'refunded')
    const again = failedBy(run, '0')
    again.endWith(again.ask(step('f', { input: 'f' })), error)
    again.drain()
    expect(again.guard(again.ask(step('refundDeposit', { effect: true })))).toMatchObject({ type: 'wait', why: 'repeat', effects: [{ step: { id: '1' } }] })
  })

  it('a failure that was replayed is blamed like one that was live', () => {
    const run = new Scenario()
    run.endWith(run.ask(step('f', { input: 'f' })), error)
    run.drain()
    const again = run.killed()
    again.do(step('f', { input: 'f' }))
    again.do(step('after', { input: 'x' }))
    expect(blamedFor(again, '0').failures).toEqual([{ step: '0', ids: ['0', '1'] }])
  })

  it('nothing is blamed for a step that this attempt did not ask for', () => {
    expect(blamedFor(new Scenario(), '0').failures).toEqual([])
  })
})
