/** One process driving a run under a lease: what its drives share. */
import type { Clock } from '../core/clock.ts'
import { hash } from '../core/hash.ts'
import type { Random } from '../core/random.ts'
import { isNotDoneBelievable } from '../effects/doubt.ts'
import type { Effect } from '../effects/effect.ts'
import { HoldfastError } from '../errors.ts'
import type { AttemptSummary, Entry, RetryAfterReason, StepKind } from '../journal/entry.ts'
import type { Secrets } from '../journal/secrets.ts'
import type { Message } from '../journal/message.ts'
import type { NewEntry, Writer } from '../journal/writer.ts'
import type { OnIncompleteTool, ResolvedRetry, TimeoutPolicy, ToolPolicy } from '../reliability/index.ts'
import type { Ticket } from '../replay/claim.ts'
import type { History } from '../replay/history.ts'
import { turnOf } from '../replay/identity.ts'
import { beginning, TOLD_BYTES } from './beginning.ts'
import type { Budget } from './budget.ts'
import type { RunEvent, StampedEvent } from './events.ts'
import type { Former, Lease } from './lease.ts'

/** What holds for every step of an attempt unless the step says otherwise. */
export interface RunPolicies {
  readonly retry: ResolvedRetry
  readonly timeouts: TimeoutPolicy
  /** What becomes of calls in doubt whose tool does not say. */
  readonly onIncompleteTool: OnIncompleteTool
  /** What errors of tools and steps that do not say mean for their effect. */
  readonly afterError: ToolPolicy['afterError'] | undefined
  readonly onConfigChange: 'replay' | 'diverge' | 'refuse'
  /** How long a run that can only wait is watched for new work before it suspends, ms. */
  readonly idleMs: number
  /** How long an older recorded result may hold younger ones back, ms. */
  readonly replayHoldMs: number
  /** Largest recorded result, bytes. */
  readonly maxResultBytes: number
  /** Largest record of a step, bytes. */
  readonly maxStepBytes: number
  /** Whether a run that suspends is kept for another process: its runner has a store. */
  readonly isKept: boolean
}

export interface AttemptOptions {
  readonly runId: string
  readonly number: number
  readonly former: Former
  readonly createdAt: number
  readonly clock: Clock
  readonly random: Random
  readonly history: History
  readonly writer: Writer
  readonly lease: Lease
  readonly policies: RunPolicies
  readonly budget: Budget
  /** What is known by name in all that is stored. */
  readonly secrets: Secrets | undefined
  readonly onEvent: (event: StampedEvent) => void
  /** Hands a message to the run's inbox, when the attempt is over. */
  readonly onLateMessage: (message: Message) => void
  /** Reads what the inbox says of work that earlier attempts have started. */
  readonly takeLate: () => Promise<void>
}

type Counts = Partial<Record<StepKind, number>>

export class Attempt {
  readonly options: AttemptOptions
  readonly #controller = new AbortController()
  /** Tries that steps have used in earlier drives of this attempt: they share one budget. */
  readonly triesUsed = new Map<string, number>()
  /** By turn, steps that may not be tried again yet, as this attempt or a former one was told. */
  readonly #notBefore = new Map<string, RetryAfterReason>()
  readonly #askNotBefore = new Map<string, RetryAfterReason>()
  /** Steps whose work is no longer waited for and has not come to an end. */
  readonly abandoned = new Set<string>()
  /** Steps with effects that ran when the attempt was stopped from outside, and whose outcome has not come since. */
  readonly leftOpen = new Set<string>()
  readonly #replayed: Counts = {}
  readonly #recorded: Counts = {}
  readonly #counted = new Set<string>()
  readonly #unrecorded = new Set<string>()
  readonly #warned = new Set<string>()
  readonly #attempts = new Map<number, { readonly at: number; readonly former: Former }>()
  /** When what others had sent was taken in last, ms since the epoch. */
  inboxTakenAt = 0
  /** No step starts any more: the runner is closing. */
  draining = false
  /** Its caller has stopped it. */
  isCancelled = false
  over = false

  constructor(options: AttemptOptions) {
    this.options = options
  }

  get runId(): string {
    return this.options.runId
  }

  get history(): History {
    return this.options.history
  }

  get budget(): Budget {
    return this.options.budget
  }

  get secrets(): Secrets | undefined {
    return this.options.secrets
  }

  get clock(): Clock {
    return this.options.clock
  }

  get policies(): RunPolicies {
    return this.options.policies
  }

  /** Aborts when the attempt is over before its steps are. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  write(entries: readonly NewEntry[]): Promise<number> {
    return this.options.writer.write(entries)
  }

  /** What is recorded of a step. Rejects with `VALUE_TOO_LARGE` too; then nothing of it is in the journal. */
  writeStep(entries: readonly NewEntry[], what: string): Promise<number> {
    return this.options.writer.write(entries, { size: { maxBytes: this.policies.maxStepBytes, what } })
  }

  /** As much of a text for people as is kept: what was thrown may say anything. */
  told(text: string): string {
    return beginning(text, TOLD_BYTES, this.secrets)
  }

  emit(event: RunEvent): void {
    this.options.onEvent({ ...event, runId: this.runId, at: this.clock.now() })
  }

