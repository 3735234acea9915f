/** Damage to the row of one run is told of that run, before anything of it begins, and keeps no other run from being driven (R15). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { createRunner, defineAgent, HoldfastError, type Runner, sqliteStore } from '../src/index.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 1 } } as const

/** Two runs that were closed in their middle and are due; the row of one of them is changed. */
async function withDamage(set: string): Promise<Runner> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'runs.db')
  let isOpen = true
  const agent = defineAgent('a', async (run) => {
    await run.step('one', () => 1)
    if (isOpen) await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason as Error)))
    return 'done'
  })
  const make = (): Runner => createRunner({ agents: [agent], store: sqliteStore(file), ...quick })
  const before = make()
  await Promise.all(['bad', 'good'].map((runId) => new Promise<void>((resolve) => {
    void before.run(agent, 1, { runId, onEvent: ({ type }) => type === 'step-finished' && resolve() })
  })))
  await before.close()
  isOpen = false
  const database = new DatabaseSync(file)
  database.exec(`UPDATE runs SET ${set} WHERE run_id = CAST('bad' AS BLOB)`)
  database.close()
  const runner = make()
  onTestFinished(() => runner.close())
  return runner
}

const codes = (error: unknown): unknown => (HoldfastError.isInstance(error) ? [error.code, error.runId] : error)
const bad = { runId: 'bad', error: expect.objectContaining({ code: 'STORE_CORRUPT', runId: 'bad' }) }
const good = { runId: 'good', outcome: { status: 'completed', result: 'done' } }

it.each(['9007199254740991', '-1'])('a fencing token that no attempt can raise (%s) is found before it is raised, and the run stays listed', async (token) => {
  const runner = await withDamage(`token = ${token}`)
  await expect(runner.resume('bad').catch(codes)).resolves.toEqual(['STORE_CORRUPT', 'bad'])
  expect((await runner.recover()).toSorted((a, b) => (a.runId < b.runId ? -1 : 1))).toEqual([bad, good])
  expect((await runner.list()).map(({ runId, token: stands }) => [runId, runId === 'bad' ? String(stands) : ''])).toEqual(expect.arrayContaining([['bad', token], ['good', '']]))
})

it.each(['token = 9007199254740992', `status = 'suspendee'`, `status = ''`, `status = 'zzz'`, 'updated_at = 9223372036854775807'])('a row that cannot be read is told by recover and by a worker, and the other run is driven (%s)', async (set) => {
  const once = await withDamage(set)
  expect((await once.recover()).toSorted((a, b) => (a.runId < b.runId ? -1 : 1))).toEqual([bad, good])
  const worker = await withDamage(set)
  const told = new Promise((resolve) => worker.start({ onError: (error, runId) => resolve([runId, codes(error)]) }))
  expect(await told).toEqual(['bad', ['STORE_CORRUPT', 'bad']])
  expect(await worker.result('good')).toMatchObject({ result: 'done' })
})
