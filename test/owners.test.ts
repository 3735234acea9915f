/** Who drives a run, and how an attempt ends (R9, R10; B5, B9-B11, D1, D2). */
import { AsyncResource } from 'node:async_hooks'
import { tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../src/core/clock.ts'
import { createRunner, defineAgent, memoryStore, type RunEvent } from '../src/index.ts'
import type { Store } from '../src/journal/store.ts'
import { later } from './support/crash.ts'
import { refusing } from './support/refusing-store.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

describe('two that want the same run', () => {
  it('one drives it, the other is told so and has done nothing (D1)', async () => {
    const gate = Promise.withResolvers<void>()
    let started = 0
    const agent = defineAgent('a', async () => {
      started++
      await gate.promise
      return 'done'
    })
    const store = memoryStore()
    const [one, two] = [createRunner({ agents: [agent], store }), createRunner({ agents: [agent], store })]
    const first = one.run(agent, 1, { runId: 'r' })
    while (started === 0) await turn()
    expect(await two.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'running', owner: expect.stringMatching(/pid \d+ on /) })
    gate.resolve()
    expect(await first).toMatchObject({ status: 'completed' })
    expect(started).toBe(1)
  })

  it('the one whose lease was taken over has its writes refused, and its result is not used (D2)', async () => {
    const store = memoryStore()
    const gate = Promise.withResolvers<void>()
    const agent = defineAgent('a', async (run) => {
      const value = await run.read('slow', async () => (run.attempt === 1 && (await gate.promise), `read by attempt ${run.attempt}`))
      return run.step('use', { input: value }, () => value)
    })
    const paused = createRunner({ agents: [agent], store }).run(agent, 1, { runId: 'r' }).catch((error: unknown) => error)
    while ((await store.get('r'))?.token !== 1) await turn()
    await turn()
    const other = createRunner({ agents: [agent], store, clock: later() })
    expect(await other.resume('r')).toEqual({ status: 'completed', result: 'read by attempt 2' })
    gate.resolve()
    expect(await paused).toMatchObject({ code: 'LEASE_LOST' })
  })
})

