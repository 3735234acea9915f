import { describe, expect, it } from 'vitest'
import type { Claim } from './claim.ts'
import { asks, call, request, Scenario, step } from './scenario.ts'

const STEPS = 10_000
const BLOCK = 100

/** How much longer the last steps take than the first: the quickest block of each, so that a busy machine does not matter. */
function growth(work: (i: number) => void): number {
  const blocks: number[] = []
  for (let i = 0; i < STEPS; i += BLOCK) {
    const began = performance.now()
    for (let k = i; k < i + BLOCK; k++) work(k)
    blocks.push(performance.now() - began)
  }
  return Math.min(...blocks.slice(-10)) / Math.max(1, Math.min(...blocks.slice(0, 10)))
}

/** Work that follows the history makes it several times that. */
const LIMIT = 8

describe('R17: work per step follows the step, not the history', () => {
  it.each<[string, (i: number) => Claim]>([
    ['steps with inputs', (i) => step('s', { input: String(i) })],
    ['steps that are all alike', () => step('s')],
    ['keyed steps', (i) => step('s', { key: String(i) })],
    ['one conversation over and over', () => request('same')],
  ])('%s, live and replayed', (_name, claimOf) => {
    const run = new Scenario()
    expect(growth((i) => run.do(claimOf(i)))).toBeLessThan(LIMIT)
    const again = run.killed()
    expect(growth((i) => again.do(claimOf(i)))).toBeLessThan(LIMIT)
    expect(again.journal).toHaveLength(run.journal.length)
  })

  it('under a changed configuration', () => {
    const run = new Scenario()
    for (let i = 0; i < STEPS; i++) run.do(request('same', { system: 'old' }))
    const again = run.killed()
    expect(growth(() => again.do(request('same', { system: 'new' })))).toBeLessThan(LIMIT)
    expect(again.machine.replaysLeft).toBe(0)
  })

  it('where calls are asked for and never executed', () => {
    const run = new Scenario()
    expect(growth((i) => {
      run.do(request(String(i), { tools: ['t'] }), i, [asks('t', 'call_0'), asks('client side', 'call_1')])
      run.do(call('t', 'call_0'), i)
    })).toBeLessThan(LIMIT)
  })

  it('live, behind a step that was started and has no end', () => {
    const run = new Scenario()
    run.start(run.ask(step('charge', { input: 'x', effect: true })))
    const again = run.killed()
    again.end(again.ask(step('charge', { input: 'x', effect: true })))
    expect(growth((i) => again.do(step('s', { input: String(i) })))).toBeLessThan(LIMIT)
  })

  it('beside a step that stays open all the time', () => {
    const run = new Scenario()
    const long = run.ask(step('watch', { input: '' }))
    for (let i = 0; i < STEPS; i++) run.do(step('s', { input: String(i) }))
    run.end(long)
    const again = run.killed()
    again.ask(step('watch', { input: '' }))
    expect(growth((i) => again.do(step('s', { input: String(i) })))).toBeLessThan(LIMIT)
  })
})
