import { describe, expect, it } from 'vitest'
import type { Claim } from './claim.ts'
import { MAIN } from './identity.ts'
import { asks, call, request, Scenario, step } from './scenario.ts'

const tools = ['search']

/** Two requests and a tool call between them, recorded under one configuration. */
function recorded(options: Parameters<typeof request>[1] = { tools, system: 'old' }): Scenario {
  const run = new Scenario()
  run.do(request('hi', options), 'A', [asks('search', 'x', 'q')])
  run.do(call('search', 'x', 'q'), 'found')
  run.do(request(['hi', 'A', 'found'], options), 'B')
  return run
}

describe('C11, R8: a changed configuration', () => {
  it('by default: the recorded answers stand, and what changed is named', () => {
    const run = recorded().killed()
    const changed = { tools, system: 'new', name: 'scripted/two' }
    expect(run.do(request('hi', changed))).toMatchObject({ value: 'A', how: 'replayed' })
    expect(run.do(call('search', 'x', 'q'))).toMatchObject({ value: 'found', how: 'replayed' })
    expect(run.do(request(['hi', 'A', 'found'], changed))).toMatchObject({ value: 'B', how: 'replayed' })
    expect(run.notes).toEqual(['0', '1'].map((id) => ({ type: 'config-changed', step: id, changed: ['model', 'system'], config: expect.any(String) as string })))
    expect(run.do(request(['more'], changed)).how).toBe('ran')
  })

  it('answers of before stand also after steps under the new configuration were recorded', () => {
    const second = recorded().killed()
    const changed = { tools, system: 'new' }
    second.do(request('hi', changed))
    second.do(call('search', 'x', 'q'))
    second.do(request(['hi', 'A', 'found'], changed))
    second.do(request(['more'], changed), 'C')
    const third = second.killed()
    expect([request('hi', changed), call('search', 'x', 'q'), request(['hi', 'A', 'found'], changed), request(['more'], changed)].map((c) => third.do(c).value))
      .toEqual(['A', 'found', 'B', 'C'])
    expect(third.reasons).toEqual([])
  })

  it('diverge: runs live from there, naming what changed', () => {
    const run = recorded().killed()
    expect(run.do(request('hi', { tools, system: 'new', onConfigChange: 'diverge' }), 'other')).toMatchObject({ how: 'ran', id: '0~1' })
    expect(run.notes[0]).toEqual({
      type: 'superseded', by: 'divergence', step: '0', reason: 'the configuration changed (system)', ids: ['0', '1'],
    })
  })

  it('refuse: nothing is claimed, and the message names what changed', () => {
    const run = recorded().killed()
    expect(run.claim(request('hi', { tools: ['search', 'more'], system: 'new', onConfigChange: 'refuse' }))).toMatchObject({
      type: 'refuse', code: 'CONFIG_CHANGED', message: 'the configuration changed (system, tool more)',
    })
    expect(run.do(request('hi', { tools, system: 'old', onConfigChange: 'refuse' }))).toMatchObject({ value: 'A', how: 'replayed' })
  })

  it.each<[string, Parameters<typeof request>[1]]>([
    ['a tool that the response asks for is gone', { tools: ['other'], system: 'old' }],
    ['the response format is another', { tools, system: 'old', responseFormat: 'json' }],
  ])('diverges by itself when %s', (_name, options) => {
    const run = recorded().killed()
    expect(run.do(request('hi', options), 'other').how).toBe('ran')
    expect(run.reasons).toEqual([expect.stringContaining('the configuration changed')])
  })

  it('does not take a tool that the model made up for one that is gone (B8)', () => {
    const run = new Scenario()
    run.do(request('hi', { tools, system: 'old' }), 'A', [asks('made_up', 'x')])
    expect(run.killed().do(request('hi', { tools, system: 'new' }))).toMatchObject({ value: 'A', how: 'replayed' })
  })
})

