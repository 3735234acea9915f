/** Runs of every format that was ever written load for ever, and go on (F10). A new format gets its files from scripts/golden.ts. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRunner, memoryStore, sqliteStore } from '../../src/index.ts'
import { decode } from '../../src/journal/codec.ts'
import { FORMAT } from '../../src/journal/entry.ts'
import { everyEntry, VALUES } from '../../src/journal/fixtures/every-entry.ts'
import { readJournal } from '../../src/journal/read.ts'
import type { InboxMessage, RunRow, Store, StoredEntry } from '../../src/journal/store.ts'
import { verifyRun } from '../../src/journal/verify-run.ts'
import { later } from '../support/crash.ts'
import { world } from './desk.ts'

interface Golden {
  readonly format: number
  readonly runs: readonly { readonly row: RunRow; readonly journal: readonly StoredEntry[]; readonly inbox: readonly InboxMessage[] }[]
}

const FORMATS = Array.from({ length: FORMAT }, (_, i) => i + 1)
const path = (format: number, end: string): string => join(import.meta.dirname, `format-${format}.${end}`)
const kept = (format: number): Golden => JSON.parse(readFileSync(path(format, 'json'), 'utf8')) as Golden

async function sqlite(format: number): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'runs.db'), gunzipSync(readFileSync(path(format, 'db.gz'))))
  const store = sqliteStore(join(folder, 'runs.db'), { create: false })
  await store.open()
  onTestFinished(() => store.close())
  return store
}

async function memory(format: number): Promise<Store> {
  const store = memoryStore()
  for (const { row, journal, inbox } of kept(format).runs) {
    const { runId, agent, threadId, createdAt, token } = row
    await store.create({ runId, agent, threadId, createdAt, entries: journal.slice(0, 1) })
    for (let expectedToken = 0; expectedToken < token; expectedToken++) await store.take(runId, { expectedToken, owner: row.owner ?? '{}', leaseUntil: row.leaseUntil, now: row.updatedAt })
    await store.append(runId, { token, entries: journal.slice(1), patch: { status: row.status, ...(row.owner === null && { release: true }) }, now: row.updatedAt })
    for (const { body } of inbox) await store.send(runId, { question: null, body, now: row.updatedAt })
  }
  return store
}

const CASES = FORMATS.flatMap((format) => [['SQLite', format, sqlite], ['memory', format, memory]] as const)

describe.each(CASES)('in the %s store, a run of format %i', (_store, format, load) => {
  it('is read back whole', async () => {
    const store = await load(format)
    for (const { row: { runId }, journal, inbox } of kept(format).runs) {
      const row = (await store.get(runId))!
      expect(await store.read(runId)).toEqual(journal)
      expect(verifyRun(row, await store.read(runId), await store.inbox(runId, 0))).toEqual([])
      expect(await store.inbox(runId, 0)).toEqual(inbox)
      expect((await readJournal(store, row)).entries.length).toBe(journal.length)
    }
  })

  it('has every type of entry and value that this build knows, as it was written', async () => {
    const store = await load(format)
    const entries = (await readJournal(store, (await store.get('every-entry'))!)).entries.map(({ entry }) => entry)
    // Types that came with a later format are not in the files of this one.
    if (format === FORMAT) expect(new Set(entries.map(({ type }) => type))).toEqual(new Set(everyEntry('').map(({ type }) => type)))
    const values = entries.flatMap((entry) => (entry.type === 'step-ended' && entry.step.name === 'value' && entry.outcome.type === 'value' ? [decode(entry.outcome.value)] : []))
    expect(values).toEqual(Object.values(VALUES).slice(0, values.length))
    expect(values.length).toBeGreaterThan(25)
  })

  it('that was killed goes on: what was recorded replays, and what may have happened is asked about', async () => {
    const store = await load(format)
    const { agent, model, ran, charges } = world()
    const runner = createRunner({ agents: [agent], store, clock: later() })
    const outcome = await runner.run(agent, { order: 7, when: new Date(0) }, { runId: 'order-7' })
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: 's:charge:7#0', tool: 'charge' }] })
    expect([ran, model.requests.length]).toEqual([[], 0])
    expect(await runner.resolve('order-7', 's:charge:7#0', 'rerun', { resume: true })).toMatchObject({
      status: 'completed',
      result: {
        first: [{ type: 'text', text: 'answer 0' }], page: new Map([['prices', new Set([12n, NaN])]]), regions: [new Uint8Array([2]), new Uint8Array([2])],
        charged: { at: new Date(1_700_000_000_000) }, last: [{ type: 'text', text: 'answer 0' }],
      },
    })
    expect([ran, model.requests.length]).toEqual([['charge'], 1])
    expect(charges).toEqual([kept(format).runs[0]!.journal.flatMap(({ body }) => /"step-started".*"idempotencyKey":"(\w+)"/.exec(body)?.[1] ?? [])[0]])
  })
})

describe('the golden files', () => {
  it('are there for each format, and say which it is', () => {
    for (const format of FORMATS) expect(kept(format).format).toBe(format)
  })
})
