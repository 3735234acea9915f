/** Runs that nobody drives although they could go on, driven once (R9, R10; A15). */
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type Outcome, type Recovered, type Store } from '../src/index.ts'
import { during } from './support/time.ts'
import { connectionLost, pass, START, workers } from './support/workers.ts'

describe('one sweep', () => {
  it('tells what became of each run, those that wait longest first, and rejects for none', async () => {
    const { clock, agents, runner, created } = workers({
      well: (run) => `${run.runId} is done`,
      fails: () => Promise.reject(new Error('no such order')),
      waits: (run) => run.step('pay', () => Promise.reject(connectionLost())).catch(() => run.step('pay', () => 'receipt')),
      foreign: () => 'not ours',
    })
    for (const [agent, runId] of [['waits', 'w'], ['well', 'b'], ['fails', 'f'], ['foreign', 'x'], ['well', 'a']] as const) {
      await created(agent, runId)
      await pass(clock, 10)
    }
    await pass(clock, 31_000, 1_000)
    const began: string[] = []
    expect(await runner({ agents: [] }).recover()).toEqual([])
    const worker = runner({ agents: agents.filter(({ name }) => name !== 'foreign') })
    const recovered = await during(clock, worker.recover({ concurrency: 1, onEvent: (event) => void (event.type === 'run-started' && began.push(event.runId)) }))
    expect(began).toEqual(['w', 'b', 'f', 'a'])
    expect(recovered).toMatchObject([
      { runId: 'w', outcome: { status: 'suspended', reasons: [{ type: 'in-doubt' }] } },
      { runId: 'b', outcome: { status: 'completed', result: 'b is done' } },
      { runId: 'f', error: { code: 'RUN_FAILED', runId: 'f' } },
      { runId: 'a', outcome: { status: 'completed' } },
    ])
    expect(await worker.recover()).toEqual([])
  })

  it('of two runners drives each run once', async () => {
    const paid: string[] = []
    const { clock, runner, created } = workers({ a: (run) => run.step('pay', () => paid.push(run.runId)) })
    const ids = Array.from({ length: 12 }, (_, i) => `r-${i}`)
    for (const runId of ids) await created('a', runId)
    await pass(clock, 31_000, 1_000)
    const both = await during(clock, Promise.all([runner().recover(), runner().recover()]))
    expect(both.flat().map(({ runId }) => runId).toSorted()).toEqual(ids.toSorted())
    expect(both.flat().every((one) => 'outcome' in one && one.outcome.status === 'completed')).toBe(true)
    expect(paid.toSorted()).toEqual(ids.toSorted())
  })

  it('does not drive a run again that failed in the hands of another since it was found', async () => {
    let handled = 0
    const { clock, store, runner, created } = workers({ a: () => (handled++, Promise.reject(new Error('no'))) })
    await created('a', 'r')
    await pass(clock, 31_000, 1_000)
    const found = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const slow: Store = {
      ...store,
      list: async (filter) => {
        const rows = await store.list(filter)
        found.resolve()
        await gate.promise
        return rows
      },
    }
    const late = runner({ store: slow }).recover()
    await found.promise
    expect(await during(clock, runner().recover())).toMatchObject([{ runId: 'r', error: { code: 'RUN_FAILED' } }])
    gate.resolve()
    expect(await during(clock, late)).toEqual([])
    expect(handled).toBe(1)
  })

  it('says of a run that it has ended where its row does not know that', async () => {
    const { clock, store, runner } = workers({ a: () => 'done' })
    await during(clock, runner().run('a', {}, { runId: 'r' }))
    await store.take('r', { expectedToken: 1, owner: 'another', leaseUntil: 0, now: START })
    expect(await during(clock, runner().recover())).toEqual([{ runId: 'r', outcome: { status: 'completed', result: 'done' } }])
    expect(await store.get('r')).toMatchObject({ status: 'completed', owner: null })
    expect(await runner().recover()).toEqual([])
  })

  it('whose signal aborts begins no other run, stops those under way as close does, and returns what it did', async () => {
    const controller = new AbortController()
    const { clock, store, runner, created } = workers({ a: async (run) => (controller.abort(), await run.read('page', () => new Promise(() => {}))) })
    for (const runId of ['r-1', 'r-2']) await created('a', runId)
    await pass(clock, 31_000, 1_000)
    const recovered: readonly Recovered[] = await during(clock, runner().recover({ concurrency: 1, signal: controller.signal }))
    expect(recovered).toMatchObject([{ runId: 'r-1', outcome: { status: 'suspended', reasons: [{ type: 'draining' }] } }])
    expect(await store.list({ dueBy: clock.now() })).toMatchObject([{ runId: 'r-1' }])
    expect(await store.get('r-2')).toMatchObject({ token: 0 })
    let reads = 0
    const counting: Store = { ...store, read: async (...asked) => (reads++, store.read(...asked)) }
    expect(await runner({ store: counting }).recover({ signal: AbortSignal.abort() })).toEqual([])
    expect(reads).toBe(0)
  })

  it('whose signal aborts while a run is opened drives nothing of it', async () => {
    const controller = new AbortController()
    let handled = 0
    const { clock, store, runner, created } = workers({ a: () => ++handled })
    await created('a', 'r')
    await pass(clock, 31_000, 1_000)
    const aborting: Store = { ...store, take: async (...asked) => (controller.abort(), store.take(...asked)) }
    expect(await during(clock, runner({ store: aborting }).recover({ signal: controller.signal }))).toMatchObject([
      { runId: 'r', outcome: { status: 'suspended', reasons: [{ type: 'draining', message: 'the sweep that drove it was stopped' }] } },
    ])
    expect(handled).toBe(0)
  })

  it('is waited for by close, which stops it', async () => {
    const { clock, runner, created, status } = workers({ a: (run) => run.read('page', () => new Promise(() => {})) })
    for (const runId of ['r-1', 'r-2']) await created('a', runId)
    await pass(clock, 31_000, 1_000)
    const worker = runner()
    const recovering = worker.recover({ concurrency: 1 })
    await pass(clock, 50)
    const closed = during(clock, worker.close())
    expect((await recovering).map((one) => [one.runId, 'outcome' in one && (one.outcome as Outcome).status])).toEqual([['r-1', 'suspended']])
    await closed
    expect(await status('r-2')).toBe('running')
  })
})

