import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { COMMANDS } from './commands.ts'
import { command, testIo } from './fixtures/test-io.ts'
import { again, eachInItsOwn, fixture } from './fixtures/workplace.ts'
import { main } from './main.ts'

const desk = ['--module', fixture('desk')]
/** A line with the code, and one with what to do, where the first does not say that. */
const says = (code: string): unknown => expect.stringMatching(new RegExp(`^holdfast: ${code}: .+\\n(  .+\\n)?$`))
let folder: string
let store: string

eachInItsOwn((place) => ({ folder, store } = place))

describe('bad input of run', () => {
  it.each<[string, string, string[]]>([
    ['no run id', 'MISSING_RUN_ID', ['run', 'echo']],
    ['a run id that is not allowed', 'INVALID_RUN_ID', ['run', 'echo', '--id', 'a b']],
    ['an agent that does not exist', 'UNKNOWN_AGENT', ['run', 'ehco', '--id', 'r-1']],
    ['an input that is not JSON', 'USAGE', ['run', 'echo', '--id', 'r-1', '--input', '{a}']],
    ['two inputs', 'USAGE', ['run', 'echo', '--id', 'r-1', '--input', '1', '-']],
    ['an input file that is not there', 'USAGE', ['run', 'echo', '--id', 'r-1', '--input-file', 'nowhere.json']],
    ['a positional that is no input', 'USAGE', ['run', 'echo', '{}', '--id', 'r-1']],
  ])('%s is %s, and no store is made', async (_what, code, argv) => {
    const { code: exit, out, err } = await command([...argv, ...desk], { cwd: folder })
    expect({ exit, out, err }).toEqual({ exit: 2, out: '', err: says(code) })
    expect(existsSync(store)).toBe(false)
  })

  it('an input that cannot be encoded starts no run, and makes no store', async () => {
    const deep = '['.repeat(600) + ']'.repeat(600)
    expect(await command(['run', 'echo', '--id', 'r-1', '--input', deep, ...desk])).toMatchObject({ code: 2, err: expect.stringContaining('VALUE_NOT_STORABLE: input') })
    expect((await command(['list', '--store', store])).err).toContain('STORE_NOT_FOUND')
  })

  it('another input for the same run is refused, and can be allowed', async () => {
    expect(await command(['run', 'echo', '--id', 'r-1', '--input', '{"a":1}', ...desk])).toMatchObject({ code: 0, out: '{\n  "a": 1\n}\n' })
    const other = await again(['run', 'echo', '--id', 'r-1', '--input', '{"a":2}', ...desk])
    expect(other).toMatchObject({ code: 2, err: expect.stringMatching(/RUN_MISMATCH: .*the input.*\n.*--allow-mismatch/) })
    expect(await again(['run', 'echo', '--id', 'r-1', '--input', '{"a":2}', '--allow-mismatch', ...desk])).toMatchObject({ code: 0, out: '{\n  "a": 1\n}\n' })
  })

  it('steps that cannot be told apart fail the run at the second, before it starts', async () => {
    const { code, err } = await command(['run', 'twins', '--id', 'r-1', ...desk])
    expect([code, err]).toEqual([1, expect.stringContaining('AMBIGUOUS_STEP')])
    const effects = existsSync(join(folder, 'effects')) ? readFileSync(join(folder, 'effects'), 'utf8') : ''
    expect(effects.split('charge').length - 1).toBeLessThanOrEqual(1)
  })
})

describe('the module', () => {
  it.each<[string, string, string[]]>([
    ['that is not there', 'MODULE_NOT_FOUND', ['--module', 'nowhere.ts']],
    ['that nobody named', 'MODULE_NOT_FOUND', []],
    ['without a runner', 'MODULE_WITHOUT_RUNNER', ['--module', fixture('no-runner')]],
    ['that throws', 'MODULE_FAILED', ['--module', fixture('broken')]],
    ['with a wrong policy', 'INVALID_POLICY', ['--module', fixture('wrong-policy')]],
    ['with a policy for a tool that does not exist', 'UNKNOWN_TOOL', ['--module', fixture('unknown-tool')]],
    ['with retry on a tool that is not idempotent', 'INVALID_POLICY', ['--module', fixture('unsafe-retry')]],
  ])('%s: %s', async (_what, code, argv) => {
    const { code: exit, err } = await command(['run', 'echo', '--id', 'r-1', ...argv], { cwd: folder })
    expect([exit, err]).toEqual([2, says(code)])
    expect(err).not.toContain('\u001b')
  })

  it('is holdfast.config in the working directory, where none is named', async () => {
    writeFileSync(join(folder, 'holdfast.config.ts'), `export { runner as default } from ${JSON.stringify(fixture('desk'))}`)
    expect(await command(['run', 'echo', '--id', 'r-1', '--input', '"hello"'], { cwd: folder })).toMatchObject({ code: 0, out: 'hello\n' })
    expect((await again(['show', 'r-1', '--json'], { cwd: folder })).out).toContain('"status": "completed"')
  })
})

