import { describe, expect, it } from 'vitest'
import type { Claim } from './claim.ts'
import { asks, call, request, Scenario, step } from './scenario.ts'

const reviewers = (...systems: string[]): Claim[] => systems.map((system) => request('review this', { system }))

/** All asked at once; `end` says which of them end, in which order. Gives the values in the order of the claims. */
function together(run: Scenario, claims: readonly Claim[], end: readonly number[] = [...claims.keys()]): unknown[] {
  const tickets = claims.map((claim) => run.ask(claim))
  for (const i of end) if (!tickets[i]!.record?.end) run.end(tickets[i]!, `${claims[i]!.model ? `model ${claims[i]!.model!.parts['system']} ` : ''}${claims[i]!.fingerprint}`)
  const handed = run.drain()
  return tickets.map((ticket) => handed.find(({ id }) => id === ticket.ref.id)?.value)
}

const answerOf = (claim: Claim): string => `model ${claim.model!.parts['system']} ${claim.fingerprint}`
const permutations = <T>(items: readonly T[]): T[][] =>
  items.length <= 1 ? [[...items]] : items.flatMap((item, i) => permutations(items.filter((_, j) => j !== i)).map((rest) => [item, ...rest]))

describe('C34: three reviewers at once, one prompt, different instructions', () => {
  const abc = reviewers('a', 'b', 'c')

  it.each(permutations([0, 1, 2]))('each gets its own answer, asked for in the order %i, %i, %i', (...order) => {
    const run = new Scenario()
    together(run, abc, [2, 0, 1])
    const claims = order.map((i) => abc[i]!)
    const again = run.killed()
    expect(together(again, claims)).toEqual(claims.map(answerOf))
    expect(again.journal).toHaveLength(run.journal.length)
  })

  it.each(permutations([0, 1, 2]))('no answers are swapped when one was edited, asked for in the order %i, %i, %i', (...order) => {
    const run = new Scenario()
    together(run, abc)
    const edited = reviewers('a', 'b, edited', 'c')
    const claims = order.map((i) => edited[i]!)
    expect(together(run.killed(), claims)).toEqual(claims.map(answerOf))
  })

  const orders = permutations([0, 1, 2])
  it.each([[0], [1], [2], [0, 1], [0, 2], [1, 2]].flatMap((ended) => orders.map((order) => [ended, order])))(
    'nothing is swapped where only %j left a record, asked for in the order %j',
    (ended, order) => {
      const run = new Scenario()
      together(run, abc, ended)
      const claims = order.map((i) => abc[i]!)
      const again = run.killed()
      expect(together(again, claims)).toEqual(claims.map(answerOf))
      expect(again.notes.filter(({ type }) => type !== 'config')).toEqual([])
      const whole = again.killed()
      expect(together(whole, abc)).toEqual(abc.map(answerOf))
      expect(whole.notes).toEqual([])
    },
  )

  it.each(permutations([0, 1, 2]))('a kill changes nothing with refuse either, asked for in the order %i, %i, %i', (...order) => {
    const run = new Scenario()
    together(run, abc, [1])
    const claims = order.map((i) => request('review this', { system: ['a', 'b', 'c'][i]!, onConfigChange: 'refuse' }))
    expect(together(run.killed(), claims)).toEqual(claims.map(answerOf))
  })

  it('parallel requests of one configuration replay under another, also where one left no record', () => {
    const run = new Scenario()
    const prompts = (system: string): Claim[] => ['1', '2', '3'].map((text) => request(text, { system }))
    together(run, prompts('old'), [0, 1])
    const again = run.killed()
    const now = prompts('new')
    const before = prompts('old')
    expect(together(again, now)).toEqual([answerOf(before[0]!), answerOf(before[1]!), answerOf(now[2]!)])
    expect(again.reasons).toEqual([])
  })
})

