import { describe, expect, it } from 'vitest'
import type { AppendBatch, NewRun, RunRow, StoredEntry } from '../journal/store.ts'
import { appendedRow, checkAppend, checkFirstEntries, firstRow } from './append.ts'

const numbered = (...seqs: number[]): StoredEntry[] => seqs.map((seq) => ({ seq, body: '{}', sum: '' }))
const newRun = (...seqs: number[]): NewRun => ({ runId: 'a', agent: 'support', threadId: null, createdAt: 1, entries: numbered(...seqs) })
const row: RunRow = { ...firstRow(newRun(1, 2)), token: 3, owner: '{}', leaseUntil: 50, inboxSeq: 4, resumeAt: 9 }
const batch = (differently: Partial<AppendBatch> = {}): AppendBatch => ({ token: 3, entries: numbered(3, 4), now: 10, ...differently })

describe('checkAppend', () => {
  it.each<[string, Partial<AppendBatch>, string]>([
    ['an old token', { token: 2 }, 'STALE_TOKEN'],
    ['a token of the future', { token: 4 }, 'STALE_TOKEN'],
    ['entries that are there already', { entries: numbered(2, 3) }, 'STALE_TOKEN'],
    ['entries after a gap', { entries: numbered(4) }, 'STALE_TOKEN'],
    ['a gap inside', { entries: numbered(3, 5) }, 'STALE_TOKEN'],
    ['a seq twice', { entries: numbered(3, 3) }, 'STALE_TOKEN'],
    ['an inbox that has moved', { inboxSeq: 3 }, 'INBOX_MOVED'],
    ['an old token and an inbox that has moved', { token: 2, inboxSeq: 3 }, 'STALE_TOKEN'],
  ])('refuses %s', (_, differently, code) => {
    expect(() => checkAppend(row, batch(differently))).toThrow(expect.objectContaining({ code, runId: 'a' }))
  })

  it.each<[string, Partial<AppendBatch>]>([
    ['the next entries', {}],
    ['no entries', { entries: [], patch: { release: true } }],
    ['the inbox as it is', { inboxSeq: 4 }],
  ])('lets pass %s', (_, differently) => {
    expect(() => checkAppend(row, batch(differently))).not.toThrow()
  })

  it('names the entries that do not fit, and only the first and the last of many', () => {
    expect(() => checkAppend(row, batch({ entries: numbered(7, 8) }))).toThrow('entries 7, 8 do not follow entry 2')
    expect(() => checkAppend(row, batch({ entries: numbered(7, 8, 9, 10, 11, 12) }))).toThrow('entries 7, 8, 9 ... 12 do not follow entry 2')
  })
})

describe('appendedRow', () => {
  it.each<[string, Partial<AppendBatch>, Partial<RunRow>]>([
    ['entries', {}, { lastSeq: 4 }],
    ['a status', { patch: { status: 'completed' } }, { lastSeq: 4, status: 'completed' }],
    ['a time to resume at', { entries: [], patch: { resumeAt: 77 } }, { resumeAt: 77 }],
    ['no time to resume at', { entries: [], patch: { resumeAt: null } }, { resumeAt: null }],
    ['a release', { entries: [], patch: { release: true } }, { owner: null, leaseUntil: 0 }],
  ])('changes what %s change and nothing else', (_, differently, changes) => {
    expect(appendedRow(row, batch(differently))).toEqual({ ...row, updatedAt: 10, ...changes })
  })
})

describe('checkFirstEntries', () => {
  it.each([[[]], [[1]], [[1, 2, 3]]])('lets pass %j', (seqs) => {
    expect(() => checkFirstEntries(newRun(...seqs))).not.toThrow()
  })

  it.each([[[2]], [[0]], [[1, 3]], [[1, 1]]])('refuses %j', (seqs) => {
    expect(() => checkFirstEntries(newRun(...seqs))).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
  })
})
