/** A runner that is closed: nothing of it goes on behind its back, and what it left is due at once for another (R10; B9). */
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type Store } from '../src/index.ts'
import { manualClock } from '../src/testing/index.ts'
import { during } from './support/time.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

/** A store whose next call of `method` waits for the gate; it outlives its runners. */
function slowStore(method: 'open' | 'get' | 'create' | 'read' | 'take' | 'inbox') {
  const kept = memoryStore()
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const log: string[] = []
  let isArmed = true
  const held = async (...args: unknown[]): Promise<unknown> => {
    if (isArmed) {
      isArmed = false
      reached.resolve()
      await gate.promise
    }
    return (kept[method] as (...asked: unknown[]) => Promise<unknown>)(...args)
  }
  const logged = Object.fromEntries(Object.entries({ ...kept, [method]: held, close: async () => {} }).map(([name, call]) =>
    [name, typeof call === 'function' ? (...args: never[]) => (log.push(name), (call as (...asked: never[]) => unknown)(...args)) : call]))
  return { kept, store: logged as unknown as Store, gate, reached: reached.promise, log }
}

describe('a runner that is closed while a run is opened', () => {
  it.each(['open', 'get', 'create', 'read', 'take', 'inbox'] as const)('waits for it (%s), drives nothing of it, and closes the store after that', async (method) => {
    const { kept, store, gate, reached, log } = slowStore(method)
    const calls: number[] = []
    const agent = defineAgent('a', async (run) => {
      calls.push(run.attempt)
      return run.step('pay', () => 'receipt')
    })
    const runner = createRunner({ agents: [agent], store })
    const outcome = runner.run(agent, 1, { runId: 'r' })
    await reached
    const closed = runner.close()
    for (let i = 0; i < 5; i++) await turn()
    expect(log).not.toContain('close')
    gate.resolve()
    expect(await outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'draining' }] })
    await closed
    expect(log.indexOf('close')).toBe(log.length - 1)
    expect(calls).toEqual([])
    expect(await kept.get('r')).toMatchObject({ status: 'suspended', owner: null, resumeAt: expect.any(Number) })
    expect(await createRunner({ agents: [agent], store: kept }).resume('r')).toEqual({ status: 'completed', result: 'receipt' })
    expect(calls).toEqual([2])
  })

  it('waits for a look for runs that is on its way', async () => {
    const kept = memoryStore()
    const gate = Promise.withResolvers<void>()
    const log: string[] = []
    const worker = createRunner({
      agents: [],
      store: { ...kept, list: async (filter) => (await gate.promise, log.push('list'), kept.list(filter)), close: async () => void log.push('close') },
    })
    worker.start()
    await turn()
    const closed = worker.close()
    await turn()
    gate.resolve()
    await closed
    expect(log).toEqual(['list', 'list', 'close'])
  })

  it('waits for a decision that is on its way', async () => {
    const kept = memoryStore()
    const agent = defineAgent('a', async (run) => run.step('pay', () => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET' }))).catch(() => run.step('pay', () => 'receipt')))
    const outcome = await createRunner({ agents: [agent], store: kept, idleMs: 5 }).run(agent, 1, { runId: 'r' })
    const step = outcome.status === 'suspended' ? (outcome.reasons[0] as { step: string }).step : ''
    const gate = Promise.withResolvers<void>()
    const log: string[] = []
    const deciding = createRunner({
      agents: [agent],
      store: { ...kept, read: async (...asked) => (await gate.promise, kept.read(...asked)), send: async (...asked) => (log.push('send'), kept.send(...asked)), close: async () => void log.push('close') },
    })
    const decided = deciding.resolve('r', step, 'skip')
    await turn()
    const closed = deciding.close()
    await turn()
    gate.resolve()
    await Promise.all([decided, closed])
    expect(log).toEqual(['send', 'close'])
  })
})

describe('a run whose runner was closed', () => {
  it.each([
    ['its next step waits', async (step: Promise<unknown>) => step],
    ['its handler hangs outside of steps', async () => new Promise(() => {})],
  ])('is due at once where %s', async (_what, then) => {
    const clock = manualClock(1_000_000)
    const store = memoryStore()
    const started = Promise.withResolvers<void>()
    const agent = defineAgent('a', async (run) => {
      await run.step('first', async () => started.resolve())
      await turn()
      await then(run.attempt > 1 ? Promise.resolve() : turn().then(() => run.step('second', () => 1)))
      return 'done'
    })
    const runner = createRunner({ agents: [agent], store: { ...store, close: async () => {} }, clock, drainMs: 2_000 })
    const outcome = runner.run(agent, 1, { runId: 'r' })
    await started.promise
    const closed = runner.close()
    await during(clock, closed)
    expect(await outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'draining' }], resumeAt: expect.any(Number) })
    expect(await store.list({ dueBy: clock.now() })).toMatchObject([{ runId: 'r' }])
  })

  it('waits for its caller where that one stopped it before', async () => {
    const store = memoryStore()
    const controller = new AbortController()
    const agent = defineAgent('a', async (run) => run.read('page', () => new Promise(() => controller.abort(new Error('user left')))))
    const runner = createRunner({ agents: [agent], store: { ...store, close: async () => {} } })
    const failure = runner.run(agent, 1, { runId: 'r', signal: controller.signal }).catch((error: unknown) => error)
    expect(await failure).toMatchObject({ message: 'user left' })
    await runner.close()
    expect(await store.get('r')).toMatchObject({ status: 'suspended', resumeAt: null })
  })
})
