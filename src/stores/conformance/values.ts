/** Texts and names are kept exactly, and names that differ are different. */
import assert from 'node:assert/strict'
import { assertUnchanged, rowOf, rule } from './rule.ts'
import { drivenRun, entries, entry, newRun, T0 } from './sample.ts'

const BODIES = [
  '{"text":"plain"}',
  '{ "spaces" :  [ 1,2 ] }',
  '{"b":1,"a":2,"b":1}',
  '{"n":1.0,"big":12345678901234567890,"e":1E2}',
  JSON.stringify({ text: 'umlauts äöü, 漢字, عربى \u202e', emoji: '😀👩‍👩‍👧', separators: '\u2028\u2029\ufeff' }),
  JSON.stringify({ composed: '\u00e9', decomposed: 'e\u0301' }),
  JSON.stringify({ nul: '\0', lone: '\ud800', backslash: '\\', quote: '"\'', lines: '\r\n\t' }),
  'not JSON at all; %s $1 ? :x --',
  '"trailing space" \n',
]

/** Names that some part of a store might take for the same, cut, escape, or read as a path. */
const NAMES = [
  'a', 'A', 'a ', ' a', 'ä', 'a\u0308', 'ａ', 'a\0', 'a\0b', '1', '01', '1.0', 'a/b', 'a\\b', '../a', '..', '.', 'C:a', 'CON', 'a%', '_', '%61',
  "a'b", 'a"b', 'null', 'undefined', '__proto__', 'constructor', '\u202ea', '😀', 'x'.repeat(300), `${'x'.repeat(299)}y`,
]

export const valueRules = [
  rule('MUST keep the bodies and sums of entries exactly', async ({ store, other }) => {
    await drivenRun(store, 'a', { entries: [] })
    const batch = BODIES.map((body, index) => entry(index + 1, body))
    await store.append('a', { token: 1, entries: batch, now: T0 })
    assert.deepEqual(await other.read('a'), batch)
  }),

  rule('MUST keep the bodies of messages exactly', async ({ store, other }) => {
    await store.create(newRun('a'))
    for (const body of BODIES) await store.send('a', { question: null, body, now: T0 })
    assert.deepEqual((await other.inbox('a', 0)).map((message) => message.body), BODIES)
  }),

  rule('MUST keep a body of 1 MB exactly', async ({ store, other }) => {
    const body = JSON.stringify({ text: 'ä😀x'.repeat(130_000) })
    await drivenRun(store, 'a', { entries: [entry(1, body)] })
    await store.append('a', { token: 1, entries: [entry(2, body), entry(3)], now: T0 })
    const bodies = (await other.read('a')).map((stored) => stored.body)
    assert.ok(bodies[0] === body && bodies[1] === body, 'the body has changed')
    assert.deepEqual((await other.read('a', 2)), [entry(3)])
  }),

  rule('MUST keep the owner exactly', async ({ store, other }) => {
    await store.create(newRun('a'))
    for (const [token, owner] of BODIES.entries()) {
      await store.take('a', { expectedToken: token, owner, leaseUntil: T0 + 9, now: T0 })
      assert.equal((await rowOf(other, 'a')).owner, owner)
    }
  }),

  rule('MUST keep runs apart whose ids differ in any character', async ({ store, other }) => {
    for (const [index, runId] of NAMES.entries()) {
      const created = await store.create(newRun(runId, { entries: [entry(1, `${index}`)] }))
      assert.equal(created, true, `${JSON.stringify(runId)} is taken for another`)
    }
    for (const [index, runId] of NAMES.entries()) {
      assert.equal((await rowOf(other, runId)).runId, runId)
      assert.deepEqual(await other.read(runId), [entry(1, `${index}`)])
    }
    assert.deepEqual((await other.list()).map((row) => row.runId).toSorted(), NAMES.toSorted())
  }),

  rule('MUST keep agents and threads apart whose names differ in any character', async ({ store }) => {
    for (const [index, name] of NAMES.entries()) await store.create(newRun(`run-${index}`, { agent: name, threadId: name }))
    for (const [index, name] of NAMES.entries()) {
      assert.deepEqual((await store.list({ agent: name })).map((row) => [row.runId, row.agent]), [[`run-${index}`, name]])
      assert.deepEqual((await store.list({ threadId: name })).map((row) => [row.runId, row.threadId]), [[`run-${index}`, name]])
    }
  }),

  rule('MUST keep questions apart whose names differ in any character', async ({ store }) => {
    await store.create(newRun('a'))
    for (const [index, question] of NAMES.entries()) {
      assert.equal(await store.send('a', { question, body: '{}', now: T0 }), index + 1, `${JSON.stringify(question)} is taken for another`)
    }
  }),

  rule('MUST keep a threadId without characters apart from none', async ({ store }) => {
    await store.create(newRun('empty', { threadId: '' }))
    await store.create(newRun('none', { threadId: null }))
    assert.equal((await rowOf(store, 'empty')).threadId, '')
    assert.equal((await rowOf(store, 'none')).threadId, null)
    assert.deepEqual((await store.list({ threadId: '' })).map((row) => row.runId), ['empty'])
  }),

  rule('MUST keep one run as it is whatever happens to another', async ({ store, other }) => {
    await drivenRun(store, 'a')
    await drivenRun(store, 'b', { entries: entries(1, 2) })
    await assertUnchanged(store, 'a', async () => {
      const patch = { status: 'suspended', resumeAt: T0 + 5, release: true } as const
      await other.append('b', { token: 1, entries: entries(3, 4), patch, now: T0 + 2 })
      await other.take('b', { expectedToken: 1, owner: '{"by":"two"}', leaseUntil: T0 + 90_000, now: T0 + 3 })
      await other.renew('b', 2, T0 + 99_000)
      await other.send('b', { question: 'q', body: '{}', now: T0 + 4 })
    })
    assert.deepEqual(await store.read('b'), entries(1, 4))
  }),
]
