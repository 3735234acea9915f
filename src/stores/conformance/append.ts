/** Appending to a journal. */
import assert from 'node:assert/strict'
import { rowOf, rule } from './rule.ts'
import { drivenRun, entries, T0 } from './sample.ts'

export const appendRules = [
  rule('MUST append entries after the newest and note them in the row', async ({ store }) => {
    await drivenRun(store, 'a')
    const before = await rowOf(store, 'a')
    await store.append('a', { token: 1, entries: entries(2, 3), now: T0 + 2 })
    await store.append('a', { token: 1, entries: entries(4, 4), now: T0 + 3 })
    assert.deepEqual(await store.read('a'), entries(1, 4))
    assert.deepEqual(await rowOf(store, 'a'), { ...before, lastSeq: 4, updatedAt: T0 + 3 })
  }),

  rule('MUST keep every entry of a large batch', async ({ store }) => {
    await drivenRun(store, 'a')
    await store.append('a', { token: 1, entries: entries(2, 1001), now: T0 + 2 })
    assert.deepEqual(await store.read('a'), entries(1, 1001))
    assert.equal((await rowOf(store, 'a')).lastSeq, 1001)
  }),

  rule('MUST apply status and resumeAt of a patch with the entries, and leave what the patch does not name', async ({ store }) => {
    await drivenRun(store, 'a')
    const before = await rowOf(store, 'a')
    await store.append('a', { token: 1, entries: entries(2, 2), patch: { status: 'suspended', resumeAt: T0 + 500 }, now: T0 + 2 })
    assert.deepEqual(await rowOf(store, 'a'), { ...before, status: 'suspended', resumeAt: T0 + 500, lastSeq: 2, updatedAt: T0 + 2 })
    await store.append('a', { token: 1, entries: entries(3, 3), patch: { resumeAt: null }, now: T0 + 3 })
    assert.deepEqual(await rowOf(store, 'a'), { ...before, status: 'suspended', resumeAt: null, lastSeq: 3, updatedAt: T0 + 3 })
    assert.deepEqual(await store.read('a'), entries(1, 3))
  }),

  rule('MUST give the lease back on release and keep the token', async ({ store }) => {
    await drivenRun(store, 'a')
    const before = await rowOf(store, 'a')
    await store.append('a', { token: 1, entries: entries(2, 2), patch: { status: 'completed', release: true }, now: T0 + 2 })
    assert.deepEqual(await rowOf(store, 'a'), { ...before, status: 'completed', owner: null, leaseUntil: 0, lastSeq: 2, updatedAt: T0 + 2 })
  }),

  rule('MUST apply a patch without entries', async ({ store }) => {
    await drivenRun(store, 'a')
    const before = await rowOf(store, 'a')
    await store.append('a', { token: 1, entries: [], patch: { status: 'failed' }, now: T0 + 2 })
    assert.deepEqual(await rowOf(store, 'a'), { ...before, status: 'failed', updatedAt: T0 + 2 })
    assert.deepEqual(await store.read('a'), entries(1, 1))
  }),

  rule('MUST append when the inbox is where the appender saw it', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await store.append('a', { token: 1, entries: entries(2, 2), inboxSeq: 0, now: T0 + 2 })
    await other.send('a', { question: null, body: '{}', now: T0 + 3 })
    await store.append('a', { token: 1, entries: entries(3, 3), inboxSeq: 1, now: T0 + 4 })
    await store.append('a', { token: 1, entries: entries(4, 4), now: T0 + 5 })
    assert.deepEqual(await store.read('a'), entries(1, 4))
  }),

  rule('MUST never show a part of an append', async ({ store, other }) => {
    await drivenRun(store, 'a')
    let done = false
    const append = store.append('a', { token: 1, entries: entries(2, 200), patch: { status: 'completed' }, now: T0 + 2 })
      .finally(() => { done = true })
    const seen = new Set<string>()
    while (!done) {
      const [journal, row] = await Promise.all([other.read('a'), rowOf(other, 'a')])
      seen.add(`${journal.length} entries`).add(`${row.lastSeq} ${row.status}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await append
    const whole = ['1 entries', '200 entries', '1 running', '200 completed']
    assert.deepEqual([...seen].filter((state) => !whole.includes(state)), [])
    assert.deepEqual([(await store.read('a')).length, (await rowOf(store, 'a')).status], [200, 'completed'])
  }),
]
