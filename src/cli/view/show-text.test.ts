import { describe, expect, it } from 'vitest'
import { encode } from '../../journal/codec.ts'
import type { NewEntry } from '../../journal/writer.ts'
import { attemptEnded, began, CREATED, ended, failure, journal, rowOf, started, unknown, value } from '../fixtures/journal.ts'
import { paintFor } from '../style.ts'
import { runView, type RunView } from './run-view.ts'
import { showText } from './show-text.ts'

const plain = paintFor({ isTTY: false }, {})

function view(...entries: readonly NewEntry[]): RunView {
  const placed = journal({ ...CREATED, input: encode({ note: '\u001b[2J' }) } as NewEntry, ...entries)
  return runView({ row: rowOf(placed, 'running'), entries: placed, owner: null, inbox: [], place: {} })
}

const LONG = 'tool 0/c:call_0123456789abcdefghijklmnopqrstuvwxyz0123456789 look_up_everything_there_is_to_know'
const killed = view(
  started(1), ended('model 0 mock/desk', value('call'), { tries: 2, ms: 1234, usage: { inputTokens: 1200, outputTokens: 45 } }), ended(LONG, failure('no\u001b]0;x\u0007\nmore')),
  { type: 'warning', code: 'NOT_RECORDED', message: 'the store\nrefused' }, attemptEnded(1, {}, { model: 1, tool: 1 }),
  started(2, 'released'), { type: 'config-changed', step: '0', changed: ['system', 'tool search'], config: 'c' }, began('tool 1/c:b refund'),
)

