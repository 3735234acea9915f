/** Rows whose number or id is another's, as one bit of it is wrong (R15): salvage puts them back where they belong, tells whose they are, and no run loses any. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { command } from '../src/cli/fixtures/test-io.ts'
import { createRunner, defineAgent, sqliteStore, type Runner, type Store } from '../src/index.ts'
import { closing } from './support/closing.ts'
import { damageIndex } from './support/damaged-index.ts'
import { changeByte } from './support/row-bytes.ts'

const RUNS = ['a-run', 'b-run', 'c-run']
let folder: string
let file: string
let calls: number
let whole: unknown

/** Their keys are 1, 2 and 3. The second one has more entries than the others, and each an answer that it has not taken in. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-misplaced-'))
  file = join(folder, 'runs.db')
  calls = 0
  await withRunner(async (runner) => {
    for (const runId of RUNS) {
      await runner.run('a', null, { runId }).catch(() => {})
      await runner.resolve(runId, 's:pay:pay#0', { result: `told ${runId}` })
    }
  })
  whole = await all()
})
afterEach(() => rmSync(folder, { recursive: true }))

const desk = defineAgent('a', async (run) => {
  for (let i = 0; i < (run.runId === 'b-run' ? 3 : 1); i++) await run.step('work', { key: String(i) }, () => ++calls)
  return run.step('pay', { key: 'pay' }, () => { throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
})
const withRunner = <T>(use: (runner: Runner) => Promise<T>): Promise<T> =>
  closing(createRunner({ agents: [desk], store: sqliteStore(file), idleMs: 5, retry: { maxAttempts: 1 } }), use)
async function withStore<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const store = sqliteStore(file, { readOnly: true })
  await store.open()
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
const all = (): Promise<unknown> => withStore((store) => Promise.all(RUNS.map(async (runId) => [await store.get(runId), await store.read(runId), await store.inbox(runId, 0)])))
const cli = (...args: string[]): ReturnType<typeof command> => command([...args, '--store', file])
function sql(statement: string): Record<string, unknown>[] {
  const database = new DatabaseSync(file)
  try {
    return database.prepare(statement).all()
  } finally {
    database.close()
  }
}
/** The number of the row of an entry, or a message. */
const numberOf = (table: string, run: number, seq: number): number => sql(`SELECT rowid AS number FROM ${table} WHERE run = ${run} AND seq = ${seq}`)[0]!['number'] as number
const kept = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.jsonl'))


const changeEntry = (seq: number, column: number, to: number): void => changeByte(file, 'journal', numberOf('journal', 2, seq), column, to)
const DAMAGES: readonly (readonly [string, () => void, string])[] = [
  ['the run of an entry that the other one has too', () => changeEntry(5, 0, 3), 'run b-run: entry 5 stood under run c-run, and is put back'],
  ['the run of an entry that the other one does not have', () => changeEntry(11, 0, 3), 'run b-run: entry 11 stood under run c-run, and is put back'],
  ['the run of a first entry', () => changeEntry(1, 0, 3), 'run b-run: entry 1 stood under run c-run, and is put back'],
  ['the run of an entry, to that of none', () => changeEntry(5, 0, 66), 'run b-run: entry 5 stood under no run, and is put back'],
  ['the number of an entry', () => changeEntry(5, 1, 7), 'run b-run: entry 5 stood under run b-run, and is put back'],
  ['the run of a message', () => changeByte(file, 'inbox', numberOf('inbox', 2, 1), 0, 3), 'run b-run: message 1 stood under run c-run, and is put back'],
  ['the key of a run', () => changeByte(file, 'runs', 2, 'number', 3), 'run b-run: its row stood under run c-run, and is put back'],
  ['the key of a run, to that of none', () => changeByte(file, 'runs', 2, 'number', 66), 'run b-run: its row stood under no run, and is put back'],
  ['the id of a run', () => changeByte(file, 'runs', 2, 1, 0x63), 'run b-run: its row stood under run c-run, and is put back'],
  ['the id of a run, to what is no text', () => changeByte(file, 'runs', 2, 1, 0xe2), 'run b-run: its row stood under run \ufffd-run, and is put back'],
  ['where an entry is found', () => changeByte(file, 'journal', numberOf('journal', 2, 4), 'number', numberOf('journal', 3, 2)), 'rows of the table journal stood where they are not found: it is written anew'],
  ['where a message is found', () => changeByte(file, 'inbox', numberOf('inbox', 2, 1), 'number', numberOf('inbox', 3, 1)), 'rows of the table inbox stood where they are not found: it is written anew'],
]

