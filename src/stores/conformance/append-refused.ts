/** Appends that are refused: as a whole, with the reason. */
import assert from 'node:assert/strict'
import type { AppendBatch } from '../../journal/store.ts'
import { assertRefused, assertUnchanged, rowOf, rule } from './rule.ts'
import { drivenRun, entries, entry, newRun, T0 } from './sample.ts'

const finish: NonNullable<AppendBatch['patch']> = { status: 'completed', resumeAt: T0 + 5, release: true }

export const appendRefusedRules = [
  rule('MUST refuse an append with a stale token with STALE_TOKEN, and change nothing', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await other.take('a', { expectedToken: 1, owner: '{"by":"two"}', leaseUntil: T0 + 90_000, now: T0 + 70_000 })
    await assertUnchanged(store, 'a', async () => {
      await assertRefused(store.append('a', { token: 1, entries: entries(2, 3), patch: finish, now: T0 + 2 }), 'STALE_TOKEN')
      await assertRefused(store.append('a', { token: 3, entries: entries(2, 3), now: T0 + 2 }), 'STALE_TOKEN')
    })
  }),

  rule('MUST refuse a patch without entries that carries a stale token', async ({ store }) => {
    await drivenRun(store, 'a')
    await assertUnchanged(store, 'a', async () => {
      await assertRefused(store.append('a', { token: 0, entries: [], patch: finish, now: T0 + 2 }), 'STALE_TOKEN')
    })
  }),

  rule('MUST refuse entries that do not follow the newest with STALE_TOKEN, and change nothing', async ({ store }) => {
    await drivenRun(store, 'a', { entries: entries(1, 3) })
    await assertUnchanged(store, 'a', async () => {
      for (const seq of [1, 3, 5]) {
        await assertRefused(store.append('a', { token: 1, entries: entries(seq, seq + 1), patch: finish, now: T0 + 2 }), 'STALE_TOKEN')
      }
    })
    await store.append('a', { token: 1, entries: entries(4, 4), now: T0 + 2 })
  }),

  rule('MUST store nothing of a batch whose last entry does not fit', async ({ store }) => {
    await drivenRun(store, 'a')
    await assertUnchanged(store, 'a', async () => {
      const gap = [entry(2), entry(3), entry(5)]
      await assertRefused(store.append('a', { token: 1, entries: gap, patch: finish, now: T0 + 2 }), 'STALE_TOKEN')
      await assertRefused(store.append('a', { token: 1, entries: [entry(2), entry(2)], now: T0 + 2 }), 'STALE_TOKEN')
    })
    await store.append('a', { token: 1, entries: entries(2, 2), now: T0 + 2 })
  }),

  rule('MUST let one of two concurrent appends of the same entries win', async ({ store, other }) => {
    await drivenRun(store, 'a')
    const bodies = ['{"from":"store"}', '{"from":"other"}'] as const
    const [mine, theirs] = await Promise.allSettled([
      store.append('a', { token: 1, entries: [entry(2, bodies[0]), entry(3, bodies[0])], now: T0 + 2 }),
      other.append('a', { token: 1, entries: [entry(2, bodies[1]), entry(3, bodies[1])], now: T0 + 2 }),
    ])
    assert.deepEqual([mine.status, theirs.status].sort(), ['fulfilled', 'rejected'])
    const loser = mine.status === 'rejected' ? mine : theirs
    await assertRefused(Promise.reject((loser as PromiseRejectedResult).reason), 'STALE_TOKEN')
    const winning = mine.status === 'fulfilled' ? bodies[0] : bodies[1]
    assert.deepEqual((await store.read('a', 1)).map((stored) => stored.body), [winning, winning])
  }),

  rule('MUST refuse an append with INBOX_MOVED when the inbox has moved, and change nothing', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await other.send('a', { question: null, body: '{}', now: T0 + 2 })
    await assertUnchanged(store, 'a', async () => {
      for (const inboxSeq of [0, 2]) {
        await assertRefused(store.append('a', { token: 1, entries: entries(2, 3), patch: finish, inboxSeq, now: T0 + 3 }), 'INBOX_MOVED')
      }
      await assertRefused(store.append('a', { token: 1, entries: [], patch: finish, inboxSeq: 0, now: T0 + 3 }), 'INBOX_MOVED')
    })
  }),

  rule('MUST refuse with STALE_TOKEN an append whose token is stale and whose inbox has moved', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await other.send('a', { question: null, body: '{}', now: T0 + 2 })
    await assertRefused(store.append('a', { token: 0, entries: entries(2, 2), inboxSeq: 0, now: T0 + 3 }), 'STALE_TOKEN')
    assert.equal((await rowOf(store, 'a')).lastSeq, 1)
  }),

  rule('MUST refuse an append to a run that does not exist with STALE_TOKEN', async ({ store }) => {
    await assertRefused(store.append('a', { token: 0, entries: entries(1, 1), now: T0 }), 'STALE_TOKEN')
    assert.equal(await store.get('a'), undefined)
    assert.equal(await store.create(newRun('a')), true)
  }),
]
