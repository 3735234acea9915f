import { describe, expect, it } from 'vitest'
import { asks, call, request, Scenario, step } from './scenario.ts'

/** A loop of two requests with three parallel tools in between, all recorded. */
function loop(): Scenario {
  const run = new Scenario()
  run.do(request('hi', { tools: ['t'] }), 'answer', [asks('t', 'x', '1'), asks('t', 'y', '2'), asks('t', 'z', '3')])
  const tools = ['x', 'y', 'z'].map((id, i) => run.ask(call('t', id, String(i + 1), { effect: true })))
  tools.forEach((ticket) => run.start(ticket))
  for (const i of [2, 0, 1]) run.end(tools[i]!, `result ${i}`)
  run.drain()
  run.do(request(['hi', 'answer'], { tools: ['t'] }), 'done')
  return run
}

/** Asks for the tools in the order given, and says what each was handed. */
function askTools(run: Scenario, order: readonly string[]): Record<string, unknown> {
  const ids = order.map((id) => run.ask(call('t', id, String('xyz'.indexOf(id) + 1), { effect: true })).ref.id)
  const handed = run.drain()
  return Object.fromEntries(ids.map((id) => [id, handed.find((h) => h.id === id)?.value]))
}

describe('C3: killed after a result was recorded', () => {
  it('replays it', () => {
    const run = new Scenario()
    run.do(step('charge', { effect: true }), 'charged')
    expect(run.killed().do(step('charge', { effect: true }))).toEqual({ id: '0', value: 'charged', how: 'replayed', held: 0 })
  })

  it('replays it also when it was never handed out', () => {
    const run = new Scenario()
    const ticket = run.ask(step('charge', { effect: true }))
    run.start(ticket)
    run.end(ticket, 'charged')
    expect(run.killed().do(step('charge', { effect: true }))).toMatchObject({ value: 'charged', how: 'replayed' })
  })
})

describe('C4: three tools in parallel, killed after two', () => {
  it('replays the two, the third is in doubt', () => {
    const whole = loop()
    const cut = whole.journal.findIndex((e) => e.type === 'step-ended' && e.step.id === '0/c:y')
    const run = whole.killed(cut)
    run.do(request('hi', { tools: ['t'] }))
    const [x, y, z] = ['x', 'y', 'z'].map((id, i) => run.claim(call('t', id, String(i + 1), { effect: true })))
    expect([x!.type, y!.type, z!.type]).toEqual(['replay', 'live', 'replay'])
    if (y!.type !== 'live') throw new Error('y is not live')
    expect(run.guard(y!.ticket)).toMatchObject({ type: 'wait', why: 'in-doubt' })
    expect(run.drain().map(({ value }) => value)).toEqual(['result 2', 'result 0'])
  })
})

describe('C5: parallel tools that finish in another order', () => {
  it.each([['xyz'], ['xzy'], ['yxz'], ['yzx'], ['zxy'], ['zyx']])('each gets its own result when asked for as %s', (order) => {
    const run = loop().killed()
    run.do(request('hi', { tools: ['t'] }))
    expect(askTools(run, order.split(''))).toEqual({ '0/c:x': 'result 0', '0/c:y': 'result 1', '0/c:z': 'result 2' })
    expect(run.do(request(['hi', 'answer'], { tools: ['t'] }))).toMatchObject({ value: 'done', how: 'replayed' })
  })

  it('are handed out in the order in which they were recorded', () => {
    const run = loop().killed()
    run.do(request('hi', { tools: ['t'] }))
    for (const [i, id] of ['x', 'y', 'z'].entries()) run.ask(call('t', id, String(i + 1), { effect: true }))
    expect(run.drain().map(({ id }) => id)).toEqual(['0/c:z', '0/c:x', '0/c:y'])
  })
})

