import { spawn, execFile, execFileSync, type ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { command } from './fixtures/test-io.ts'
import { tooOld } from './node-version.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bin = join(root, 'src/cli/bin.ts')
const desk = ['--module', join(root, 'src/cli/fixtures/desk.ts')]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-process-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

/** A process of the command line; `until` is called with what it wrote on standard error so far. */
function holdfast(argv: readonly string[], env: object, until?: (err: string, child: ChildProcess) => void): Promise<Ended> {
  const child = spawn(process.execPath, [bin, ...argv], { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
    until?.(err, child)
  })
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, out, err })))
}

describe('a process', () => {
  let store: string
  let env: Record<string, string>
  beforeEach(() => {
    const at = mkdtempSync(join(folder, 'run-'))
    store = join(at, 'runs.db')
    env = { FIXTURE_STORE: store, FIXTURE_EFFECTS: join(at, 'effects'), FIXTURE_TELL: '1' }
  })

  it('killed inside an effect leaves it in doubt; resolved with its result, the run completes in another', async () => {
    const killed = await holdfast(['run', 'desk', '--id', 'r-1', ...desk], { ...env, FIXTURE_HANG: 'refund' }, (err, child) => {
      if (err.includes('<refunding>')) child.kill('SIGKILL')
    })
    expect(killed).toMatchObject({ signal: 'SIGKILL', out: '' })

    const { out: shown } = await command(['show', 'r-1', '--store', store])
    expect(shown).toMatch(/0\/c:call_7 +tool refund +in doubt/)
    const offered = /holdfast (resolve r-1 0\/c:call_7) --result '\{"your":"JSON"\}' (--as-of \d+) --store (\S+)/.exec(shown)!
    expect((await command([...offered[1]!.split(' '), '--result', '{"refunded":7}', ...offered[2]!.split(' '), '--store', offered[3]!])).code).toBe(0)

    const resumed = await holdfast(['resume', 'r-1', ...desk], env)
    expect(resumed).toMatchObject({ code: 0, out: 'Order 7 is refunded.\n' })
    expect(resumed.err).toMatch(/run-resumed +attempt 2: the process of the attempt before it died\n.*step-replayed +model mock\/desk {2}0\n/)
    expect(readFileSync(env['FIXTURE_EFFECTS']!, 'utf8')).toBe('refund 7\n')
    const view = JSON.parse((await command(['show', 'r-1', '--store', store, '--json'])).out) as { steps: object[] }
    expect(view).toMatchObject({
      status: 'completed',
      attempts: [{ ending: 'killed' }, { ending: 'completed' }],
      steps: [{ id: '0', replayedAtLeast: 1 }, { id: '0/c:call_7', state: 'completed', answer: 'result' }, { id: '1', attempt: 2 }],
    })
  }, 60_000)

  it('ends on SIGTERM with its run suspended and its code', async () => {
    let sent = false
    const ended = await holdfast(['run', 'slow', '--id', 'r-1', ...desk], env, (err, child) => {
      if (!sent && err.includes('<reading>')) sent = child.kill('SIGTERM')
    })
    expect(ended).toMatchObject({ code: 143, signal: null, out: expect.stringContaining('run r-1 is suspended') })
    expect(JSON.parse((await command(['list', '--store', store, '--json'])).out)).toMatchObject({ runs: [{ status: 'suspended', interrupted: false, owner: null }] })
  }, 60_000)
})

describe('an error that nobody catches', () => {
  it('ends the process with one report, not with a stack', async () => {
    const { code, err } = await holdfast(['run', 'crash', '--id', 'r-1', '--quiet', ...desk], { FIXTURE_STORE: join(folder, 'crash.db') })
    expect([code, err]).toEqual([1, 'holdfast: UNEXPECTED: TypeError: nobody waits for this\n  Set HOLDFAST_DEBUG=1 to see where it comes from\n'])
  }, 60_000)
})

describe('the built program', () => {
  let built: string
  beforeAll(async () => {
    const at = mkdtempSync(join(folder, 'built-'))
    cpSync(join(root, 'package.json'), join(at, 'package.json'))
    symlinkSync(join(root, 'node_modules'), join(at, 'node_modules'))
    built = join(at, 'dist/cli/bin.js')
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    await promisify(execFile)(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', join(at, 'dist')], { cwd: root }).catch((error: Error) => {
      // Types are checked elsewhere; what matters here is what was built.
      if (!existsSync(built)) throw error
    })
  }, 120_000)

  it('runs', () => {
    expect(execFileSync(process.execPath, [built, '--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('says on a Node that is too old that it is, in one sentence', async (context) => {
    const old = oldNode()
    if (old === undefined) return context.skip('there is no Node older than 22.13 on this machine')
    const ended = await promisify(execFile)(old.path, [built, 'list'], { env: {} }).catch((error: unknown) => error)
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: `holdfast needs Node 22.13 or newer, and this is Node ${old.version}.\n` })
  })
})

/** A Node on the path that is too old. */
function oldNode(): { readonly path: string; readonly version: string } | undefined {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, 'node')
    if (!existsSync(path)) continue
    const version = execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8', env: {} }).trim()
    if (tooOld(version) !== '') return { path, version }
  }
  return undefined
}
