import { describe, expect, it } from 'vitest'
import { encode } from '../../journal/codec.ts'
import type { SuspendReason } from '../../journal/entry.ts'
import type { RunRow, RunStatus } from '../../journal/store.ts'
import type { NewEntry } from '../../journal/writer.ts'
import { attemptEnded, began, CREATED, ended, failure, journal, rowOf, started, unknown, value } from '../fixtures/journal.ts'
import { writeMessage } from '../../journal/message.ts'
import { runView, type RunView, type ViewInput } from './run-view.ts'

const REFUND = 'tool 0/c:a refund'
const asked = ended('model 0 mock', value('call'), { usage: { inputTokens: 30, outputTokens: 4 } })

function view(status: RunStatus, entries: readonly NewEntry[], more: Partial<ViewInput> & { readonly rowPatch?: Partial<RunRow> } = {}): RunView {
  const placed = journal(CREATED, ...entries)
  const { rowPatch, ...given } = more
  return runView({ row: rowOf(placed, status, rowPatch), entries: placed, owner: null, inbox: [], place: {}, ...given })
}

const states = ({ steps }: RunView): Record<string, string> => Object.fromEntries(steps.map(({ id, state }) => [id, state]))
const suspended = (reason: SuspendReason): NewEntry[] => [{ type: 'suspended', reasons: [reason], resumeAt: null }, attemptEnded(1)]
const commands = ({ waits }: RunView): string[] => waits.flatMap(({ choices }) => choices.map(({ choice }) => choice))

