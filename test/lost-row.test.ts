/** A file in which the row of a run is lost and its journal or inbox is still there (R15): new runs go on beside it, nothing is taken over or overwritten, and what cannot be is STORE_CORRUPT. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { createRunner, defineAgent, sqliteStore } from '../src/index.ts'
import { sqliteFileFaults } from '../src/stores/sqlite.ts'

const agent = defineAgent('a', (run) => run.step('work', () => run.runId))

/** A file with two runs, the second with a message, changed by `damage`. */
async function fileWith(...damage: string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'runs.db')
  const runner = createRunner({ agents: [agent], store: sqliteStore(file) })
  for (const runId of ['one', 'two']) await runner.run(agent, {}, { runId })
  await runner.close()
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA foreign_keys = OFF; INSERT INTO inbox VALUES (2, 1, NULL, '{}'); UPDATE runs SET inbox_seq = 1 WHERE key = 2; ${damage.join('; ')}`)
  database.close()
  return file
}

it.each<[string, string]>([
  ['the newest run', 'DELETE FROM runs WHERE key = 2'],
  ['all runs', 'DELETE FROM runs'],
  ['the newest run, and its journal', 'DELETE FROM runs WHERE key = 2; DELETE FROM journal WHERE run = 2'],
])('where the row of %s is lost, new runs go on beside what is left of it', async (_, damage) => {
  const file = await fileWith(damage)
  const left = (await sqliteFileFaults(file)).length
  expect(left).toBeGreaterThan(0)
  const runner = createRunner({ agents: [agent], store: sqliteStore(file) })
  for (const runId of ['three', 'four']) expect(await runner.run(agent, {}, { runId })).toEqual({ status: 'completed', result: runId })
  expect(await runner.run(agent, {}, { runId: 'three' })).toEqual({ status: 'completed', result: 'three' })
  expect(await runner.get('three')).toMatchObject({ inboxSeq: 0 })
  await runner.close()
  expect(await sqliteFileFaults(file)).toHaveLength(left)
})

it('an entry or a message where the next one is to go is STORE_CORRUPT with the run, and stays', async () => {
  const file = await fileWith(`INSERT INTO journal SELECT 1, 1 + last_seq, '{}', '' FROM runs WHERE key = 1`, `INSERT INTO inbox VALUES (1, 1, NULL, '{}')`)
  const store = sqliteStore(file)
  await store.open()
  const { lastSeq, token } = (await store.get('one'))!
  await expect(store.append('one', { token, entries: [{ seq: lastSeq + 1, body: '[]', sum: '' }], now: 1 })).rejects.toMatchObject({ code: 'STORE_CORRUPT', runId: 'one', message: expect.stringMatching(/UNIQUE.*Restore a copy/) })
  await expect(store.send('one', { question: null, body: '[]', now: 1 })).rejects.toMatchObject({ code: 'STORE_CORRUPT', runId: 'one' })
  expect((await store.read('one', lastSeq)).map(({ body }) => body)).toEqual(['{}'])
  await store.close()
})