describe('show', () => {
  it('tells what happened and what to do', () => {
    expect(showText(killed, { width: 80, paint: plain })).toMatchInlineSnapshot(`
      "run      r-1
      agent    desk, version 2
      status   interrupted: the process that drove it is gone
      created  1970-01-01 00:00:01Z
      updated  1970-01-01 00:00:09Z
      used     3 steps (1 model, 2 tool), 1200 tokens in, 45 out, 4.0s active
      input    {"note":"\\u001b[2J"}

      attempts
        #  STARTED               ENDING     SUMMARY
        1  1970-01-01 00:00:02Z  suspended  replayed 0 steps (0 model, 0 tool, 0 othe…
        2  1970-01-01 00:00:07Z  killed     -

      steps
        STEP             WHAT             STATE      #  REPLAYED  TRIES  TIME   TOKENS
        0                model mock/desk  completed  1       0-1      2  1.2s  1200/45
        0/c:cal…3456789  tool look_up_e…  failed     1       0-1      1  12ms        -
        1/c:b            tool refund      in doubt   2         0      -     -        -
        3 steps, 1.2s, 1200 tokens in, 45 out

      why
        0/c:call_0123456789abcdefghijklmnopqrstuvwxyz0123456789 failed: TypeError: no\\u001b]0;x\\u0007 more
        1/c:b in doubt: its attempt ended before its outcome was recorded

      configuration changed
        0 (attempt 2): system, tool search

      warnings
        NOT_RECORDED (attempt 1): the store refused

      waits for
        in-doubt 1/c:b: nobody knows whether "refund" took effect
          1/c:b refund
            started 1970-01-01 00:00:09Z, idempotency key key 1/c:b
          it happened, and this is what it gave:
            holdfast resolve r-1 1/c:b --result '{"your":"JSON"}' --as-of 9
          leave it: its caller is told that its outcome is unknown:
            holdfast resolve r-1 1/c:b --skip --as-of 9
          it did not happen, or may happen once more:
            holdfast resolve r-1 1/c:b --rerun --as-of 9

      Then it goes on with
        holdfast resume r-1
      "
    `)
  })

  it('says of a call that was answered without a start that its result was given, and names the call that reuse gives the result of', () => {
    const reason = { type: 'repeat', step: '1', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['0/c:a'], choices: ['rerun', 'skip', 'result', 'reuse'] } as const
    const placed = journal(CREATED, started(1), ended('tool 0/c:a refund'), { type: 'suspended', reasons: [reason], resumeAt: null }, attemptEnded(1))
    const text = showText(runView({ row: rowOf(placed, 'suspended'), entries: placed, owner: null, inbox: [], place: {} }), { width: 80, paint: plain })
    expect(text).toContain('0/c:a refund\n      not started: its result was given, by a person or by an earlier call\n')
    expect(text).toContain('do not make this call: it is answered with what 0/c:a gave:\n')
  })

  it('says of a call that is held because of another one that it is in doubt itself, where it was started', () => {
    const reason = { type: 'in-doubt', step: '0/c:b', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['0/c:a'], choices: ['rerun', 'skip', 'result'], calls: [{ step: '0/c:b', idempotencyKey: 'key b', startedAt: 4_000 }] } as const
    const placed = journal(CREATED, started(1), began('tool 0/c:a refund'), began('tool 0/c:b refund'), { type: 'suspended', reasons: [reason], resumeAt: null }, attemptEnded(1))
    const text = showText(runView({ row: rowOf(placed, 'suspended'), entries: placed, owner: null, inbox: [], place: {} }), { width: 80, paint: plain })
    expect(text).toContain('in-doubt 0/c:b: "refund" was started and is in doubt itself, and was not started again: nobody knows whether "refund" (0/c:a) took effect\n')
  })

  it('tells a call that was never started from one in doubt, and says what making it means', () => {
    const reasons = [
      { type: 'in-doubt', step: '2/c:b', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['0/c:a'], choices: ['rerun', 'skip', 'result'], calls: [{ step: '2/c:b', input: encode({ order: 8 }) }] },
      { type: 'in-doubt', step: 'b:x#0/0', tool: 'refund', message: 'm', fingerprint: 'f', effects: ['b:y#0/0'], first: ['b:y#0/0'], choices: [] },
    ] as const
    const placed = journal(CREATED, started(1), began('tool 0/c:a refund'), ended('tool 0/c:a refund', unknown()), began('tool b:y#0/0 refund'), { type: 'suspended', reasons, resumeAt: null }, attemptEnded(1))
    const text = showText(runView({ row: rowOf(placed, 'suspended'), entries: placed, owner: null, inbox: [], place: {} }), { width: 80, paint: plain })
    expect(text.slice(text.indexOf('waits for'))).toMatchInlineSnapshot(`
      "waits for
        waiting 2/c:b: "refund" was not started: nobody knows whether "refund" (0/c:a) took effect
          2/c:b refund {"order":8}
            not started
          0/c:a refund
            started 1970-01-01 00:00:03Z, idempotency key key 0/c:a
          do not make this call: it is answered with this:
            holdfast resolve r-1 2/c:b --result '{"your":"JSON"}' --as-of 7
          do not make this call: its caller is told that its outcome is unknown:
            holdfast resolve r-1 2/c:b --skip --as-of 7
          make this call:
            holdfast resolve r-1 2/c:b --rerun --as-of 7
        waiting b:x#0/0: "refund" was not started: it waits for the outcome of b:y#0/0, which nobody knows. Settle that first, this one then goes on by itself
          b:x#0/0 refund
            not started
          b:y#0/0 refund
            started 1970-01-01 00:00:05Z, idempotency key key b:y#0/0
        in-doubt b:y#0/0: nobody knows whether "refund" took effect
          b:y#0/0 refund
            started 1970-01-01 00:00:05Z, idempotency key key b:y#0/0
          it happened, and this is what it gave:
            holdfast resolve r-1 b:y#0/0 --result '{"your":"JSON"}' --as-of 7
          leave it: its caller is told that its outcome is unknown:
            holdfast resolve r-1 b:y#0/0 --skip --as-of 7
          it did not happen, or may happen once more:
            holdfast resolve r-1 b:y#0/0 --rerun --as-of 7

      Then it goes on with
        holdfast resume r-1
      "
    `)
  })

  it('says of a run that cleaned up behind its failure how it goes on: from what was undone, or because nothing was', () => {
    const placed = journal(CREATED, started(1), ended('step 0 book'), ended('step 2 cancel'), { type: 'run-ended', status: 'failed', cleanUp: ['2'] }, attemptEnded(1))
    const text = showText(runView({ row: rowOf(placed, 'failed'), entries: placed, owner: null, inbox: [], place: {} }), { width: 80, paint: plain })
    expect(text.slice(text.indexOf('Behind'))).toBe('Behind its failure was done: 2. What was done before may be undone by that. From each step on that was undone (several with commas) it goes on with\n  holdfast resume r-1 --redo STEP\nWhere none was, it goes on with\n  holdfast resume r-1 --force\n')
  })

  it('offers no answer to a call whose time for that is over', () => {
    const asked = { type: 'approval-asked', step: { id: '0/c:a', branch: '', kind: 'tool', name: 'refund' }, fingerprint: 'f', expiresAt: 9_000 } as const
    const reason = { type: 'approval', step: '0/c:a', tool: 'refund', message: 'm', fingerprint: 'f', question: 3, expiresAt: 9_000 } as const
    const placed = journal(CREATED, started(1), asked, { type: 'suspended', reasons: [reason], resumeAt: 9_000 }, attemptEnded(1))
    const at = (now: number): string => showText(runView({ row: rowOf(placed, 'suspended'), entries: placed, owner: null, inbox: [], place: {}, now }), { width: 80, paint: plain })
    expect(at(8_999)).toContain('holdfast approve r-1 0/c:a')
    expect(at(9_000)).not.toContain('holdfast approve')
    expect(at(9_000)).toContain('The time for that was over at 1970-01-01 00:00:09Z: it counts as denied once the run is resumed')
  })

  it('shows what the result of a model request in doubt looks like', () => {
    const placed = journal(CREATED, started(1), { ...began('model 0 mock/desk'), effect: { name: 'mock/desk', key: '' } } as NewEntry)
    expect(showText(runView({ row: rowOf(placed, 'running'), entries: placed, owner: null, inbox: [], place: {} }), { width: 80, paint: plain })).toContain(`holdfast resolve r-1 0 --result '"the answer"'`)
  })

  it('fits into 80 columns, but for what is to be copied and read in full', () => {
    const lines = showText(killed, { width: 80, paint: plain }).split('\n')
    const tables = lines.slice(0, lines.indexOf('why'))
    expect(Math.max(...tables.map((line) => line.length))).toBeLessThanOrEqual(80)
  })

  it('cuts nothing where there is no terminal', () => {
    expect(showText(killed, { width: undefined, paint: plain })).toContain('look_up_everything_there_is_to_know  failed')
  })

  it('lets nothing through that a terminal would act upon', () => {
    expect(showText(killed, { width: undefined, paint: plain })).not.toMatch(/[^\P{Cc}\n]/u)
  })
})
