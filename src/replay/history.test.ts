import { expect, it } from 'vitest'
import { call, request, asks, Scenario, step } from './scenario.ts'

it.each<[string, (run: Scenario) => void, string]>([
  ['a branch', (run) => run.do(step('s', { branch: run.branch('b'), input: '1' })), 'b:b#0'],
  ['a response', (run) => {
    run.do(request('hi', { tools: ['t'] }), 'ask', [asks('t', 'x')])
    run.do(call('t', 'x'), 'T')
  }, '0'],
])('a record inside of %s that is superseded answers nothing, and nothing waits for it', (_, ask, superseded) => {
  const run = new Scenario()
  ask(run)
  expect(run.history.expected()).not.toEqual([])
  run.append({ type: 'superseded', by: 'redo', step: superseded, reason: 'the run is driven again from here on', ids: [superseded], at: 0 })
  expect([...run.history.records.keys()]).toEqual([])
  expect(run.history.expected()).toEqual([])
})
