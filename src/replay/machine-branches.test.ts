import { describe, expect, it } from 'vitest'
import { asks, call, request, Scenario, step } from './scenario.ts'

const loopIn = (run: Scenario, branch: string, customer: string): unknown[] => {
  const values: unknown[] = []
  for (const i of [0, 1]) {
    values.push(run.do(request(['help', ...Array.from({ length: i }, String)], { branch, tools: ['t'] }), `${customer} ${i}`, [asks('t', 'call_0', '')]).value)
    values.push(run.do(call('t', 'call_0', '', { branch, effect: true, policy: { allowRepeat: true } }), `${customer} tool ${i}`).value)
  }
  return values
}

describe('C16: loops in parallel, each in its branch', () => {
  it.each([[['eu', 'us']], [['us', 'eu']]])('each finds its own steps, opened as %j', (order) => {
    const run = new Scenario()
    const paths = ['eu', 'us'].map((key) => [key, run.branch(key)] as const)
    const values = Object.fromEntries(paths.map(([key, path]) => [key, loopIn(run, path, key)]))
    const again = run.killed()
    const opened = order.map((key) => [key, again.branch(key)] as const)
    // The older records are not asked for first, so they are waited for.
    expect(Object.fromEntries(opened.map(([key, path]) => [key, loopIn(again, path, key)]))).toEqual(values)
    expect(again.journal).toHaveLength(run.journal.length)
  })
})

describe('C15: an agent inside a tool', () => {
  function inside(run: Scenario, callId: string, prompt: string): unknown {
    const ticket = run.ask(call('sub', callId, 'same'))
    if (!ticket.record?.end) {
      run.start(ticket)
      const branch = run.machine.openBranch('', { step: ticket.ref.id })!
      run.do(request(prompt, { branch: branch.path, tools: ['t'] }), `inner ${prompt}`, [asks('t', 'call_0')])
      run.do(call('t', 'call_0', '', { branch: branch.path }), `tool of ${prompt}`)
      run.machine.closeBranch(branch)
      run.end(ticket, `sub ${prompt}`)
    }
    return run.drain().find(({ id }) => id === ticket.ref.id)?.value
  }

  it('twice in a run: the first replays without starting, the second finds its own steps', () => {
    const run = new Scenario()
    run.do(request('one', { tools: ['sub'] }), 'A', [asks('sub', 'x', 'same')])
    inside(run, 'x', 'same prompt')
    run.do(request('two', { tools: ['sub'] }), 'B', [asks('sub', 'x', 'same')])
    inside(run, 'x', 'same prompt')
    const cut = run.journal.findIndex((entry) => entry.type === 'step-ended' && entry.step.id === '1/c:x')

    const again = run.killed(cut)
    again.do(request('one', { tools: ['sub'] }))
    const first = again.claim(call('sub', 'x', 'same'))
    expect(first.type).toBe('replay')
    expect(again.drain()).toMatchObject([{ value: 'sub same prompt', held: 0 }])
    again.do(request('two', { tools: ['sub'] }))
    const before = again.journal.length
    expect(inside(again, 'x', 'same prompt')).toBe('sub same prompt')
    expect(again.journal.slice(before)).toMatchObject([{ type: 'step-ended', step: { id: '1/c:x' } }])
  })

  it('what lies inside a step that answers as a whole is not waited for', () => {
    const run = new Scenario()
    const ticket = run.ask(step('desk', { kind: 'agent', key: '' }))
    const branch = run.machine.openBranch('', { step: ticket.ref.id })!
    run.do(request('hi', { branch: branch.path }))
    run.machine.closeBranch(branch)
    run.end(ticket)
    run.drain()
    const again = run.killed()
    expect(again.machine.replaysLeft).toBe(1)
    expect(again.do(step('desk', { kind: 'agent', key: '' }))).toMatchObject({ how: 'replayed', held: 0 })
    expect(again.machine.replaysLeft).toBe(0)
  })
})

describe('what a step leaves inside of it when it ends', () => {
  function killedInside(): Scenario {
    const run = new Scenario()
    const outer = run.ask(step('outer'))
    const inside = run.machine.openBranch('', { step: outer.ref.id })!
    for (const input of ['7', '8']) {
      const ticket = run.ask(step('pay', { branch: inside.path, input, effect: true }))
      run.start(ticket)
      run.end(ticket)
      run.drain()
    }
    return run.killed()
  }

  it('are the effects that it has not asked for this time, all of them where it was answered without its code', () => {
    const again = killedInside()
    expect(again.machine.leftInside(again.ask(step('outer')))).toMatchObject({ ids: ['0/0', '0/1'], reason: 'step "outer" has ended without asking for what it had asked for inside before' })
    const half = killedInside()
    const outer = half.ask(step('outer'))
    const inside = half.machine.openBranch('', { step: outer.ref.id })!
    half.ask(step('pay', { branch: inside.path, input: '7', effect: true }))
    expect(half.machine.leftInside(outer)).toMatchObject({ ids: ['0/1'] })
  })

  it('is nothing where it has asked for all, or is new', () => {
    const again = killedInside()
    const outer = again.ask(step('outer'))
    const inside = again.machine.openBranch('', { step: outer.ref.id })!
    for (const input of ['7', '8']) again.ask(step('pay', { branch: inside.path, input, effect: true }))
    expect(again.machine.leftInside(outer)).toBeUndefined()
    expect(again.machine.leftInside(again.ask(step('another')))).toBeUndefined()
  })
})

