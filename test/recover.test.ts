/** Runs that nobody drives although they could go on, driven continuously (R9, R10; A15, C29). */
import { describe, expect, it, vi } from 'vitest'
import { defineAgent, type HoldfastError, type Store } from '../src/index.ts'
import { mortal } from './support/crash.ts'
import { mortalProcess } from './support/dead-process.ts'
import { refusing } from './support/refusing-store.ts'
import { during } from './support/time.ts'
import { connectionLost, pass, START, workers } from './support/workers.ts'

const HOUR = 3_600_000

const slowDown = () => Object.assign(new Error('slow down'), { statusCode: 429, responseHeaders: { 'retry-after': '3600' } })
const codes = (told: readonly (readonly [unknown, string | undefined])[]) => told.map(([error, runId]) => [(error as HoldfastError).code, runId])

describe('a runner that was started', () => {
  it('drives a run whose long wait is over, and not before, its process being gone (A15)', async () => {
    const tried: number[] = []
    const { clock, runner, status } = workers({
      a: (run) => run.read('page', () => {
        tried.push(clock.now())
        if (tried.length === 1) throw slowDown()
        return 'read'
      }),
    })
    const gone = runner()
    expect(await during(clock, gone.run('a', {}, { runId: 'r' }))).toMatchObject({ status: 'suspended', resumeAt: START + HOUR })
    const worker = runner()
    worker.start()
    await clock.advance(HOUR - 1_000)
    expect([await status('r'), tried.length]).toEqual(['suspended', 1])
    await pass(clock, 4_000)
    expect(await status('r')).toBe('completed')
    expect(tried[1]! - START - HOUR).toBeLessThanOrEqual(2_100)
    expect(tried[1]).toBeGreaterThanOrEqual(START + HOUR)
    expect(await worker.result('r')).toEqual({ status: 'completed', result: 'read' })
    await worker.close()
    expect(clock.pending).toBe(0)
  })

  it('goes on with what a person has decided, without anybody resuming it', async () => {
    const { clock, runner, status } = workers({ a: (run) => run.step('pay', () => Promise.reject(connectionLost())).catch(() => run.step('pay', () => 'receipt')) })
    const outcome = await during(clock, runner().run('a', {}, { runId: 'r' }))
    const step = outcome.status === 'suspended' ? (outcome.reasons[0] as { step: string }).step : ''
    const worker = runner()
    worker.start()
    await pass(clock, 10_000, 1_000)
    expect(await status('r')).toBe('suspended')
    await runner().resolve('r', step, { result: 'paid by hand' })
    await pass(clock, 2_100)
    expect(await worker.result('r')).toEqual({ status: 'completed', result: 'paid by hand' })
    await worker.close()
  })

  it('leaves a run alone that its caller stopped, also after a late result', async () => {
    const paid = Promise.withResolvers<string>()
    const controller = new AbortController()
    const { clock, store, runner } = workers({ a: (run) => run.step('pay', () => (controller.abort(new Error('user left')), paid.promise)) })
    expect(await runner().run('a', {}, { runId: 'r', signal: controller.signal }).catch((error: unknown) => error)).toMatchObject({ message: 'user left' })
    const worker = runner()
    worker.start()
    paid.resolve('receipt')
    await pass(clock, 10_000, 1_000)
    expect(await store.get('r')).toMatchObject({ status: 'suspended', token: 1, inboxSeq: 1 })
    await worker.close()
    expect(await during(clock, runner().resume('r'))).toEqual({ status: 'completed', result: 'receipt' })
  })

  it('goes on with a run that its caller stopped, and that waits since, when a result of the first attempt comes late', async () => {
    const paid = Promise.withResolvers<string>()
    const controller = new AbortController()
    const { clock, runner, status } = workers({ a: (run) => run.step('pay', () => (controller.abort(new Error('user left')), paid.promise)) })
    expect(await runner().run('a', {}, { runId: 'r', signal: controller.signal }).catch((error: unknown) => error)).toMatchObject({ message: 'user left' })
    expect(await during(clock, runner().resume('r'))).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    const worker = runner()
    worker.start()
    paid.resolve('receipt')
    await pass(clock, 10_000, 1_000)
    expect(await status('r')).toBe('completed')
    await worker.close()
  })

  it('leaves a run alone that its caller stopped, whatever comes late of an attempt before', async () => {
    const paid = Promise.withResolvers<string>()
    const controller = new AbortController()
    const { clock, store, runner } = workers({
      a: (run) => {
        if (run.attempt === 2) controller.abort(new Error('user left'))
        const pay = (): Promise<string> => run.step('pay', { key: 'ada', timeoutMs: 1_000 }, () => paid.promise)
        return pay().catch(pay)
      },
    })
    expect(await during(clock, runner().run('a', {}, { runId: 'r' }))).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(await during(clock, runner().resume('r', { signal: controller.signal }).catch((error: unknown) => error))).toMatchObject({ message: 'user left' })
    const worker = runner()
    worker.start()
    paid.resolve('receipt')
    await pass(clock, 10_000, 1_000)
    expect(await store.get('r')).toMatchObject({ status: 'suspended', token: 2, inboxSeq: 1 })
    await worker.close()
    expect(await during(clock, runner().resume('r'))).toEqual({ status: 'completed', result: 'receipt' })
  })

  it('drives a run whose process is dead at once, from where it stopped', async () => {
    const done: string[] = []
    const { clock, store, runner, status } = workers({
      a: async (run) => {
        await run.step('first', () => done.push('first'))
        if (run.attempt === 1) {
          dying.kill()
          await new Promise(() => {})
        }
        return run.step('second', () => done.push('second'))
      },
    })
    const dying = mortalProcess(store)
    void runner({ store: dying.store }).run('a', {}, { runId: 'r' })
    await pass(clock, 200)
    expect([await status('r'), done]).toEqual(['running', ['first']])
    const worker = runner()
    worker.start()
    await pass(clock, 200)
    expect(await worker.result('r')).toEqual({ status: 'completed', result: 2 })
    expect(done).toEqual(['first', 'second'])
    await worker.close()
  })

  it('drives a run that was created and never taken, when its creator had its time', async () => {
    const { clock, runner, created, status } = workers({ a: () => 'done' })
    await created('a', 'r')
    const worker = runner({ leaseMs: 30_000 })
    worker.start()
    await pass(clock, 28_000, 1_000)
    expect(await status('r')).toBe('running')
    await pass(clock, 4_000, 1_000)
    expect(await status('r')).toBe('completed')
    await worker.close()
  })

  it('lets a run rest that kills its process each time, longer after each death, until it is stalled; others go on (C29)', async () => {
    const began: number[] = []
    const other = Promise.withResolvers<void>()
    let dying = (): void => {}
    const { clock, store, runner, status } = workers({
      bad: () => {
        began.push(clock.now())
        dying()
        return new Promise(() => {})
      },
      good: async (run) => {
        await run.step('wait', { idempotent: true }, () => other.promise)
        return run.step('pay', () => 'receipt')
      },
    })
    const told: (readonly [unknown, string | undefined])[] = []
    for (let process = 0; process < 5; process++) {
      const { store: mine, kill } = mortalProcess(store)
      dying = kill
      const worker = runner({ store: mine, stallAfter: 4 })
      if (process === 0) void worker.run('bad', {}, { runId: 'bad' })
      else if (process === 1) void worker.run('good', {}, { runId: 'good' })
      if (process === 4) other.resolve()
      worker.start({ everyMs: 100, onError: (error, runId) => void told.push([error, runId]) })
      // It dies as soon as it drives the run; the next one is there at once.
      for (const before = began.length; began.length === before && (await status('bad')) === 'running';) await pass(clock, 50)
      await pass(clock, 500)
    }
    expect(began).toHaveLength(4)
    const between = began.slice(1).map((at, i) => at - began[i]!)
    expect(between[0]).toBeLessThan(1_000)
    expect(between.slice(1).map((ms) => Math.floor(ms / 1_000))).toEqual([1, 2])
    expect([await status('bad'), await status('good')]).toEqual(['stalled', 'completed'])
    expect(codes(told)).toEqual([['RUN_STALLED', 'bad']])
  })

  it('has a place for a short run while a long one goes on, unless that has the only one', async () => {
    const gate = Promise.withResolvers<void>()
    const { clock, runner, created, status } = workers({ long: () => gate.promise, short: () => 'done' })
    await created('long', 'long')
    await pass(clock, 100)
    await created('short', 'short-1')
    await pass(clock, 31_000, 1_000)
    const two = runner()
    two.start({ concurrency: 2 })
    await pass(clock, 200)
    expect([await status('long'), await status('short-1')]).toEqual(['running', 'completed'])
    await created('short', 'short-2')
    await pass(clock, 33_000, 1_000)
    expect([await status('long'), await status('short-2')]).toEqual(['running', 'completed'])
    await during(clock, two.close())

    await created('short', 'short-3')
    await pass(clock, 31_000, 1_000)
    const one = runner()
    one.start({ concurrency: 1 })
    await pass(clock, 5_000, 1_000)
    expect([await status('long'), await status('short-3')]).toEqual(['running', 'running'])
    gate.resolve()
    await pass(clock, 1_000)
    expect([await status('long'), await status('short-3')]).toEqual(['completed', 'completed'])
    await one.close()
  })

  it('lets a run rest that cannot be opened, longer each time and at most a minute, and tells of it each time', async () => {
    const { clock, runner, created, status } = workers({ a: () => 'done' })
    await created('a', 'old')
    await created('a', 'other')
    await pass(clock, 31_000, 1_000)
    const told: (readonly [unknown, string | undefined, number])[] = []
    const began = clock.now()
    const worker = runner({ agents: [defineAgent('a', () => 'new', { version: '2' })] })
    worker.start({ onError: (error, runId) => void told.push([error, runId, clock.now() - began]) })
    await pass(clock, 200_000, 1_000)
    expect(told[0]).toMatchObject([{ code: 'RUN_MISMATCH' }, 'old', 0])
    const times = told.filter(([, runId]) => runId === 'old').map(([, , at]) => at)
    expect(times.slice(1).map((at, i) => Math.round((at - times[i]!) / 2_000) * 2)).toEqual([4, 8, 16, 32, 60, 60])
    expect([await status('old'), await status('other')]).toEqual(['running', 'running'])
    await worker.close()
  })

  it('forgets that a run could not be opened when somebody else could, and has driven it on', async () => {
    const { clock, store, runner, created, status } = workers({ a: (run) => run.read('page', () => (run.attempt === 1 ? new Promise(() => {}) : 'read')) })
    await created('a', 'r')
    await pass(clock, 31_000, 1_000)
    const told: number[] = []
    const worker = runner({ agents: [defineAgent('a', () => 'new', { version: '2' })] })
    worker.start({ onError: () => void told.push(clock.now()) })
    await pass(clock, 62_000, 1_000)
    const before = told.length
    const other = mortal(store)
    void runner({ store: other.store }).resume('r')
    await pass(clock, 4_000, 1_000)
    other.kill()
    await pass(clock, 25_000, 1_000)
    expect(await status('r')).toBe('running')
    await pass(clock, 8_000, 1_000)
    // Its next rest would have been a minute.
    expect(told.length).toBeGreaterThan(before)
    await worker.close()
  })

  it('goes on 5 s later with a run whose record the store refused', async () => {
    const { clock, store, runner, status } = workers({ a: (run) => run.step('pay', () => 'receipt') })
    const full = refusing({ ...store, close: async () => {} }, /"step-started"/)
    const worker = runner({ store: full.store })
    worker.start({ everyMs: 500 })
    const outcome = await during(clock, worker.run('a', {}, { runId: 'r' }))
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'not-recorded' }], resumeAt: expect.any(Number) })
    full.refuse = undefined
    await pass(clock, 4_800)
    expect(await status('r')).toBe('suspended')
    await pass(clock, 1_000)
    expect(await status('r')).toBe('completed')
    await worker.close()
  })

  it('begins once with a run that takes long to be opened, and reads no journal of one that rests', async () => {
    const gate = Promise.withResolvers<void>()
    const reads: number[] = []
    let dying = (): void => {}
    const { clock, store, runner, created, status } = workers({
      slow: () => 'done',
      bad: () => {
        dying()
        return new Promise(() => {})
      },
    })
    await created('slow', 'slow')
    await pass(clock, 31_000, 1_000)
    const opening: Store = { ...store, read: async (...asked) => (reads.push(clock.now()), await gate.promise, store.read(...asked)), close: async () => {} }
    const worker = runner({ store: opening })
    worker.start({ everyMs: 100 })
    await pass(clock, 2_000)
    expect(reads).toHaveLength(1)
    gate.resolve()
    await pass(clock, 500)
    expect(await status('slow')).toBe('completed')
    await worker.close()

    for (let deaths = 0; deaths < 3; deaths++) {
      const process = mortalProcess(store)
      dying = process.kill
      void runner({ store: process.store }).run('bad', {}, { runId: 'bad' })
      await pass(clock, 50)
    }
    reads.length = 0
    const next = runner({ store: opening })
    next.start({ everyMs: 100 })
    await pass(clock, 1_500)
    expect(reads).toHaveLength(1)
    await next.close()
  })

  it('warns of it once where nobody listens', async () => {
    const { clock, runner, created } = workers({ a: () => 'done' })
    await created('a', 'old')
    await pass(clock, 31_000, 1_000)
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const worker = runner({ agents: [defineAgent('a', () => 'new', { version: '2' })], redact: [/version "\d"/] })
    worker.start()
    await pass(clock, 30_000, 1_000)
    await worker.close()
    const warnings = emit.mock.calls.map(([text, options]) => [String(text), (options as { code?: string }).code])
    emit.mockRestore()
    expect(warnings).toEqual([[expect.stringMatching(/^run "old" was not recovered: .*agent "a" has /), 'RUN_MISMATCH']])
    expect(warnings[0]![0]).not.toContain('version "2"')
  })

  it('goes on after the store could not be asked for runs', async () => {
    const { clock, store, runner, created, status } = workers({ a: () => 'done' })
    await created('a', 'r')
    await pass(clock, 31_000, 1_000)
    let isDown = true
    const flaky: Store = { ...store, list: async (filter) => (isDown ? Promise.reject(new Error('connection refused')) : store.list(filter)), close: async () => {} }
    const told: (readonly [unknown, string | undefined])[] = []
    const worker = runner({ store: flaky })
    worker.start({ everyMs: 1_000, onError: (error, runId) => void told.push([error, runId]) })
    await pass(clock, 2_500)
    expect(told.map(([error, runId]) => [(error as Error).message, runId])).toEqual([['connection refused', undefined], ['connection refused', undefined], ['connection refused', undefined]])
    isDown = false
    await pass(clock, 1_500)
    expect([await status('r'), told.length]).toEqual(['completed', 3])
    await worker.close()
  })

  it('that is closed begins nothing any more, drains what it drives, and leaves no timer; another goes on at once', async () => {
    const gate = Promise.withResolvers<void>()
    const done: string[] = []
    const { clock, store, runner, created } = workers({
      a: async (run) => {
        await run.step('first', async () => (await gate.promise, done.push(`first of ${run.runId}`)))
        return run.step('second', () => done.push(`second of ${run.runId}`))
      },
    })
    await created('a', 'r-1')
    await pass(clock, 100)
    await created('a', 'r-2')
    await pass(clock, 31_000, 1_000)
    const worker = runner({ drainMs: 5_000 })
    worker.start({ concurrency: 1 })
    await pass(clock, 100)
    const closing = worker.close()
    gate.resolve()
    await during(clock, closing)
    expect(done).toEqual(['first of r-1'])
    expect(await store.get('r-1')).toMatchObject({ status: 'suspended', owner: null, resumeAt: expect.any(Number) })
    expect(await store.get('r-2')).toMatchObject({ status: 'running', token: 0 })
    expect(() => worker.start()).toThrow(/RUNNER_CLOSED|closed/)
    const next = runner()
    next.start()
    await pass(clock, 200)
    await next.close()
    expect(clock.pending).toBe(0)
    expect(done.toSorted()).toEqual(['first of r-1', 'first of r-2', 'second of r-1', 'second of r-2'])
  })
})