describe('R1: requests without tools may overlap', () => {
  it.each(permutations(['a', 'b', 'pay']))('and what was killed beside the one that is in doubt finds a place before and behind it, asked for in the order %s, %s, %s', (...order) => {
    const claims: Record<string, Claim> = { a: step('a'), b: step('b'), pay: step('pay', { input: '7', effect: true }) }
    for (const first of permutations(['a', 'b', 'pay'])) {
      const run = new Scenario()
      for (const ticket of first.map((name) => run.ask(claims[name]!))) run.start(ticket)
      const again = run.killed()
      const tickets = order.map((name) => again.ask(claims[name]!))
      expect(again.reasons).toEqual([])
      expect(tickets[order.indexOf('pay')]!.record?.ref.id).toBe(String(first.indexOf('pay')))
    }
  })

  it('and the one record of several that ran at once says so, whichever numbers they were given, in whatever order they are asked for', () => {
    const gap = step('gap', { key: 'g' })
    const run = new Scenario()
    run.endUnrecorded(run.ask(gap))
    run.drain()
    const names = ['a', 'b', 'c']
    together(run, names.map((name) => step(name)))
    // They follow a result that is another one now: all are asked for anew, in another order, and one of them ends.
    const again = run.killed()
    again.do(gap, 'now')
    together(again, ['b', 'c', 'a'].map((name) => step(name)), [1])
    for (const order of permutations(names)) {
      const each = again.killed()
      each.do(gap)
      expect([order, together(each, order.map((name) => step(name)), []).filter((value) => value !== undefined)]).toEqual([order, [step('c').fingerprint]])
      expect(each.reasons).toEqual([])
    }
  })

  it('and the one that has a record says so of one of a higher number that was killed', () => {
    const [gap, x, y, z] = [step('gap', { key: 'g' }), step('x'), step('y'), step('z')]
    const run = new Scenario()
    run.endUnrecorded(run.ask(gap))
    run.drain()
    run.do(x)
    run.end(run.ask(z))
    run.end(run.ask(y))
    run.drain()
    // They follow a result that is another one now: `x` and `y` are asked for anew, at once, and only `x` ends.
    const again = run.killed()
    again.do(gap, 'now')
    together(again, [x, y], [0])
    const last = again.killed()
    last.do(gap)
    expect(together(last, [y, x], [])).toEqual([undefined, x.fingerprint])
    expect(last.reasons).toEqual([])
  })

  it.each(permutations([0, 1, 2]))('and are matched by what they ask for, in the order %i, %i, %i', (...order) => {
    const claims = ['1', '2', '3'].map((text) => request(text))
    const run = new Scenario()
    const values = together(run, claims, [1, 2, 0])
    const again = run.killed()
    expect(together(again, order.map((i) => claims[i]!))).toEqual(order.map((i) => values[i]))
    expect(again.journal).toHaveLength(run.journal.length)
  })

  it('equal ones too: each record answers once', () => {
    const run = new Scenario()
    const [a, b] = [run.ask(request('same')), run.ask(request('same'))]
    run.end(b, 'second')
    run.end(a, 'first')
    run.drain()
    const again = run.killed()
    const tickets = [again.ask(request('same')), again.ask(request('same'))]
    expect(tickets.map((t) => t.ref.id)).toEqual(['0', '1'])
    expect(again.ask(request('same')).record).toBeUndefined()
  })

  it.each([
    ['the first was killed', [1]],
    ['the second was killed', [0]],
  ])('the overlap is known when %s', (_name, ended) => {
    const claims = [request('1'), request('2')]
    const run = new Scenario()
    together(run, claims, ended)
    const again = run.killed()
    const values = together(again, claims.toReversed())
    expect(values).toEqual(claims.toReversed().map(answerOf))
    expect(again.reasons).toEqual([])
  })

  it('a step beside them does not disturb them', () => {
    const run = new Scenario()
    const claims = [request('1'), step('s', { input: '1' }), request('2')]
    together(run, claims, [2, 1, 0])
    const again = run.killed()
    together(again, claims.toReversed())
    expect(again.journal).toHaveLength(run.journal.length)
  })
})

describe('R1: what cannot be told apart is refused when it first happens', () => {
  const withTools = request('hi', { tools: ['t'] })
  it.each<[string, Claim, Claim]>([
    ['C16b: two requests with tools', withTools, request('other', { tools: ['t'] })],
    ['a request with tools beside one without', request('hi'), withTools],
    ['a request with tools beside a step', step('s', { input: '1' }), withTools],
    ['a request with tools beside a keyed step', step('s', { key: '1' }), withTools],
    ['C16d: two steps of one name without key or input', step('charge', { effect: true }), step('charge', { effect: true })],
    ['two steps that ask for the same', step('load', { input: '1' }), step('load', { input: '1' })],
    ['two of one key', step('load', { key: '1' }), step('load', { key: '1' })],
    ['a step and a read of one key', step('load', { key: '1' }), step('load', { kind: 'read', key: '1' })],
    ['two agents of one key', step('desk', { kind: 'agent', key: '' }), step('desk', { kind: 'agent', key: '' })],
  ])('%s', (_name, first, second) => {
    const run = new Scenario()
    run.ask(first)
    const verdict = run.claim(second)
    expect(verdict).toMatchObject({ type: 'refuse', code: 'AMBIGUOUS_STEP' })
    expect(verdict.type === 'refuse' && verdict.advice).toContain('currentRun().branch(key, fn)')
  })

  it.each<[string, Claim, Claim]>([
    ['C16d with a key', step('charge', { key: '1', effect: true }), step('charge', { key: '2', effect: true })],
    ['steps with different inputs', step('load', { input: '1' }), step('load', { input: '2' })],
    ['steps with different names', step('a'), step('b')],
    ['requests without tools', request('1'), request('1')],
    ['a request without tools beside one with', withTools, request('1')],
    ['a step and an agent of one key', step('desk', { key: '' }), step('desk', { kind: 'agent', key: '' })],
  ])('not refused: %s', (_name, first, second) => {
    const run = new Scenario()
    run.ask(first)
    expect(run.claim(second).type).toBe('live')
  })

  it('also while a tool of the response before is open', () => {
    const run = new Scenario()
    run.do(withTools, 'A', [asks('t', 'x')])
    const tool = run.ask(call('t', 'x'))
    expect(run.claim(request('other', { tools: ['t'] })).type).toBe('refuse')
    run.end(tool)
    expect(run.claim(request('other', { tools: ['t'] })).type, 'until its caller has the result').toBe('refuse')
    run.drain()
    expect(run.claim(request('other', { tools: ['t'] })).type).toBe('live')
  })

  it('a refused claim takes no number', () => {
    const run = new Scenario()
    const first = run.ask(withTools)
    run.claim(request('other', { tools: ['t'] }))
    run.end(first)
    run.drain()
    expect(run.do(request('next', { tools: ['t'] })).id).toBe('1')
  })

  it('not in branches', () => {
    const run = new Scenario()
    run.ask(request('hi', { tools: ['t'], branch: run.branch('eu') }))
    expect(run.claim(request('hi', { tools: ['t'], branch: run.branch('us') })).type).toBe('live')
  })

  it('C16b: the second customer never gets the answer of the first', () => {
    const run = new Scenario()
    run.do(withTools, 'for the first')
    const again = run.killed()
    expect(again.claim(withTools).type).toBe('replay')
    expect(again.claim(withTools)).toMatchObject({ type: 'refuse', code: 'AMBIGUOUS_STEP' })
  })
})