describe('a lease that is over without its owner having noticed', () => {
  it('ends the attempt before it begins where its process stood still while it read the run', async () => {
    let asleepMs = 0
    let begun = 0
    let calls = 0
    const inner = memoryStore()
    const store: Store = {
      ...inner,
      read: async (runId, after) => {
        if ((await inner.get(runId))?.owner) asleepMs = 3_600_000
        return inner.read(runId, after)
      },
    }
    const clock = { ...systemClock, now: () => systemClock.now() + asleepMs }
    const agent = defineAgent('a', async (run) => (begun++, run.step('outer', { idempotent: true }, () => run.step('pay', () => ++calls))))
    await expect(createRunner({ agents: [agent], store, clock }).run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect([begun, calls]).toEqual([0, 0])
    expect(await createRunner({ agents: [agent], store: inner, clock }).resume('r')).toEqual({ status: 'completed', result: 1 })
  })

  it('lets no step with effects start, and ends the attempt: it is looked at right before (R9)', async () => {
    let asleepMs = 0
    const inner = memoryStore()
    const store: Store = {
      ...inner,
      append: async (runId, batch) => {
        await inner.append(runId, batch)
        if (batch.entries.some(({ body }) => body.includes('"step-started"'))) asleepMs = 3_600_000
      },
    }
    let calls = 0
    const agent = defineAgent('a', async (run) => run.step('pay', () => ++calls))
    const runner = createRunner({ agents: [agent], store, clock: { ...systemClock, now: () => systemClock.now() + asleepMs }, drainMs: 1 })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await runner.close()
    expect(calls).toBe(0)
    const next = createRunner({ agents: [agent], store: inner, clock: { ...systemClock, now: () => systemClock.now() + asleepMs } })
    expect(await next.resume('r')).toEqual({ status: 'completed', result: 1 })
  })
})

describe('a run that its former owner ended after all', () => {
  it('is not driven again by who took it over in between', async () => {
    const store = memoryStore()
    let handled = 0
    const agent = defineAgent('a', async () => ++handled)
    await createRunner({ agents: [agent], store }).run(agent, 1, { runId: 'r' })
    await store.take('r', { expectedToken: 1, owner: 'another', leaseUntil: 0, now: Date.now() })
    expect(await store.get('r')).toMatchObject({ status: 'running' })
    expect(await createRunner({ agents: [agent], store }).resume('r')).toEqual({ status: 'completed', result: 1 })
    expect(handled).toBe(1)
  })
})

describe('endings', () => {
  it('an abort of the caller ends the attempt with its own reason, keeps what was done, and the run can be resumed (B11)', async () => {
    const reason = new Error('user left')
    const controller = new AbortController()
    let looked = 0
    const agent = defineAgent('a', async (run) => {
      await run.step('first', () => ++looked)
      if (run.attempt === 1) {
        queueMicrotask(() => controller.abort(reason))
        await run.read('long', () => new Promise(() => {}))
      }
      return looked
    })
    const runner = createRunner({ agents: [agent], store: memoryStore() })
    await expect(runner.run(agent, 1, { runId: 'r', signal: controller.signal })).rejects.toBe(reason)
    expect(await runner.get('r')).toMatchObject({ status: 'suspended', owner: null })
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 1 })
  })

  it('a runner that is closed lets running steps end, starts none, and gives the lease back (B9)', async () => {
    const gate = Promise.withResolvers<void>()
    const done: string[] = []
    const agent = defineAgent('a', async (run) => {
      await run.step('first', async () => (await gate.promise, done.push('first')))
      await run.step('second', () => done.push('second'))
      return 'done'
    })
    const store = memoryStore()
    const closing = createRunner({ agents: [agent], store })
    const outcome = closing.run(agent, 1, { runId: 'r' })
    while ((await store.read('r')).length < 3) await turn()
    const closed = closing.close()
    gate.resolve()
    expect(await outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'draining' }] })
    await closed
    expect(done).toEqual(['first'])
    await expect(closing.resume('r')).rejects.toMatchObject({ code: 'RUNNER_CLOSED' })
    expect(await createRunner({ agents: [agent], store }).resume('r')).toEqual({ status: 'completed', result: 'done' })
    expect(done).toEqual(['first', 'second'])
  })

  it('an answer that came while the run was driven and cannot be taken in ends the attempt with that, and the lease is given back', async () => {
    const store = memoryStore()
    const other = createRunner({ agents: [], store })
    const refund = tool({ inputSchema: z.object({}), execute: () => 'done' })
    const agent = defineAgent('a', async (run) => run.tools({ refund }, { refund: { approval: true } }).refund.execute!({}, { toolCallId: 'c1', messages: [], context: {} }))
    const answered: Store = { ...store, append: async (runId, batch) => {
      if (batch.entries.some(({ body }) => body.includes('"suspended"'))) await other.approve('r', '0')
      return store.append(runId, batch)
    } }
    const busy = createRunner({ agents: [agent], store: refusing(answered, /"approval-decided"/).store, idleMs: 5 })
    await expect(busy.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await store.get('r')).toMatchObject({ owner: null })
    expect(await createRunner({ agents: [agent], store }).resume('r')).toMatchObject({ status: 'completed', result: 'done' })
  })

  it('steps that nobody waits for are recorded before the run ends (B10)', async () => {
    const agent = defineAgent('a', async (run) => {
      void run.step('beside', async () => (await turn(), 'kept'))
      return 'done'
    })
    const runner = createRunner({ agents: [agent], store: memoryStore() })
    expect(await runner.run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
    const types = (await runner.history('r')).map(({ entry }) => entry.type)
    expect(types.indexOf('step-ended')).toBeGreaterThan(0)
    expect(types.indexOf('step-ended')).toBeLessThan(types.indexOf('run-ended'))
  })

  it('a step that is asked for after its branch has ended is refused', async () => {
    const agent = defineAgent('a', async (run) => {
      const late = await run.branch('x', async () => AsyncResource.bind(() => run.step('late', () => 1)))
      return late()
    })
    await expect(createRunner({ agents: [agent], store: memoryStore() }).run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'BRANCH_ENDED' })
  })
})