describe('R1: nested calls of a snippet', () => {
  const nested = (run: Scenario, branch: string, ids: readonly string[], end: readonly number[]): unknown[] => {
    const tickets = ids.map((url, i) => run.ask(call('fetch', `outer:tool-${i}`, url, { branch })))
    for (const i of end) if (!tickets[i]!.record?.end) run.end(tickets[i]!, `${ids[i]} #${i}`)
    const handed = run.drain()
    return tickets.map((ticket) => handed.find(({ id }) => id === ticket.ref.id)?.value)
  }
  const open = (run: Scenario): string => {
    run.do(request('go', { tools: ['js'] }), 'A', [asks('js', 'outer', 'code')])
    const outer = run.ask(call('js', 'outer', 'code'))
    run.start(outer)
    return run.machine.openBranch('', { step: outer.ref.id })!.path
  }

  it('are numbered in call order and replay whatever the order of their results (G2)', () => {
    const run = new Scenario()
    expect(nested(run, open(run), ['a', 'b', 'a'], [2, 0, 1])).toEqual(['a #0', 'b #1', 'a #2'])
    const again = run.killed()
    expect(nested(again, open(again), ['a', 'b', 'a'], [])).toEqual(['a #0', 'b #1', 'a #2'])
    expect(again.journal).toHaveLength(run.journal.length)
  })

  it('G3: killed after the second of two equal ones, that one replays', () => {
    const run = new Scenario()
    nested(run, open(run), ['a', 'b'], [1])
    const again = run.killed()
    expect(nested(again, open(again), ['a', 'b'], [0])).toEqual(['a #0', 'b #1'])
  })

  it('G7: a call that differs and the later ones run live, the outer branch is not touched', () => {
    const run = new Scenario()
    const branch = open(run)
    for (const url of ['a', 'b', 'c']) nested(run, branch, [url], [0])
    const again = run.killed()
    const inside = open(again)
    nested(again, inside, ['a'], [])
    for (const url of ['x', 'c']) expect(again.ask(call('fetch', 'id', url, { branch: inside })).record).toBeUndefined()
    expect(again.reasons).toEqual(['tool "fetch" is asked with another input than in the journal'])
    expect(again.notes).toMatchObject([{ ids: ['0/c:outer/1', '0/c:outer/2'] }])
  })

  it('outside a tool, an id that nobody asked for is an ordinary step', () => {
    const run = new Scenario()
    expect(run.do(call('t', 'nobody', 'x'), 'T').id).toBe('0')
    expect(run.killed().do(call('t', 'another id', 'x'))).toMatchObject({ value: 'T', how: 'replayed' })
    expect(run.claim(call('t', 'p', 'x')).type).toBe('live')
    expect(run.claim(call('t', 'q', 'x'))).toMatchObject({ code: 'AMBIGUOUS_STEP' })
  })
})

describe('R1: keyed steps, branches and agents', () => {
  it('opened again after the end are the next occurrence', () => {
    const run = new Scenario()
    expect([0, 1].map(() => run.do(step('s', { key: 'k' })).id)).toEqual(['s:s:k#0', 's:s:k#1'])
    const first = run.branch('b')
    expect(run.machine.openBranch('', { key: 'b' })).toBeUndefined()
    run.close(first)
    expect(run.branch('b')).toBe('b:b#1')
  })

  it('the same key in another branch is another step', () => {
    const run = new Scenario()
    const [a, b] = [run.branch('a'), run.branch('b')]
    expect([a, b].map((branch) => run.do(step('s', { branch, key: 'k' })).id)).toEqual(['b:a#0/s:s:k#0', 'b:b#0/s:s:k#0'])
  })

  it('a key may be any text, the empty one too', () => {
    const run = new Scenario()
    const ids = ['', 'a/b', 'a~1', 'a#1', '\ud800', 'é'].map((key) => run.ask(step('s', { key })).ref.id)
    expect(new Set(ids).size).toBe(6)
  })
})

describe('BRANCH_ENDED', () => {
  const ended = { type: 'refuse', code: 'BRANCH_ENDED' }
  it('a claim in a branch that has ended is refused', () => {
    const run = new Scenario()
    const branch = run.branch('x')
    run.close(branch)
    expect(run.claim(step('s', { branch }))).toMatchObject(ended)
    expect(run.machine.openBranch(branch, { key: 'y' })).toBeUndefined()
  })

  it('also in a branch inside one that has ended', () => {
    const run = new Scenario()
    const outer = run.branch('x')
    const inner = run.branch('y', outer)
    run.close(outer)
    expect(run.claim(step('s', { branch: inner }))).toMatchObject(ended)
    expect(run.machine.openBranch(inner, { key: 'z' })).toBeUndefined()
  })

  it('not of one that a later try of what it stands in has opened: the end of an earlier one is its own', () => {
    const run = new Scenario()
    const outer = run.ask(step('s', { key: 'k' }))
    const [first, second] = [0, 1].map(() => {
      const inside = run.machine.openBranch('', { step: outer.ref.id })!
      return run.machine.openBranch(inside.path, { key: 'x' })!
    })
    expect(first!.path).toBe(second!.path)
    run.machine.closeBranch(first!)
    expect(run.claim(step('t', { branch: second!.path }))).toMatchObject({ type: 'live' })
  })

  it('a branch that nobody opened has none either', () => {
    expect(new Scenario().claim(step('s', { branch: 'b:x#0' }))).toMatchObject(ended)
  })

  it('what was claimed before the end is still handed out', () => {
    const run = new Scenario()
    const branch = run.branch('x')
    const ticket = run.ask(step('s', { branch }))
    run.close(branch)
    run.end(ticket, 'late')
    expect(run.drain()).toMatchObject([{ value: 'late' }])
  })
})