describe('C6, C7: what is asked for again', () => {
  it('is executed at each of two steps, the same tool with the same arguments', () => {
    const run = new Scenario()
    run.do(request('a', { tools: ['t'] }), 'A', [asks('t', 'c1', 'same')])
    expect(run.do(call('t', 'c1', 'same'), 1)).toMatchObject({ how: 'ran', value: 1 })
    run.do(request(['a', 'b'], { tools: ['t'] }), 'B', [asks('t', 'c2', 'same')])
    expect(run.do(call('t', 'c2', 'same'), 2)).toMatchObject({ how: 'ran', value: 2 })
  })

  it('is told apart where ids repeat over responses', () => {
    const drive = (run: Scenario): unknown[] => {
      const values: unknown[] = []
      for (const i of [0, 1, 2]) {
        run.do(request(['q', ...Array.from({ length: i }, String)], { tools: ['t'] }), i, [asks('t', 'call_0', 'same')])
        values.push(run.do(call('t', 'call_0', 'same'), `result ${i}`).value)
      }
      return values
    }
    const run = new Scenario()
    drive(run)
    const again = run.killed()
    expect(drive(again)).toEqual(['result 0', 'result 1', 'result 2'])
    expect(again.journal).toHaveLength(run.journal.length)
  })

  it('is told apart by arguments where an id repeats within one response', () => {
    const asked = [asks('t', 'id', 'a'), asks('t', 'id', 'b'), asks('u', 'id', 'a')]
    const run = new Scenario()
    run.do(request('q', { tools: ['t', 'u'] }), 'A', asked)
    expect(run.do(call('t', 'id', 'b'), 'tb').id).toBe('0/c:id#1')
    expect(run.do(call('u', 'id', 'a'), 'ua').id).toBe('0/c:id#2')
    expect(run.do(call('t', 'id', 'a'), 'ta').id).toBe('0/c:id')
    const again = run.killed()
    again.do(request('q', { tools: ['t', 'u'] }))
    expect([call('u', 'id', 'a'), call('t', 'id', 'a'), call('t', 'id', 'b')].map((c) => again.do(c).value)).toEqual(['ua', 'ta', 'tb'])
  })

  it('is told apart by occurrence where also the arguments repeat', () => {
    const run = new Scenario()
    run.do(request('q', { tools: ['t'] }), 'A', [asks('t', 'id', 'a'), asks('t', 'id', 'a')])
    expect([run.do(call('t', 'id', 'a')).id, run.do(call('t', 'id', 'a')).id]).toEqual(['0/c:id', '0/c:id#1'])
  })

  it('never gives a repeated id the result of the other call, when executed arguments differ from those asked for', () => {
    const asked = [asks('t', 'id', 'a'), asks('t', 'id', 'b')]
    const run = new Scenario()
    run.do(request('q', { tools: ['t'] }), 'A', asked)
    run.do(call('t', 'id', 'a with defaults'), 'result of a')
    const again = run.killed()
    again.do(request('q', { tools: ['t'] }))
    expect(again.do(call('t', 'id', 'b with defaults'), 'result of b')).toMatchObject({ value: 'result of b', how: 'ran' })
    expect(again.do(call('t', 'id', 'a with defaults'))).toMatchObject({ value: 'result of a', how: 'replayed' })
  })

  it('is known by its response also when a repair gave it another tool', () => {
    const run = new Scenario()
    run.do(request('q', { tools: ['search'] }), 'A', [asks('serch', 'id', 'a')])
    expect(run.do(call('search', 'id', 'a'), 'found').id).toBe('0/c:id')
    const again = run.killed()
    again.do(request('q', { tools: ['search'] }))
    expect(again.do(call('search', 'id', 'a'))).toMatchObject({ value: 'found', how: 'replayed' })
  })

  it('goes on with the recorded result when only the executed arguments changed, and says so', () => {
    const run = new Scenario()
    run.do(request('q', { tools: ['t'] }), 'A', [asks('t', 'id', 'a')])
    run.do(call('t', 'id', 'a'), 'result')
    const again = run.killed()
    again.do(request('q', { tools: ['t'] }))
    expect(again.do(call('t', 'id', 'a, limit 10'))).toMatchObject({ value: 'result', how: 'replayed' })
    expect(again.notes).toMatchObject([{ type: 'warning', code: 'ARGUMENTS_CHANGED', step: '0/c:id' }])
  })
})