describe('the time of a run', () => {
  it('ends it also when its handler hangs outside of steps, and what was done is kept', async () => {
    let done = 0
    const agent = defineAgent('a', async (run) => {
      await run.step('first', () => ++done)
      if (run.attempt === 1) await new Promise(() => {})
      return done
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), timeouts: { runMs: 40 } })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_TIMEOUT' })
    expect(await runner.get('r')).toMatchObject({ status: 'failed', owner: null })
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 1 })
  })

  it('is the error of the run also when a step with effects hangs; that step is in doubt', async () => {
    const agent = defineAgent('a', async (run) => run.step('hang', () => new Promise(() => {})))
    const runner = createRunner({ agents: [agent], store: memoryStore(), timeouts: { runMs: 40 }, idleMs: 5, drainMs: 20 })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_TIMEOUT' })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0', effects: ['0'] }] })
  })
})

describe('who listens', () => {
  it('has no part in the run, whether it throws at once or later', async () => {
    const agent = defineAgent('a', async (run) => run.step('one', () => 1))
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    for (const onEvent of [() => { throw new Error('at once') }, async () => { throw new Error('later') }]) {
      expect(await createRunner({ agents: [agent], store: memoryStore(), onEvent }).run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed' })
    }
    await turn()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})

describe('after the run was suspended', () => {
  it('what its handler still asks for never settles: nobody acts on an end that there was not (R10)', async () => {
    const gate = Promise.withResolvers<void>()
    const told: string[] = []
    const agent = defineAgent('a', async (run) => {
      const late = async () => {
        await gate.promise
        await run.read('more', () => told.push('ran')).catch(() => told.push('threw'))
        told.push('settled')
      }
      void late()
      await run.step('pay', () => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET' }))).catch(() => {})
      return run.step('pay', () => 'receipt')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5 })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    gate.resolve()
    for (let i = 0; i < 10; i++) await turn()
    expect(told).toEqual([])
  })
})

describe('after the handler has returned', () => {
  it('a step that is asked for is refused, and does not hang', async () => {
    const late = Promise.withResolvers<unknown>()
    const agent = defineAgent('a', async (run) => {
      setTimeout(() => run.step('late', () => 1).then(late.resolve, late.resolve), 5)
      return 'done'
    })
    await createRunner({ agents: [agent], store: memoryStore() }).run(agent, 1, { runId: 'r' })
    expect(await late.promise).toMatchObject({ code: 'BRANCH_ENDED' })
  })
})

describe('what a run tells', () => {
  it('as a stream of events in order, with the outcome', async () => {
    const agent = defineAgent('a', async (run) => run.step('one', () => 1))
    const stream = createRunner({ agents: [agent], store: memoryStore() }).stream(agent, 1, { runId: 'r' })
    const events: RunEvent[] = []
    for await (const event of stream) events.push(event)
    expect(events.map((e) => e.type)).toEqual(['run-started', 'step-started', 'step-finished', 'attempt-ended', 'run-completed'])
    expect(await stream.outcome).toEqual({ status: 'completed', result: 1 })
  })

  it('to who waits for its result from elsewhere', async () => {
    const gate = Promise.withResolvers<void>()
    const agent = defineAgent('a', async () => (await gate.promise, 'done'))
    const store = memoryStore()
    const driving = createRunner({ agents: [agent], store }).run(agent, 1, { runId: 'r' })
    while (!(await store.get('r'))) await turn()
    const waiting = createRunner({ agents: [agent], store }).result('r', { pollMs: 1 })
    gate.resolve()
    expect(await waiting).toEqual({ status: 'completed', result: 'done' })
    await driving
  })
})