describe('the store', () => {
  it.each<[string, string, (() => void)]>([
    ['that is not there', 'STORE_NOT_FOUND', () => {}],
    ['that is an empty file', 'STORE_EMPTY', () => writeFileSync(store, '')],
    ['that is no database', 'STORE_FOREIGN', () => writeFileSync(store, 'notes\n'.repeat(1000))],
    ['of another program', 'STORE_FOREIGN', () => new DatabaseSync(store).exec('CREATE TABLE notes (text TEXT)')],
    ['whose path is a folder', 'STORE_UNAVAILABLE', () => vi.stubEnv('FIXTURE_STORE', store = folder)],
  ])('%s is %s for every command, and stays as it is', async (_what, code, make) => {
    make()
    const before = existsSync(store) && store !== folder ? readFileSync(store) : undefined
    for (const argv of [['list'], ['show', 'r-1'], ['resolve', 'r-1', '0', '--skip']]) {
      const { code: exit, err } = await command([...argv, '--store', store])
      expect([exit, err]).toEqual([6, says(code)])
    }
    if (code === 'STORE_NOT_FOUND') return expect(existsSync(store)).toBe(false)
    expect(await command(['run', 'echo', '--id', 'r-1', ...desk])).toMatchObject({ code: 6, err: expect.stringContaining(code) })
    if (before) expect(readFileSync(store)).toEqual(before)
  })

  it('on a disk that does not last is refused where something would be kept, and can be read', async () => {
    await command(['run', 'echo', '--id', 'r-1', ...desk])
    vi.stubEnv('VERCEL', '1')
    expect(await again(['run', 'echo', '--id', 'r-2', ...desk])).toMatchObject({ code: 6, err: expect.stringContaining('STORE_EPHEMERAL') })
    expect(await command(['list', '--store', store])).toMatchObject({ code: 0 })
  })

  it('has to be named: by an option, the environment or a module', async () => {
    await command(['run', 'echo', '--id', 'r-1', ...desk])
    expect(await command(['list'], { cwd: folder })).toMatchObject({ code: 2, err: expect.stringContaining('MISSING_STORE') })
    expect(await command(['list'], { cwd: folder, env: { HOLDFAST_STORE: 'runs.db' } })).toMatchObject({ code: 0, out: expect.stringContaining('r-1') })
    expect(await again(['list', ...desk], { env: { HOLDFAST_STORE: 'elsewhere.db' } })).toMatchObject({ code: 0, out: expect.stringContaining('r-1') })
    expect(await command(['list', '--store', store, ...desk])).toMatchObject({ code: 2, err: expect.stringContaining('USAGE') })
  })
})

describe('list, show and resolve', () => {
  beforeEach(() => command(['run', 'echo', '--id', 'r-1', '--thread', 't-1', ...desk]))

  it('list prints a table, and the same for programs', async () => {
    expect((await command(['list', '--store', store])).out).toMatch(/^RUN +AGENT +STATUS +ATTEMPTS +UPDATED +NOTE\nr-1 +echo +completed +1 +\S+ \S+Z\n$/)
    const time: unknown = expect.any(Number)
    expect(JSON.parse((await command(['list', '--store', store, '--json'])).out)).toEqual({
      runs: [{ runId: 'r-1', agent: 'echo', status: 'completed', interrupted: false, owner: null, threadId: 't-1', attempts: 1, createdAt: time, updatedAt: time, resumeAt: null, due: false }],
    })
  })

  it.each<[string[], boolean]>([
    [['--status', 'failed,completed'], true], [['--status', 'failed'], false], [['--agent', 'desk'], false], [['--thread', 't-1'], true], [['--limit', '1'], true],
  ])('list %j filters', async (argv, found) => {
    expect((await command(['list', '--store', store, ...argv])).out.includes('r-1')).toBe(found)
  })

  it.each([[['--status', 'done']], [['--limit', '0']], [['--limit', '1e3']]])('list %j is refused', async (argv) => {
    expect(await command(['list', '--store', store, ...argv])).toMatchObject({ code: 2, err: expect.stringContaining('USAGE') })
  })

  it('show prints the journal with --raw, one entry a line', async () => {
    const entries = (await command(['show', 'r-1', '--store', store, '--raw'])).out.trim().split('\n').map((line) => (JSON.parse(line) as { type: string }).type)
    expect(entries).toEqual(['run-created', 'attempt-started', 'run-ended', 'attempt-ended'])
  })

  it.each<[string, string, string[]]>([
    ['a run that does not exist', 'UNKNOWN_RUN', ['show', 'r-9']],
    ['a run id that is not allowed', 'INVALID_RUN_ID', ['show', '../r']],
    ['a run that does not exist', 'UNKNOWN_RUN', ['resolve', 'r-9', '0', '--skip']],
    ['a step that waits for nothing', 'NOTHING_TO_RESOLVE', ['resolve', 'r-1', '0', '--skip']],
    ['no decision', 'USAGE', ['resolve', 'r-1', '0']],
    ['two decisions', 'USAGE', ['resolve', 'r-1', '0', '--skip', '--result', '1']],
    ['a result that is not JSON', 'USAGE', ['resolve', 'r-1', '0', '--result', 'yes']],
    ['a store besides the module', 'USAGE', ['resolve', 'r-1', '0', '--skip', '--resume']],
  ])('%s is %s: %j', async (_what, code, argv) => {
    const { code: exit, err } = await command([...argv, '--store', store])
    expect([exit, err]).toEqual([2, says(code)])
  })

  it('resume of a run that does not exist says so', async () => {
    expect(await again(['resume', 'r-9', ...desk])).toMatchObject({ code: 2, err: expect.stringContaining('UNKNOWN_RUN') })
  })
})

