/** Removing a run. */
import assert from 'node:assert/strict'
import { assertUnchanged, rule, snapshot } from './rule.ts'
import { drivenRun, entries, newRun, T0 } from './sample.ts'

/** When the lease of a `drivenRun` ends. */
const LEASE_END = T0 + 60_000

export const removeRules = [
  rule('MUST remove a run with its journal and its inbox', async ({ store }) => {
    await store.create(newRun('a', { entries: entries(1, 3) }))
    await store.send('a', { question: 'q', body: '{}', now: T0 })
    assert.equal(await store.remove('a', T0), true)
    assert.deepEqual(await snapshot(store, 'a'), { row: undefined, journal: [], inbox: [] })
    assert.deepEqual(await store.list(), [])
  }),

  rule('MUST let the id of a removed run be used again, with nothing of the old run', async ({ store }) => {
    await drivenRun(store, 'a', { entries: entries(1, 3) })
    await store.send('a', { question: 'q', body: '"old"', now: T0 })
    await store.remove('a', LEASE_END)
    assert.equal(await store.create(newRun('a', { entries: [] })), true)
    assert.deepEqual(await store.read('a'), [])
    assert.deepEqual(await store.inbox('a', 0), [])
    assert.equal((await store.get('a'))?.token, 0)
    assert.equal(await store.send('a', { question: 'q', body: '"new"', now: T0 }), 1)
  }),

  rule('MUST resolve remove to false, and change nothing, while a lease is held', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await store.send('a', { question: null, body: '{}', now: T0 })
    await assertUnchanged(store, 'a', async () => assert.equal(await other.remove('a', LEASE_END - 1), false))
  }),

  rule('MUST remove a run whose lease has ended or was given back', async ({ store }) => {
    await drivenRun(store, 'ended')
    assert.equal(await store.remove('ended', LEASE_END), true)
    await drivenRun(store, 'released')
    await store.append('released', { token: 1, entries: [], patch: { release: true }, now: T0 + 2 })
    assert.equal(await store.remove('released', T0 + 3), true)
  }),

  rule('MUST resolve remove to false for a run that does not exist', async ({ store }) => {
    await store.create(newRun('a'))
    assert.equal(await store.remove('b', T0), false)
    await store.remove('a', T0)
    assert.equal(await store.remove('a', T0), false)
  }),

  rule('MUST leave other runs alone when one is removed', async ({ store }) => {
    for (const runId of ['a', 'b']) {
      await drivenRun(store, runId)
      await store.send(runId, { question: 'q', body: '{}', now: T0 })
    }
    await assertUnchanged(store, 'b', async () => assert.equal(await store.remove('a', LEASE_END), true))
  }),
]
