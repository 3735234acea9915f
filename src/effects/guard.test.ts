import { describe, expect, it } from 'vitest'
import type { Decision } from '../journal/entry.ts'
import { answerOf, refOf, RESULT, REUSE, Scene, scene, skipOf, startOf, unknown, value, waitOf } from './fixtures/scene.ts'
import type { EffectPolicy, GuardVerdict } from './guard.ts'

describe('a step that was interrupted itself (C1)', () => {
  it.each<[EffectPolicy['onIncomplete'], unknown]>([
    ['refuse', waitOf('in-doubt', 'a')],
    ['rerun', startOf()],
    ['skip', skipOf()],
    ['reconcile', { type: 'reconcile', effect: expect.objectContaining({ step: refOf('a') }) }],
  ])('by the policy `%s`', (onIncomplete, verdict) => {
    expect(scene().started('a').ask('a', { onIncomplete })).toEqual(verdict)
  })

  it.each<[string, Decision | 'rerun' | 'skip', GuardVerdict]>([
    ['rerun', 'rerun', startOf([], [1])],
    ['skip', 'skip', skipOf([], [1])],
    ['its result', RESULT, answerOf(value('by hand'))],
  ])('by the decision %s, whatever the policy says', (_, decision, verdict) => {
    for (const onIncomplete of ['refuse', 'rerun', 'skip', 'reconcile'] as const) {
      expect(scene().started('a').decided('a', decision).ask('a', { onIncomplete })).toEqual(verdict)
    }
  })

  it('starts when it never was, or when it is known not to be done', () => {
    expect(scene().ask('a')).toEqual(startOf())
    expect(scene().started('a').settled('a', { type: 'not-done' }).ask('a')).toEqual(startOf())
  })

  it('is answered with what it turned out to be, also when another call has used that up', () => {
    const known = scene().started('a').settled('a', { type: 'completed', outcome: value('ok') })
    expect(known.ask('a')).toEqual(answerOf(value('ok')))
  })

  it('is asked about once: without an answer to believe it waits', () => {
    const doubt = scene().started('a')
    doubt.asked.add('a')
    expect(doubt.ask('a', { onIncomplete: 'reconcile' })).toEqual(waitOf('in-doubt', 'a'))
  })

  it('takes the newest of two decisions, and the older one goes with it', () => {
    expect(scene().started('a').decided('a', 'rerun').decided('a', 'skip').ask('a')).toEqual(skipOf([], [2, 1]))
  })

  it.each(['rerun', 'skip'] as const)('is answered with what came of it, though %j was decided before that was known (C20)', (decision) => {
    expect(scene().started('a').decided('a', decision).late('a').ask('a')).toEqual(answerOf(value('late a'), [], [1]))
    expect(scene().doubtful('a').decided('b', decision).late('a').ask('b')).toEqual(answerOf(value('late a'), ['a'], [1]))
    expect(scene().doubtful('a').decided('b', decision).late('a').ask('b', { args: 'order 2' })).toEqual(waitOf('repeat', 'a'))
  })

  it('is answered with the result that somebody gave first', () => {
    expect(scene().started('a').decided('a', RESULT).late('a').ask('a')).toEqual(answerOf(value('by hand')))
  })

  it('does not start while it is on its way already, whatever was decided, and is answered with what comes of that', () => {
    const twice = scene().started('a').decided('a', 'rerun')
    twice.underWay.add('a')
    expect(twice.ask('a')).toEqual({ type: 'hold' })
    expect(scene().done('a').ask('a')).toEqual(answerOf(value('done a')))
  })

  it('does not start while the call that stood at its turn before is on its way', () => {
    const diverged = scene().started('1/c:a').superseded('1')
    for (const on of [diverged.underWay, diverged.running]) on.add('1/c:a')
    expect(diverged.ask('1~1/c:a', { args: 'order 2' })).toEqual({ type: 'hold' })
    expect(diverged.ask('2/c:a', { args: 'order 2' })).toEqual(startOf())
  })

  it('uses the decision up with its start: the next doubt is another question', () => {
    const once = scene().started('a').decided('a', 'rerun')
    once.start('a', once.ask('a'))
    expect(once.ask('a')).toEqual(waitOf('in-doubt', 'a'))
  })

  it('uses up also the decisions that it could have started without', () => {
    const once = scene().started('a').decided('a', 'rerun').settled('a', { type: 'not-done' })
    once.start('a', once.ask('a'))
    expect(once.ask('a')).toEqual(waitOf('in-doubt', 'a'))
  })

  it('stays in doubt when a decision lets another call pass it', () => {
    const both = scene().started('a').decided('b', 'rerun')
    const verdict = both.ask('b')
    expect(verdict).toEqual(startOf(['a'], [1]))
    both.start('b', verdict)
    both.running.add('b')
    expect(both.ask('a')).toEqual(waitOf('in-doubt', 'a'))
  })
})

