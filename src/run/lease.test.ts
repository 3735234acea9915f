import { describe, expect, it } from 'vitest'
import { manualClock } from '../core/manual-clock.ts'
import type { HoldfastError } from '../errors.ts'
import type { RunRow, Store } from '../journal/store.ts'
import { memoryStore } from '../stores/memory.ts'
import { Lease, ownership } from './lease.ts'
import { encodeOwner, thisProcess, type Owner } from './owner.ts'

const TTL = 30_000

/** A run without an owner, on a store whose `renew` can be replaced. */
async function desk() {
  const store = memoryStore()
  await store.create({ runId: 'r1', agent: 'desk', threadId: null, createdAt: 0, entries: [] })
  const clock = manualClock(1_000)
  const lost: { at: number; error: HoldfastError }[] = []
  const renewals: number[] = []
  const faults: { renew?: () => Promise<boolean> } = {}
  const watched: Store = {
    ...store,
    renew(runId, token, until) {
      renewals.push(clock.now())
      return faults.renew ? faults.renew() : store.renew(runId, token, until)
    },
  }
  const take = (expectedToken: number): Promise<Lease | undefined> =>
    Lease.take({ store: watched, runId: 'r1', ttlMs: TTL, clock, onLost: (error) => lost.push({ at: clock.now(), error }) }, expectedToken)
  return { store, clock, lost, renewals, faults, take, row: async () => (await store.get('r1'))! }
}

describe('Lease', () => {
  it('is taken by one of two (D1)', async () => {
    const { take, row } = await desk()
    const [one, two] = await Promise.all([take(0), take(0)])
    expect([one?.token, two]).toEqual([1, undefined])
    expect(await row()).toMatchObject({ token: 1, owner: encodeOwner(thisProcess()), leaseUntil: 1_000 + TTL })
    one!.stop()
  })

  it('leaves nothing behind where another was faster', async () => {
    const { take, clock } = await desk()
    expect(await take(7)).toBeUndefined()
    expect(clock.pending).toBe(0)
  })

  it('is renewed every third of its length, and held as long', async () => {
    const { take, clock, renewals, row, lost } = await desk()
    const lease = (await take(0))!
    await clock.advance(5 * TTL)
    expect(renewals.slice(0, 3)).toEqual([11_000, 21_000, 31_000])
    expect(renewals).toHaveLength(15)
    expect(await row()).toMatchObject({ leaseUntil: 1_000 + 6 * TTL })
    expect(lease.check()).toBe(true)
    expect(lost).toEqual([])
  })

  it('outlives a renewal that throws, when the next one succeeds in time', async () => {
    const { take, clock, faults, lost, row } = await desk()
    const lease = (await take(0))!
    faults.renew = () => Promise.reject(new Error('no connection'))
    await clock.advance(TTL / 2)
    delete faults.renew
    await clock.advance(TTL)
    expect(lost).toEqual([])
    expect(lease.check()).toBe(true)
    expect((await row()).leaseUntil).toBe(1_000 + (4 / 3) * TTL + TTL)
  })

  it('stops at the last confirmed end when renewals throw until then, and says so once (D3)', async () => {
    const { take, clock, faults, lost, renewals } = await desk()
    const lease = (await take(0))!
    await clock.advance(TTL / 3) // confirmed until 41 000
    faults.renew = () => Promise.reject(new Error('no connection'))
    await clock.advance(TTL - 1)
    expect(lease.check()).toBe(true)
    expect(lost).toEqual([])
    await clock.advance(1)
    // Before anybody asks: its own timer says so.
    expect(lost).toEqual([{ at: 41_000, error: expect.objectContaining({ code: 'LEASE_LOST', runId: 'r1' }) }])
    expect(lease.check()).toBe(false)
    const tries = renewals.length
    await clock.advance(10 * TTL)
    expect([lost.length, renewals.length, clock.pending]).toEqual([1, tries, 0])
  })

  it('stops there also when a renewal hangs, whatever that says later', async () => {
    const { take, clock, faults, lost } = await desk()
    const lease = (await take(0))!
    const answer = Promise.withResolvers<boolean>()
    faults.renew = () => answer.promise
    await clock.advance(TTL)
    expect(lost.map(({ at }) => at)).toEqual([1_000 + TTL])
    answer.resolve(true)
    await clock.advance(1)
    expect(lease.check()).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('counts from when the renewal was asked for, not from its answer', async () => {
    const { take, clock, faults, lost } = await desk()
    await take(0)
    const answer = Promise.withResolvers<boolean>()
    faults.renew = () => answer.promise
    await clock.advance(TTL - 1_000)
    answer.resolve(true)
    faults.renew = () => Promise.reject(new Error('no connection'))
    await clock.advance(2 * TTL)
    expect(lost.map(({ at }) => at)).toEqual([1_000 + TTL / 3 + TTL])
  })

  it('is over at once when another has taken the run (D2)', async () => {
    const { take, store, clock, lost } = await desk()
    const lease = (await take(0))!
    await store.take('r1', { expectedToken: 1, owner: '{}', leaseUntil: 99_999, now: 2_000 })
    await clock.advance(TTL / 3)
    expect(lease.check()).toBe(false)
    expect(lost.map(({ at, error }) => [at, error.code])).toEqual([[11_000, 'LEASE_LOST']])
    expect(clock.pending).toBe(0)
  })

  it('is over when it was stopped, without a word, also with a renewal on its way', async () => {
    const { take, clock, faults, lost, renewals } = await desk()
    const lease = (await take(0))!
    const answer = Promise.withResolvers<boolean>()
    faults.renew = () => answer.promise
    await clock.advance(TTL / 3)
    lease.stop()
    answer.resolve(false)
    await clock.advance(TTL)
    expect([lease.check(), lost, renewals.length, clock.pending]).toEqual([false, [], 1, 0])
  })
})

describe('ownership', () => {
  const me = thisProcess()
  const NOW = 5_000
  const rowOf = (differently: Partial<RunRow>): RunRow => ({
    runId: 'r1', agent: 'desk', status: 'running', threadId: null, createdAt: 0, updatedAt: 0, resumeAt: null,
    token: 3, owner: encodeOwner(me), leaseUntil: NOW + 1, lastSeq: 0, inboxSeq: 0, ...differently,
  })
  const dead: Owner = { ...me, started: '1' }
  const elsewhere: Owner = { ...dead, boot: 'another' }

  it.each<[string, Partial<RunRow>, unknown]>([
    ['a run that nobody had', { owner: null, leaseUntil: 0, token: 0 }, { free: true, former: 'none' }],
    ['a run that was given back', { owner: null, leaseUntil: 0 }, { free: true, former: 'released' }],
    ['a run that this process drives', {}, { free: false, owner: me }],
    ['a run whose lease ends now', { leaseUntil: NOW }, { free: true, former: 'expired' }],
    ['a run whose owner is on another machine', { owner: encodeOwner(elsewhere) }, { free: false, owner: elsewhere }],
    ['a run whose owner wrote what nobody can read', { owner: 'pid 7' }, { free: false, owner: undefined }],
  ])('knows %s', (_, differently, expected) => {
    expect(ownership(rowOf(differently), NOW)).toEqual(expected)
  })

  it.skipIf(!me.started)('knows a run whose owner is dead, before its lease ends and after (D4)', () => {
    for (const leaseUntil of [NOW + 1, 0]) {
      expect(ownership(rowOf({ owner: encodeOwner(dead), leaseUntil }), NOW)).toEqual({ free: true, former: 'dead' })
    }
  })
})
