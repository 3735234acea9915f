/** Opening and closing. */
import assert from 'node:assert/strict'
import { assertRefused, rule, snapshot } from './rule.ts'
import { drivenRun, entries, newRun, T0 } from './sample.ts'

export const lifecycleRules = [
  rule('MUST say what kind it is and how long its data lasts', async ({ store }) => {
    assert.match(store.kind, /\S/)
    assert.ok(['durable', 'process'].includes(store.durability), `durability is ${store.durability}`)
  }),

  rule('MUST be opened twice without harm', async ({ store }) => {
    await store.create(newRun('a'))
    await Promise.all([store.open(), store.open()])
    assert.equal((await store.read('a')).length, 1)
  }),

  rule('MUST be closed twice without harm', async ({ store }) => {
    await Promise.all([store.close(), store.close()])
    await store.close()
  }),

  rule('MUST refuse every call after close with STORE_UNAVAILABLE', async ({ store }) => {
    await drivenRun(store, 'a')
    await store.close()
    const lease = { expectedToken: 1, owner: 'x', leaseUntil: T0 + 9, now: T0 }
    const calls: (() => Promise<unknown>)[] = [
      () => store.create(newRun('b')), () => store.get('a'), () => store.list(), () => store.read('a'), () => store.take('a', lease),
      () => store.renew('a', 1, T0 + 9), () => store.append('a', { token: 1, entries: entries(2, 2), now: T0 }),
      () => store.send('a', { question: null, body: '{}', now: T0 }), () => store.inbox('a', 0), () => store.remove('a', T0),
    ]
    for (const call of calls) await assertRefused(call(), 'STORE_UNAVAILABLE')
  }),

  rule('MUST finish what was asked for before close', async ({ store, other }) => {
    await drivenRun(store, 'a')
    const append = store.append('a', { token: 1, entries: entries(2, 2), now: T0 })
    await store.close()
    await append
    if (other !== store) assert.equal((await other.read('a')).length, 2)
  }),

  rule('MUST show another store on the same data all that was acknowledged', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await store.append('a', { token: 1, entries: entries(2, 3), patch: { status: 'suspended', resumeAt: T0 + 5 }, now: T0 + 2 })
    await store.send('a', { question: 'q', body: '{"yes":true}', now: T0 + 3 })
    const acknowledged = await snapshot(store, 'a')
    assert.deepEqual(await snapshot(other, 'a'), acknowledged)
    if (other === store) return
    await store.close()
    assert.deepEqual(await snapshot(other, 'a'), acknowledged, 'after the first store was closed')
  }),
]