  warn(code: (Entry & { type: 'warning' })['code'], text: string, step?: string): void {
    const message = this.told(text)
    this.emit({ type: 'warning', code, message })
    void this.write([{ type: 'warning', code, message, ...(step === undefined ? {} : { step }) }]).catch(() => {})
  }

  /** A warning that would be the same at each try. */
  warnOnce(code: (Entry & { type: 'warning' })['code'], message: string, step: string): void {
    const what = `${step} ${message}`
    if (this.#warned.has(what)) return
    this.#warned.add(what)
    this.warn(code, message, step)
  }

  /** The step was handed out without a record: whatever is recorded after it has this before it in the journal. */
  notRecorded(code: 'NOT_RECORDED' | 'NOT_FINGERPRINTED', text: string, step: string): void {
    const message = this.told(text)
    this.#unrecorded.add(step)
    this.emit({ type: 'warning', code, message })
    this.options.writer.prepend({ type: 'warning', code, message, step })
  }

  /** Remembers how attempts ended, and what they left for the next one, from their entries. */
  noteAttempt(entry: Entry): void {
    if (entry.type === 'attempt-started') this.#attempts.set(entry.token, { at: entry.at, former: entry.former })
    if (entry.type === 'retry-after') this.delay(entry)
    if (entry.type === 'suspended') for (const reason of entry.reasons) if (reason.type === 'retry-after') this.delay(reason)
    // What has an end has used up its tries, or has all of them again when its run is driven again; a time that the other side gave holds all the same.
    if (entry.type === 'step-ended') this.triesUsed.delete(entry.step.id)
    if (entry.type === 'run-ended') this.triesUsed.clear()
  }

  /** A step may not be tried before its time, whoever drives it; nor may, in this attempt, another step that asks for the very same (`ask`): a loop that tries again by itself. */
  delay({ step, message, until, tries }: Pick<RetryAfterReason, 'step' | 'message' | 'until' | 'tries'>, ask?: string): void {
    if (ask !== undefined) this.#askNotBefore.set(ask, { type: 'retry-after', step, message, until, tries })
    this.#notBefore.set(turnOf(step), { type: 'retry-after', step, message, until, tries })
    this.triesUsed.set(step, tries)
  }

  /** Why a step may not be tried yet; undefined: it may. */
  delayOf(step: string, ask?: string): RetryAfterReason | undefined {
    const delayed = [this.#notBefore.get(turnOf(step)), ask === undefined ? undefined : this.#askNotBefore.get(ask)].find((each) => each && each.until > this.clock.now())
    return delayed && { ...delayed, step, tries: delayed.step === step ? delayed.tries : (this.triesUsed.get(step) ?? 0) }
  }

  /**
   * The key under which the outside world may know a step: the same on every attempt. A step with effects has a record before it starts and
   * is known by that. What is idempotent is known by what it asks (`effectKey`, else its arguments) and by its key, or how often its branch
   * has asked for it: so it has the same key also when the run diverged, or when others stood before it the last time.
   */
  idempotencyKey({ ref, claim, occurrence }: Ticket): string {
    const content = claim.content ?? claim.fingerprint
    const key = claim.place.type === 'key' ? [claim.place.key] : []
    const known = claim.effect || content === null ? [ref.id] : [turnOf(ref.branch), ref.kind, ref.name, ...key, content, String(occurrence)]
    return `hf_${hash(this.runId, String(this.options.createdAt), ...known)}`
  }

  /** When `not-done` may be believed of an effect: true, or the time from which on. */
  believesNotDone(effect: Effect, settleAfterMs: number): true | number {
    const now = this.clock.now()
    const after = [...this.#attempts].find(([token]) => token > effect.token)?.[1]
    const ownerGone = effect.cause === 'error' || (after ? after.former === 'dead' : !this.abandoned.has(effect.step.id))
    const leaseEnded = after?.at ?? now
    return isNotDoneBelievable({ ownerGone, leaseEnded, settleAfterMs, now }) || leaseEnded + settleAfterMs
  }

  /** A step driven again counts once. */
  countReplayed(kind: StepKind, step: string): void {
    if (this.#counted.has(step)) return
    this.#counted.add(step)
    this.#replayed[kind] = (this.#replayed[kind] ?? 0) + 1
  }

  countRecorded(kind: StepKind, step: string): void {
    // It ran again, under a later try of what it stands in.
    this.#unrecorded.delete(step)
    if (this.#counted.has(step)) return
    this.#counted.add(step)
    this.#recorded[kind] = (this.#recorded[kind] ?? 0) + 1
  }

  get summary(): AttemptSummary {
    return { replayed: { ...this.#replayed }, recorded: { ...this.#recorded }, unrecorded: [...this.#unrecorded], ...(this.leftOpen.size > 0 && { leftOpen: [...this.leftOpen] }) }
  }

  /** Why nothing may start now; undefined: it may. */
  get stopped(): HoldfastError | undefined {
    if (this.over || this.signal.aborted) return new HoldfastError('RUN_SUSPENDED', `this attempt of run "${this.runId}" is over`, { runId: this.runId })
    return undefined
  }
}