describe('what is refused', () => {
  const agents = [defineAgent('a', () => 1)]
  it.each<[string, object, string]>([
    ['a concurrency of none', { concurrency: 0 }, 'concurrency of recover() must be an integer >= 1, got 0'],
    ['a key that is none', { everyMs: 1 }, 'everyMs is not an option of recover()'],
    ['a signal that is none', { signal: 1 }, 'signal of recover() must be an AbortSignal'],
  ])('%s, by recover', async (_what, options, message) => {
    await expect(createRunner({ agents, store: memoryStore() }).recover(options)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining(message) })
  })

  it.each<[string, object, string]>([
    ['no time between sweeps', { everyMs: 0 }, 'everyMs of start() must be a number >= 1, got 0'],
    ['a concurrency that is no number', { concurrency: 'all' }, 'concurrency of start() must be an integer >= 1, got "all"'],
    ['a listener that is none', { onError: true }, 'onError of start() must be a function'],
  ])('%s, by start', (_what, options, message) => {
    expect(() => createRunner({ agents, store: memoryStore() }).start(options)).toThrow(message)
  })

  it('a runner without a store, and a second start', async () => {
    await expect(createRunner({ agents }).recover()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(() => createRunner({ agents, retry: { maxAttempts: 2 } }).start()).toThrow('needs a runner with a store')
    const runner = createRunner({ agents, store: memoryStore() })
    runner.start()
    expect(() => runner.start()).toThrow('the runner was started already')
    await runner.close()
  })
})