describe('a call whose response left no record', () => {
  it('does not answer the call of that id, with other arguments, of the response that was asked for in its place', () => {
    const ask = request('q', { tools: ['t'] })
    const run = new Scenario()
    run.endUnrecorded(run.ask(ask), 'A', [asks('t', 'id', 'a')])
    run.drain()
    run.do(call('t', 'id', 'a'), 'result of a')
    const second = run.killed()
    second.do(ask, 'B', [asks('t', 'id', 'b')])
    const third = second.killed()
    third.do(ask)
    expect(third.do(call('t', 'id', 'b'), 'result of b')).toMatchObject({ value: 'result of b', how: 'ran' })
    const fourth = third.killed()
    fourth.do(ask)
    expect(fourth.do(call('t', 'id', 'b'))).toMatchObject({ value: 'result of b', how: 'replayed' })
  })
})

describe('C8: killed while replaying', () => {
  it.each([1, 2, 3, 4])('the third attempt replays everything after two that came to %i steps', (steps) => {
    const drive = (run: Scenario, limit: number): string[] => {
      const how: string[] = []
      const go = (claim: Parameters<Scenario['do']>[0]): void => void (how.length < limit && how.push(run.do(claim).how))
      go(request('hi', { tools: ['t'] }))
      for (const [i, id] of ['x', 'y', 'z'].entries()) go(call('t', id, String(i + 1), { effect: true }))
      go(request(['hi', 'answer'], { tools: ['t'] }))
      return how
    }
    const second = loop().killed()
    drive(second, steps)
    const third = second.killed()
    drive(third, steps)
    const last = third.killed()
    expect(drive(last, 9)).toEqual(Array.from({ length: 5 }, () => 'replayed'))
    expect(last.journal).toEqual(loop().journal)
  })
})

describe('C13: a run that recovered from an error', () => {
  it('replays the error and all that followed', () => {
    const run = new Scenario()
    const failing = run.ask(step('load', { input: '1' }))
    run.endWith(failing, { type: 'error', error: { json: 'no such row' } })
    expect(run.handOut()).toMatchObject({ value: 'no such row' })
    run.do(step('fallback', { input: '1' }), 'fallback')
    const again = run.killed()
    expect(again.do(step('load', { input: '1' }))).toMatchObject({ value: 'no such row', how: 'replayed' })
    expect(again.do(step('fallback', { input: '1' }))).toMatchObject({ value: 'fallback', how: 'replayed' })
  })
})

describe('C16c: a race', () => {
  /** Both racers are claimed; the first that is handed out decides what comes next. */
  function race(run: Scenario, order: readonly ('a' | 'b')[]): string {
    const racers = order.map((name) => [name, run.ask(step(name, { input: name }))] as const)
    const live = racers.filter(([, ticket]) => !ticket.record?.end).toReversed()
    for (const [name, ticket] of live) run.end(ticket, name)
    const winner = run.handOut()!.value as string
    run.do(step('use', { input: winner }), `used ${winner}`)
    run.drain()
    return winner
  }

  it('has the same winner on replay', () => {
    const run = new Scenario()
    expect(race(run, ['a', 'b'])).toBe('b')
    const again = run.killed()
    expect(race(again, ['a', 'b'])).toBe('b')
    expect(again.notes).toEqual([])
    expect(again.journal).toHaveLength(run.journal.length)
  })

  it('has the same winner when the loser has no record', () => {
    const run = new Scenario()
    race(run, ['a', 'b'])
    const b = run.journal.findIndex((e) => e.type === 'step-ended' && e.step.name === 'b')
    const again = run.killed(b + 1)
    const [, winner] = [again.ask(step('a', { input: 'a' })), again.ask(step('b', { input: 'b' }))]
    expect(winner.record).toBeDefined()
    expect(again.handOut()).toMatchObject({ value: 'b', how: 'replayed' })
  })
})

