/** What is left of a run's limits while an attempt drives it: what the journal says was used, and what goes on right now (R16). */
import type { Clock } from '../core/clock.ts'
import type { RunUsage } from '../errors.ts'
import type { Entry, StepRef, StepUsage } from '../journal/entry.ts'
import { COUNTED, countedSteps, type Reached, type ResolvedLimits } from './limits.ts'
import { UsageCount } from './usage.ts'

/** A run whose time is used up may replay as long as something is handed out in this time, ms. */
const REPLAY_GRACE_MS = 5_000

export class Budget {
  readonly limits: ResolvedLimits
  readonly #clock: Clock
  readonly #count = new UsageCount()
  /** Steps of this attempt that count, and that the journal does not have (yet). */
  readonly #open = new Set<string>()
  #unrecordedTokens = 0
  #journalBytes = 0

  constructor(limits: ResolvedLimits, clock: Clock) {
    this.limits = limits
    this.#clock = clock
  }

  /** Takes note of so many bytes that were written to the journal. */
  addBytes(bytes: number): void {
    this.#journalBytes += bytes
  }

  /** Takes note of an entry of the journal, in order. */
  apply(entry: Entry): void {
    this.#count.apply(entry)
    if (entry.type === 'step-started' || entry.type === 'step-ended') this.#open.delete(entry.step.id)
  }

  /** What the journal says was used. */
  get usage(): RunUsage {
    return this.#count.usage
  }

  /**
   * Asks for a step that is to run: undefined, and it counts from now on; or the limit that is in its way.
   *
   * @param isEntered It was entered before, has no effects of its own, and what was done inside it replays: it counts when it ends.
   */
  start({ id, kind }: StepRef, isEntered: boolean): Reached | undefined {
    const { maxSteps, maxTokens, maxJournalBytes } = this.limits
    const over = this.#timeOver()
    if (over) return isEntered ? undefined : over
    const tokens = this.#tokens()
    if (kind === 'model' && tokens >= maxTokens) return { limit: 'maxTokens', used: tokens, max: maxTokens }
    if (isEntered) return undefined
    if (this.#journalBytes >= maxJournalBytes) return { limit: 'maxJournalBytes', used: this.#journalBytes, max: maxJournalBytes }
    const counts = (COUNTED as readonly string[]).includes(kind)
    const steps = countedSteps(this.usage) + this.#open.size
    if (counts && !this.#open.has(id) && steps >= maxSteps) return { limit: 'maxSteps', used: steps, max: maxSteps }
    this.#count.begin(this.#clock.now())
    if (counts) this.#open.add(id)
    return undefined
  }

  /** A step that ran, and whose record the journal will not have: it counts in this attempt. */
  unrecorded(usage: StepUsage | undefined): void {
    this.#unrecordedTokens += (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
  }

  /** When the run's time ends, ms since the epoch; undefined: never, or nothing new is done yet: what is entered again may replay. */
  get deadline(): number | undefined {
    if (this.#count.since === undefined) return undefined
    const { ends } = this
    return ends === Infinity ? undefined : ends
  }

  /** When the run's time would end if it was active from now on, ms since the epoch; Infinity: never. */
  get ends(): number {
    return this.#clock.now() + this.#timeLeft()
  }

  /** The limit that has ended what this attempt did anew, if its time is over. */
  get over(): Reached | undefined {
    return this.#count.since === undefined ? undefined : this.#timeOver()
  }

  /**
   * Calls `end` when the time of the run is over, and again as long as it is not disarmed. An attempt that only replays is let go on while
   * `progress` (any number) changes: a spent budget can still replay.
   */
  watch(progress: () => number, end: (reached: Reached) => void): () => void {
    let seen: number | undefined
    let disarm = (): void => {}
    const arm = (ms: number): void => {
      disarm = this.#clock.timer(ms, look)
    }
    const look = (): void => {
      const over = this.#timeOver()
      if (this.#count.since === undefined) {
        const now = progress()
        if (now !== seen) {
          seen = now
          return arm(Math.max(REPLAY_GRACE_MS, this.#timeLeft()))
        }
        // A handler that neither asks for anything nor ends.
        end(over ?? { limit: 'runMs', used: this.limits.runMs, max: this.limits.runMs })
        return arm(REPLAY_GRACE_MS)
      }
      if (!over) return arm(this.#timeLeft())
      end(over)
      arm(REPLAY_GRACE_MS)
    }
    if (this.#timeLeft() !== Infinity) arm(Math.max(0, this.#timeLeft()))
    return () => disarm()
  }

  #tokens(): number {
    const { inputTokens, outputTokens } = this.usage
    return inputTokens + outputTokens + this.#unrecordedTokens
  }

  #leftMs(): number {
    return this.limits.runMs - this.#count.activeMs(this.#clock.now())
  }

  #timeLeft(): number {
    return Math.min(this.limits.deadline - this.#clock.now(), this.#leftMs())
  }

  #timeOver(): Reached | undefined {
    const { deadline, runMs } = this.limits
    const now = this.#clock.now()
    if (now >= deadline) return { limit: 'deadline', used: now, max: deadline }
    const used = this.#count.activeMs(now)
    return used >= runMs ? { limit: 'runMs', used, max: runMs } : undefined
  }
}
