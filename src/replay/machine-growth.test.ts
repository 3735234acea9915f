import { describe, expect, it } from 'vitest'
import type { Claim } from './claim.ts'
import { asks, call, request, Scenario, step } from './scenario.ts'

const STEPS = 10_000

/** Quadratic work on 10,000 steps takes many seconds; what follows the step takes a tenth of one. */
const LIMIT_MS = 3_000

function timed(work: () => void): number {
  const began = performance.now()
  work()
  return performance.now() - began
}

const each = (work: (i: number) => void): void => {
  for (let i = 0; i < STEPS; i++) work(i)
}

describe('R17: work per step follows the step, not the history', () => {
  it.each<[string, (i: number) => Claim]>([
    ['steps with inputs', (i) => step('s', { input: String(i) })],
    ['steps that are all alike', () => step('s')],
    ['keyed steps', (i) => step('s', { key: String(i) })],
    ['requests', (i) => request(String(i), { tools: ['t'] })],
    ['one conversation over and over', () => request('same')],
  ])('%s, live and replayed', (_name, claimOf) => {
    const run = new Scenario()
    expect(timed(() => each((i) => run.do(claimOf(i))))).toBeLessThan(LIMIT_MS)
    const again = run.killed()
    expect(timed(() => each((i) => again.do(claimOf(i))))).toBeLessThan(LIMIT_MS)
    expect(again.journal).toHaveLength(run.journal.length)
  })

  it('under a changed configuration', () => {
    const run = new Scenario()
    each(() => run.do(request('same', { system: 'old' })))
    const again = run.killed()
    expect(timed(() => each(() => again.do(request('same', { system: 'new' }))))).toBeLessThan(LIMIT_MS)
    expect(again.machine.replaysLeft).toBe(0)
  })

  it('where calls are asked for and never executed', () => {
    const run = new Scenario()
    const took = timed(() => each((i) => {
      run.do(request(String(i), { tools: ['t'] }), i, [asks('t', 'call_0'), asks('client side', 'call_1')])
      run.do(call('t', 'call_0'), i)
    }))
    expect(took).toBeLessThan(LIMIT_MS)
  })

  it('live, behind a step that was started and has no end', () => {
    const run = new Scenario()
    run.start(run.ask(step('charge', { input: 'x', effect: true })))
    const again = run.killed()
    const interrupted = again.ask(step('charge', { input: 'x', effect: true }))
    again.end(interrupted)
    expect(timed(() => each((i) => again.do(step('s', { input: String(i) }))))).toBeLessThan(LIMIT_MS)
  })

  it('beside a step that stays open all the time', () => {
    const run = new Scenario()
    const long = run.ask(step('watch', { key: '' }))
    each((i) => run.do(step('s', { input: String(i) })))
    run.end(long)
    const again = run.killed()
    again.ask(step('watch', { key: '' }))
    expect(timed(() => each((i) => again.do(step('s', { input: String(i) }))))).toBeLessThan(LIMIT_MS)
  })

  it('beside a numbered step that stays open all the time', () => {
    const run = new Scenario()
    const long = run.ask(step('watch', { input: '' }))
    each((i) => run.do(step('s', { input: String(i) })))
    run.end(long)
    const again = run.killed()
    again.ask(step('watch', { input: '' }))
    expect(timed(() => each((i) => again.do(step('s', { input: String(i) }))))).toBeLessThan(LIMIT_MS)
  })
})