describe('a call while the same effect is in doubt (C27, C28)', () => {
  it.each(['refuse', 'rerun', 'skip'] as const)('waits under the policy `%s`, in the same words or in others', (onIncomplete) => {
    expect(scene().doubtful('a').ask('b', { onIncomplete })).toEqual(waitOf('in-doubt', 'a'))
    expect(scene().doubtful('a').ask('b', { onIncomplete, args: 'order one' })).toEqual(waitOf('in-doubt', 'a'))
  })

  it('asks the outside world about each doubt once, then waits', () => {
    const doubts = scene().doubtful('a').doubtful('b')
    expect(doubts.ask('c', { onIncomplete: 'reconcile' })).toMatchObject({ type: 'reconcile', effect: { step: refOf('a') } })
    doubts.asked.add('a')
    expect(doubts.ask('c', { onIncomplete: 'reconcile' })).toMatchObject({ type: 'reconcile', effect: { step: refOf('b') } })
    doubts.asked.add('b')
    expect(doubts.ask('c', { onIncomplete: 'reconcile' })).toEqual(waitOf('in-doubt', 'a', 'b'))
  })

  it('is free of what runs, of another tool, of another key, of itself, and of what failed for certain', () => {
    expect(Object.assign(scene().started('a'), { running: new Set(['a']) }).ask('b')).toEqual(startOf())
    expect(scene().doubtful('a', 'order 1', 'order 1').ask('b', { key: 'order 2', keyed: true })).toEqual(startOf())
    expect(scene().started('a').ended('a', { type: 'error', error: { json: 'declined' } }).ask('b')).toEqual(startOf())
    expect(scene().doubtful('a').settled('a', { type: 'not-done' }).ask('b')).toEqual(startOf())
    expect(scene().done('a').ask('b')).toEqual(startOf())
  })

  it('is held by its key under `effectKey`, whatever the arguments', () => {
    expect(scene().doubtful('a', 'order 1', '1').ask('b', { args: 'first order', key: '1', keyed: true })).toEqual(waitOf('in-doubt', 'a'))
  })

  it.each<[string, Decision | 'rerun' | 'skip', GuardVerdict]>([
    ['rerun', 'rerun', startOf(['a'], [1])],
    ['skip', 'skip', skipOf([], [1])],
    ['its result', RESULT, answerOf(value('by hand'), ['a'], [1])],
  ])('passes by the decision %s about the call, or about the doubt', (_, decision, verdict) => {
    expect(scene().doubtful('a').decided('b', decision).ask('b')).toEqual(verdict)
    if (decision !== RESULT) expect(scene().doubtful('a').decided('a', decision).ask('b')).toEqual(verdict)
  })

  it('is answered with what somebody says that the doubtful one gave, where it asks for the same; else it asks for itself', () => {
    const told = (args: string): GuardVerdict => scene().doubtful('a').decided('a', RESULT).ask('b', { args })
    expect(told('order 1')).toEqual(answerOf(value('by hand'), ['a']))
    expect([told('order 2'), scene().decided('b', RESULT, { name: 'charge', key: '' }).ask('b')]).toEqual([waitOf('repeat', 'a'), startOf([], [1])])
    expect(scene().doubtful('a').decided('a', 'skip').ask('b', { args: 'order 2' })).toEqual(waitOf('in-doubt', 'a'))
  })

  it('does not pass by a decision about another effect', () => {
    const other = scene().doubtful('a').decided('gone', 'rerun', { name: 'refund', key: 'other' }).decided('gone', 'rerun', { name: 'charge', key: '' })
    expect(other.ask('b')).toEqual(waitOf('in-doubt', 'a'))
  })

  it('lets one decision about one doubt pass that one alone', () => {
    expect(scene().doubtful('a').doubtful('b').decided('a', 'rerun').ask('c')).toEqual(waitOf('in-doubt', 'b'))
    expect(scene().doubtful('a').doubtful('b').decided('a', 'rerun').decided('b', 'rerun').ask('c')).toEqual(startOf(['b', 'a'], [2, 1]))
    expect(scene().doubtful('a').doubtful('b').decided('c', 'rerun').ask('c')).toEqual(startOf(['a'], [1]))
  })

  it.each([['a result', 'wait', RESULT], ['what an earlier one gave', 'wait', REUSE], ['rerun', 'start', 'rerun'], ['skip', 'skip', 'skip']] as const)(
    'that says nothing of what it asks for, and follows what may be another result since it was decided about: %s is %s then',
    (_, verdict, decision) => {
      const decided = scene().started('a').decided('b', decision)
      expect(decided.ask('b', { changedAt: 999 }).type).toBe(decision === 'rerun' || decision === 'skip' ? verdict : 'answer')
      expect(decided.ask('b', { changedAt: 1_001 }).type).toBe(verdict)
    },
  )

  it('uses the decision up once: the call after it waits again', () => {
    const once = scene().doubtful('a').decided('b', 'rerun')
    once.start('b', once.ask('b')).ended('b', unknown)
    expect(once.ask('c')).toEqual(waitOf('in-doubt', 'b'))
  })

  it('that was interrupted itself passes what stood beside it by the decision about itself, and that goes on standing', () => {
    const both = scene().doubtful('a').started('b').decided('b', 'rerun')
    expect(both.ask('b')).toEqual(startOf([], [1]))
    expect(both.start('b', both.ask('b')).ended('b', value('ok')).ask('c')).toEqual(waitOf('in-doubt', 'a'))
  })
})

