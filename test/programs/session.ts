/**
 * One process: everything that it does outside of itself crosses a seam, and at any crossing it can be killed. A killed process
 * does nothing any more: what it was about to do does not happen, what it waits for does not return.
 */
import type { Clock } from '../../src/core/clock.ts'
import { seededRandom, type Random } from '../../src/core/random.ts'
import type { Disturbance, Program } from './program.ts'
import type { Timeline } from './timeline.ts'
import type { World } from './world.ts'

/** Latencies, ms. */
const MAX_LATENCY_MS = 40

export const never = <T>(): Promise<T> => new Promise(() => {})

export class Session {
  readonly program: Program
  readonly world: World
  readonly timeline: Timeline
  readonly number: number
  readonly disturbance: Disturbance
  readonly random: Random
  /** Nothing of it happens any more. */
  frozen = false
  /** Crossings so far. */
  crossings = 0
  /** Where it was killed, for the log. */
  killedAt: string | undefined
  /** Told when it is to be closed. */
  onClose: () => void = () => {}
  /** Positions whose code ran in this process. */
  readonly live = new Set<string>()
  /** Positions that got an end in this process. */
  readonly ended = new Set<string>()
  /** Positions whose result was announced as not recorded. */
  readonly unrecorded = new Set<string>()
  /** Positions that may run again although they finished. */
  readonly excused = new Set<string>()
  /** Positions that are asked for and have no outcome; how many of each. */
  readonly open = new Map<string, number>()
  /** Of those, whose records the store may have refused. */
  readonly refusedWhileOpen = new Set<string>()

  constructor(options: { program: Program; world: World; timeline: Timeline; number: number; disturbance: Disturbance }) {
    this.program = options.program
    this.world = options.world
    this.timeline = options.timeline
    this.number = options.number
    this.disturbance = options.disturbance
    this.random = seededRandom(options.program.seed * 1000 + options.number)
  }

  opened(position: string): void {
    this.open.set(position, (this.open.get(position) ?? 0) + 1)
  }

  closed(position: string): void {
    const left = (this.open.get(position) ?? 1) - 1
    if (left > 0) this.open.set(position, left)
    else this.open.delete(position)
  }

  /** The outcome of a call is not one of an earlier attempt. */
  isFresh(position: string): boolean {
    return this.live.has(position) || this.ended.has(position)
  }

  get name(): string {
    return `#${this.number}`
  }

  /** Crosses a seam. True: the process is dead, nothing may follow. */
  cross(seam: string): boolean {
    if (this.frozen) return true
    this.timeline.activity++
    this.crossings++
    if (this.crossings === this.disturbance.close) this.onClose()
    if (this.crossings !== this.disturbance.kill) return false
    this.kill(seam)
    return true
  }

  kill(seam: string): void {
    if (this.frozen) return
    this.frozen = true
    this.killedAt = seam
    this.timeline.activity++
    this.world.log.push(`${this.name} KILLED at crossing ${this.crossings}, ${seam}`)
  }

  /** Takes a moment, or none; never returns in a dead process. */
  async latency(): Promise<void> {
    if (this.random() < 0.5) return
    await this.wait(Math.ceil(this.random() * MAX_LATENCY_MS))
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.timer(ms, resolve)
    })
  }

  readonly clock: Clock = {
    now: () => this.timeline.now(),
    timer: (ms, fn) => {
      if (this.frozen) return () => {}
      return this.timeline.timer(ms, () => {
        if (!this.cross('clock')) fn()
      })
    },
    idle: async () => {
      if (this.frozen) return never()
      await this.timeline.idle()
      return this.frozen ? never() : undefined
    },
  }
}