describe('C11b, R5: a changed conversation', () => {
  const conversation = ['hi', 'A', 'found']
  it.each<[string, Claim, string]>([
    ['the last message', request(['hi', 'A', 'other'], { tools, system: 'old' }), 'message 3 (user) differs from the journal'],
    ['an old message', request(['ho', 'A', 'found'], { tools, system: 'old' }), 'message 1 (user) differs from the journal'],
    ['a message more', request([...conversation, 'x'], { tools, system: 'old' }), 'the conversation has 4 messages instead of 3: message 4 (assistant) is new'],
    ['a message less', request(['hi', 'A'], { tools, system: 'old' }), 'the conversation has 2 messages instead of 3: message 3 (user) is missing'],
    ['a step instead', step('load', { input: 'x' }), 'the journal has model "scripted/one" here, now step "load" is asked for'],
  ])('says which: %s', (_name, claim, reason) => {
    const run = recorded().killed()
    run.do(request('hi', { tools, system: 'old' }))
    run.do(call('search', 'x', 'q'))
    expect(run.do(claim, 'live')).toMatchObject({ how: 'ran', id: '1~1' })
    expect(run.notes).toContainEqual({ type: 'superseded', by: 'divergence', step: '1', reason, ids: ['1'] })
  })

  it('names another input of a step', () => {
    const run = new Scenario()
    run.do(step('load', { input: '1' }))
    const again = run.killed()
    again.do(step('load', { input: '2' }))
    expect(again.reasons).toEqual(['step "load" is asked with another input than in the journal'])
  })

  it('names the message where each record holds only what it adds', () => {
    const run = new Scenario()
    const first = request('hi')
    const id = run.do(first).id
    const second = request(['hi', 'A', 'found'])
    const { added } = second.model.prompt
    run.do({ ...second, model: { ...second.model, prompt: { length: 3, keep: 1, base: id, added: added.slice(1) } } })
    const again = run.killed()
    again.do(first)
    again.do(request(['hi', 'A', 'other']))
    expect(again.reasons).toEqual(['message 3 (user) differs from the journal'])
  })

  it('ends replay in its branch for good: a later step that the journal has runs live', () => {
    const run = new Scenario()
    for (const input of ['a', 'b', 'c']) run.do(step('s', { input }), input)
    const again = run.killed()
    expect(['a', 'x', 'c'].map((input) => again.do(step('s', { input }), `live ${input}`).value)).toEqual(['a', 'live x', 'live c'])
  })

  it('a record further on does not answer a step that is asked for earlier', () => {
    const run = new Scenario()
    for (const input of ['a', 'b', 'c']) run.do(step('s', { input }), input)
    const again = run.killed()
    expect(['a', 'c'].map((input) => again.do(step('s', { input }), `live ${input}`).value)).toEqual(['a', 'live c'])
  })

  it('an effect already made is not repeated without a decision, in whatever words the model asks for it now', () => {
    const run = new Scenario()
    run.do(request('hi', { tools: ['refund'] }), 'A', [asks('refund', 'x', '5 EUR')])
    run.do(call('refund', 'x', '5 EUR', { effect: true }), 'refunded')
    const again = run.killed()
    again.do(request('ho', { tools: ['refund'] }), 'A', [asks('refund', 'y', 'five euros')])
    const ticket = again.ask(call('refund', 'y', 'five euros', { effect: true }))
    expect(again.guard(ticket)).toMatchObject({ type: 'wait', why: 'repeat', effects: [{ step: { id: '0/c:x' } }] })
  })

  it('an effect that a replayed response asked for, and that is not asked for any more, is not repeated either', () => {
    const run = new Scenario()
    run.do(request('hi', { tools: ['refund'] }), 'A', [asks('refund', 'x', '5'), asks('refund', 'y', '7')])
    for (const [id, input] of [['x', '5'], ['y', '7']] as const) run.do(call('refund', id, input, { effect: true }), 'refunded')
    run.do(request(['hi', 'both'], { tools: ['refund'] }), 'B')

    const again = run.killed()
    again.do(request('hi', { tools: ['refund'] }))
    again.do(call('refund', 'x', '5', { effect: true }))
    again.do(request(['hi', 'one'], { tools: ['refund'] }), 'B', [asks('refund', 'z', '7 euros')])
    expect(again.guard(again.ask(call('refund', 'z', '7 euros', { effect: true })))).toMatchObject({ type: 'wait', effects: [{ step: { id: '0/c:y' } }] })
  })

  it('leaves branches beside it alone, and starts those afresh that it opens later', () => {
    const run = new Scenario()
    const open = run.branch('open')
    run.do(step('a', { branch: open, input: '1' }), 'a')
    run.do(step('m', { input: '1' }), 'm')
    run.do(step('b', { branch: open, input: '1' }), 'b')
    run.do(step('c', { branch: run.branch('later'), input: '1' }), 'c')

    const again = run.killed()
    const beside = again.branch('open')
    again.do(step('a', { branch: beside, input: '1' }))
    again.do(step('m', { input: 'changed' }))
    expect(again.do(step('b', { branch: beside, input: '1' }))).toMatchObject({ value: 'b', how: 'replayed' })
    expect(again.do(step('c', { branch: again.branch('later'), input: '1' }))).toMatchObject({ how: 'ran', id: 'b:later#0~1/0' })
  })

  it('a keyed step or a call that changed is superseded alone', () => {
    const run = new Scenario()
    run.do(step('s', { key: 'a', input: '1' }))
    run.do(step('t', { input: '1' }), 't')
    const again = run.killed()
    expect(again.do(step('s', { key: 'a', input: '2' }))).toMatchObject({ how: 'ran', id: 's:s:a#0~1' })
    expect(again.do(step('t', { input: '1' }))).toMatchObject({ value: 't', how: 'replayed' })
  })

  it('a read is not the answer of a step with effects that took its place', () => {
    const run = new Scenario()
    run.do(step('s', { kind: 'read', key: 'a' }))
    const again = run.killed()
    expect(again.do(step('s', { key: 'a', effect: true })).how).toBe('ran')
    expect(again.reasons).toEqual(['the journal has read "s" here, now step "s" is asked for'])
  })
})

