import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { command, testIo } from './fixtures/test-io.ts'
import { again, eachInItsOwn, fixture } from './fixtures/workplace.ts'
import { main } from './main.ts'

const desk = ['--module', fixture('desk')]
let folder: string
let store: string

eachInItsOwn((place) => ({ folder, store } = place))

const effects = (): string[] => readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n').toSorted()

/** A run whose process is stopped by a signal while it waits for a page. */
async function stopped(runId: string): Promise<void> {
  vi.resetModules()
  vi.stubEnv('FIXTURE_HANG', 'trip')
  const io = testIo()
  const ending = main(['run', 'trip', '--id', runId, ...desk], io)
  await vi.waitFor(() => expect(io.written.err).toMatch(/step-finished +step book/), 60_000)
  io.signal('SIGTERM')
  expect([await ending, io.written.out]).toEqual([143, expect.stringContaining(`run ${runId} is suspended, and can go on at once\n`)])
  vi.stubEnv('FIXTURE_HANG', '')
}

describe('a run whose process was stopped', () => {
  it('is due, and said to be so', async () => {
    await stopped('r-1')
    expect((await command(['list', '--store', store])).out).toMatch(/^r-1 +trip +suspended +1 +\S+ \S+ +due since 2\d{3}-/m)
    expect((await command(['show', 'r-1', '--store', store])).out).toMatch(/^status +suspended, due since 2\d{3}-\d\d-\d\d \d\d:\d\d:\d\dZ: it can go on$/m)
    expect(JSON.parse((await command(['show', 'r-1', '--store', store, '--json'])).out)).toMatchObject({ status: 'suspended', due: true })
  })

  it('is driven to its end by recover, which has nothing to do then', async () => {
    await stopped('r-1')
    const { code, out, err } = await again(['recover', ...desk])
    expect([code, out]).toEqual([0, 'RUN  STATUS     NOTE\nr-1  completed\n'])
    expect(err).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}r-1 {2}run-resumed +attempt 2/)
    expect(effects()).toEqual(['book r-1', 'mail r-1'])
    expect(await again(['recover', ...desk])).toEqual({ code: 0, out: 'no runs to recover\n', err: '' })
    expect(await again(['recover', '--json', ...desk])).toEqual({ code: 0, out: '{\n  "runs": []\n}\n', err: '' })
  })
})

describe('recover', () => {
  it('says what became of each run, and that one failed', async () => {
    await again(['run', 'desk', '--id', 'r-1', '--max-steps', '3', '--quiet', ...desk])
    expect(existsSync(store)).toBe(true)
    await stopped('r-2')
    await again(['run', 'hostile', '--id', 'r-3', '--quiet', ...desk])
    expect(await again(['recover', '--json', '--quiet', ...desk])).toEqual({ code: 0, err: '', out: `${JSON.stringify({ runs: [{ runId: 'r-2', status: 'completed', result: 'r-2 is booked' }] }, null, 2)}\n` })
  })

  it('ends with 1 where a run failed, which is not driven once more', async () => {
    await stopped('r-1')
    vi.stubEnv('FIXTURE_HANG', 'fail')
    const { code, out } = await again(['recover', '--quiet', ...desk])
    expect([code, out]).toEqual([1, expect.stringMatching(/^RUN {2}STATUS {2}NOTE\nr-1 {2}failed {2}RUN_FAILED: run "r-1" failed: no page$/m)])
    expect(await again(['recover', '--quiet', ...desk])).toMatchObject({ code: 0, out: 'no runs to recover\n' })
  })

  it('is stopped by a signal, with its code; what it drove is due again', async () => {
    await stopped('r-1')
    vi.resetModules()
    vi.stubEnv('FIXTURE_HANG', 'trip')
    const io = testIo()
    const ending = main(['recover', '--json', ...desk], io)
    await vi.waitFor(() => expect(io.written.err).toContain('run-resumed'), 60_000)
    io.signal('SIGINT')
    expect(await ending).toBe(130)
    expect(JSON.parse(io.written.out)).toMatchObject({ runs: [{ runId: 'r-1', status: 'suspended', reasons: [{ type: 'draining' }] }] })
    vi.stubEnv('FIXTURE_HANG', '')
    expect(await again(['recover', '--quiet', ...desk])).toMatchObject({ code: 0, out: expect.stringContaining('r-1  completed') })
    expect(effects()).toEqual(['book r-1', 'mail r-1'])
  })

  it.each<[string, string[], string]>([
    ['how often without --watch', ['--every', '2s'], '--every says how often --watch looks'],
    ['a time without a unit', ['--watch', '--every', '2'], '--every must be a time of at least 1ms with its unit, got "2"'],
    ['no run at a time', ['--concurrency', '0'], '--concurrency must be a whole number from 1, got "0"'],
    ['a run', ['r-1'], 'recover does not take "r-1"'],
  ])('refuses %s', async (_what, argv, message) => {
    expect(await command(['recover', ...argv, ...desk])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(`USAGE: ${message}`) })
    expect(existsSync(store)).toBe(false)
  })
})

describe('recover --watch', () => {
  it('prints a line as each run ends, until a signal, and ends well', async () => {
    await stopped('r-1')
    vi.resetModules()
    const io = testIo()
    const ending = main(['recover', '--watch', '--every', '20ms', ...desk], io)
    await vi.waitFor(() => expect(io.written.out).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}r-1 {2}completed\n$/), 60_000)
    io.signal('SIGTERM')
    io.signal('SIGTERM')
    expect([await ending, io.written.exits]).toEqual([0, [143]])
    expect(io.written.err).toMatch(/^looks for runs to recover since .*; SIGINT or SIGTERM stops it\nSIGTERM: stops when running steps have ended; once more stops at once\n$/)
  })

  it('prints one JSON object a line for programs', async () => {
    await stopped('r-1')
    await stopped('r-2')
    vi.stubEnv('FIXTURE_HANG', 'fail r-2')
    vi.resetModules()
    const io = testIo()
    const ending = main(['recover', '--watch', '--every', '20ms', '--concurrency', '1', '--json', ...desk], io)
    await vi.waitFor(() => expect(io.written.out.split('\n')).toHaveLength(3), 60_000)
    io.signal('SIGINT')
    expect([await ending, io.written.err]).toEqual([0, ''])
    expect(io.written.out.trim().split('\n').map((line) => JSON.parse(line) as object)).toMatchObject([
      { runId: 'r-1', status: 'completed', result: 'r-1 is booked' },
      { runId: 'r-2', status: 'failed', error: { code: 'RUN_FAILED', runId: 'r-2' } },
    ])
  })

  it('says at once that the store cannot be used', async () => {
    writeFileSync(store, 'not a database')
    for (const argv of [['recover', '--watch'], ['recover']]) {
      expect(await again([...argv, ...desk])).toMatchObject({ code: 6, out: '', err: expect.stringMatching(/^holdfast: STORE_FOREIGN: /) })
    }
  })
})
