/** Listing runs. */
import assert from 'node:assert/strict'
import type { RunFilter, RunStatus, Store } from '../../journal/store.ts'
import { rule, rowOf } from './rule.ts'
import { newRun, T0 } from './sample.ts'

async function listed(store: Store, filter?: RunFilter): Promise<string[]> {
  return (await store.list(filter)).map((row) => row.runId)
}

/** Six runs, the later the newer: two agents, two threads and none, three statuses. */
async function sixRuns(store: Store): Promise<void> {
  const runs: readonly (readonly [runId: string, agent: string, threadId: string | null, status: RunStatus])[] = [
    ['r1', 'support', null, 'running'], ['r2', 'support', 't1', 'suspended'], ['r3', 'billing', 't1', 'completed'],
    ['r4', 'support', 't2', 'completed'], ['r5', 'billing', null, 'suspended'], ['r6', 'support', 't1', 'completed'],
  ]
  for (const [index, [runId, agent, threadId, status]] of runs.entries()) {
    await store.create(newRun(runId, { agent, threadId, createdAt: T0 + index }))
    await store.append(runId, { token: 0, entries: [], patch: { status }, now: T0 + index })
  }
}

export const listRules = [
  rule('MUST list the rows that get gives', async ({ store }) => {
    await sixRuns(store)
    for (const row of await store.list()) assert.deepEqual(row, await rowOf(store, row.runId))
  }),

  rule('MUST list the newest updatedAt first', async ({ store }) => {
    await sixRuns(store)
    await store.append('r2', { token: 0, entries: [], patch: { status: 'suspended' }, now: T0 + 100 })
    assert.deepEqual(await listed(store), ['r2', 'r6', 'r5', 'r4', 'r3', 'r1'])
  }),

  rule('MUST list runs of one updatedAt by runId in the order of its characters', async ({ store }) => {
    for (const runId of ['b', 'a-2', 'B', '10', 'a', '9']) await store.create(newRun(runId))
    assert.deepEqual(await listed(store), ['10', '9', 'B', 'a', 'a-2', 'b'])
    assert.deepEqual(await listed(store, { limit: 3 }), ['10', '9', 'B'])
  }),

  rule('MUST list by agent, status and threadId, and by all of them together', async ({ store }) => {
    await sixRuns(store)
    assert.deepEqual(await listed(store, { agent: 'billing' }), ['r5', 'r3'])
    assert.deepEqual(await listed(store, { agent: 'nobody' }), [])
    assert.deepEqual(await listed(store, { status: ['completed'] }), ['r6', 'r4', 'r3'])
    assert.deepEqual(await listed(store, { status: ['running', 'suspended'] }), ['r5', 'r2', 'r1'])
    assert.deepEqual(await listed(store, { status: [] }), [], 'no status is allowed')
    assert.deepEqual(await listed(store, { threadId: 't1' }), ['r6', 'r3', 'r2'])
    assert.deepEqual(await listed(store, { agent: 'support', status: ['completed', 'failed'], threadId: 't1' }), ['r6'])
  }),

  rule('MUST list at most limit runs, the newest of those that match', async ({ store }) => {
    await sixRuns(store)
    assert.deepEqual(await listed(store, { limit: 2 }), ['r6', 'r5'])
    assert.deepEqual(await listed(store, { limit: 1, status: ['suspended'] }), ['r5'])
    assert.deepEqual(await listed(store, { limit: 0 }), [])
  }),

  rule('MUST list by dueBy the suspended runs whose resumeAt is not later', async ({ store }) => {
    await sixRuns(store)
    const patch = async (runId: string, patch: { status?: RunStatus; resumeAt: number | null }): Promise<void> =>
      store.append(runId, { token: 0, entries: [], patch, now: T0 + 10 })
    await patch('r2', { resumeAt: T0 + 500 })
    await patch('r4', { status: 'suspended', resumeAt: T0 + 499 })
    await patch('r1', { status: 'suspended', resumeAt: T0 + 501 })
    await patch('r3', { resumeAt: T0 + 1 })
    assert.deepEqual(await listed(store, { dueBy: T0 + 500 }), ['r2', 'r4'], 'r5 waits for somebody, r1 is due later, r3 has completed')
    assert.deepEqual(await listed(store, { dueBy: T0 + 500, agent: 'support', threadId: 't2' }), ['r4'])
    assert.deepEqual(await listed(store, { dueBy: T0 + 498 }), [])
  }),

  rule('MUST list 100 runs unless limit says otherwise, and all of them for Infinity', async ({ store }) => {
    for (let n = 1; n <= 103; n++) await store.create(newRun(`run-${n}`))
    assert.equal((await store.list()).length, 100)
    assert.equal((await store.list({ agent: 'support' })).length, 100)
    assert.equal((await store.list({ limit: 102 })).length, 102)
    assert.equal((await store.list({ limit: Infinity })).length, 103)
  }),
]
