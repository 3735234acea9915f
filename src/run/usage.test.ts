import { describe, expect, it } from 'vitest'
import type { Entry, StepKind } from '../journal/entry.ts'
import type { NewEntry } from '../journal/writer.ts'
import { usageOf } from './usage.ts'

const at = (ms: number, entry: NewEntry): Entry => ({ ...entry, at: ms }) as Entry
const started = (ms: number, attempt = 1): Entry => at(ms, { type: 'attempt-started', attempt, token: attempt, version: '1', former: 'none' })
const over = (ms: number, attempt = 1): Entry => at(ms, { type: 'attempt-ended', attempt, summary: { replayed: {}, recorded: {}, unrecorded: [] } })
const ref = (id: string, kind: StepKind) => ({ id, branch: '', kind, name: 'n' })
const began = (ms: number, id: string, kind: StepKind = 'tool'): Entry => at(ms, { type: 'step-started', step: ref(id, kind), fingerprint: 'f', idempotencyKey: 'k' })
const ended = (ms: number, id: string, kind: StepKind = 'tool', more: { tries?: number; ms?: number; usage?: object } = {}): Entry =>
  at(ms, { type: 'step-ended', step: ref(id, kind), fingerprint: 'f', outcome: { type: 'value', value: 'x' as never }, tries: 1, ms: 10, ...more })
const notCalled = (ms: number, step: string): Entry => at(ms, { type: 'settled', step, by: 'owner', settlement: { type: 'not-done' } })

const of = (...entries: Entry[]) => usageOf(entries.map((entry) => ({ entry })))

describe('steps', () => {
  it.each<readonly [string, Entry[], object]>([
    ['one that ended counts', [started(0), ended(5, '0', 'model')], { model: 1 }],
    ['one with effects counts once, from its start on', [started(0), began(1, '0'), ended(5, '0')], { tool: 1 }],
    ['one with effects that nobody saw end counts', [started(0), began(1, '0'), started(9, 2)], { tool: 1 }],
    ['one that ran again counts again', [started(0), began(1, '0'), started(9, 2), began(10, '0'), ended(11, '0')], { tool: 2 }],
    ['one that was answered by a decision ran once', [started(0), began(1, '0'), started(9, 2), ended(11, '0', 'tool', { tries: 0 })], { tool: 1 }],
    ['one that was answered without ever running does not count', [started(0), ended(11, '0', 'tool', { tries: 0 })], {}],
    ['one whose code was not called does not count', [started(0), began(1, '0'), notCalled(2, '0')], {}],
    ['one that was not called and then was counts once', [started(0), began(1, '0'), notCalled(2, '0'), started(3, 2), began(4, '0'), ended(5, '0')], { tool: 1 }],
    ['one with several tries counts once', [started(0), ended(5, '0', 'read', { tries: 4 })], { read: 1 }],
    ['one that was superseded counts', [started(0), ended(5, '0', 'step'), at(6, { type: 'superseded', by: 'divergence', step: '0', reason: '', ids: ['0'] }), ended(7, '0~1', 'step')], { step: 2 }],
  ])('%s', (_what, entries, steps) => {
    expect(of(...entries).steps).toEqual({ model: 0, tool: 0, step: 0, read: 0, agent: 0, ...steps })
  })

  it('bring their tokens; what was not reported counts nothing', () => {
    const usage = of(started(0), ended(1, '0', 'model', { usage: { inputTokens: 3, outputTokens: 4 } }), ended(2, '1', 'model', { usage: { outputTokens: 5 } }), ended(3, '2', 'model'))
    expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 9 })
  })
})

describe('active time', () => {
  it.each<readonly [string, Entry[], number]>([
    ['of a first attempt is all of it', [started(100), ended(300, '0'), over(450)], 350],
    ['of one that was killed is the time until its last record', [started(100), ended(300, '0'), began(350, '1'), started(9_000, 2)], 250],
    ['does not run between attempts', [started(100), ended(300, '0'), over(400), started(9_000, 2), ended(9_200, '1', 'tool', { ms: 150 }), over(9_250, 2)], 300 + 200],
    ['of a later attempt begins with its first new step', [started(0), ended(100, '0'), over(100), started(1_000, 2), began(1_700, '1'), over(1_900, 2)], 100 + 200],
    ['of an attempt that only replayed is none', [started(0), ended(100, '0'), over(100), started(1_000, 2), over(1_900, 2), started(3_000, 3), over(3_500, 3)], 100],
    ['counts a long step from its start, also when a shorter one ended before it', [started(0), ended(9, '0'), over(9), started(1_000, 2), ended(1_500, 's', 'tool', { ms: 10 }), ended(1_900, 'l', 'tool', { ms: 600 }), over(1_900, 2)], 9 + 600],
    ['is no longer than the attempt', [started(0), ended(9, '0'), over(9), started(1_000, 2), ended(1_500, '1', 'tool', { ms: 99_999 }), over(1_500, 2)], 9 + 500],
    ['does not shrink where a clock went back', [started(1_000), ended(900, '0'), over(800)], 0],
    ['is none before the first attempt', [], 0],
  ])('%s', (_what, entries, ms) => {
    expect(of(...entries).activeMs).toBe(ms)
  })
})
