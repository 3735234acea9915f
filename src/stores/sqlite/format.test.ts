/** Files of every format that was ever written load for ever: one of each is kept here, made by the version that wrote it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { FORMAT } from './schema.ts'

const T0 = 1_700_000_000_000
const FORMATS = Array.from({ length: FORMAT }, (_, index) => index + 1)

describe('a file of format', () => {
  it.each(FORMATS)('%i is read and written', async (format) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'runs.db')
    writeFileSync(file, gunzipSync(readFileSync(join(import.meta.dirname, `format-${format}.golden.gz`))))
    const store = sqliteStore(file, { create: false })
    await store.open()
    onTestFinished(() => store.close())

    expect(await store.list()).toEqual([
      {
        runId: 'A', agent: 'billing', status: 'completed', threadId: null, createdAt: T0 + 4, updatedAt: T0 + 5, resumeAt: null,
        token: 0, owner: null, leaseUntil: 0, lastSeq: 1, inboxSeq: 0,
      },
      {
        runId: 'ticket-1 ä', agent: 'support', status: 'suspended', threadId: 'thread-9', createdAt: T0, updatedAt: T0 + 3, resumeAt: T0 + 500_000,
        token: 1, owner: '{"pid":7}', leaseUntil: T0 + 60_000, lastSeq: 3, inboxSeq: 1,
      },
    ])
    expect(await store.read('ticket-1 ä')).toEqual(['{"text":"ä😀"}', '{"n":2}', '{"n":3}']
      .map((body, index) => ({ seq: index + 1, body, sum: `${index + 1}`.padStart(32, '0') })))
    expect(await store.inbox('ticket-1 ä', 0)).toEqual([{ seq: 1, body: '{"yes":true}' }])

    expect(await store.send('ticket-1 ä', { question: 'approve', body: '{"yes":false}', now: T0 + 6 })).toBe(null)
    await store.append('ticket-1 ä', { token: 1, entries: [{ seq: 4, body: '{}', sum: '' }], now: T0 + 6 })
    expect((await store.get('ticket-1 ä'))?.lastSeq).toBe(4)
  })
})
