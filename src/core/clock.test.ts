import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sleep, systemClock } from './clock.ts'

const LONGEST_TIMER = 2 ** 31 - 1

describe('the system clock', () => {
  beforeEach(() => { vi.useFakeTimers() })
  afterEach(() => { vi.useRealTimers() })

  it.each([5_000, LONGEST_TIMER, LONGEST_TIMER + 1, 3 * LONGEST_TIMER + 7])('fires after %s ms and not before, also where one timer would overflow and fire at once (A11)', (ms) => {
    let fired = 0
    systemClock.timer(ms, () => fired++)
    vi.advanceTimersByTime(ms - 1)
    expect(fired).toBe(0)
    vi.advanceTimersByTime(1)
    expect(fired).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('disarms a long timer in any of its pieces', () => {
    let fired = 0
    const disarm = systemClock.timer(2 * LONGEST_TIMER, () => fired++)
    vi.advanceTimersByTime(LONGEST_TIMER + 1)
    disarm()
    vi.advanceTimersByTime(2 * LONGEST_TIMER)
    expect(fired).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends a long sleep with the reason of the signal, and leaves no timer (A12)', async () => {
    const controller = new AbortController()
    const sleeping = sleep(systemClock, 2 * LONGEST_TIMER, controller.signal)
    controller.abort('stop')
    await expect(sleeping).rejects.toBe('stop')
    expect(vi.getTimerCount()).toBe(0)
  })
})
