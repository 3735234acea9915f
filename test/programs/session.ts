/**
 * One process: everything that it does outside of itself crosses a seam, and at any crossing it can be killed. A killed process
 * does nothing any more: what it was about to do does not happen, what it waits for does not return.
 */
import type { Clock } from '../../src/core/clock.ts'
import type { ApprovalReason } from '../../src/index.ts'
import { seededRandom, type Random } from '../../src/core/random.ts'
import type { Disturbance, Program } from './program.ts'
import type { Timeline } from './timeline.ts'
import type { World } from './world.ts'

/** Latencies, ms. */
const MAX_LATENCY_MS = 40

/** Longer than the time limit of tools, shorter than the lease. */
const NAP_MS = 4_000

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
  /** It was paused: another process may have taken over. */
  zombie = false
  /** When it was, in the world's events: what it had recorded by then came before what others record. */
  pausedAt = 0
  /** The same in ms of the simulated clock. */
  pausedMs = 0
  /** Its attempt has come to an end by itself. */
  isOver = false
  /** It has taken the lease. */
  drove = false
  #paused: PromiseWithResolvers<void> | undefined
  /** Timers that fell due while it was paused. */
  readonly #late: (() => void)[] = []
  readonly #meanwhile: { readonly at: number; readonly fn: () => void }[] = []
  /** Crossings so far. */
  crossings = 0
  /** Where it was killed, for the log. */
  killedAt: string | undefined
  /** Told when it is to be closed. */
  onClose: () => void = () => {}
  /** Told when it asks somebody whether a call may be made. */
  onQuestion: (question: ApprovalReason) => void = () => {}
  /** Positions whose code ran in this process. */
  readonly live = new Set<string>()
  /** Positions whose code was about to be called when the process was paused: that it still is called is what nobody can keep it from (R18). */
  readonly imminent = new Set<string>()
  /** Positions that got an end in this process. */
  readonly ended = new Set<string>()
  /** Positions that somebody had answered for when it began. */
  readonly answeredBefore: ReadonlySet<string>
  /** By step id as the library tells it in this process, the position. */
  readonly steps = new Map<string, string>()
  /** Ids of steps whose end was announced, and of those that were answered from the journal. */
  readonly finished = new Set<string>()
  readonly replayed = new Set<string>()
  /** Positions whose result was announced as not recorded. */
  readonly unrecorded = new Set<string>()
  /** Positions that may run again although they finished. */
  readonly excused = new Set<string>()
  /** Positions that are asked for and have no outcome; how many of each. */
  readonly open = new Map<string, number>()
  /** Positions that were asked for and whose outcome nobody has seen, also where the code that asked is not waited for any more. */
  readonly untold = new Set<string>()
  /** Of those that are open, whose records the store may have refused. */
  readonly refusedWhileOpen = new Set<string>()

  constructor(options: { program: Program; world: World; timeline: Timeline; number: number; disturbance: Disturbance }) {
    this.program = options.program
    this.world = options.world
    this.timeline = options.timeline
    this.number = options.number
    this.disturbance = options.disturbance
    this.random = seededRandom(options.program.seed * 1000 + options.number)
    this.answeredBefore = new Set([...options.world.calls.values()].filter(({ isAnswered }) => isAnswered).map(({ spec }) => spec.position))
  }

  /** A step counts once, as what it was first: a handler that is driven again replays what the attempt has recorded. */
  tell(what: 'step-finished' | 'step-replayed', step: string): void {
    if (this.finished.has(step) || this.replayed.has(step)) return
    if (what === 'step-finished') this.finished.add(step)
    else this.replayed.add(step)
  }

  opened(position: string): void {
    this.open.set(position, (this.open.get(position) ?? 0) + 1)
    this.untold.add(position)
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

  /** Crosses a seam; a paused process does not return from it before it goes on. Resolves to whether the process is dead: then nothing may follow. */
  cross(seam: string): Promise<boolean> {
    this.#count(seam)
    return this.#gate().then(() => this.frozen)
  }

  /** Resolves when the process may go on. */
  async #gate(): Promise<void> {
    while (this.#paused && !this.frozen) await this.#paused.promise
    if (this.frozen) await never()
  }

  #count(seam: string): void {
    if (this.frozen) return
    this.timeline.activity++
    this.crossings++
    const { kill, close, pause, nap } = this.disturbance
    if (this.crossings === close) this.onClose()
    for (const { at, fn } of this.#meanwhile) if (at === this.crossings) fn()
    // Right before an effect, what was about to happen still does (R18): that is no place to look at.
    const isPlace = !seam.includes('effect') && !seam.includes('body')
    if (pause !== undefined && this.crossings >= pause && !this.zombie && isPlace) this.#pause(seam)
    // One that is to be paused for long does not fall asleep there either: it would wake up behind its lease.
    if (this.crossings === nap && (isPlace || pause === undefined)) this.#sleep(seam)
    if (this.crossings === kill) this.kill(seam)
  }

  /** Stands still for longer than its tools may take, but not than its lease. */
  #sleep(seam: string): void {
    this.#paused ??= Promise.withResolvers()
    this.world.altered = true
    this.world.log.push(`${this.name} SLEEPS at crossing ${this.crossings}, ${seam}`)
    this.timeline.timer(NAP_MS, () => {
      if (!this.zombie) this.thaw()
    })
  }

  /** Stands still for longer than its lease, while others go on. */
  #pause(seam: string): void {
    this.zombie = true
    this.pausedAt = this.world.now
    this.pausedMs = this.timeline.now()
    // Time limits are over that would not have been.
    this.world.altered = true
    this.#paused ??= Promise.withResolvers()
    this.world.log.push(`${this.name} PAUSED at crossing ${this.crossings}, ${seam}`)
  }

  /** Goes on, as if no time had passed. */
  thaw(): void {
    if (!this.#paused) return
    this.world.log.push(`${this.name} goes on`)
    this.#paused.resolve()
    this.#paused = undefined
    // What came in while it stood still may be seen before its timers are.
    const timers = (): void => {
      for (const fire of this.#late.splice(0)) fire()
    }
    if (this.crossings % 2 === 0) timers()
    else void this.timeline.idle().then(timers)
  }

  /** Does something when this process has crossed so many seams. */
  meanwhile(at: number, fn: () => void): void {
    this.#meanwhile.push({ at, fn })
  }

  get isPaused(): boolean {
    return this.#paused !== undefined && this.zombie
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
      let armed = true
      const fire = (): void => {
        if (!armed || this.frozen) return
        if (this.#paused) return void this.#late.push(fire)
        this.#count('clock')
        if (this.#paused) this.#late.push(fire)
        else if (!this.frozen) fn()
      }
      const disarm = this.timeline.timer(ms, fire)
      return () => {
        armed = false
        disarm()
      }
    },
    idle: async () => {
      await this.#gate()
      await this.timeline.idle()
      await this.#gate()
    },
  }
}
