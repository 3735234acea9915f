/** The limit until the first part of an answer, and how it hands over to the idle limit. */
import { describe, expect, it } from 'vitest'
import { manualClock } from '../core/manual-clock.ts'
import { startLimits } from './timeout.ts'
import type { Limits } from './timeout.ts'

function started(limits: Limits) {
  const clock = manualClock()
  const reached: [string, number][] = []
  return { clock, reached, running: startLimits(limits, clock, (limit) => reached.push([limit, clock.now()])) }
}

describe('a limit for the first part', () => {
  it('is reached where nothing begins, also while there is progress', async () => {
    const { clock, reached, running } = started({ firstPartTimeoutMs: 100, idleTimeoutMs: 30 })
    await clock.advance(60)
    running.progress()
    await clock.advance(1_000)
    expect(reached).toEqual([['first-part', 100]])
    expect(clock.pending).toBe(0)
  })

  it('ends with the first part, from which on the idle limit counts', async () => {
    const { clock, reached, running } = started({ firstPartTimeoutMs: 100, idleTimeoutMs: 30 })
    await clock.advance(99)
    running.begin()
    await clock.advance(29)
    running.progress()
    running.begin()
    await clock.advance(29)
    expect(reached).toEqual([])
    await clock.advance(1)
    expect(reached).toEqual([['idle', 158]])
  })

  it('leaves the total as it is', async () => {
    const { clock, reached, running } = started({ timeoutMs: 150, firstPartTimeoutMs: 100 })
    await clock.advance(50)
    running.begin()
    await clock.advance(1_000)
    expect(reached).toEqual([['total', 150]])
  })

  it('stands still while the work is paused, also where it begins meanwhile', async () => {
    const { clock, reached, running } = started({ firstPartTimeoutMs: 100, idleTimeoutMs: 30 })
    const one = running.pause()
    await clock.advance(1_000)
    one()
    await clock.advance(50)
    const two = running.pause()
    running.begin()
    await clock.advance(1_000)
    expect(reached).toEqual([])
    two()
    await clock.advance(30)
    expect(reached).toEqual([['idle', 2_080]])
  })

  it('does nothing after the end', async () => {
    const { clock, reached, running } = started({ firstPartTimeoutMs: 100, idleTimeoutMs: 30 })
    running.stop()
    running.begin()
    await clock.advance(1_000)
    expect(reached).toEqual([])
  })
})

describe('without a limit for the first part', () => {
  it('the idle limit counts from the beginning', async () => {
    const { clock, reached } = started({ idleTimeoutMs: 30 })
    await clock.advance(30)
    expect(reached).toEqual([['idle', 30]])
  })
})

describe('Infinity', () => {
  it('is no limit, and arms nothing', () => {
    expect(started({ timeoutMs: Infinity, firstPartTimeoutMs: Infinity, idleTimeoutMs: Infinity }).clock.pending).toBe(0)
  })
})
