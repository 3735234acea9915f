/** A damaged run is cut on request where its journal ends to hold, kept whole beside the store, and goes on with all that it may have done in doubt (R15). */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { generateText, isStepCount, tool } from 'ai'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, describeEvent, sqliteStore, type Run, type RunnerOptions, type Store, type SuspendReason } from '../src/index.ts'
import { encryptedStore, parseKeys } from '../src/stores/encrypted.ts'
import { command } from '../src/cli/fixtures/test-io.ts'
import { hash } from '../src/core/hash.ts'
import { closing } from './support/closing.ts'
import { testModel } from './support/model.ts'

const KEYS = `a:${Buffer.alloc(32, 7).toString('base64')}`
let folder: string
let file: string
let calls: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-salvage-'))
  file = join(folder, 'runs.db')
  calls = []
})
afterEach(() => rmSync(folder, { recursive: true }))

const agent = defineAgent('a', async (run: Run) => {
  const did = (what: string) => (): string => (calls.push(what), what)
  await run.step('first', { input: 1 }, did('first'))
  await run.read('look', did('look'))
  await run.step('second', { input: 2 }, did('second'))
  await run.step('third', { input: 3, idempotent: true }, did('third'))
  return run.step('last', { key: 'k' }, did('last'))
})
const under = (isEncrypted: boolean): Store => (isEncrypted ? encryptedStore(sqliteStore(file), parseKeys(KEYS, 'KEYS')) : sqliteStore(file))
const withRunner = <T>(use: (runner: ReturnType<typeof createRunner>) => Promise<T>, { isEncrypted = false, ...options }: Partial<RunnerOptions> & { isEncrypted?: boolean } = {}): Promise<T> =>
  closing(createRunner({ agents: [agent], store: under(isEncrypted), idleMs: 5, ...options }), use)
const completed = (isEncrypted = false): Promise<unknown> => withRunner((runner) => runner.run(agent, {}, { runId: 'r' }), { isEncrypted })
function sql(...statements: string[]): void {
  const database = new DatabaseSync(file)
  for (const statement of statements) database.exec(statement)
  database.close()
}
const seqOf = (pattern: string): number => {
  const database = new DatabaseSync(file, { readOnly: true })
  const { seq } = database.prepare('SELECT min(seq) AS seq FROM journal WHERE body LIKE ?').get(pattern) as { seq: number }
  database.close()
  return seq
}
const salvage = (...more: string[]): ReturnType<typeof command> => command(['salvage', 'r', '--store', file, ...more])
const verified = (env: Record<string, string> = {}): Promise<number> => command(['verify', '--store', file], { env }).then(({ code }) => code)
const waitsFor = (outcome: { status: string; reasons?: unknown }): unknown => [outcome.status, (outcome.reasons as { type: string; step: string }[] | undefined)?.map(({ type, step }) => `${type} ${step}`)]

