import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createRunner, defineAgent, sqliteStore } from '../index.ts'
import { command } from './fixtures/test-io.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const desk = ['--module', join(root, 'src/cli/fixtures/desk.ts')]

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
}

/** A process of the command line, killed as soon as what it wrote on standard error says so. */
function holdfast(argv: readonly string[], env: object, isTime: (err: string) => boolean = () => false): Promise<Ended> {
  const child = spawn(process.execPath, [join(root, 'src/cli/bin.ts'), ...argv, ...desk], { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
    if (isTime(err)) child.kill('SIGKILL')
  })
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, out })))
}

it('a worker that is killed in the middle leaves its runs to the next process, which ends them, each effect once (A15)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-worker-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = join(folder, 'runs.db')
  const env = { FIXTURE_STORE: store, FIXTURE_EFFECTS: join(folder, 'effects'), FIXTURE_TELL: '1' }
  const ids = ['r-1', 'r-2', 'r-3']
  // Whoever took them in is gone before anything of them ran.
  const gone = createRunner({ agents: [defineAgent('trip', () => {})], store: sqliteStore(store) })
  const taken = ids.map((runId) => gone.run('trip', undefined, { runId }))
  await gone.close()
  expect(await Promise.all(taken)).toMatchObject(ids.map(() => ({ status: 'suspended', reasons: [{ type: 'draining' }] })))

  const waits = (err: string): boolean => (err.match(/<waiting r-\d>/g) ?? []).length === 2
  const killed = await holdfast(['recover', '--watch', '--every', '100ms', '--concurrency', '2'], { ...env, FIXTURE_HANG: 'trip' }, waits)
  expect(killed).toMatchObject({ signal: 'SIGKILL', out: '' })
  expect((await command(['list', '--store', store])).out.match(/interrupted|due since/g)?.toSorted()).toEqual(['due since', 'interrupted', 'interrupted'])

  const next = await holdfast(['recover', '--json', '--quiet'], { ...env, FIXTURE_HANG: '' })
  const { runs } = JSON.parse(next.out) as { runs: { runId: string }[] }
  expect([next.code, runs.toSorted((a, b) => (a.runId < b.runId ? -1 : 1))]).toEqual([0, ids.map((runId) => ({ runId, status: 'completed', result: `${runId} is booked` }))])
  expect(readFileSync(env.FIXTURE_EFFECTS, 'utf8').trim().split('\n').toSorted()).toEqual([...ids.map((id) => `book ${id}`), ...ids.map((id) => `mail ${id}`)])
}, 60_000)
