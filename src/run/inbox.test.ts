import { describe, expect, it } from 'vitest'
import type { Entry, Settlement, StepRef } from '../journal/entry.ts'
import { takenSeq, writeMessage } from '../journal/message.ts'
import { History } from '../replay/history.ts'
import { entriesOf, type Message } from './inbox.ts'

const effect = { name: 'refund', key: '' }
const step: StepRef = { id: '0', branch: '', kind: 'tool', name: 'refund' }
const COMPLETED: Settlement = { type: 'completed', outcome: { type: 'value', value: { json: 'late' } } }
const NOT_DONE: Settlement = { type: 'not-done' }
const approval: Message = { type: 'approval', step: '0', question: 1, decision: { type: 'approved' } }
const rerun: Message = { type: 'decision', step: '0', effect, fingerprint: 'f', since: 9, decision: { type: 'rerun' } }
const late = (settlement: Settlement): Message => ({ type: 'late-result', step: '0', settlement })

const started: Entry = { type: 'step-started', at: 1, step, fingerprint: 'f', idempotencyKey: 'k', effect }
const ended = (outcome: (Entry & { type: 'step-ended' })['outcome']): Entry => ({ type: 'step-ended', at: 2, step, fingerprint: 'f', effect, outcome, tries: 1, ms: 1 })
const unknown = ended({ type: 'unknown', cause: 'timeout', error: { json: 'late' } })
const done = ended({ type: 'value', value: { json: 'ok' } })
const settled = (settlement: Settlement): Entry => ({ type: 'settled', at: 3, step: '0', by: 'reconcile', settlement })
const asked: Entry = { type: 'approval-asked', at: 1, step, fingerprint: 'f' }
const approved: Entry = { type: 'approval-decided', at: 2, step: '0', decision: { type: 'approved' } }
const consumed: Entry = { type: 'consumed', at: 4, step: '1', effects: ['0'], decisions: [] }

function take(message: Message, ...entries: Entry[]): unknown {
  const history = new History()
  entries.forEach((entry, i) => history.apply(entry, i + 1))
  return entriesOf('r1', { seq: 7, body: writeMessage('r1', message) }, history)
}
const TAKEN = [{ type: 'inbox-taken', seq: 7 }]
const TOO_LATE = [{ ...TAKEN[0], step: '0' }]
const DECIDED = [{ ...rerun, inbox: 7 }]
const settles = (settlement: Settlement): unknown => [{ type: 'settled', step: '0', by: 'late-result', settlement }, ...TAKEN]

describe('entriesOf', () => {
  it.each<[string, Entry[], unknown]>([
    ['a step in doubt', [started], DECIDED],
    ['a step whose caller was told so', [started, unknown], DECIDED],
    ['a call that never started', [], DECIDED],
    ['a step that was not done: something else may block it', [started, settled(NOT_DONE)], DECIDED],
    ['a step whose outcome has become known meanwhile: not repeated (C20)', [started, settled(COMPLETED)], TOO_LATE],
    ['a step that has ended', [started, done], TOO_LATE],
  ])('takes a decision about %s', (_, entries, expected) => {
    expect(take(rerun, ...entries)).toEqual(expected)
  })

  it.each<[string, Entry[], unknown]>([
    ['settles a step that was started', [started], settles(COMPLETED)],
    ['settles a step whose caller was told "unknown"', [started, unknown], settles(COMPLETED)],
    ['outweighs "not done"', [started, settled(NOT_DONE)], settles(COMPLETED)],
    ['is too late after a result (C20)', [started, done], TAKEN],
    ['is too late after a settlement (C20)', [started, unknown, settled(COMPLETED)], TAKEN],
    ['counts although the doubt was used up: who did so may come to nothing', [started, unknown, consumed], settles(COMPLETED)],
    ['of an unknown step is only taken', [], TAKEN],
  ])('takes a late result: it %s', (_, entries, expected) => {
    expect(take(late(COMPLETED), ...entries)).toEqual(expected)
  })

  it('takes a late "not done" for a doubt alone', () => {
    expect(take(late(NOT_DONE), started)).toEqual(settles(NOT_DONE))
    expect(take(late(NOT_DONE), started, settled(NOT_DONE))).toEqual(TAKEN)
    expect(take(late(NOT_DONE), started, done)).toEqual(TAKEN)
  })

  it.each<[string, Entry[], unknown]>([
    ['the question that stands', [asked], [{ type: 'approval-decided', inbox: 7, step: '0', decision: { type: 'approved' } }]],
    ['one that was asked anew since, of another call perhaps', [asked, { ...asked, fingerprint: 'other' }], TOO_LATE],
    ['one that is answered already', [asked, approved], TOO_LATE],
    ['one whose step has come to its end otherwise', [asked, done], TOO_LATE],
    ['one that is not there', [], TOO_LATE],
  ])('takes an answer to %s', (_, entries, expected) => {
    expect(take(approval, ...entries)).toEqual(expected)
  })

  it('always says that the message was taken: it is not taken again', () => {
    for (const message of [rerun, late(COMPLETED), late(NOT_DONE)]) {
      for (const entries of [[], [started], [started, done]]) {
        const taken = take(message, ...entries) as Parameters<typeof takenSeq>[0][]
        expect(Math.max(...taken.map(takenSeq))).toBe(7)
      }
    }
    expect(takenSeq({ type: 'config', digest: 'x', parts: {} })).toBe(0)
  })
})
