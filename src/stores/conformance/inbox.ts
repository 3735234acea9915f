/** Sending to a run's inbox and reading it. */
import assert from 'node:assert/strict'
import { assertRefused, assertUnchanged, rowOf, rule } from './rule.ts'
import { drivenRun, entries, newRun, T0 } from './sample.ts'

export const inboxRules = [
  rule('MUST number messages from 1 and give them in order, those after a seq only', async ({ store, other }) => {
    await drivenRun(store, 'a')
    for (let n = 1; n <= 11; n++) assert.equal(await (n % 2 ? store : other).send('a', { question: null, body: `{"n":${n}}`, now: T0 }), n)
    const all = Array.from({ length: 11 }, (_, index) => ({ seq: index + 1, body: `{"n":${index + 1}}` }))
    assert.deepEqual(await store.inbox('a', 0), all)
    assert.deepEqual(await store.inbox('a', 8), all.slice(8))
    assert.deepEqual(await store.inbox('a', 11), [])
    assert.equal((await rowOf(store, 'a')).inboxSeq, 11)
  }),

  rule('MUST take concurrent messages one after the other', async ({ store, other }) => {
    await drivenRun(store, 'a')
    const sending = Array.from({ length: 10 }, (_, n) => (n % 2 ? store : other).send('a', { question: null, body: `${n}`, now: T0 }))
    const sent = await Promise.all(sending)
    assert.deepEqual(sent.toSorted((x, y) => x! - y!), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    const inbox = await store.inbox('a', 0)
    for (const [n, seq] of sent.entries()) assert.equal(inbox[seq! - 1]?.body, `${n}`)
  }),

  rule('MUST take one message for a question, and change nothing at the second', async ({ store, other }) => {
    await drivenRun(store, 'a')
    assert.equal(await store.send('a', { question: 'approve refund', body: '"yes"', now: T0 + 2 }), 1)
    await assertUnchanged(store, 'a', async () => {
      assert.equal(await other.send('a', { question: 'approve refund', body: '"no"', now: T0 + 3 }), null)
      assert.equal(await store.send('a', { question: 'approve refund', body: '"yes"', now: T0 + 3 }), null)
    })
    assert.equal(await store.send('a', { question: 'another', body: '"maybe"', now: T0 + 4 }), 2)
  }),

  rule('MUST take exactly one of several concurrent answers to a question', async ({ store, other }) => {
    await drivenRun(store, 'a')
    const sent = await Promise.all([0, 1, 2, 3].map((n) => (n % 2 ? store : other).send('a', { question: 'q', body: `${n}`, now: T0 })))
    assert.deepEqual(sent.filter((seq) => seq !== null), [1])
    assert.deepEqual(await store.inbox('a', 0), [{ seq: 1, body: `${sent.indexOf(1)}` }])
  }),

  rule('MUST take any number of messages without a question', async ({ store }) => {
    await drivenRun(store, 'a')
    assert.equal(await store.send('a', { question: null, body: '"same"', now: T0 }), 1)
    assert.equal(await store.send('a', { question: null, body: '"same"', now: T0 }), 2)
  }),

  rule('MUST keep the questions of runs apart', async ({ store }) => {
    await store.create(newRun('a'))
    await store.create(newRun('b'))
    assert.equal(await store.send('a', { question: 'q', body: '1', now: T0 }), 1)
    assert.equal(await store.send('b', { question: 'q', body: '2', now: T0 }), 1)
    assert.deepEqual(await store.inbox('b', 0), [{ seq: 1, body: '2' }])
  }),

  rule('MUST send without a lease, and leave lease, status and journal as they are', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await store.append('a', { token: 1, entries: entries(2, 2), patch: { status: 'suspended', resumeAt: T0 + 9 }, now: T0 + 2 })
    const { inboxSeq: _, updatedAt: __, ...before } = await rowOf(store, 'a')
    await other.send('a', { question: null, body: '{}', now: T0 + 3 })
    const { inboxSeq, updatedAt: ___, ...after } = await rowOf(store, 'a')
    assert.deepEqual(after, before)
    assert.equal(inboxSeq, 1)
    assert.deepEqual(await store.read('a'), entries(1, 2))
  }),

  rule('MUST make a suspended run due with a message that wakes it, unless it is due before then, and leave a run of another status as it is', async ({ store, other }) => {
    await drivenRun(store, 'a')
    const wake = async (now: number): Promise<unknown> => {
      await other.send('a', { question: null, body: '{}', wakes: true, now })
      const { status, resumeAt } = await rowOf(store, 'a')
      return [status, resumeAt]
    }
    assert.deepEqual(await wake(T0 + 2), ['running', null])
    for (const [resumeAt, due] of [[null, T0 + 3], [T0 + 9, T0 + 3], [T0 + 1, T0 + 1]] as const) {
      await store.append('a', { token: 1, entries: [], patch: { status: 'suspended', resumeAt }, now: T0 + 2 })
      assert.deepEqual(await wake(T0 + 3), ['suspended', due])
    }
    await store.append('a', { token: 1, entries: [], patch: { status: 'failed', resumeAt: null }, now: T0 + 4 })
    assert.deepEqual(await wake(T0 + 5), ['failed', null])
  }),

  rule('MUST refuse a message to a run that does not exist with UNKNOWN_RUN', async ({ store }) => {
    await assertRefused(store.send('a', { question: 'q', body: '{}', now: T0 }), 'UNKNOWN_RUN')
    await store.create(newRun('a'))
    assert.deepEqual(await store.inbox('a', 0), [])
  }),
]