describe('R5: steps without input', () => {
  it('replay as long as all before them did', () => {
    const run = new Scenario()
    for (const name of ['a', 'a', 'b']) run.do(step(name), name)
    const again = run.killed()
    expect(['a', 'a', 'b'].map((name) => again.do(step(name)).how)).toEqual(['replayed', 'replayed', 'replayed'])
  })

  /** A keyed step is gone from the journal, so it runs live; what follows is recorded. */
  function withGap(follower: Claim): Scenario {
    const run = new Scenario()
    run.endUnrecorded(run.ask(step('gap', { key: 'g' })))
    run.drain()
    run.do(follower, 'before')
    const again = run.killed()
    again.do(step('gap', { key: 'g' }), 'live')
    return again
  }

  it('a read runs live after a result that was handed out without a record, and is another one now', () => {
    const run = withGap(step('r', { kind: 'read' }))
    expect(run.do(step('r', { kind: 'read' }), 'now')).toMatchObject({ value: 'now', how: 'ran', id: '0~1' })
    expect(run.notes.at(-1)).toMatchObject({ type: 'superseded', by: 'live-result', ids: ['0'] })
    expect(run.reasons).toEqual(['read "r" has no input and follows a result that may be another one now'])
  })

  it('an effect that was started and has no end is asked about, also when its outcome comes later: it used the other result', () => {
    const before = new Scenario()
    before.endUnrecorded(before.ask(step('gap', { key: 'g' })))
    before.drain()
    before.start(before.ask(step('charge', { effect: true })))
    const run = before.killed()
    run.do(step('gap', { key: 'g' }), 'another')
    run.append({ type: 'settled', at: 0, step: '0', by: 'late-result', settlement: { type: 'completed', outcome: { type: 'value', value: { json: 'charged' } } } })
    const again = run.ask(step('charge', { effect: true }))
    expect([again.ref.id, run.guard(again)]).toMatchObject(['0~1', { type: 'wait', why: 'repeat', effects: [{ step: { id: '0' } }] }])
  })

  it('an effect stops for a decision', () => {
    const run = withGap(step('charge', { effect: true }))
    const ticket = run.ask(step('charge', { effect: true }))
    expect(run.guard(ticket)).toMatchObject({ type: 'wait', why: 'repeat', effects: [{ step: { id: '0' } }] })
    const later = run.killed()
    later.do(step('gap', { key: 'g' }))
    const again = later.ask(step('charge', { effect: true }))
    expect(again.ref.id).toBe('0~1')
    expect(later.guard(again).type).toBe('wait')
  })

  it('a step with input replays all the same', () => {
    expect(withGap(step('r', { input: '1' })).do(step('r', { input: '1' }))).toMatchObject({ value: 'before', how: 'replayed' })
  })

  it('a refused one leaves its record as it was', () => {
    const run = new Scenario()
    run.endUnrecorded(run.ask(step('gap', { key: 'g' })))
    run.drain()
    for (const value of ['one', 'two']) run.do(step('r', { kind: 'read' }), value)
    const again = run.killed()
    again.do(step('gap', { key: 'g' }), 'live')
    const first = again.ask(step('r', { kind: 'read' }))
    expect(again.claim(step('r', { kind: 'read' }))).toMatchObject({ type: 'refuse', code: 'AMBIGUOUS_STEP' })
    again.end(first)
    again.drain()
    expect(again.history.records.has('1')).toBe(true)
  })

  it('after a branch in which such a result was handed out runs live too', () => {
    const run = new Scenario()
    const inner = run.branch('x')
    run.endUnrecorded(run.ask(step('gap', { branch: inner, key: 'g' })))
    run.drain()
    run.close(inner)
    run.do(step('r', { kind: 'read' }), 'before')
    const again = run.killed()
    const branch = again.branch('x')
    again.do(step('gap', { branch, key: 'g' }))
    again.close(branch)
    expect(again.do(step('r', { kind: 'read' }), 'now').how).toBe('ran')
  })

  it('replays after a result that nobody had seen when it was recorded', () => {
    const run = new Scenario()
    const slow = run.branch('slow')
    run.ask(step('long', { branch: slow, input: '1' }))
    run.do(step('r', { kind: 'read' }), 'before')
    const again = run.killed()
    const branch = again.branch('slow')
    again.do(step('long', { branch, input: '1' }))
    again.close(branch)
    expect(again.do(step('r', { kind: 'read' }), 'now')).toMatchObject({ how: 'replayed', value: 'before' })
  })
})

