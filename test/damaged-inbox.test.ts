/** An inbox from which a message is gone, or in which one is damaged, is reported with its place before anything runs (R15): neither a hang nor a silent loss. */
import { DatabaseSync } from 'node:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRunner, defineAgent, memoryStore, sqliteStore, type RunRow, type Store } from '../src/index.ts'
import type { InboxMessage } from '../src/journal/store.ts'

/** What the store gives of the row and the inbox of run `r`. */
interface Damage {
  readonly row?: Partial<RunRow>
  inbox?(messages: readonly InboxMessage[]): InboxMessage[]
}

/** The same run, waiting with its decision unread, in a store with that damage. */
const STORES: readonly [string, (fill: (store: Store) => Promise<void>, damage: Damage) => Promise<Store>][] = [
  ['memory', async (fill, { row, inbox = (messages) => [...messages] }) => {
    const store = { ...memoryStore(), close: async () => {} }
    await fill(store)
    return {
      ...store,
      get: async (id) => {
        const found = await store.get(id)
        return found && { ...found, ...row }
      },
      inbox: async (id, after) => inbox(await store.inbox(id, 0)).filter(({ seq }) => seq > after),
    }
  }],
  ['SQLite', async (fill, { row, inbox }) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'runs.db')
    await fill(sqliteStore(file))
    const database = new DatabaseSync(file)
    if (row?.inboxSeq !== undefined) database.prepare('UPDATE runs SET inbox_seq = ?').run(row.inboxSeq)
    if (inbox) {
      const kept = inbox(database.prepare('SELECT seq, body FROM inbox').all() as unknown as InboxMessage[])
      database.exec('DELETE FROM inbox')
      for (const { seq, body } of kept) database.prepare('INSERT INTO inbox VALUES (1, ?, NULL, ?)').run(seq, body)
    }
    database.close()
    return sqliteStore(file)
  }],
]

describe.each(STORES)('in the %s store', (_, storeWith) => {
  it.each<[string, Damage, RegExp]>([
    ['a message is gone', { inbox: () => [] }, /message 1 in the inbox of run "r" is damaged: it is missing: the inbox ends at message 0, it had 1/],
    ['one in the middle is gone', { row: { inboxSeq: 2 }, inbox: ([first]) => [{ ...first!, seq: 2 }] }, /message 1 in the inbox of run "r" is damaged: it is missing: message 2 stands there/],
    ['the row knows of more', { row: { inboxSeq: 7 } }, /message 2 in the inbox .*: it is missing: the inbox ends at message 1, it had 7/],
    ['a message is damaged', { inbox: ([first]) => [{ seq: 1, body: first!.body.replace('skip', 'rerun') }] }, /message 1 in the inbox of run "r" is damaged: its checksum/],
  ])('where %s: STORE_CORRUPT with the place, as often as it is asked; nothing runs and nothing is written', async (_what, damage, words) => {
    let calls = 0
    const agent = defineAgent('a', (run) => run.step('charge', { key: 'k' }, () => {
      calls++
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    }))
    const store = await storeWith(async (whole) => {
      const runner = createRunner({ agents: [agent], store: whole, idleMs: 5 })
      await runner.run(agent, {}, { runId: 'r' }).catch(() => {})
      await runner.resolve('r', 's:charge:k#0', 'skip')
      await runner.close()
    }, damage)
    const runner = createRunner({ agents: [agent], store, idleMs: 5 })
    const before = await runner.history('r')
    for (let i = 0; i < 6; i++) await expect(runner.resume('r')).rejects.toMatchObject({ code: 'STORE_CORRUPT', runId: 'r', message: expect.stringMatching(words) })
    await expect(runner.resolve('r', 's:charge:k#0', 'rerun')).rejects.toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringMatching(words) })
    expect(await runner.history('r')).toEqual(before)
    expect(await runner.get('r')).toMatchObject({ status: 'failed', owner: null })
    expect(calls).toBe(1)
    await runner.close()
  })

  it('where the row knows of fewer than the journal has taken in: STORE_CORRUPT, and not a run that never suspends', async () => {
    const agent = defineAgent('a', (run) => run.step('charge', { key: 'k' }, () => Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))))
    const store = await storeWith(async (whole) => {
      const runner = createRunner({ agents: [agent], store: whole, idleMs: 5 })
      await runner.run(agent, {}, { runId: 'r' }).catch(() => {})
      await runner.resolve('r', 's:charge:k#0', 'rerun', { resume: true }).catch(() => {})
      await runner.close()
    }, { row: { inboxSeq: 0 }, inbox: () => [] })
    const runner = createRunner({ agents: [agent], store, idleMs: 5 })
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringMatching(/message 1.*was taken in, and the run's row knows of 0/) })
    await runner.close()
  })
})

it('a row that was read before another process took a message in is no damage', async () => {
  const agent = defineAgent('a', (run) => run.step('charge', { key: 'k' }, () => Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))))
  const store = memoryStore()
  const runner = createRunner({ agents: [agent], store, idleMs: 5 })
  await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  const old = [(await store.get('r'))!]
  await expect(runner.resolve('r', 's:charge:k#0', 'skip', { resume: true })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(await store.get('r')).toMatchObject({ inboxSeq: 1 })
  const late = createRunner({ agents: [agent], store: { ...store, get: async (id) => old.pop() ?? store.get(id) }, idleMs: 5 })
  await expect(late.resume('r')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
})
