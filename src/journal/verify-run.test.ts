import { describe, expect, it } from 'vitest'
import { hash } from '../core/hash.ts'
import { link } from './chain.ts'
import { encode, type Encoded } from './codec.ts'
import { chained, EVERY_MESSAGE, everyEntry } from './fixtures/every-entry.ts'
import type { Entry } from './entry.ts'
import { writeMessage, type Message } from './message.ts'
import type { InboxMessage, RunRow, StoredEntry } from './store.ts'
import { verifyRun } from './verify-run.ts'

const ENTRIES = everyEntry('r1')
const ROWS = chained(ENTRIES)
const INBOX: InboxMessage[] = EVERY_MESSAGE.map((message, i) => ({ seq: i + 1, body: writeMessage('r1', message) }))
const ROW: RunRow = {
  runId: 'r1', agent: 'desk', status: 'completed', threadId: 'thread-9', createdAt: ENTRIES[0]!.at, updatedAt: 9, resumeAt: null, token: 4, owner: null, leaseUntil: 0,
  lastSeq: ROWS.length, inboxSeq: INBOX.length,
}
const changed = (seq: number, change: Partial<StoredEntry>): StoredEntry[] => ROWS.map((row) => (row.seq === seq ? { ...row, ...change } : row))
/** The journal with another entry in the place of one, rightly chained: what only a program can have done. */
function rewritten(seq: number, entry: object): StoredEntry[] {
  const rows = ROWS.slice(0, seq - 1)
  const body = JSON.stringify(entry)
  rows.push({ seq, body, sum: hash(rows.at(-1)?.sum ?? '', body) })
  for (const each of ENTRIES.slice(seq)) rows.push(link(rows.at(-1)!, each))
  return rows
}
const found = (stored: readonly StoredEntry[], row: Partial<RunRow> = {}, inbox = INBOX): unknown[] =>
  verifyRun({ ...ROW, ...row }, stored, inbox).map(({ seq, type, message }) => [seq, type, message])
const last = ROWS.length