describe('R5: generations', () => {
  const drive = (run: Scenario, inputs: readonly string[]): string[] => inputs.map((input) => run.do(step('s', { input }), `value of ${input}`).id)

  it('no id is ever used again, however often the run diverges', () => {
    const attempts = [['a', 'b', 'c'], ['a', 'x', 'c'], ['y', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c']]
    let run = new Scenario()
    const ids: string[][] = []
    for (const inputs of attempts) {
      ids.push(drive(run, inputs))
      run = run.killed()
    }
    expect(ids).toEqual([['0', '1', '2'], ['0', '1~1', '2~1'], ['0~1', '1~2'], ['0~2', '1~3', '2~2'], ['0~2', '1~3', '2~2']])
    const ended = run.journal.flatMap((entry) => (entry.type === 'step-ended' ? [entry.step.id] : []))
    expect(new Set(ended).size).toBe(ended.length)
  })

  it('a divergence whose step left no record leaves a hole, not the old record', () => {
    const run = new Scenario()
    drive(run, ['a', 'b'])
    const second = run.killed()
    drive(second, ['a'])
    second.ask(step('s', { input: 'x' }))
    const third = second.killed()
    drive(third, ['a'])
    expect(third.claim(step('s', { input: 'b' }))).toMatchObject({ type: 'live', ticket: { ref: { id: '1~1' } } })
    expect(third.notes).toEqual([])
  })

  it.each([[['x', 'y']], [['y', 'x']]])('a third attempt finds what the second recorded, opening branches in the order %j', (order) => {
    const drive = (run: Scenario, keys: readonly string[], top: string): Record<string, string> => {
      run.do(step('top', { input: top }))
      const paths = keys.map((key) => [key, run.branch(key)] as const)
      return Object.fromEntries(paths.map(([key, branch]) => {
        const { how, value } = run.do(step('s', { branch, input: key }), `${top} ${key}`)
        return [key, `${how} ${String(value)}`]
      }))
    }
    const first = new Scenario()
    drive(first, ['x', 'y'], 'one')
    const second = first.killed()
    expect(drive(second, ['x', 'y'], 'two')).toEqual({ x: 'ran two x', y: 'ran two y' })
    expect(drive(second.killed(), order, 'two')).toEqual({ x: 'replayed two x', y: 'replayed two y' })
  })

  it('a tool call inside a superseded response is another call than the new one with the same id', () => {
    const run = new Scenario()
    const drive = (run: Scenario, text: string): string => {
      run.do(request(text, { tools: ['t'] }), text, [asks('t', 'call_0', 'same')])
      return run.do(call('t', 'call_0', 'same'), `result for ${text}`).value as string
    }
    drive(run, 'one')
    const second = run.killed()
    expect(drive(second, 'two')).toBe('result for two')
    expect(drive(second.killed(), 'two')).toBe('result for two')
    expect(drive(second.killed(), 'one')).toBe('result for one')
  })

  it('what a step that has not ended held is not given to another kind of step before it', () => {
    const run = new Scenario()
    const outer = run.ask(step('outer'))
    run.machine.openBranch(MAIN, { step: outer.ref.id })
    run.do(step('pay', { branch: outer.ref.id, effect: true }))

    const same = run.killed().ask(step('outer'))
    expect(same.ref.id).toBe('0')
    const other = run.killed()
    expect(other.ask(request('hello')).ref.id).toBe('1')
    const moved = other.ask(step('outer'))
    expect(moved.ref.id).toBe('0')
    other.machine.openBranch(MAIN, { step: moved.ref.id })
    expect(other.ask(step('pay', { branch: moved.ref.id, effect: true })).record?.end).toBeDefined()
  })

  it('a request that fills a hole does not do again what a later record of the very same conversation did', () => {
    const run = new Scenario()
    run.endUnrecorded(run.ask(request('another')))
    run.drain()
    run.do(request('pay', { tools: ['pay'] }), 'ok', [asks('pay', 'call_0', 'all')])
    run.do(call('pay', 'call_0', 'all', { effect: true }))

    const again = run.killed()
    expect(again.do(request('pay', { tools: ['pay'] }), 'ok', [asks('pay', 'call_0', 'all of it')])).toMatchObject({ id: '0', how: 'ran' })
    const pay = again.ask(call('pay', 'call_0', 'all of it', { effect: true }))
    expect(again.guard(pay)).toMatchObject({ type: 'wait', why: 'repeat', effects: [{ step: { id: '1/c:call_0' } }] })
  })
})
