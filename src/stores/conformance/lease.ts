/** Taking and renewing a lease. */
import assert from 'node:assert/strict'
import { assertUnchanged, rowOf, rule } from './rule.ts'
import { drivenRun, entries, newRun, T0 } from './sample.ts'

const bySecond = { owner: '{"by":"two"}', leaseUntil: T0 + 90_000, now: T0 + 70_000 }

export const leaseRules = [
  rule('MUST raise the token by one when a lease is taken, and note the owner and the end', async ({ store }) => {
    await store.create(newRun('a'))
    const before = await rowOf(store, 'a')
    assert.equal(await store.take('a', { expectedToken: 0, ...bySecond }), 1)
    const { owner, leaseUntil, now } = bySecond
    assert.deepEqual(await rowOf(store, 'a'), { ...before, token: 1, owner, leaseUntil, updatedAt: now })
    assert.equal(await store.take('a', { expectedToken: 1, ...bySecond, owner: '{"by":"three"}' }), 2)
    assert.equal((await rowOf(store, 'a')).owner, '{"by":"three"}')
  }),

  rule('MUST set status to running and resumeAt to null when a lease is taken', async ({ store }) => {
    await drivenRun(store, 'a')
    await store.append('a', { token: 1, entries: [], patch: { status: 'suspended', resumeAt: T0 + 5, release: true }, now: T0 + 2 })
    await store.take('a', { expectedToken: 1, ...bySecond })
    const { status, resumeAt } = await rowOf(store, 'a')
    assert.deepEqual({ status, resumeAt }, { status: 'running', resumeAt: null })
  }),

  rule('MUST resolve take to null, and change nothing, when the token has moved', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await assertUnchanged(store, 'a', async () => {
      assert.equal(await other.take('a', { expectedToken: 0, ...bySecond }), null, 'lower than the row')
      assert.equal(await other.take('a', { expectedToken: 2, ...bySecond }), null, 'higher than the row')
    })
  }),

  rule('MUST let exactly one of several concurrent takers win', async ({ store, other }) => {
    await store.create(newRun('a'))
    const takers = Array.from({ length: 8 }, (_, n) =>
      (n % 2 ? store : other).take('a', { expectedToken: 0, ...bySecond, owner: `taker ${n}` }))
    const taken = await Promise.all(takers)
    assert.deepEqual(taken.filter((token) => token !== null), [1])
    const { token, owner } = await rowOf(store, 'a')
    assert.deepEqual({ token, owner }, { token: 1, owner: `taker ${taken.indexOf(1)}` })
  }),

  rule('MUST move the end of the lease on renew, and nothing else', async ({ store }) => {
    await drivenRun(store, 'a')
    const before = await rowOf(store, 'a')
    assert.equal(await store.renew('a', 1, T0 + 120_000), true)
    assert.deepEqual(await rowOf(store, 'a'), { ...before, leaseUntil: T0 + 120_000 })
  }),

  rule('MUST resolve renew to false, and change nothing, when the token is stale', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await other.take('a', { expectedToken: 1, ...bySecond })
    await assertUnchanged(store, 'a', async () => {
      assert.equal(await store.renew('a', 1, T0 + 999_000), false)
      assert.equal(await store.renew('a', 3, T0 + 999_000), false)
    })
  }),

  rule('MUST resolve renew to false, and change nothing, when the lease was given back', async ({ store }) => {
    await drivenRun(store, 'a')
    await store.append('a', { token: 1, entries: [], patch: { release: true }, now: T0 + 2 })
    await assertUnchanged(store, 'a', async () => assert.equal(await store.renew('a', 1, T0 + 999_000), false))
  }),

  rule('MUST NOT lease a run that does not exist', async ({ store }) => {
    assert.equal(await store.take('a', { expectedToken: 0, ...bySecond }), null)
    assert.equal(await store.renew('a', 0, T0 + 9), false)
    assert.equal(await store.create(newRun('a', { entries: entries(1, 2) })), true, 'the attempts may not have made the run')
  }),
]