describe('calls that were interrupted side by side', () => {
  it('run again both when the policy or decisions about both say so, in any order', () => {
    expect(scene().started('a').started('b').ask('a', { onIncomplete: 'rerun' })).toEqual(startOf())
    const both = scene().started('a').started('b').decided('a', 'rerun').decided('b', 'rerun')
    expect(both.ask('a')).toEqual(startOf([], [1]))
    both.start('a', both.ask('a')).ended('a', value('ok'))
    expect(both.ask('b')).toEqual(startOf([], [2]))
  })

  it('leave each other their decisions: one that will run again or has its result does not hold the other, whichever comes first', () => {
    for (const decision of ['rerun', RESULT, REUSE] as const) expect(scene().started('a').decided('a', decision).ask('b')).toEqual(startOf())
    expect(scene().started('a').decided('a', 'skip').ask('b')).toEqual(waitOf('in-doubt', 'a'))
  })

  it('hold each other until one is decided about', () => {
    const one = scene().started('a').started('b')
    expect(one.ask('a')).toEqual(waitOf('in-doubt', 'a'))
    one.decided('a', 'rerun')
    expect(one.ask('a')).toEqual(startOf([], [1]))
    expect(one.ask('b')).toEqual(waitOf('in-doubt', 'b'))
  })

  it('are not answered with one another: what turns out completed waits for its own call', () => {
    const twins = scene().started('a').started('b').settled('a', { type: 'completed', outcome: value('ok') }).settled('b', { type: 'not-done' })
    expect(twins.ask('b')).toEqual(startOf())
    expect(twins.ask('a')).toEqual(answerOf(value('ok')))
  })
})

