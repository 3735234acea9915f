/** Reading a journal. */
import assert from 'node:assert/strict'
import { rule } from './rule.ts'
import { drivenRun, entries, newRun, T0 } from './sample.ts'

export const readRules = [
  rule('MUST read all entries in order', async ({ store }) => {
    await drivenRun(store, 'a')
    for (let seq = 2; seq <= 12; seq++) await store.append('a', { token: 1, entries: entries(seq, seq), now: T0 })
    assert.deepEqual(await store.read('a'), entries(1, 12))
    assert.deepEqual(await store.read('a', 0), entries(1, 12))
  }),

  rule('MUST read only the entries after the given seq', async ({ store }) => {
    await store.create(newRun('a', { entries: entries(1, 12) }))
    assert.deepEqual(await store.read('a', 9), entries(10, 12))
    assert.deepEqual(await store.read('a', 12), [])
    assert.deepEqual(await store.read('a', 99), [])
  }),

  rule('MUST read nothing of a run that does not exist', async ({ store }) => {
    await store.create(newRun('a'))
    assert.deepEqual(await store.read('b'), [])
    assert.deepEqual(await store.inbox('b', 0), [])
  }),
]
