import { describe, expect, it } from 'vitest'
import type { Clock } from '../../core/clock.ts'
import { turns, whenUnlocked } from './lock.ts'

const BUSY = Object.assign(new Error('database is locked'), { errcode: 5 })

/** A clock whose timers fire at once, moving the time; it notes how long each was to wait. */
function jumpingClock(): Clock & { readonly waits: number[] } {
  let time = 0
  const waits: number[] = []
  return {
    waits,
    now: () => time,
    timer(ms, fn) {
      waits.push(ms)
      time += ms
      queueMicrotask(fn)
      return () => undefined
    },
    idle: async () => undefined,
  }
}

function busyTimes(times: number): () => string {
  let left = times
  return () => {
    if (left-- > 0) throw BUSY
    return 'done'
  }
}

describe('whenUnlocked', () => {
  it('does not wait when nobody holds the lock', async () => {
    const clock = jumpingClock()
    expect(await whenUnlocked(clock, 1000, busyTimes(0))).toBe('done')
    expect(clock.waits).toEqual([])
  })

  it('looks again soon at first, then every 20 ms', async () => {
    const clock = jumpingClock()
    expect(await whenUnlocked(clock, 1000, busyTimes(10))).toBe('done')
    expect(clock.waits).toEqual([1, 1, 2, 3, 5, 8, 13, 20, 20, 20])
  })

  it('gives up with the error of the lock, after a last look at the very end', async () => {
    const clock = jumpingClock()
    await expect(whenUnlocked(clock, 30, busyTimes(Infinity))).rejects.toBe(BUSY)
    expect(clock.waits).toEqual([1, 1, 2, 3, 5, 8, 10])
    expect(clock.now()).toBe(30)
  })

  it('tries once when it may not wait', async () => {
    const clock = jumpingClock()
    await expect(whenUnlocked(clock, 0, busyTimes(1))).rejects.toBe(BUSY)
    expect(clock.waits).toEqual([])
  })

  it('does not try again after another error', async () => {
    let calls = 0
    await expect(whenUnlocked(jumpingClock(), 1000, () => {
      calls++
      throw new Error('disk I/O error')
    })).rejects.toThrow('disk I/O error')
    expect(calls).toBe(1)
  })
})

describe('turns', () => {
  it('lets nobody overtake one that waits, and goes on after a failure', async () => {
    const order: string[] = []
    const queue = turns()
    const gate = Promise.withResolvers<void>()
    const first = queue.take(async () => {
      await gate.promise
      order.push('first')
      throw new Error('failed')
    })
    const second = queue.take(async () => void order.push('second'))
    const over = queue.over().then(() => order.push('over'))
    gate.resolve()
    await expect(first).rejects.toThrow('failed')
    await Promise.all([second, over])
    expect(order).toEqual(['first', 'second', 'over'])
  })
})