describe('C17: a step without a record', () => {
  it('runs live, and the steps after it still replay', () => {
    const run = new Scenario()
    run.do(step('a', { input: 'a' }), 'A')
    run.endUnrecorded(run.ask(step('b', { input: 'b' })), 'B')
    run.drain()
    run.do(step('c', { input: 'c' }), 'C')
    run.do(request('d'), 'D')

    const again = run.killed()
    expect(again.do(step('a', { input: 'a' })).how).toBe('replayed')
    expect(again.do(step('b', { input: 'b' }), 'B')).toMatchObject({ how: 'ran', id: '1' })
    expect(again.do(step('c', { input: 'c' }))).toMatchObject({ how: 'replayed', value: 'C' })
    expect(again.do(request('d'))).toMatchObject({ how: 'replayed', value: 'D' })
    expect(again.notes).toEqual([])
    const whole = again.killed()
    expect([step('a', { input: 'a' }), step('b', { input: 'b' }), step('c', { input: 'c' }), request('d')].map((c) => whole.do(c).how)).toEqual(
      Array.from({ length: 4 }, () => 'replayed'),
    )
  })

  it('what cannot be fingerprinted is a hole, and runs every time', () => {
    const nameless = { ...request('x'), fingerprint: null }
    const run = new Scenario()
    run.endUnrecorded(run.ask(nameless))
    run.drain()
    run.do(step('b', { input: 'b' }), 'B')
    const again = run.killed()
    expect(again.claim(nameless).type).toBe('live')
    expect(again.do(step('b', { input: 'b' })).how).toBe('replayed')
  })
})

describe('C33: an older record is not asked for any more', () => {
  it('the younger one is handed out after a moment', () => {
    const run = new Scenario()
    const [a, b] = [run.ask(step('s', { key: 'a' })), run.ask(step('s', { key: 'b' }))]
    run.end(b, 'B')
    run.end(a, 'A')
    run.drain()
    for (const key of ['c', 'd', 'e']) run.do(step('s', { key }), key)

    const again = run.killed()
    expect(again.do(step('s', { key: 'a' }))).toMatchObject({ value: 'A', held: 1 })
    expect(['c', 'd', 'e'].map((key) => again.do(step('s', { key })).held)).toEqual([0, 0, 0])
  })

  it('a smaller pool asks for them one after the other', () => {
    const run = new Scenario()
    const tickets = ['a', 'b', 'c'].map((key) => run.ask(step('s', { key })))
    for (const i of [2, 1, 0]) run.end(tickets[i]!, `${i}`)
    run.drain()
    const again = run.killed()
    expect(['a', 'b', 'c'].map((key) => again.do(step('s', { key })).value)).toEqual(['0', '1', '2'])
  })

  it('a branch that is gone holds nothing back for ever', () => {
    const run = new Scenario()
    const [eu, us] = [run.branch('eu'), run.branch('us')]
    run.do(step('x', { branch: eu, input: '1' }), 'eu')
    run.do(step('x', { branch: us, input: '1' }), 'us')
    const again = run.killed()
    expect(again.do(step('x', { branch: again.branch('us'), input: '1' }))).toMatchObject({ value: 'us', how: 'replayed', held: 1 })
  })
})

describe('a live result', () => {
  it('comes after the recorded ones that are still expected', () => {
    const run = new Scenario()
    const [a, b] = [run.ask(step('s', { key: 'a' })), run.ask(step('s', { key: 'b' }))]
    run.end(a, 'A')
    expect(run.handOut()).toMatchObject({ value: 'A' })
    run.do(step('after', { key: 'a' }), 'after A')
    void b
    const again = run.killed()
    again.ask(step('s', { key: 'a' }))
    again.end(again.ask(step('s', { key: 'b' })), 'B')
    expect(again.machine.next()).toMatchObject({ type: 'deliver', item: { ref: { name: 's' } } })
    expect(again.machine.next()).toEqual({ type: 'hold', for: 's:after:a#0' })
    again.ask(step('after', { key: 'a' }))
    expect(again.drain().map(({ value }) => value)).toEqual(['after A', 'B'])
    expect(again.machine.replaysLeft).toBe(0)
  })
})