describe('verifyRun', () => {
  it('finds nothing wrong with a whole run', () => {
    expect(found(ROWS)).toEqual([])
  })

  const [a, b] = [ROWS[4]!, ROWS[5]!]
  const inside = (encoded: object): object => ({ ...ENTRIES[0]!, input: encoded })
  it.each<[string, StoredEntry[], unknown[]]>([
    ['a changed body', changed(3, { body: ROWS[2]!.body.replace('"version":"1"', '"version":"2"') }), [[3, 'checksum', 'its checksum does not match']]],
    ['a changed checksum, which also covers the one after', changed(3, { sum: hash('') }), [[3, 'checksum', 'its checksum does not match'], [4, 'checksum', 'its checksum does not match']]],
    ['several', changed(3, { body: '{' }).map((row) => (row.seq === 9 ? { ...row, body: 'x' } : row)), [[3, 'checksum', expect.any(String)], [9, 'checksum', expect.any(String)]]],
    ['a missing row', ROWS.filter(({ seq }) => seq !== 4), [[4, 'gap', 'entry 5 stands there']]],
    ['a missing end', ROWS.slice(0, -2), [[last - 1, 'missing', `the journal ends at entry ${last - 2}, it had ${last}`]]],
    ['no journal at all', [], [[1, 'missing', `the journal has no entry, it had ${last}`]]],
    ['entries before the first one', [{ ...ROWS[0]!, seq: -1 }, { seq: 0, body: '{}', sum: '' }, ...ROWS], [[-1, 'gap', 'it stands before the first entry'], [0, 'gap', 'it stands before the first entry']]],
    ['a journal without its beginning', ROWS.slice(1), [[1, 'gap', 'entry 2 stands there']]],
    ['foreign text, rightly chained', rewritten(5, [1]), [[5, 'not-an-entry', 'it is not an entry']]],
    ['an entry of no type', rewritten(5, { type: 'note', at: 1 }), [[5, 'schema', expect.stringContaining('type is "note"')]]],
    ['a second creation', rewritten(5, ENTRIES[0]!), [[5, 'schema', 'it is the creation of a run']]],
    ['no creation', rewritten(1, ENTRIES[1]!), [[1, 'schema', 'it is not the creation of a run']]],
    ['an unknown codec', rewritten(1, inside({ yaml: '' })), [[1, 'codec', 'input was written by an unknown codec: yaml']]],
    ['an unknown type of value', rewritten(1, inside({ devalue: [{ a: 1 }, ['Money', 2], 7] })), [[1, 'codec', 'input.a has the unknown type "Money"']]],
    ['a value that cannot be made again', rewritten(1, inside({ devalue: [{ a: 1 }, ['BigInt', 'x']] })), [[1, 'codec', 'input.a is no BigInt']]],
    ['the journal of another run', chained(everyEntry('r2')), [[1, 'other-run', 'it begins the journal of run "r2"']]],
    ['a newer format, and nothing after it', rewritten(3, { ...ENTRIES[2]!, format: 9 }).map((row) => (row.seq === 9 ? { ...row, body: 'x' } : row)), [[3, 'format', expect.stringContaining('format 9')]]],
  ])('finds %s, with its place', (_, stored, expected) => {
    expect(found(stored)).toEqual(expected)
  })

  const model = ENTRIES.find((entry) => entry.type === 'step-ended' && entry.step.kind === 'model') as Entry & { type: 'step-ended' }
  const answered = (value: Encoded): Entry => ({ ...model, outcome: { type: 'value', value } })
  it.each<[string, Entry, string]>([
    ['an id that is another number than its step', { ...model, step: { ...model.step, id: '7' } }, 'step.id is "7", and the step is number 0 of ""'],
    ['an id of another branch than its step', { ...model, step: { id: 's:a#0', branch: 'b:eu#0', kind: 'step', name: 'a' } }, 'step.id is "s:a#0", and the step is of branch "b:eu#0"'],
    ['a text for the answer of a model', answered({ json: 'hello' }), 'outcome.value is no answer of a model'],
    ['an answer without its parts', answered({ json: { as: 'parts' } }), 'outcome.value.parts is not a list'],
    ['an answer without its content', answered({ devalue: [{ as: 1, result: 2, at: 3 }, 'result', {}, ['BigInt', '1']] }), 'outcome.value.result.content is not a list'],
    ['an answer with a part that is none', answered(encode({ as: 'parts', parts: [{ type: 'finish', at: new Date(0) }, 7] })), 'outcome.value.parts[1] is no part of an answer'],
  ])('finds %s', (_, entry, message) => {
    expect(found(rewritten(5, entry))).toEqual([[5, 'schema', message]])
  })

  it('finds a step that has its result twice, but not where it was superseded, nor inside of one that is tried again', () => {
    const [created, started] = ['run-created', 'attempt-started'].map((type) => ENTRIES.find((entry) => entry.type === type)!) as [Entry, Entry]
    const inside: Entry = { ...model, step: { ...model.step, id: '4/0', branch: '4' } }
    const superseded: Entry = { type: 'superseded', at: 1, by: 'redo', step: '0', reason: '', ids: ['0', '4'] }
    const again = { ...started, attempt: 2 } as Entry
    const says = (...entries: Entry[]): unknown[] => found(chained([created, started, ...entries]), { status: 'running', lastSeq: entries.length + 2 })
    expect(says(model, model)).toEqual([[4, 'schema', 'it is of step "0", which has its result in entry 3']])
    expect(says(inside, again, inside)).toEqual([[5, 'schema', 'it is of step "4/0", which has its result in entry 3']])
    expect(says(model, superseded, model)).toEqual([])
    expect(says(inside, inside)).toEqual([])
    expect(says(inside, superseded, again, inside)).toEqual([])
  })

  it('finds swapped rows', () => {
    expect(found(ROWS.with(4, { ...b, seq: 5 }).with(5, { ...a, seq: 6 })).map((finding) => (finding as unknown[])[0])).toEqual([5, 6, 7])
  })

  it.each<[string, Partial<RunRow>, string]>([
    ['agent', { agent: 'disk' }, `the run's row says agent "disk", the journal "desk"`],
    ['threadId', { threadId: null }, `the run's row says threadId null, the journal "thread-9"`],
    ['createdAt', { createdAt: 5 }, `the run's row says createdAt 5, the journal ${ENTRIES[0]!.at}`],
    ['token', { token: 3 }, `the run's row says token 3, the journal has an attempt with 4`],
    ['status', { status: 'cancelled' }, `the run's row says status "cancelled", the journal "completed"`],
    ['token that nothing can follow', { token: 2 ** 53 - 1 }, `the run's row says token 9007199254740991, which no attempt can raise`],
    ['token below zero', { token: -1 }, `the run's row says token -1, which no attempt can raise`],
    ['failure', { status: 'failed' }, `the run's row says status "failed", the journal "completed"`],
    ['change, at no time,', { updatedAt: -1 }, `the run's row says updatedAt -1, which is no time that there was`],
    ['wait', { status: 'suspended' }, `the run's row says status "suspended", the journal "completed"`],
  ])('finds a row that says another %s than the journal', (_, row, message) => {
    expect(found(ROWS, row)).toEqual([[null, 'row', message]])
  })

  it('finds the row of a killed run that says it had ended, and none wrong that an attempt left as it was which came to no step', () => {
    const [created, started, step] = ['run-created', 'attempt-started', 'step-ended'].map((type) => ENTRIES.find((entry) => entry.type === type)!) as [Entry, Entry, Entry]
    const failed: Entry = { type: 'run-ended', status: 'failed', at: 1 }
    const other = ENTRIES.find((entry) => entry.type === 'step-ended' && entry.step.id === '1')!
    const says = (entries: Entry[], status: RunRow['status']): unknown[] => found(chained(entries), { status, lastSeq: entries.length }).map((finding) => (finding as unknown[])[2])
    for (const status of ['failed', 'suspended'] as const) expect(says([created, started, step], status)).toEqual([`the run's row says status "${status}", the journal "running"`])
    expect(says([created, started, step, failed, { ...started, attempt: 2 } as Entry, other], 'failed')).toEqual([`the run's row says status "failed", the journal "running"`])
    expect(says([created, started, step, failed], 'failed')).toEqual([])
    expect(says([created, started, step, failed, { ...started, attempt: 2 } as Entry], 'failed')).toEqual([])
  })

  describe('the time at which a suspended run goes on', () => {
    const created = ENTRIES[0]!
    const AT = created.at + 1
    const left = (resumeAt: number | null, type: 'aborted' | 'draining' = 'draining'): Entry => ({ type: 'suspended', at: AT, reasons: [{ type, message: 'm' }], resumeAt })
    const [decision, , , , approval, , , , late] = INBOX.map(({ body }) => body) as [string, string, string, string, string, string, string, string, string]
    const says = (resumeAt: number | null, end: Entry, body?: string, updatedAt = AT + 10): unknown[] =>
      found(chained([created, end]), { status: 'suspended', resumeAt, updatedAt, token: 0, lastSeq: 2, inboxSeq: body === undefined ? 0 : 1 }, body === undefined ? [] : [{ seq: 1, body }]).map((finding) => (finding as unknown[])[2])

    it('is that of the journal, or any at which somebody may have made it due', () => {
      for (const until of [null, AT, AT + 1_000]) for (const resumeAt of [until, AT + 5]) expect(says(resumeAt, left(until))).toEqual([])
      for (const resumeAt of [1, 32_503_680_000_000]) expect(says(resumeAt, left(null))).toEqual([`the run's row says resumeAt ${resumeAt}, the journal null`])
      expect(says(null, left(AT + 1_000))).toEqual([`the run's row says resumeAt null, the journal ${AT + 1_000}`])
    })

    it('has come where somebody has answered, but for a run that its caller stopped, and for a late result, which need not wake it', () => {
      for (const body of [decision, approval]) {
        for (const [until, resumeAt] of [[null, null], [AT + 1_000, AT + 1_000], [null, AT + 11]] as const) {
          expect(says(resumeAt, left(until), body)).toEqual([`the run's row says resumeAt ${resumeAt}, and somebody has answered: the run can go on at once`])
        }
        expect(says(AT + 10, left(null), body)).toEqual([])
        // A clock was put back before the answer came.
        expect(says(AT - 60_000, left(null), body, AT - 60_000)).toEqual([])
        expect(says(null, left(null, 'aborted'), body)).toEqual([])
      }
      expect(says(null, left(null), late)).toEqual([])
      expect(says(AT + 11, left(null), late)).toHaveLength(1)
    })

    it('is looked at of no run that does not wait', () => {
      expect(found(ROWS, { resumeAt: 1 })).toEqual([])
    })
  })

  it.each<[string, InboxMessage[], unknown[]]>([
    ['that is not JSON', INBOX.with(1, { seq: 2, body: '{"type":' }), [[2, 'inbox', expect.stringContaining('it is not JSON')]]],
    ['of no type', INBOX.with(1, { seq: 2, body: writeMessage('r1', { type: 'hello' } as unknown as Message) }), [[2, 'inbox', expect.stringContaining('type is "hello"')]]],
    ['that was changed', INBOX.with(1, { seq: 2, body: INBOX[1]!.body.replace('refund', 'refuse') }), [[2, 'inbox', expect.stringContaining('its checksum does not match')]]],
    ['whose checksum was cut off', INBOX.with(1, { seq: 2, body: JSON.stringify(EVERY_MESSAGE[1]) }), [[2, 'inbox', expect.stringContaining('its checksum does not match')]]],
    ['to another run', INBOX.with(1, { seq: 2, body: writeMessage('r2', EVERY_MESSAGE[1]!) }), [[2, 'inbox', expect.stringContaining('its checksum does not match')]]],
    ['of a newer build', INBOX.with(1, { seq: 2, body: '{"type":"hello","format":2}' }), [[2, 'inbox', expect.stringContaining('format 2')]]],
    ['before the first one', [{ ...INBOX[0]!, seq: 0 }, ...INBOX], [[0, 'inbox', 'it stands before the first message']]],
    ['that is missing at the end', INBOX.slice(0, -1), [[INBOX.length, 'inbox', `the inbox ends at message ${INBOX.length - 1}, it had ${INBOX.length}`]]],
  ])('finds a message %s', (_, inbox, expected) => {
    expect(found(ROWS, {}, inbox)).toEqual(expected)
  })
})