describe('the view of a run', () => {
  it('that was killed inside an effect: in doubt, with the commands that settle it', () => {
    const seen = view('running', [started(1), asked, began(REFUND)])
    expect(seen).toMatchObject({ interrupted: true, owner: null, agent: 'desk', version: '2', input: { order: 7 }, resume: 'holdfast resume r-1' })
    expect(states(seen)).toEqual({ '0': 'completed', '0/c:a': 'in-doubt' })
    expect(seen.waits).toEqual([{
      type: 'in-doubt', step: '0/c:a', tool: 'refund', message: 'nobody knows whether "refund" took effect', started: true, effects: ['0/c:a'], settleFirst: [], decided: null,
      calls: [{ step: '0/c:a', tool: 'refund', input: null, idempotencyKey: 'key 0/c:a', startedAt: 4_000, lostBefore: null, answered: false }],
      choices: [
        { choice: 'result', command: `holdfast resolve r-1 0/c:a --result '{"your":"JSON"}' --as-of 4` },
        { choice: 'skip', command: 'holdfast resolve r-1 0/c:a --skip --as-of 4' },
        { choice: 'rerun', command: 'holdfast resolve r-1 0/c:a --rerun --as-of 4' },
      ],
    }])
  })

  it('that somebody drives: nothing to settle, nothing to resume', () => {
    const seen = view('running', [started(1), asked, began(REFUND)], { owner: 'pid 7 on web' })
    expect(seen).toMatchObject({ interrupted: false, owner: 'pid 7 on web', waits: [], resume: null })
    expect(states(seen)).toEqual({ '0': 'completed', '0/c:a': 'running' })
  })

  it('that waits with a call that was never started, because an earlier one is in doubt', () => {
    const reason: SuspendReason = { type: 'in-doubt', step: '1/c:b', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['0/c:a'] }
    const seen = view('suspended', [started(1), asked, began(REFUND), ended(REFUND, unknown()), ended('model 1 mock'), ...suspended(reason)])
    expect(states(seen)).toEqual({ '0': 'completed', '0/c:a': 'in-doubt', '1': 'completed', '1/c:b': 'waiting' })
    expect(seen.waits.map(({ step, message }) => [step, message])).toEqual([['1/c:b', '"refund" was not started: nobody knows whether "refund" (0/c:a) took effect']])
    expect(commands(seen)).toEqual(['result', 'skip', 'rerun'])
    expect(seen.waits[0]).toMatchObject({ started: false, calls: [{ step: '1/c:b', startedAt: null, idempotencyKey: null }, { step: '0/c:a', startedAt: 4_000, idempotencyKey: 'key 0/c:a' }] })
  })

  it('that waits with a call behind one that comes back by itself: that one is to be settled, and shown with what it was called with', () => {
    const input = encode({ order: 7 })
    const first: NewEntry = { ...began('tool b:x#0/0/c:a refund'), input } as NewEntry
    const reason: SuspendReason = { type: 'in-doubt', step: 'b:y#0/0/c:b', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['b:x#0/0/c:a'], first: ['b:x#0/0/c:a'], choices: [], calls: [{ step: 'b:y#0/0/c:b', input: encode({ order: 8 }) }] }
    const seen = view('suspended', [started(1), first, ...suspended(reason)])
    expect(seen.waits).toMatchObject([
      { step: 'b:y#0/0/c:b', started: false, settleFirst: ['b:x#0/0/c:a'], choices: [], calls: [{ step: 'b:y#0/0/c:b', input: { order: 8 }, startedAt: null }, { step: 'b:x#0/0/c:a', input: { order: 7 }, startedAt: 3_000 }] },
      { step: 'b:x#0/0/c:a', started: true, settleFirst: [], choices: [{ choice: 'result' }, { choice: 'skip' }, { choice: 'rerun' }] },
    ])
    expect(seen.waits[0]!.message).toBe('"refund" was not started: it waits for the outcome of b:x#0/0/c:a, which nobody knows. Settle that first, this one then goes on by itself')
    expect(seen.steps[0]).toMatchObject({ id: 'b:x#0/0/c:a', input: { order: 7 }, idempotencyKey: 'key b:x#0/0/c:a', startedAt: 3_000 })
  })

  it('that would repeat an effect whose result was not stored: there is nothing to reuse', () => {
    const superseded: NewEntry = { type: 'superseded', by: 'divergence', step: '0', reason: 'message 1 differs', ids: ['0'] }
    const reason: SuspendReason = { type: 'repeat', step: '0~1/c:a', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['0/c:a'] }
    const unstored = ended(REFUND, { type: 'unstored', error: encode(new Error('a function')) })
    expect(commands(view('suspended', [started(1), asked, began(REFUND), unstored, superseded, ended('model 0~1 mock'), ...suspended(reason)]))).toEqual(['result', 'skip', 'rerun'])
  })

  it('that waits with a tool that has steps of its own inside says what such a tool should say', () => {
    const seen = view('running', [started(1), asked, began(REFUND), ended('model 0/c:a/0 inner')])
    expect(seen.waits[0]!.message).toBe('nobody knows whether "refund" took effect; it has steps of its own inside: a tool whose only effects are those should say composite: true')
  })

  it('that would repeat an effect: the earlier result can be reused', () => {
    const superseded: NewEntry = { type: 'superseded', by: 'divergence', step: '0', reason: 'message 1 differs', ids: ['0'] }
    const reason: SuspendReason = { type: 'repeat', step: '0~1/c:a', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['0/c:a'] }
    const seen = view('suspended', [started(1), asked, began(REFUND), ended(REFUND), superseded, ended('model 0~1 mock'), ...suspended(reason)])
    expect(states(seen)).toEqual({ '0': 'superseded', '0/c:a': 'superseded', '0~1': 'completed', '0~1/c:a': 'waiting' })
    expect(commands(seen)).toEqual(['result', 'reuse', 'skip', 'rerun'])
    expect(seen.divergences).toEqual([{ attempt: 1, by: 'divergence', step: '0', reason: 'message 1 differs', superseded: ['0'] }])
  })

  it('whose doubt was decided: by a message that waits, or one that was taken in', () => {
    const decision = { type: 'decision', step: '0/c:a', effect: { name: 'refund', key: '' }, fingerprint: 'f', since: 9, decision: { type: 'skip' } } as const
    const waiting = view('running', [started(1), asked, began(REFUND)], { inbox: [{ seq: 1, body: writeMessage('r-1', decision) }], rowPatch: { inboxSeq: 1 } })
    expect(waiting).toMatchObject({ unread: 1, decisions: [{ step: '0/c:a', decision: 'skip', attempt: null, usedBy: null }], waits: [{ decided: 'skip', choices: [] }] })

    const taken = view('running', [started(1), asked, began(REFUND), started(2), { ...decision, inbox: 1 }], { rowPatch: { inboxSeq: 1 } })
    expect(taken).toMatchObject({ unread: 0, decisions: [{ attempt: 2, usedBy: null }], waits: [{ decided: 'skip' }] })

    const used: NewEntry[] = [{ type: 'consumed', step: '0/c:a', effects: ['0/c:a'], decisions: [1] }, ended(REFUND, unknown('interrupted'), { tries: 0 })]
    const after = view('running', [started(1), asked, began(REFUND), started(2), { ...decision, inbox: 1 }, ...used])
    expect(after).toMatchObject({ waits: [], decisions: [{ usedBy: '0/c:a' }] })
    expect(states(after)).toEqual({ '0': 'completed', '0/c:a': 'skipped' })
  })

  it('that waits with a call that was approved and stands behind a doubt now: that is still to be settled', () => {
    const approved: NewEntry[] = [{ type: 'approval-asked', step: { id: '0/c:b', branch: '', kind: 'tool', name: 'refund' }, fingerprint: 'f' }, { type: 'approval-decided', step: '0/c:b', decision: { type: 'approved' } }]
    const reason: SuspendReason = { type: 'in-doubt', step: '0/c:b', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['0/c:a'] }
    const seen = view('suspended', [started(1), asked, began(REFUND), ended(REFUND, unknown()), ...approved, ...suspended(reason)])
    expect(seen).toMatchObject({ decisions: [{ step: '0/c:b', decision: 'approved', usedBy: null }], waits: [{ step: '0/c:b', decided: null }] })
    expect(commands(seen)).toEqual(['result', 'skip', 'rerun'])
  })

  it('that waits with a call that asks for something else than what is in doubt: that can be settled itself, too', () => {
    const reason = (fingerprint: string): SuspendReason => ({ type: 'in-doubt', step: '1/c:b', tool: 'refund', message: 'm', fingerprint, effects: ['0/c:a'] })
    const seen = (fingerprint: string): (string | null)[] => view('suspended', [started(1), asked, began(REFUND), ended('model 1 mock'), ...suspended(reason(fingerprint))]).waits.map(({ step }) => step)
    expect(seen('another order')).toEqual(['1/c:b', '0/c:a'])
    expect(seen('f')).toEqual(['1/c:b'])
  })

  it('whose doubt has come to its end meanwhile has nothing to decide about; that an earlier start did nothing is no such end', () => {
    const seen = (start: number): RunView => {
      const late = writeMessage('r-1', { type: 'late-result', step: '0/c:a', start, settlement: { type: 'not-done' } })
      return view('running', [started(1), asked, began(REFUND)], { inbox: [{ seq: 1, body: late }], rowPatch: { inboxSeq: 1 } })
    }
    expect(commands(seen(3))).toEqual(['result', 'skip', 'rerun'])
    expect(commands(seen(4))).toEqual([])
    expect(seen(4).waits[0]!.message).toBe('nobody knows whether "refund" took effect. What came of 0/c:a is known meanwhile: the run goes on with that once it is resumed')
  })

  it('whose question was withdrawn lists no decision: nobody has made one', () => {
    const step = { id: '0/c:b', branch: '', kind: 'tool', name: 'refund' } as const
    const seen = view('suspended', [started(1), asked, { type: 'approval-asked', step, fingerprint: 'f' }, { type: 'approval-decided', step: step.id, decision: { type: 'withdrawn' } }])
    expect(seen.decisions).toEqual([])
  })

  it.each(['completed', 'cancelled'] as const)('that has %s has no messages for a next attempt: there is none', (status) => {
    expect(view(status, [started(1), { type: 'run-ended', status }], { inbox: undefined, rowPatch: { inboxSeq: 2 } })).toMatchObject({ unread: 0 })
  })

  it('whose inbox is not known says that there are messages', () => {
    expect(view('running', [started(1)], { inbox: undefined, rowPatch: { inboxSeq: 2 } })).toMatchObject({ unread: 2, decisions: [] })
  })

  it('that waits with what was not started tells what that is: a step of the handler, or a tool', () => {
    const reason = (step: string) => ({ type: 'repeat', step, tool: 'pay', message: 'm', fingerprint: 'f', effects: ['0/c:a'] }) as const
    const seen = view('suspended', [started(1), asked, began(REFUND), { type: 'suspended', reasons: [reason('b:x#0/0'), reason('2/c:b')], resumeAt: null }])
    expect(seen.steps.filter(({ state }) => state === 'waiting').map(({ id, kind }) => [id, kind])).toEqual([['b:x#0/0', 'step'], ['2/c:b', 'tool']])
  })

  it('that was settled by reconcile', () => {
    const seen = view('running', [started(1), asked, began(REFUND), started(2), { type: 'settled', step: '0/c:a', by: 'reconcile', settlement: { type: 'completed', outcome: value('ok') } }])
    expect(seen.settlements).toEqual([{ attempt: 2, step: '0/c:a', by: 'reconcile', as: 'completed' }])
    expect(seen.steps[1]).toMatchObject({ state: 'completed', answer: 'settled' })
    expect(seen.waits).toEqual([])
  })

  it('that waits for a time, or for a store', () => {
    const reason: SuspendReason = { type: 'retry-after', step: '0', message: 'model may be tried again at ...', until: 0, tries: 1 }
    const seen = view('suspended', [started(1), ...suspended(reason)], { rowPatch: { resumeAt: 5_000 } })
    expect(seen).toMatchObject({ resumeAt: 5_000, waits: [{ type: 'retry-after', step: '0', choices: [] }] })
    expect(seen.steps).toMatchObject([{ id: '0', kind: null, name: null, state: 'waiting', attempt: null }])
  })

  it('that failed, and that is driven again', () => {
    const failed = [started(1), ended('model 0 mock', failure('no')), { type: 'run-ended', status: 'failed', error: encode(new RangeError('too much')) } as NewEntry, attemptEnded(1)]
    expect(view('failed', failed)).toMatchObject({ error: { name: 'RangeError', message: 'too much', code: null }, resume: 'holdfast resume r-1' })
    expect(view('running', [...failed, started(2, 'released')], { owner: 'pid 7' })).toMatchObject({ error: null, resume: null })
  })

  it('that completed: its result, its totals, and how often each step was replayed', () => {
    const seen = view('completed', [
      started(1), asked, started(2), ended('read 1 page', value('text'), { tries: 3, ms: 40 }), { type: 'run-ended', status: 'completed', result: encode('done') }, attemptEnded(2, { model: 1 }, { read: 1 }),
    ])
    expect(seen).toMatchObject({ result: 'done', resume: null, waits: [], totals: { steps: 2, inputTokens: 30, outputTokens: 4, ms: 52 } })
    expect(seen.steps).toMatchObject([
      { id: '0', kind: 'model', name: 'mock', attempt: 1, replayedAtLeast: 1, replayedAtMost: 1, tries: 1, inputTokens: 30, outputTokens: 4 },
      { id: '1', kind: 'read', attempt: 2, replayedAtLeast: 0, replayedAtMost: 0, tries: 3, ms: 40, inputTokens: null },
    ])
  })

  it('has warnings and changes of configuration with their attempt', () => {
    const seen = view('running', [started(1), { type: 'warning', code: 'NOT_RECORDED', message: 'm', step: '0' }, started(2), { type: 'config-changed', step: '0', changed: ['system'], config: 'c' }])
    expect(seen.warnings).toEqual([{ attempt: 1, code: 'NOT_RECORDED', message: 'm', step: '0' }])
    expect(seen.configChanges).toEqual([{ attempt: 2, step: '0', changed: ['system'] }])
  })

  it('repeats in its commands where the run is', () => {
    const seen = view('running', [started(1), asked, began(REFUND)], { place: { store: 'runs.db' } })
    expect(seen.waits[0]?.choices[1]?.command).toBe('holdfast resolve r-1 0/c:a --skip --as-of 4 --store runs.db')
  })

  it('of a journal without a beginning is refused', () => {
    const entries = journal(started(1))
    expect(() => runView({ row: rowOf(entries, 'running'), entries, owner: null, inbox: [], place: {} })).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }))
  })
})