describe('a call whose effect turned out completed after its caller was told "unknown"', () => {
  const found = (args = 'order 1', key = ''): Scene => scene().doubtful('a', args, key).settled('a', { type: 'completed', outcome: value('ok') })

  it('is answered with it for the same arguments, once', () => {
    const known = found()
    expect(known.ask('b')).toEqual(answerOf(value('ok'), ['a']))
    known.ledger.apply({ type: 'consumed', at: 7, step: 'b', effects: ['a'], decisions: [] }, 0)
    expect(known.ask('c')).toEqual(startOf())
  })

  it('waits in other words, unless the key says that they are the same', () => {
    expect(found().ask('b', { args: 'order one' })).toEqual(waitOf('repeat', 'a'))
    expect(found('order 1', '1').ask('b', { args: 'order one', key: '1', keyed: true })).toEqual(answerOf(value('ok'), ['a']))
  })

  it('is another one where one response asked for both, unless the key says that they are the same', () => {
    const beside = scene().doubtful('1/c:a').settled('1/c:a', { type: 'completed', outcome: value('ok') })
    expect([beside.ask('1/c:b'), beside.ask('1~1/c:b'), beside.ask('1/c:b', { args: 'order 2' })]).toEqual([startOf(), startOf(), startOf()])
    expect([beside.ask('2/c:b'), beside.ask('1/c:b', { keyed: true })]).toEqual([answerOf(value('ok'), ['1/c:a']), answerOf(value('ok'), ['1/c:a'])])
  })

  it('finds its own among several', () => {
    const several = found('order 2').doubtful('b', 'order 1').settled('b', { type: 'completed', outcome: value('mine') })
    expect(several.ask('c')).toEqual(answerOf(value('mine'), ['b']))
  })

  it.each<[string, Decision | 'rerun' | 'skip', GuardVerdict]>([
    ['rerun', 'rerun', startOf([], [1])],
    ['skip', 'skip', skipOf([], [1])],
    ['reuse', REUSE, answerOf(value('as before'), [], [1])],
    ['its result', RESULT, answerOf(value('by hand'), [], [1])],
  ])('passes by the decision %s', (_, decision, verdict) => {
    expect(found().decided('b', decision, undefined, 'order one').ask('b', { args: 'order one' })).toEqual(verdict)
  })
})