describe('messages that a salvage has given up', () => {
  const rows = [...ROWS, link(ROWS.at(-1)!, { type: 'salvaged', at: 1, fault: 'inbox', had: ROWS.length, inbox: 2, token: 4, copy: 'c' })]
  const says = (inbox: InboxMessage[], inboxSeq: number): unknown[] => found(rows, { lastSeq: rows.length, inboxSeq }, inbox)
  const later = INBOX.map((message) => ({ ...message, seq: message.seq + 2 }))

  it('need not be there, nor be whole', () => {
    expect(says([], 2)).toEqual([])
    expect(says(later, INBOX.length + 2)).toEqual([])
    expect(says([{ seq: 1, body: 'x' }, ...later], INBOX.length + 2)).toEqual([])
  })

  it('are no reason to miss none of those after them', () => {
    expect(says([], 3)).toEqual([[3, 'inbox', 'the inbox ends at message 2, it had 3']])
    expect(says(later.slice(1), INBOX.length + 2)).toEqual(expect.arrayContaining([[4, 'inbox', 'message 3 is missing']]))
    expect(says(later.slice(0, 1), 2)).toEqual([[null, 'row', `the run's row knows of 2 messages, its inbox has 3`]])
  })
})

describe('what cannot be read back', () => {
  it('is not written', () => {
    const entry = { type: 'step-ended', at: NaN } as unknown as Entry
    expect(() => link(ROWS.at(-1)!, entry)).toThrow(expect.objectContaining({ code: 'VALUE_NOT_STORABLE', message: expect.stringContaining('"step-ended" cannot be written: at is null, not a number') }))
  })
})
