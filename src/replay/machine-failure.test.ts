import { describe, expect, it } from 'vitest'
import { asks, call, request, Scenario, step } from './scenario.ts'

/** The run failed with the error of `failed`. */
function failedBy(run: Scenario, failed: string): Scenario {
  run.append({ type: 'superseded', by: 'failure', step: failed, reason: 'the run failed with its error', ids: run.machine.blamed(failed), at: 0 })
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
    expect(run.machine.blamed('1')).toEqual(['1', 's:clean-up:c#0'])

    const again = failedBy(run, '1')
    expect(again.do(step('a', { input: 'a' }))).toMatchObject({ how: 'replayed' })
    expect(again.do(step('s', { key: 'beside' }))).toMatchObject({ how: 'replayed' })
    expect(again.do(step('f', { input: 'f' }), 'F')).toMatchObject({ how: 'ran', id: '1~1', value: 'F' })
    expect(again.do(step('clean-up', { key: 'c' })).how).toBe('ran')
    expect(again.reasons).toEqual([])
  })

  it('a branch that was opened after the failure is not replayed, one that ran beside it is', () => {
    const run = new Scenario()
    const [failed, beside] = [run.branch('failed'), run.branch('beside')]
    run.do(step('s', { branch: beside, input: '1' }), 'one')
    run.endWith(run.ask(step('f', { branch: failed, input: 'f' })), error)
    run.drain()
    run.do(step('s', { branch: beside, input: '2' }), 'two')
    run.do(step('s', { branch: run.branch('after', failed), input: '3' }))
    run.do(step('s', { branch: run.branch('above'), input: '4' }))
    run.do(step('s', { branch: failed, input: '5' }))
    expect(run.machine.blamed('b:failed#0/0').toSorted()).toEqual(['b:above#0', 'b:failed#0/0', 'b:failed#0/1', 'b:failed#0/b:after#0'])

    const again = failedBy(run, 'b:failed#0/0')
    const branch = again.branch('beside')
    expect(['1', '2'].map((input) => again.do(step('s', { branch, input })).how)).toEqual(['replayed', 'replayed'])
    expect(again.branch('above')).toBe('b:above#0~1')
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
    expect(again.machine.blamed('0')).toEqual(['0', '1'])
  })

  it('nothing is blamed for a step that this attempt did not ask for', () => {
    expect(new Scenario().machine.blamed('0')).toEqual([])
  })
})
