/** Simulated time for everything of one run: moves to the next timer when the event loop has run dry. */
import { manualClock, type ManualClock } from '../../src/core/manual-clock.ts'

/** So many turns of the event loop without anything happening: it has run dry. */
const QUIET_TURNS = 2

/** So many turns while time stands still: it never will. */
const MAX_TURNS = 100_000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export class Timeline {
  readonly clock: ManualClock = manualClock(Date.UTC(2030, 0, 1))
  /** Counts everything that happens. */
  activity = 0
  /** Waits for the event loop that are not over. */
  idling = 0
  readonly #due = new Set<{ readonly at: number }>()

  now(): number {
    return this.clock.now()
  }

  /** Calls `fn` after `ms`; the returned function disarms it. */
  timer(ms: number, fn: () => void): () => void {
    const due = { at: this.clock.now() + Math.max(0, ms) }
    this.#due.add(due)
    const disarm = this.clock.timer(ms, () => {
      this.#due.delete(due)
      this.activity++
      fn()
    })
    return () => {
      this.#due.delete(due)
      disarm()
    }
  }

  async idle(): Promise<void> {
    this.idling++
    await this.clock.idle()
    this.idling--
    this.activity++
  }

  /** Lets everything go on until `until` says so. Resolves to whether it did before `deadline` (ms since the epoch), within `maxSteps` timers, and without going round in circles. */
  async drive(until: () => boolean, deadline: number, maxSteps: number): Promise<boolean> {
    for (let step = 0; step < maxSteps; step++) {
      const isDry = await this.#runDry(until)
      if (until()) return true
      if (!isDry) return false
      const next = this.#next()
      if (next === undefined || next > deadline) return false
      await this.clock.advance(next - this.clock.now())
    }
    return false
  }

  /** Moves time on while nothing is looked at. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms)
  }

  async #runDry(until: () => boolean): Promise<boolean> {
    let quiet = 0
    for (let turns = 0; quiet < QUIET_TURNS && !until(); turns++) {
      if (turns === MAX_TURNS) return false
      const before = this.activity
      await turn()
      quiet = this.activity === before && this.idling === 0 ? quiet + 1 : 0
    }
    return true
  }

  #next(): number | undefined {
    let next: number | undefined
    for (const { at } of this.#due) if (next === undefined || at < next) next = at
    return next
  }
}
