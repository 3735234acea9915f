import { describe, expect, it } from 'vitest'
import { sleep } from './clock.ts'
import { manualClock } from './manual-clock.ts'

describe('manualClock', () => {
  it('fires what falls due in order of its time, ties in order of arming, and shows each its own time', async () => {
    const clock = manualClock(1_000)
    const fired: string[] = []
    for (const [ms, name] of [[30, 'c'], [10, 'a'], [20, 'b1'], [20, 'b2'], [40, 'd']] as const) {
      clock.timer(ms, () => fired.push(`${name}@${clock.now()}`))
    }
    await clock.advance(30)
    expect(fired).toEqual(['a@1010', 'b1@1020', 'b2@1020', 'c@1030'])
    expect(clock.now()).toBe(1_030)
    expect(clock.pending).toBe(1)
  })

  it('lets what a timer sets going arm the next one within the same advance', async () => {
    const clock = manualClock()
    const seen: number[] = []
    const done = (async () => {
      for (let i = 0; i < 3; i++) {
        await sleep(clock, 10)
        seen.push(clock.now())
      }
    })()
    await clock.advance(30)
    await done
    expect(seen).toEqual([10, 20, 30])
  })

  it('does not fire what was disarmed, and counts it out', async () => {
    const clock = manualClock()
    let fired = false
    const disarm = clock.timer(5, () => { fired = true })
    expect(clock.pending).toBe(1)
    disarm()
    expect(clock.pending).toBe(0)
    await clock.advance(10)
    expect(fired).toBe(false)
  })
})
