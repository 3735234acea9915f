/** A store that refuses a record once, and takes what comes next: what is known is not forgotten (R3, R6, C20). */
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, HoldfastError, memoryStore, type Store } from '../src/index.ts'
import { sleep } from '../src/core/clock.ts'
import { manualClock } from '../src/testing/index.ts'
import { during } from './support/time.ts'

/** Refuses the first call of a method whose arguments match. */
function refusing(inner: Store, method: 'append' | 'send', what: RegExp): Store {
  let isRefused = false
  return new Proxy(inner, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        if (property === method && !isRefused && what.test(JSON.stringify(args))) {
          isRefused = true
          throw new HoldfastError('STORE_UNAVAILABLE', 'database is locked')
        }
        return (value as (...a: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}

describe('of a step with effects', () => {
  it('the result whose record the store refused once is told by the inbox: nobody is asked', async () => {
    const clock = manualClock(1_000_000)
    let calls = 0
    const agent = defineAgent('a', (run) => run.step('charge', () => `receipt ${++calls}`))
    const runner = createRunner({ agents: [agent], store: refusing(memoryStore(), 'append', /step-ended/), clock, idleMs: 5 })
    expect(await during(clock, runner.run(agent, 1, { runId: 'r' }))).toEqual({ status: 'completed', result: 'receipt 1' })
    expect(calls).toBe(1)
  })

  it('the late result that the store refused once is sent again', async () => {
    const clock = manualClock(1_000_000)
    let calls = 0
    const agent = defineAgent('a', (run) => {
      const charge = (): Promise<string> => run.step('charge', { key: 'k', timeoutMs: 100 }, () => (calls++, sleep(clock, 1_000).then(() => 'receipt')))
      return charge().catch(() => charge())
    })
    const runner = createRunner({ agents: [agent], store: refusing(memoryStore(), 'send', /late-result/), clock, idleMs: 5 })
    expect(await during(clock, runner.run(agent, 1, { runId: 'r' }))).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    await clock.advance(1_000)
    await clock.advance(1_000)
    expect(await during(clock, runner.resume('r'))).toEqual({ status: 'completed', result: 'receipt' })
    expect(calls).toBe(1)
  })
})