describe('a run in this process', () => {
  it('takes its input from standard input', async () => {
    expect(await command(['run', 'echo', '--id', 'r-1', '-', '--quiet', ...desk], { stdin: '\ufeff{"a":[1]}' })).toEqual({ code: 0, out: '{\n  "a": [\n    1\n  ]\n}\n', err: '' })
  })

  it('that fails says with what, and shows nothing that a terminal would act upon', async () => {
    const { code, out, err } = await command(['run', 'hostile', '--id', 'r-1', '--quiet', ...desk])
    expect([code, out, err]).toEqual([1, '', 'holdfast: RUN_FAILED: run "r-1" failed: first\\u001b]0;title\\u0007 second\n  What was done is kept: holdfast resume r-1 drives it again from there\n'])
    expect((await command(['show', 'r-1', '--store', store])).out).toContain('step esc\\u001b[2Jape')
  })

  it('for programs is one document on standard output, and an event a line on standard error', async () => {
    const { code, out, err } = await command(['run', 'hostile', '--id', 'r-1', '--json', ...desk])
    expect([code, JSON.parse(out)]).toEqual([1, { error: expect.objectContaining({ code: 'RUN_FAILED', runId: 'r-1' }), exitCode: 1 }])
    expect(err.trim().split('\n').map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['run-started', 'step-started', 'step-finished', 'attempt-ended', 'run-failed'])
  })

  it('that has used what it may ends, shows what it used, and goes on under a higher limit', async () => {
    const limited = await command(['run', 'desk', '--id', 'r-1', '--max-steps', '2', ...desk])
    expect(limited).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/limit-reached +maxSteps 2, used 2 +1\n.*\n.*run-failed[^]*holdfast: LIMIT_REACHED: run "r-1" has used 2 of 2 steps .*\n {2}What was done is kept: holdfast resume r-1 goes on .*--max-steps N/) })
    const shown = (await command(['show', 'r-1', '--store', store])).out
    expect(shown).toMatch(/^used +2 steps \(1 model, 1 tool\), 30 tokens in, 4 out, \S+ active$/m)
    expect(shown).toMatch(/^limits +maxSteps 2$/m)
    expect(await again(['resume', 'r-1', '--json', '--quiet', ...desk])).toMatchObject({ code: 1, out: expect.stringContaining('"inputTokens": 30') })
    expect(await again(['resume', 'r-1', '--max-steps', '3', '--quiet', ...desk])).toMatchObject({ code: 0, out: 'Order 7 is refunded.\n' })
    const { usage, limits } = JSON.parse((await command(['show', 'r-1', '--store', store, '--json'])).out) as { usage: object; limits: object }
    expect([usage, limits]).toMatchObject([{ attempts: 3, steps: { model: 2, tool: 1 }, inputTokens: 60, outputTokens: 8 }, { maxSteps: 3 }])
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('is suspended by %s; a second one would end the process at once', async (signal) => {
    const io = testIo()
    const ending = main(['run', 'slow', '--id', 'r-1', ...desk], io)
    await vi.waitFor(() => expect(io.written.err).toContain('step-started'), 60_000)
    io.signal(signal)
    io.signal(signal)
    const code = signal === 'SIGINT' ? 130 : 143
    expect([await ending, io.written.exits]).toEqual([code, [code]])
    expect(io.written.out).toContain('draining: its runner was closed')
    expect((await command(['list', '--store', store])).out).toContain('suspended')
  })
})

describe('the program', () => {
  it.each([['lst', 'Did you mean list?'], ['--jsn', 'Options follow their command'], ['frobnicate', 'Its commands are']])('refuses %s: %s', async (name, advice) => {
    expect(await command([name])).toMatchObject({ code: 2, err: expect.stringContaining(advice) })
  })

  it('prints its help and that of each command', async () => {
    expect(await command([])).toMatchObject({ code: 2, out: '', err: expect.stringContaining('Exit codes:') })
    expect(await command(['--help'])).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Exit codes:') })
    for (const { spec: { name, examples } } of COMMANDS) {
      const { code, out } = await command([name, '--help'])
      expect([code, out.split('\n').every((line) => line.length <= 100), out.includes(examples[0]!)]).toEqual([0, true, true])
      expect((await command(['help', name])).out).toBe(out)
    }
  })

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
    expect(await command(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
  })

  it('shows a stack only to who asks for it', async () => {
    const argv = ['run', 'echo', '--id', 'r-1', '--module', fixture('broken')]
    expect((await command(argv)).err).not.toContain('    at ')
    expect((await again(argv, { env: { HOLDFAST_DEBUG: '1' } })).err).toMatch(/no \\u001b\[2J database\n +at /)
  })
})