describe('a call that would repeat a superseded effect (C11b, C38)', () => {
  const diverged = (): Scene => scene().done('a').superseded('a')

  it('waits, in the same words or in others, and is never answered by itself', () => {
    for (const onIncomplete of ['refuse', 'rerun', 'skip', 'reconcile'] as const) {
      expect(diverged().ask('a~1', { onIncomplete })).toEqual(waitOf('repeat', 'a'))
      expect(diverged().ask('a~1', { onIncomplete, args: 'order one' })).toEqual(waitOf('repeat', 'a'))
    }
  })

  it('is asked about with all that its answer lets it pass: what was made in other words, beside what is in doubt', () => {
    const both = scene().done('a', 'order 2').superseded('a').doubtful('b')
    expect(both.ask('c')).toEqual(waitOf('repeat', 'b', 'a'))
    expect(both.decided('c', 'rerun').ask('c')).toEqual(startOf(['b'], [1]))
  })

  it('waits also for what was in doubt, and asks about it under `reconcile`', () => {
    expect(scene().started('a').superseded('a').ask('a~1', { onIncomplete: 'rerun' })).toEqual(waitOf('in-doubt', 'a'))
    const asked = scene().started('a').superseded('a')
    expect(asked.ask('a~1', { onIncomplete: 'reconcile' })).toMatchObject({ type: 'reconcile', effect: { step: refOf('a') } })
    expect(asked.settled('a', { type: 'completed', outcome: value('ok') }).ask('a~1', { onIncomplete: 'reconcile' })).toEqual(waitOf('repeat', 'a'))
  })

  it('is free by `allowRepeat`, by another `effectKey`, and after what failed or was not done', () => {
    expect(diverged().ask('a~1', { allowRepeat: true })).toEqual(startOf())
    expect(scene().started('a').superseded('a').ask('a~1', { allowRepeat: true })).toEqual(startOf())
    expect(scene().done('a', 'order 1', '1').superseded('a').ask('a~1', { key: '2', keyed: true })).toEqual(startOf())
    expect(scene().started('a').ended('a', { type: 'error', error: { json: 'no' } }).superseded('a').ask('a~1')).toEqual(startOf())
    expect(scene().started('a').settled('a', { type: 'not-done' }).superseded('a').ask('a~1')).toEqual(startOf())
  })

  it('is free by `allowRepeat: known` once it is known what was done, not while that is in doubt', () => {
    expect(diverged().ask('a~1', { allowRepeat: 'known' })).toEqual(startOf())
    expect(scene().started('a').superseded('a').ask('a~1', { allowRepeat: 'known' })).toEqual(waitOf('in-doubt', 'a'))
    expect(scene().doubtful('a').superseded('a').ask('a~1', { allowRepeat: 'known' })).toEqual(waitOf('in-doubt', 'a'))
  })

  it('is settled as the policy says, where an earlier attempt left it', () => {
    const left = (): Scene => scene().doubtful('a')
    for (const onIncomplete of ['rerun', 'skip'] as const) expect(left().ask('b', { onIncomplete })).toEqual(waitOf('in-doubt', 'a'))
    expect(left().resumed().ask('b', { onIncomplete: 'rerun' })).toEqual(startOf(['a']))
    expect(left().resumed().ask('b', { onIncomplete: 'skip' })).toEqual(skipOf())
    expect(left().resumed().ask('b')).toEqual(waitOf('in-doubt', 'a'))
    expect(left().superseded('a').resumed().ask('b', { onIncomplete: 'rerun' })).toEqual(waitOf('in-doubt', 'a'))
  })

  it('is not freed by `allowRepeat` from a doubt that the model was told of', () => {
    expect(scene().doubtful('a').ask('b', { allowRepeat: true })).toEqual(waitOf('in-doubt', 'a'))
  })

  it.each<[string, Decision | 'rerun' | 'skip', GuardVerdict]>([
    ['rerun', 'rerun', startOf(['a'], [1])],
    ['skip', 'skip', skipOf([], [1])],
    ['reuse', REUSE, answerOf(value('as before'), ['a'], [1])],
    ['its result', RESULT, answerOf(value('by hand'), ['a'], [1])],
  ])('passes by the decision %s about the call, or about what it would repeat', (_, decision, verdict) => {
    expect(diverged().decided('a~1', decision).ask('a~1')).toEqual(verdict)
    expect(diverged().decided('a', decision).ask('a~1')).toEqual(verdict)
  })

  it('passes by what was to be done about what blocks it, and is not answered with its result, when it asks for something else', () => {
    const other = (decision: Decision | 'rerun' | 'skip'): GuardVerdict => scene().started('a').decided('a', decision).superseded('a').ask('a~1', { args: 'order 2' })
    expect(other('rerun')).toEqual(startOf(['a'], [1]))
    expect(other('skip')).toEqual(waitOf('in-doubt', 'a'))
    expect(other(RESULT)).toEqual(waitOf('repeat', 'a'))
  })

  it('passes by a decision about the call of its turn that diverged away, or about the only one of its response with its arguments', () => {
    const of = (step: string, ...others: string[]): Scene => {
      const moved = scene().done('0/c:a').superseded('0/c:a')
      for (const each of [step, ...others]) moved.decided(each, 'rerun').gone.add(each)
      return moved
    }
    expect(of('1~1/c:b').ask('1~2/c:b')).toEqual(startOf(['0/c:a'], [1]))
    expect(of('1~1/c:b').ask('1~2/c:c')).toEqual(startOf(['0/c:a'], [1]))
    expect(of('1~1/c:b').ask('1~2/c:c', { args: 'order 2' })).toEqual(waitOf('repeat', '0/c:a'))
    expect(of('1~1/c:b').ask('2~2/c:b')).toEqual(waitOf('repeat', '0/c:a'))
    expect(of('1~1/c:b', '1~1/c:d').ask('1~2/c:c')).toEqual(waitOf('repeat', '0/c:a'))
    expect(of('3').ask('4')).toEqual(waitOf('repeat', '0/c:a'))
  })

  it('passes by a decision made while the effect was in doubt, when the program has diverged since', () => {
    expect(scene().started('a').decided('a', 'rerun').superseded('a').ask('b')).toEqual(startOf(['a'], [1]))
  })

  it('is asked about what another record did that it may be itself, at another place, as long as nobody has asked for that one', () => {
    const twin = scene().done('1/c:a')
    expect(twin.ask('0/c:b')).toEqual(startOf())
    expect(Object.assign(twin, { elsewhere: ['1/c:a'] }).ask('0/c:b')).toEqual(waitOf('repeat', '1/c:a'))
    expect(twin.ask('0/c:b', { allowRepeat: true })).toEqual(startOf())
    expect(twin.decided('0/c:b', 'rerun').ask('0/c:b')).toEqual(startOf(['1/c:a'], [1]))
  })

  it('is still asked about by the call at its own turn, when a decision has let a call at another one pass', () => {
    const other = scene().doubtful('a').superseded('a').decided('b', 'rerun')
    expect(other.ask('b')).toEqual(startOf(['a'], [1]))
    other.start('b', other.ask('b'))
    expect([other.ask('c'), other.ask('a~1'), other.ask('a~1', { keyed: true }), other.ask('a~1', { allowRepeat: true })]).toEqual([waitOf('in-doubt', 'b'), waitOf('in-doubt', 'b', 'a'), waitOf('in-doubt', 'b'), waitOf('in-doubt', 'b')])
    other.ended('b', value('ok'))
    expect([other.ask('c'), other.ask('a~1')]).toEqual([startOf(), waitOf('repeat', 'b', 'a')])
    other.decided('a~1', 'rerun').start('a~1', other.ask('a~1')).ended('a~1', value('ok')).superseded('a~1')
    expect(other.ask('a~2')).toEqual(waitOf('repeat', 'a~1'))
  })

  it('stands again when its record is superseded after it was used up: nobody was asked about making it once more', () => {
    const scenery = scene().doubtful('a').settled('a', { type: 'completed', outcome: value('done a') })
    const answer = scenery.ask('b')
    expect(answer).toEqual(answerOf(value('done a'), ['a']))
    scenery.consumes('b', answer)
    expect(scenery.ask('c')).toEqual(startOf())
    expect(scenery.superseded('a').ask('a~1')).toEqual(waitOf('repeat', 'a'))
  })
})

it('what an earlier call gave is given once, also where somebody had decided so before for a call that comes back only then', () => {
  const reuse = { type: 'reuse', value: { json: 'done a' }, of: 'a' } as const
  const both = scene().done('a').decided('b', reuse).decided('c', reuse)
  both.elsewhere = ['a']
  const given = both.ask('c')
  expect(given).toMatchObject({ type: 'answer', outcome: value('done a') })
  both.consumes('c', given).elsewhere = []
  expect(both.ask('b').type).toBe('start')
})
