/** Pages of a run that SQLite cannot read (R15): salvage takes the run off them, with what a copy has, and hurts no other run. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { command } from '../src/cli/fixtures/test-io.ts'
import { createRunner, defineAgent, sqliteStore, type Runner } from '../src/index.ts'
import { closing } from './support/closing.ts'

let folder: string
let file: string
let copy: string
let calls: number
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-pages-'))
  file = join(folder, 'runs.db')
  copy = join(folder, 'copy.db')
  calls = 0
  await withRunner(async (runner) => {
    for (const runId of ['before', 'r', 'after']) await runner.run('a', null, { runId })
  })
  copyFileSync(file, copy)
  calls = 0
})
afterEach(() => rmSync(folder, { recursive: true }))

const desk = defineAgent('a', async (run) => {
  for (let i = 0; i < 6; i++) await run.step('work', { key: String(i) }, () => (calls++, `${run.runId} ${i} `.repeat(100)))
  return 'done'
})
const withRunner = <T>(use: (runner: Runner) => Promise<T>): Promise<T> =>
  closing(createRunner({ agents: [desk], store: sqliteStore(file), idleMs: 5 }), use)
const cli = (...args: string[]): ReturnType<typeof command> => command([...args, '--store', file])
/** Makes the page zero on which that text stands; or (`misread`) has its first row begin where no row is: SQLite reads one without values then. */
function tear(text: string, how: 'zero' | 'misread' = 'zero'): void {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  const bytes = readFileSync(file)
  const page = Math.floor(bytes.indexOf(text) / 4096)
  expect(page).toBeGreaterThan(2)
  if (how === 'zero') bytes.fill(0, page * 4096, (page + 1) * 4096)
  else bytes[page * 4096 + 8] = 150
  writeFileSync(file, bytes)
}
const keptFiles = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.jsonl'))

it('are taken from a copy, and nothing is made again; the file stays damaged, and is told as that', async () => {
  tear('r 3 r 3 ')
  await expect(withRunner((runner) => runner.resume('r'))).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect((await cli('verify')).out).toMatch(/^r +run +store/m)
  expect(await cli('salvage', 'r', '--from', copy)).toMatchObject({ code: 0, out: expect.stringMatching(/^run r: (\d+) of its \1 entries hold, \d+ of them from the copy\n[^]*stay in the file, under no run/) })
  expect(await cli('verify', 'r')).toMatchObject({ code: 0 })
  expect((await cli('verify')).out).toMatch(/^- +file +file/m)
  expect(await withRunner((runner) => runner.resume('r'))).toEqual({ status: 'completed', result: 'done' })
  expect(calls).toBe(0)
})

it('are cut off where there is no copy, and what stood on them is in doubt', async () => {
  tear('r 3 r 3 ')
  expect(await cli('salvage', 'r')).toMatchObject({ code: 0, out: expect.stringMatching(/what is wrong behind them: gap/) })
  expect(await cli('verify', 'r')).toMatchObject({ code: 0 })
  expect((await withRunner((runner) => runner.resume('r'))).status).toBe('suspended')
  expect(calls).toBe(0)
})

describe('on which SQLite reads a row that is none', () => {
  it.each([[[], /what is wrong behind them: gap\n[^]*stay in the file, under no run/], [['--from', 'copy'], /^run r: (\d+) of its \1 entries hold, 1 of them from the copy\n[^]*stay in the file, under no run/]] as const)('are left where they are: salvage %j', async (more, words) => {
    tear('r 3 r 3 ', 'misread')
    expect((await cli('verify', 'r')).code).toBe(1)
    expect(await cli('salvage', 'r', ...more.map((each) => (each === 'copy' ? copy : each)))).toMatchObject({ code: 0, out: expect.stringMatching(words) })
    expect(keptFiles()).toHaveLength(1)
    expect(await cli('verify', 'r')).toMatchObject({ code: 0 })
    expect((await withRunner((runner) => runner.resume('r'))).status).toBe(more.length === 0 ? 'suspended' : 'completed')
    expect(await withRunner((runner) => runner.run('a', null, { runId: 'after' }))).toMatchObject({ status: 'completed' })
    expect(calls).toBe(0)
  })

  it('are not forgotten by the indexes for another run that nothing is wrong with: nothing is changed for it', async () => {
    tear('r 3 r 3 ', 'misread')
    const before = readFileSync(file)
    expect(await cli('salvage', 'before')).toMatchObject({ code: 6, err: expect.stringMatching(/in a way that salvage does not mend[^]*Nothing was changed/) })
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(await cli('salvage', 'r', '--from', copy)).toMatchObject({ code: 0 })
    expect(await cli('verify', 'r')).toMatchObject({ code: 0 })
    expect(await withRunner((runner) => runner.resume('r'))).toMatchObject({ status: 'completed' })
    expect(calls).toBe(0)
  })
})

it('are in no other run\'s way, also where that is salvaged itself', async () => {
  const database = new DatabaseSync(file)
  database.exec(`UPDATE journal SET sum = 'x' WHERE body LIKE '%"step-ended"%before 2 %'`)
  database.close()
  tear('after 3 after 3 ')
  expect(await cli('salvage', 'before', '--from', copy)).toMatchObject({ code: 0, out: expect.stringMatching(/1 of them from the copy/) })
  expect(await cli('verify', 'before')).toMatchObject({ code: 0 })
  expect(await withRunner((runner) => runner.run('a', null, { runId: 'r' }))).toMatchObject({ status: 'completed' })
  expect(calls).toBe(0)
})

it('are told as what salvage cannot mend where they are of the table of runs or of an index', async () => {
  const whole = readFileSync(file)
  const database = new DatabaseSync(file)
  const pages = ['runs', 'sqlite_autoindex_runs_1', 'sqlite_autoindex_journal_1'].map((name) => (database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name) as { rootpage: number }).rootpage)
  database.close()
  for (const page of pages) {
    writeFileSync(file, Buffer.from(whole).fill(0, (page - 1) * 4096, page * 4096))
    const before = readFileSync(file)
    expect(await cli('salvage', 'r', '--from', copy)).toMatchObject({ code: 6, err: expect.stringMatching(/STORE_CORRUPT: [^]*Nothing was changed/) })
    expect((await cli('verify')).out).toMatch(/for those of the table of runs, or of an index, restore a copy/)
    expect(readFileSync(file).equals(before)).toBe(true)
    await expect(withRunner((runner) => runner.run('a', null, { runId: 'r' }))).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  }
  expect(calls).toBe(0)
})
