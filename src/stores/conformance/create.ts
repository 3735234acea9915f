/** Creating and finding a run. */
import assert from 'node:assert/strict'
import type { RunRow } from '../../journal/store.ts'
import { assertUnchanged, rule } from './rule.ts'
import { drivenRun, entries, newRun, T0 } from './sample.ts'

export const createRules = [
  rule('MUST create a run that is running, without a lease, with its first entries', async ({ store }) => {
    assert.equal(await store.create(newRun('a', { threadId: 'thread', entries: entries(1, 3) })), true)
    const expected: RunRow = {
      runId: 'a', agent: 'support', status: 'running', threadId: 'thread', createdAt: T0, updatedAt: T0, resumeAt: null,
      token: 0, owner: null, leaseUntil: 0, lastSeq: 3, inboxSeq: 0,
    }
    assert.deepEqual(await store.get('a'), expected)
    assert.deepEqual(await store.read('a'), entries(1, 3))
    assert.deepEqual(await store.inbox('a', 0), [])
  }),

  rule('MUST create a run without entries', async ({ store }) => {
    assert.equal(await store.create(newRun('a', { entries: [] })), true)
    assert.equal((await store.get('a'))?.lastSeq, 0)
    assert.deepEqual(await store.read('a'), [])
  }),

  rule('MUST resolve create to false, and change nothing, when the id exists', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await assertUnchanged(store, 'a', async () => {
      assert.equal(await other.create(newRun('a', { agent: 'another', createdAt: T0 + 9, entries: entries(1, 5) })), false)
    })
  }),

  rule('MUST let one of several concurrent creates of an id win', async ({ store, other }) => {
    const creating = [1, 2, 3, 4].map((count) => (count % 2 ? store : other).create(newRun('a', { entries: entries(1, count) })))
    const created = await Promise.all(creating)
    assert.equal(created.filter(Boolean).length, 1)
    const winner = created.indexOf(true) + 1
    assert.equal((await store.get('a'))?.lastSeq, winner)
    assert.deepEqual(await store.read('a'), entries(1, winner), 'entries of the losers may not be mixed in')
  }),

  rule('MUST resolve get to undefined for a run that does not exist', async ({ store }) => {
    await store.create(newRun('a'))
    assert.equal(await store.get('b'), undefined)
  }),

  rule('MUST keep what it was given and what it gives apart from what it keeps', async ({ store }) => {
    const given = entries(1, 2)
    await store.create(newRun('a', { entries: given }))
    given.push(...entries(3, 3))
    Object.assign(given[0]!, { body: 'changed by the caller' })
    const row = await store.get('a')
    Object.assign(row!, { status: 'failed', token: 99 })
    Object.assign((await store.read('a'))[1]!, { body: 'changed by the reader' })
    Object.assign((await store.list())[0]!, { status: 'failed' })
    assert.deepEqual(await store.read('a'), entries(1, 2))
    const kept = await store.get('a')
    assert.deepEqual([kept?.status, kept?.token, kept?.lastSeq], ['running', 0, 2])
  }),
]