describe.each(DAMAGES)('where a bit is wrong in %s', (_, damage, says) => {
  beforeEach(damage)

  it.each(['b-run', 'c-run'])('a salvage of %s puts it back by name, and no run has lost anything', async (runId) => {
    expect((await cli('verify')).code).toBe(1)
    expect(await cli('salvage', runId)).toEqual({ code: 0, err: '', out: `${says}\nrun ${runId}: all of it holds\n` })
    expect(await cli('verify')).toMatchObject({ code: 0 })
    expect(await all()).toEqual(whole)
    expect(kept()).toEqual([])
    expect(await withRunner((runner) => runner.resume('b-run'))).toEqual({ status: 'completed', result: 'told b-run' })
    expect(calls).toBe(5)
  })
})

it('a table of runs that has lost one stays as it is: its indexes alone know of that one', async () => {
  damageIndex(file, 'runs')
  changeByte(file, 'runs', 1, 'number', 3)
  expect(await cli('salvage', 'b-run')).toMatchObject({ code: 6, out: '' })
  expect(sql('SELECT hex(run_id) AS id FROM runs INDEXED BY runs_by_id ORDER BY run_id')).toHaveLength(3)
})

it('a salvage of any other run puts it back too', async () => {
  changeEntry(5, 0, 3)
  expect(await cli('salvage', 'a-run')).toMatchObject({ code: 0, out: 'run b-run: entry 5 stood under run c-run, and is put back\nrun a-run: all of it holds\n' })
  expect(await all()).toEqual(whole)
})

it('where nothing tells any more which of two belongs there, both stay, and it says what is there twice', async () => {
  damageIndex(file, 'sqlite_autoindex_journal_1')
  sql('INSERT INTO journal SELECT run, seq, body, sum FROM journal NOT INDEXED WHERE run = 3 AND seq = 9')
  expect(await cli('salvage', 'a-run')).toMatchObject({ code: 6, out: '', err: expect.stringMatching(/the indexes of the store cannot be made anew: entry 9 of run "c-run" is there twice/) })
  expect(sql('SELECT count(*) AS n FROM journal NOT INDEXED WHERE run = 3 AND +seq = 9')).toEqual([{ n: 2 }])
  expect(kept()).toEqual([])
})

it('what is put back is told to programs, beside what else becomes of the run', async () => {
  changeEntry(5, 0, 3)
  sql(`UPDATE journal SET sum = 'x' WHERE run = 3 AND seq = 6`)
  const { out, err } = await cli('salvage', 'c-run', '--json')
  expect(err).toBe('run b-run: entry 5 stood under run c-run, and is put back\n')
  expect(JSON.parse(out)).toMatchObject({
    runId: 'c-run', holds: 5, had: 9, fault: 'checksum', putBack: [{ table: 'journal', rows: [{ runId: 'b-run', seq: 5, under: 'c-run' }] }],
  })
  expect(await cli('verify')).toMatchObject({ code: 0 })
  expect(await withRunner((runner) => runner.resume('b-run'))).toEqual({ status: 'completed', result: 'told b-run' })
  expect(kept()).toEqual([expect.stringContaining('.c-run.')])
})

it.each<[string, string, () => number, number, number]>([
  ['an entry behind the last', 'sqlite_autoindex_journal_1', () => numberOf('journal', 3, 9), 1, 11],
  ['an entry before the first', 'sqlite_autoindex_journal_1', () => numberOf('journal', 3, 8), 1, 0],
  ['an entry that another run has', 'sqlite_autoindex_journal_1', () => numberOf('journal', 3, 8), 0, 2],
  ['a message that another run has', 'sqlite_autoindex_inbox_1', () => numberOf('inbox', 3, 1), 0, 2],
  ['a run that is not there', 'sqlite_autoindex_runs_1', () => 3, 0, 0x67],
])('where it is the index that is wrong, and leads to %s, no row is moved', async (_, index, number, column, to) => {
  changeByte(file, index, number(), column, to)
  expect(JSON.parse((await cli('salvage', 'a-run', '--json')).out)).toMatchObject({ fault: 'index', putBack: [] })
  expect(await cli('verify')).toMatchObject({ code: 0 })
  expect(await all()).toEqual(whole)
})