describe('salvage', () => {
  it('keeps what holds and a copy of all that was there; each effect after it waits for a decision, what has none does not', async () => {
    await completed()
    const damaged = seqOf('%"step-started"%"name":"second"%')
    sql(`UPDATE journal SET body = replace(body, 'second', 'sekond') WHERE seq = ${damaged}`)
    await expect(withRunner((runner) => runner.resume('r'))).rejects.toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringMatching(/holdfast salvage/) })

    const { code, out } = await salvage()
    expect([code, out]).toEqual([0, expect.stringMatching(new RegExp(`^run r: ${damaged - 1} of its \\d+ entries hold; what is wrong behind them: checksum\n[^]*in doubt[^]*holdfast resume r`))])
    expect(await verified()).toBe(0)
    const kept = readdirSync(folder).find((name) => name.endsWith('.jsonl'))!
    expect(kept).toMatch(/^runs\.db\.r\..*\.jsonl$/)
    expect(readFileSync(join(folder, kept), 'utf8')).toContain('sekond')
    expect((await command(['show', 'r', '--store', file])).out).toMatch(new RegExp(`status +suspended: it waits for somebody to resume it[^]*journal cut where it was damaged\n +after attempt 1: checksum; all \\d+ entries that it had are kept in ${kept}`))

    calls = []
    const seen: string[] = []
    await withRunner(async (runner) => {
      for (const step of ['2', 's:last:k#0']) {
        expect(waitsFor(await runner.resume('r'))).toEqual(['suspended', [`in-doubt ${step}`]])
        seen.push(...calls.splice(0))
        await runner.resolve('r', step, step === '2' ? { result: 'done before' } : 'rerun')
      }
      expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'last' })
    })
    // What may be made twice is; the read that holds, and what was decided, is not.
    expect([seen, calls]).toEqual([['third'], ['last']])
    expect(await verified()).toBe(0)
  })

  it('says of a doubt that is only presumed that it is, and gives no time at which it was started, until it is', async () => {
    await completed()
    sql(`UPDATE journal SET sum = 'x' WHERE seq >= ${seqOf('%"step-started"%"name":"second"%')}`)
    await salvage()
    const words = 'may have been called in the part of the journal that was lost before '
    const events: string[] = []
    let doubt: (SuspendReason & { readonly type: 'in-doubt' | 'repeat' }) | undefined
    await withRunner(async (runner) => {
      const outcome = await runner.resume('r')
      doubt = outcome.status === 'suspended' && outcome.reasons[0]?.type === 'in-doubt' ? outcome.reasons[0] : undefined
    }, { onEvent: (event) => void events.push(describeEvent(event)) })
    expect(doubt!.message).toContain(`nobody knows whether step "second" (2) took effect: it ${words}`)
    expect(doubt!.calls).toEqual([{ step: '2', input: { json: 2 }, idempotencyKey: expect.any(String), lostBefore: expect.any(Number) }])
    expect(events.filter((line) => line.includes('in-doubt'))).toEqual([
      expect.stringMatching(/step-in-doubt .* presumed$/), expect.stringMatching(/step-in-doubt .* in-doubt$/), expect.stringMatching(/step-waiting .* in-doubt \(presumed\)$/), expect.stringMatching(/run-suspended +in-doubt \(presumed\) 2$/),
    ])

    const { out } = await command(['show', 'r', '--store', file])
    expect(out).toMatch(new RegExp(`2 in doubt: it is presumed: it ${words}[^]*in-doubt 2: nobody knows whether "second" took effect: it ${words}[^]*\\n +${words}\\S+ \\S+, idempotency key hf_`))
    expect(out).not.toMatch(/ended before its outcome|\n +started /)
    const shown = JSON.parse((await command(['show', 'r', '--store', file, '--json'])).out) as { steps: { id: string }[]; waits: { calls: object[] }[] }
    const presumed = { startedAt: null, lostBefore: (doubt!.calls![0] as { lostBefore: number }).lostBefore }
    expect([shown.steps.find(({ id }) => id === '2'), shown.waits[0]!.calls[0]]).toMatchObject([presumed, presumed])

    // Given with its reason a decision is taken, and once it was really started it has a time like any other.
    calls = []
    await withRunner(async (runner) => {
      await runner.resolve('r', doubt!, 'rerun')
      expect(waitsFor(await runner.resume('r'))).toEqual(['suspended', ['in-doubt s:last:k#0']])
      await expect(runner.resolve('r', doubt!, 'rerun')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE' })
    })
    expect(calls).toEqual(['second', 'third'])
    expect(JSON.parse((await command(['show', 'r', '--store', file, '--json'])).out).steps.find(({ id }: { id: string }) => id === '2')).toMatchObject({ startedAt: expect.any(Number), lostBefore: null })
  })

  it('tells who asked for a call that is left at that what is known of it', async () => {
    const desk = defineAgent('a', async (run: Run) => {
      const pay = tool({ inputSchema: z.object({}), execute: () => 'paid' })
      const tools = run.tools({ pay }, { pay: { onIncompleteTool: 'skip' } })
      const { steps } = await generateText({ model: run.model(testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'pay', input: {} }] } : { text: 'done' }))), tools, prompt: 'Pay', stopWhen: isStepCount(3) })
      return JSON.stringify(steps[0]!.content.find(({ type }) => type === 'tool-error'), (_, value: unknown) => (value instanceof Error ? value.message : value))
    })
    await withRunner((runner) => runner.run(desk, {}, { runId: 'r' }), { agents: [desk] })
    sql(`DELETE FROM journal WHERE seq = ${seqOf('%"step-started"%')}`)
    await salvage()
    expect(await withRunner((runner) => runner.resume('r'), { agents: [desk] }))
      .toEqual({ status: 'completed', result: expect.stringMatching(/by its policy, it may have been called in the part of the journal that was lost before [^,]*, and is left at that/) })
  })

  it('is told by the outside world what happened, where the tool can ask: with the key that the call had', async () => {
    const asked: string[] = []
    let given = ''
    const desk = defineAgent('a', async (run: Run) => {
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'pay', input: { amount: 7 } }] } : { text: 'done' }))
      const pay = tool({ inputSchema: z.object({ amount: z.number() }), execute: () => (given = currentStep()!.idempotencyKey, calls.push('pay'), 'paid') })
      const tools = run.tools({ pay }, { pay: { onIncompleteTool: 'reconcile', reconcile: async ({ idempotencyKey }) => (asked.push(idempotencyKey), { status: 'completed', output: 'paid before' }) } })
      const { steps } = await generateText({ model: run.model(model), tools, prompt: 'Pay', stopWhen: isStepCount(3) })
      return steps[0]!.toolResults[0]!.output
    })
    await withRunner((runner) => runner.run(desk, {}, { runId: 'r' }), { agents: [desk] })
    sql(`DELETE FROM journal WHERE seq = ${seqOf('%"step-started"%')}`)
    expect(await salvage()).toMatchObject({ code: 0, out: expect.stringMatching(/what is wrong behind them: gap/) })
    expect(await withRunner((runner) => runner.resume('r'), { agents: [desk] })).toEqual({ status: 'completed', result: 'paid before' })
    expect([calls, asked]).toEqual([['pay'], [given]])
  })

  it('takes from a copy what is damaged: where that has all of it, nothing is lost and nothing is in doubt', async () => {
    await completed()
    const copy = join(folder, 'copy.db')
    copyFileSync(file, copy)
    sql(`UPDATE journal SET sum = 'x' WHERE seq IN (4, 6)`)
    expect(await salvage('--from', copy)).toMatchObject({ code: 0, out: expect.stringMatching(/^run r: (\d+) of its \1 entries hold, 2 of them from the copy\n/) })
    expect(await verified()).toBe(0)
    calls = []
    expect(await withRunner((runner) => runner.resume('r'))).toEqual({ status: 'completed', result: 'last' })
    expect(calls).toEqual([])
  })

  it('cuts a journal before an entry that cannot stand there, though it is whole and rightly chained', async () => {
    await completed()
    const database = new DatabaseSync(file)
    const rows = database.prepare('SELECT seq, body FROM journal ORDER BY seq').all() as { seq: number; body: string }[]
    const started = rows.findIndex(({ body }) => body.includes('"step-started"'))
    ;[rows[started]!.body, rows[started + 1]!.body] = [rows[started + 1]!.body, rows[started]!.body]
    let sum = ''
    for (const { seq, body } of rows) database.prepare('UPDATE journal SET body = ?, sum = ? WHERE seq = ?').run(body, sum = hash(sum, body), seq)
    database.close()
    expect((await command(['verify', '--store', file])).out).toMatch(new RegExp(`entry ${started + 2} +schema +it is of step`))
    await expect(withRunner((runner) => runner.resume('r'))).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
    expect(await salvage()).toMatchObject({ code: 0, out: expect.stringMatching(new RegExp(`^run r: ${started + 1} of its .*: schema\n`)) })
    expect(await verified()).toBe(0)
    expect((await withRunner((runner) => runner.resume('r'))).status).toBe('suspended')
  })

  it('makes a row anew that cannot be right, from a journal that is whole', async () => {
    await completed()
    sql(`UPDATE runs SET status = 'zzz', owner = '{garb', lease_until = 9999999999999, agent = CAST('other' AS BLOB)`)
    expect((await salvage()).code).toBe(0)
    expect(await verified()).toBe(0)
    expect(await withRunner((runner) => runner.get('r'))).toMatchObject({ status: 'completed', agent: 'a', owner: null, leaseUntil: 0 })
  })

  it.each<[string, (run: Run) => unknown]>([
    ['was killed', () => 'done'],
    ['has failed', () => { throw new Error('no') }],
    ['waits', (run) => run.read('look', () => { throw Object.assign(new Error('slow'), { statusCode: 429, responseHeaders: { 'retry-after': '9999' } }) })],
  ])('leaves a run that %s in a state that verify finds nothing wrong with, and that is not salvaged again', async (state, end) => {
    const desk = defineAgent('a', async (run: Run) => (await run.step('one', () => 1), end(run)))
    await withRunner((runner) => runner.run(desk, {}, { runId: 'r' }).catch(() => {}), { agents: [desk] })
    // As a process that was killed behind its step leaves it.
    if (state === 'was killed') sql(`DELETE FROM journal WHERE seq > ${seqOf('%"step-ended"%')}`, `UPDATE runs SET last_seq = ${seqOf('%"step-ended"%')}, status = 'running'`)
    expect(await verified()).toBe(0)
    expect((await withRunner((runner) => runner.get('r')))!.status).toBe({ 'was killed': 'running', 'has failed': 'failed', 'waits': 'suspended' }[state])
    sql(`UPDATE runs SET agent = CAST('other' AS BLOB)`)
    expect((await salvage()).code).toBe(0)
    expect(await verified()).toBe(0)
    expect(await salvage()).toMatchObject({ code: 2, err: expect.stringContaining('nothing of run "r" is damaged') })
  })

  it.each<[string, () => void, string[]]>([
    ['is lost', () => sql('PRAGMA foreign_keys = OFF; DELETE FROM runs'), []],
    ['has another id', () => sql(`UPDATE runs SET run_id = x'ff'`), []],
    ['has the id of no run', () => sql(`UPDATE runs SET run_id = CAST('other' AS BLOB)`), []],
    ['knows of fewer entries than there are', () => sql('UPDATE runs SET last_seq = 5'), []],
    ['is lost, and its first entry damaged that a copy has', () => sql('PRAGMA foreign_keys = OFF; DELETE FROM runs', `UPDATE journal SET sum = 'x' WHERE seq = 1`), ['--from', 'copy.db']],
  ])('a run whose row %s is found by its journal, and nothing of it is made again', async (_, damage, more) => {
    await completed()
    copyFileSync(file, join(folder, 'copy.db'))
    damage()
    expect(await verified()).not.toBe(0)
    const { code, out } = await command(['salvage', 'r', '--store', file, ...more], { cwd: folder })
    expect([code, out]).toEqual([0, expect.stringMatching(/^run r: (\d+) of its \1 entries hold/)])
    expect(await verified()).toBe(0)
    calls = []
    expect(await withRunner((runner) => runner.run(agent, {}, { runId: 'r' }))).toEqual({ status: 'completed', result: 'last' })
    expect(calls).toEqual([])
  })

  it('finds it in an encrypted store too, and says where that needs the keys', async () => {
    await completed(true)
    sql('PRAGMA foreign_keys = OFF; DELETE FROM runs')
    expect(await salvage()).toMatchObject({ code: 2, err: expect.stringContaining('KEY_MISSING') })
    const env = { HOLDFAST_KEYS: KEYS }
    expect(await command(['salvage', 'another', '--store', file], { env })).toMatchObject({ code: 2, err: expect.stringContaining('UNKNOWN_RUN') })
    expect((await command(['salvage', 'r', '--store', file], { env })).code).toBe(0)
    expect(await verified(env)).toBe(0)
    expect(await withRunner((runner) => runner.resume('r'), { isEncrypted: true })).toEqual({ status: 'completed', result: 'last' })
  })

  it('a run whose row knows of fewer entries than there are is damaged, and not one that somebody else drives', async () => {
    await completed()
    sql(`UPDATE runs SET last_seq = 5, status = 'running'`)
    await expect(withRunner((runner) => runner.resume('r'))).rejects.toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringMatching(/row knows of 5 entries.*holdfast salvage/) })
  })

  it('a row that knows of fewer messages than there are is put right, and what was sent counts', async () => {
    const charge = defineAgent('a', (run) => run.step('charge', { key: 'k' }, () => { calls.push('charge'); throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }))
    await withRunner(async (runner) => {
      await runner.run(charge, {}, { runId: 'r' }).catch(() => {})
      await runner.resolve('r', 's:charge:k#0', { result: 'paid' })
    }, { agents: [charge] })
    sql('UPDATE runs SET inbox_seq = -1')
    expect(await verified()).toBe(1)
    expect((await salvage()).code).toBe(0)
    expect(await verified()).toBe(0)
    expect(await withRunner((runner) => runner.run(charge, {}, { runId: 'r' }), { agents: [charge] })).toMatchObject({ status: 'completed', result: 'paid' })
  })

  it('takes nothing from the store itself, nor from another run under that id; says where a copy has nothing of use', async () => {
    await completed()
    const copy = join(folder, 'copy.db')
    copyFileSync(file, copy)
    sql(`UPDATE journal SET sum = 'x' WHERE seq = 5`)
    const before = JSON.stringify(tables())
    expect(await salvage('--from', file)).toMatchObject({ code: 2, err: expect.stringMatching(/--from names the store itself/) })
    const other = createRunner({ agents: [agent], store: sqliteStore(join(folder, 'other.db')) })
    await other.run(agent, { another: 1 }, { runId: 'r' })
    await other.close()
    expect(await salvage('--from', join(folder, 'other.db'))).toMatchObject({ code: 2, err: expect.stringMatching(/is another run: none of its entries is one of this run/) })
    expect(JSON.stringify(tables())).toBe(before)
    const damaged = new DatabaseSync(copy)
    damaged.exec(`UPDATE journal SET sum = 'y' WHERE seq = 5`)
    damaged.close()
    expect(await salvage('--from', copy)).toMatchObject({ code: 0, out: expect.stringMatching(/\nThe copy has nothing of what is damaged or missing\./) })
  })

  it('leaves messages that cannot be read behind, and what they may have settled in doubt', async () => {
    const charge = defineAgent('a', (run) => run.step('charge', { key: 'k' }, () => { calls.push('charge'); throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }))
    await withRunner(async (runner) => {
      await runner.run(charge, {}, { runId: 'r' }).catch(() => {})
      await runner.resolve('r', 's:charge:k#0', { result: 'paid' })
    }, { agents: [charge] })
    sql(`UPDATE inbox SET body = replace(body, 'paid', 'void')`)
    expect(await salvage()).toMatchObject({ code: 0, out: expect.stringMatching(/what is wrong behind them: inbox/) })
    await withRunner(async (runner) => {
      const waits = await runner.resume('r')
      await runner.resolve('r', waits.status === 'suspended' && waits.reasons[0]!.type === 'in-doubt' ? waits.reasons[0]!.step : '', { result: 'paid' })
      expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'paid' })
    }, { agents: [charge] })
    expect(calls).toEqual(['charge'])
  })

  it('works on an encrypted store, and keeps the copy encrypted', async () => {
    await completed(true)
    sql(`UPDATE journal SET body = replace(body, '"data":"', '"data":"AAAA') WHERE seq = 5`)
    const env = { HOLDFAST_KEYS: KEYS }
    expect(await command(['salvage', 'r', '--store', file])).toMatchObject({ code: 2, err: expect.stringContaining('KEY_MISSING') })
    expect(await command(['salvage', 'r', '--store', file], { env })).toMatchObject({ code: 0, out: expect.stringMatching(/^run r: 4 of its/) })
    expect(await verified(env)).toBe(0)
    expect(readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith('.jsonl'))!), 'utf8')).not.toContain('second')
    const kept = join(folder, readdirSync(folder).find((name) => name.endsWith('.jsonl'))!)
    const rows = (await command(['salvage', 'r', '--kept', kept], { env })).out.trimEnd().split('\n').map((line) => JSON.parse(line) as { table: string; seq?: number; body?: { type?: string }; fault?: string })
    expect(rows[0]).toMatchObject({ table: 'runs', run_id: { hex: Buffer.from('r').toString('hex') } })
    expect(rows.filter(({ fault }) => fault !== undefined).map(({ seq }) => seq)).toEqual([5])
    expect(rows.slice(1).map(({ body }) => body!.type)).toEqual(expect.arrayContaining(['run-created', 'step-started', 'run-ended']))
    expect(await command(['salvage', 'r', '--kept', file])).toMatchObject({ code: 2, err: expect.stringMatching(/salvage has not written/) })
    expect((await withRunner((runner) => runner.resume('r'), { isEncrypted: true })).status).toBe('suspended')
  })

  it('changes nothing where what is there cannot be kept first', async () => {
    await completed()
    sql(`UPDATE journal SET sum = 'x' WHERE seq = 5`)
    const before = JSON.stringify(tables())
    const at = Date.now()
    // Its name is taken already.
    const now = vi.spyOn(Date, 'now').mockReturnValue(at)
    writeFileSync(`${file}.r.${new Date(at).toISOString().replaceAll(':', '-')}.jsonl`, '')
    expect(await salvage()).toMatchObject({ code: 6, err: expect.stringMatching(/STORE_UNAVAILABLE: what there is of run "r" cannot be kept in /) })
    now.mockRestore()
    expect(JSON.stringify(tables())).toBe(before)
  })

  it.each<[string, () => void, number, RegExp]>([
    ['a run that is whole', () => {}, 2, /nothing of run "r" is damaged/],
    ['a run whose first entry is damaged', () => sql(`UPDATE journal SET sum = 'x' WHERE seq = 1`), 6, /STORE_CORRUPT: nothing of run "r" holds/],
    ['what a newer build wrote', () => sql(`UPDATE journal SET body = replace(body, '"format":1', '"format":9') WHERE seq = 1`), 6, /STORE_NEWER/],
    ['a run that somebody drives', () => sql(`UPDATE journal SET sum = 'x' WHERE seq = 5`, `UPDATE runs SET owner = '{"id":"x","host":"elsewhere","pid":1}', lease_until = ${Date.now() + 60_000}`), 4, /RUN_BUSY.*pid 1 on elsewhere/],
  ])('leaves %s as it is', async (_, damage, exit, words) => {
    await completed()
    damage()
    const before = JSON.stringify(tables())
    expect(await salvage()).toMatchObject({ code: exit, err: expect.stringMatching(words) })
    expect(JSON.stringify(tables())).toBe(before)
    expect(readdirSync(folder).filter((name) => name.endsWith('.jsonl'))).toEqual([])
  })
})

function tables(): unknown {
  const database = new DatabaseSync(file, { readOnly: true })
  const all = ['runs', 'journal', 'inbox'].map((table) => database.prepare(`SELECT * FROM ${table}`).all())
  database.close()
  return all
}
