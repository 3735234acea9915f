/** After a salvage a run can be answered, whatever was wrong with its inbox (R10, R15): what was given up answers nothing, stands in nobody's way, and is kept in a file. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { generateText, isStepCount, tool } from 'ai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { command } from '../src/cli/fixtures/test-io.ts'
import { createRunner, defineAgent, sqliteStore, type Agent, type Run, type Runner, type Store } from '../src/index.ts'
import { encryptedStore, parseKeys } from '../src/stores/encrypted.ts'
import { closing } from './support/closing.ts'
import { testModel } from './support/model.ts'

const KEYS = `a:${Buffer.alloc(32, 7).toString('base64')}`
let folder: string
let file: string
let paid: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-inbox-'))
  file = join(folder, 'runs.db')
  paid = 0
})
afterEach(() => rmSync(folder, { recursive: true }))

const refunds = defineAgent('a', async (run: Run) => {
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'refund', input: { order: 7 } }] } : { text: 'done' }))
  const refund = tool({ inputSchema: z.object({ order: z.number() }), execute: () => (paid++, 'ok') })
  const tools = run.tools({ refund }, { refund: { approval: true } })
  return (await generateText({ model: run.model(model), tools, prompt: 'go', stopWhen: isStepCount(4) })).text
})
const charge = defineAgent('a', (run: Run) => run.step('charge', { key: 'k' }, () => {
  paid++
  throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
}))
const withRunner = <T>(agent: Agent<never, unknown>, use: (runner: Runner) => Promise<T>, store: Store = sqliteStore(file)): Promise<T> =>
  closing(createRunner({ agents: [agent as Agent<unknown, unknown>], store, idleMs: 5, retry: { maxAttempts: 1 } }), use)
const asked = async (store?: Store): Promise<void> => void (await withRunner(refunds, (runner) => runner.run('a', {}, { runId: 'r' }), store))
const resumed = (store?: Store): Promise<unknown> => withRunner(refunds, (runner) => runner.resume('r'), store)
const cli = (...args: string[]): ReturnType<typeof command> => command([...args, '--store', file])
const code = async (...args: string[]): Promise<number> => (await cli(...args)).code
function sql(...statements: string[]): Record<string, unknown>[] {
  const database = new DatabaseSync(file)
  const rows = statements.flatMap((statement) => database.prepare(statement).all())
  database.close()
  return rows
}

describe('an answer that was given', () => {
  it.each<[string, string[]]>([
    ['is damaged', [`UPDATE inbox SET body = replace(body, 'ada', 'adb')`]],
    ['is gone', ['DELETE FROM inbox']],
    ['is one less than the row knows of', ['UPDATE runs SET inbox_seq = 2']],
    ['has another number', ['UPDATE inbox SET seq = 5']],
    ['has a number before the first', ['UPDATE inbox SET seq = -1']],
    ['is no text', [`UPDATE inbox SET body = '{}'`]],
  ])('and %s is given up by salvage, kept in the file, and can be given anew', async (_, damage) => {
    await asked()
    expect(await code('approve', 'r', '0/c:c1', '--by', 'ada')).toBe(0)
    sql(...damage)
    const there = sql('SELECT * FROM inbox')
    expect(await code('verify')).toBe(1)
    expect(await cli('salvage', 'r')).toMatchObject({ code: 0, out: expect.stringMatching(/what is wrong behind them: inbox\nMessages that did not hold are given up/) })
    expect(await code('verify')).toBe(0)
    expect(await cli('salvage', 'r')).toMatchObject({ code: 2, err: expect.stringContaining('nothing of run "r" is damaged') })
    const kept = readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith('.jsonl'))!), 'utf8')
    for (const { body } of there) expect(kept).toContain(JSON.stringify(body))

    expect(await resumed()).toMatchObject({ status: 'suspended', reasons: [{ type: 'approval', step: '0/c:c1' }] })
    expect(paid).toBe(0)
    expect(await code('approve', 'r', '0/c:c1', '--by', 'bob')).toBe(0)
    expect(await code('deny', 'r', '0/c:c1')).toBe(2)
    expect([await resumed(), paid]).toEqual([{ status: 'completed', result: 'done' }, 1])
    expect(await code('verify')).toBe(0)
  })

  it('and was taken in is needed no more: its damage is settled, and one that is not read yet still counts', async () => {
    await withRunner(charge, async (runner) => {
      await runner.run('a', {}, { runId: 'r' }).catch(() => {})
      await runner.resolve('r', 's:charge:k#0', 'rerun', { resume: true }).catch(() => {})
      await runner.resolve('r', 's:charge:k#0~1', { result: 'paid' })
    })
    sql(`UPDATE inbox SET body = replace(body, 'rerun', 'rerum') WHERE seq = 1`)
    expect(await code('verify')).toBe(1)
    expect(await code('salvage', 'r')).toBe(0)
    expect(await code('verify')).toBe(0)
    expect(await withRunner(charge, (runner) => runner.resume('r'))).toEqual({ status: 'completed', result: 'paid' })
    expect(paid).toBe(2)
  })

  it('is taken from a copy where that has it whole: nothing is given up', async () => {
    await asked()
    expect(await code('approve', 'r', '0/c:c1', '--by', 'ada')).toBe(0)
    copyFileSync(file, join(folder, 'copy.db'))
    sql(`UPDATE inbox SET body = replace(body, 'ada', 'adb')`)
    expect(await cli('salvage', 'r', '--from', join(folder, 'copy.db'))).toMatchObject({ code: 0, out: expect.stringMatching(/\n1 of the messages in its inbox are from the copy\n/) })
    expect(await code('verify')).toBe(0)
    expect(await code('approve', 'r', '0/c:c1', '--by', 'bob')).toBe(2)
    expect([await resumed(), paid]).toEqual([{ status: 'completed', result: 'done' }, 1])
  })

  it('to a question that was lost with its entries does not stand in the way of one that is asked at the same place', async () => {
    await asked()
    expect(await code('deny', 'r', '0/c:c1')).toBe(0)
    const question = sql(`SELECT seq FROM journal WHERE body LIKE '%approval-asked%'`)[0]!['seq'] as number
    sql(`UPDATE journal SET sum = 'x' WHERE seq = ${question}`)
    expect(await code('salvage', 'r')).toBe(0)
    // Questions are known by their place in the journal, and these places are filled anew.
    expect(sql('SELECT seq, question FROM inbox')).toEqual([])
    for (let i = 0; i < 3; i++) {
      const outcome = await resumed() as { status: string; reasons?: { type: string; step: string }[] }
      const reason = outcome.reasons?.[0]
      if (reason?.type === 'in-doubt') expect(await code('resolve', 'r', reason.step, '--rerun')).toBe(0)
      if (reason?.type === 'approval') expect(await code('approve', 'r', reason.step)).toBe(0)
    }
    expect([await resumed(), paid]).toEqual([{ status: 'completed', result: 'done' }, 1])
    expect(await code('verify')).toBe(0)
  })

  it('is given up in an encrypted store too', async () => {
    const store = (): Store => encryptedStore(sqliteStore(file), parseKeys(KEYS, 'KEYS'))
    const env = { HOLDFAST_KEYS: KEYS }
    await asked(store())
    const run = (...args: string[]): Promise<number> => command([...args, '--store', file], { env }).then((done) => done.code)
    expect(await run('approve', 'r', '0/c:c1')).toBe(0)
    sql(`UPDATE inbox SET body = replace(body, '"data":"', '"data":"AAAA')`)
    expect([await run('verify'), await run('salvage', 'r'), await run('verify'), await run('approve', 'r', '0/c:c1')]).toEqual([1, 0, 0, 0])
    // Without keys that is hidden, and no reason to miss what was given up.
    expect((await cli('verify')).out).not.toContain('inbox')
    expect([await resumed(store()), paid]).toEqual([{ status: 'completed', result: 'done' }, 1])
  })
})

describe('a question behind which entries were lost', () => {
  const states: [string, string][] = ['approval-asked', 'suspended'].flatMap((last) => ['nothing', 'approve', 'deny'].map((before): [string, string] => [last, before]))
  it.each(states.flatMap(([last, before]) => ['approve', 'deny'].map((answer) => [last, before, answer] as const)))('(the last that holds: %s; said before: %s) is asked anew once the doubt is settled, and takes an answer: %s', async (last, before, answer) => {
    await asked()
    if (before !== 'nothing') expect(await code(before, 'r', '0/c:c1')).toBe(0)
    sql(`UPDATE journal SET sum = 'x' WHERE seq = 1 + (SELECT max(seq) FROM journal WHERE body LIKE '%"type":"${last}"%')`)
    expect(await code('salvage', 'r')).toBe(0)
    expect((await cli('show', 'r')).out).not.toMatch(/holdfast (approve|deny)/)
    // The call may have been approved, and made: a no would say that it was not.
    for (const said of ['approve', 'deny']) expect(await cli(said, 'r', '0/c:c1')).toMatchObject({ code: 2, err: expect.stringContaining('Resume the run to go on') })
    expect(await resumed()).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c1' }] })
    expect(await code('deny', 'r', '0/c:c1')).toBe(2)
    expect(await code('resolve', 'r', '0/c:c1', '--rerun')).toBe(0)
    for (let i = 0; i < 2; i++) expect(await resumed()).toMatchObject({ status: 'suspended', reasons: [{ type: 'approval', step: '0/c:c1' }] })
    expect(sql(`SELECT seq FROM journal WHERE body LIKE '%"type":"approval-asked"%'`)).toHaveLength(2)
    expect([await code(answer, 'r', '0/c:c1'), paid]).toEqual([0, 0])
    expect([await resumed(), paid]).toEqual([{ status: 'completed', result: 'done' }, answer === 'approve' ? 1 : 0])
    expect(await code('verify')).toBe(0)
  })

  it('does not expire: that it was not called nobody knows', async () => {
    await withRunner(defineAgent('a', async (run: Run) => {
      const tools = run.tools({ refund: tool({ inputSchema: z.object({ order: z.number() }), execute: () => (paid++, 'ok') }) }, { refund: { approval: { expiresAfterMs: 1 } } })
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'refund', input: { order: 7 } }] } : { text: 'done' }))
      return (await generateText({ model: run.model(model), tools, prompt: 'go', stopWhen: isStepCount(4) })).text
    }), (runner) => runner.run('a', {}, { runId: 'r' }))
    sql(`UPDATE journal SET sum = 'x' WHERE seq = 1 + (SELECT max(seq) FROM journal WHERE body LIKE '%"type":"approval-asked"%')`)
    expect(await code('salvage', 'r')).toBe(0)
    expect(await resumed()).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c1' }] })
  })
})
