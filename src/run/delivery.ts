/** Results are handed out one at a time, in the order of their records, the event loop running dry in between (R4). */
import { afterPromises, type Clock } from '../core/clock.ts'
import type { Ticket } from '../replay/claim.ts'
import type { Machine } from '../replay/machine.ts'
import { rememberAsked, type Asked, type GoesOn } from './current.ts'
import type { Ended } from './drive-end.ts'

interface Surroundings {
  readonly machine: Machine
  readonly clock: Clock
  /** How long a result is held back for an earlier one that was not asked for yet. */
  readonly holdMs: number
  readonly isOver: () => boolean
  /** Counts work as going on until it settles. */
  readonly track: (work: Promise<void>) => void
  /** Stops the clocks of the steps around these until what it returns is called: to be held back is no time of theirs. */
  readonly pause: (tickets: Iterable<Ticket>) => () => void
}

const NOTHING: GoesOn = { seen: 0 }

const isNewKey = ({ claim, record }: Ticket): boolean => claim.place.type === 'key' && !record

export class Delivery {
  readonly #around: Surroundings
  readonly #ends = new Map<Ticket, Ended>()
  readonly #callers = new Map<Ticket, { readonly give: (ended: Ended) => void; readonly asked: Asked | undefined }>()
  /** What was handed out or has ended last, until all promises have gone on: what is asked for meanwhile goes on from it. By then something else may go on. */
  #goesOn: GoesOn = NOTHING
  #isRunning = false
  #poke: () => void = () => {}

  constructor(around: Surroundings) {
    this.#around = around
  }

  get goesOn(): GoesOn {
    return this.#goesOn
  }

  /** A branch has ended. Nobody has recorded when: only where that was right behind a result is it in the order of records, too. */
  goOnFrom(from: Asked): void {
    from.hasEnded = true
    this.#set({ from, seen: this.#goesOn.seen > 0 ? this.#around.machine.now : 0 })
  }

  #set(goesOn: GoesOn): void {
    this.#goesOn = goesOn
    afterPromises(() => (this.#goesOn = NOTHING))
  }

  /** The steps whose callers still wait. */
  get awaited(): readonly Ticket[] {
    return [...this.#callers.keys()]
  }

  /** Resolves to the end of the step when its turn has come. `isOurs`: the code that asks is of this drive. */
  turnOf(ticket: Ticket, isOurs: boolean): Promise<Ended> {
    const asked = isOurs ? rememberAsked(ticket.ref.id, isNewKey(ticket), this.#goesOn) : undefined
    return new Promise((give) => this.#callers.set(ticket, { give, asked }))
  }

  /** A step has its end. */
  put(ticket: Ticket, ended: Ended): void {
    this.#ends.set(ticket, ended)
    this.look()
  }

  /** Something was claimed or has ended: what is held back may have its turn. */
  look(): void {
    this.#poke()
    if (this.#isRunning || this.#around.isOver()) return
    this.#isRunning = true
    this.#around.track(this.#run())
  }

  async #run(): Promise<void> {
    const { machine, clock, holdMs, isOver } = this.#around
    let holdUntil: number | undefined
    for (;;) {
      await clock.idle()
      if (isOver()) break
      const next = machine.next()
      if (next.type === 'nothing') break
      if (next.type === 'deliver') {
        holdUntil = undefined
        this.#handOut(next.item)
        continue
      }
      holdUntil ??= clock.now() + holdMs
      if (clock.now() >= holdUntil) {
        machine.giveUp()
        holdUntil = undefined
      } else {
        const goOn = this.#around.pause(this.#ends.keys())
        await this.#poked(holdUntil - clock.now())
        goOn()
      }
    }
    this.#isRunning = false
  }

  #handOut(ticket: Ticket): void {
    const { give, asked } = this.#callers.get(ticket)!
    const ended = this.#ends.get(ticket)!
    this.#callers.delete(ticket)
    this.#ends.delete(ticket)
    if (asked) asked.hasEnded = true
    const isRecorded = ticket.seq < Number.MAX_SAFE_INTEGER
    this.#set({ from: asked, seen: isRecorded ? this.#around.machine.now : 0 })
    give(ended)
  }

  /** Waits until something is claimed or ended, at most `ms`. */
  #poked(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const disarm = this.#around.clock.timer(ms, () => this.#poke())
      this.#poke = () => {
        disarm()
        this.#poke = () => {}
        resolve()
      }
    })
  }
}
