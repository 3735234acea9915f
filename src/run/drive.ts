/**
 * One drive of a handler over a run's journal: carries out what the reducer says. An attempt has one drive, or
 * several when the handler has to be driven again (R10, R13).
 */
import { anyOf } from '../core/abort.ts'
import type { Consumption } from '../effects/guard.ts'
import { decode } from '../journal/codec.ts'
import type { RetryAfterReason, SuspendReason } from '../journal/entry.ts'
import { HoldfastError } from '../errors.ts'
import { isBlind, isHolder, type Note, type Ticket } from '../replay/claim.ts'
import { around, isWithin, MAIN } from '../replay/identity.ts'
import { Machine } from '../replay/machine.ts'
import type { Refusal } from '../replay/refusal.ts'
import { withdraw } from './approval.ts'
import type { Attempt } from './attempt.ts'
import { Blame } from './blame.ts'
import { currentContext, followerOf, inContext, type Asked, type GoesOn } from './current.ts'
import { Delivery } from './delivery.ts'
import type { DriveEnd, Ended } from './drive-end.ts'
import { performLive } from './live.ts'
import { hiddenClaim } from './hidden-claim.ts'
import { failed } from './outcome.ts'
import { readable } from './readable.ts'
import { afterTheEnd, refusedIn } from './refused.ts'
import { ofStep, type StepSpec } from './step.ts'
import { OpenEffects, surroundingsEnded } from './surroundings.ts'
import { dueOf, never, type Waiting } from './waiting.ts'

export class Drive {
  readonly attempt: Attempt
  readonly machine: Machine
  readonly #left = new AbortController()
  /** Aborts when the drive was left: streams that it has handed out end then, with the reason as their error (R10, R13). */
  readonly left: AbortSignal = this.#left.signal
  /** Aborts when the attempt is stopped, or the drive was left. */
  readonly signal: AbortSignal
  /** Which step an error came from. */
  readonly blame = new Blame()
  /** Model steps whose response the store refused: none of the effects that they ask for may start. */
  readonly unrecordedResponses = new Set<string>()
  /** Those that no store will ever take: the effects that they ask for are told so. */
  readonly unrecordableResponses = new Set<string>()
  /** Effects that were asked about in this drive without an answer that may be believed; with it, from when on they may be asked about again. */
  readonly asked = new Map<string, RetryAfterReason | undefined>()
  /** What calls are using up right now: given to them, and not written down yet. */
  readonly taken = { effects: new Set<string>(), decisions: new Set<number>(), keys: new Set<string>() }
  /** Steps with effects that are about to start, run, or are being recorded. */
  readonly underWay = new Set<string>()
  readonly openEffects = new OpenEffects()
  readonly #delivery: Delivery
  /** With what lets the time of the steps around it go on. */
  readonly #waiting = new Map<Ticket, Waiting & { readonly goOn: () => void }>()
  /** By step, as what it was told to be in doubt; and what was told of its waiting: one that looks again and goes on waiting says nothing new. */
  readonly #doubts = new Map<string, string>()
  readonly #told = new Map<string, string>()
  /** What goes on: steps that run or are being recorded, and work beside them (undefined). */
  readonly #live = new Map<Promise<void>, Ticket | undefined>()
  /** Branches in which something was asked for after the end: it never settles. */
  readonly #stuck = new Set<string>()
  /** Stops the clock of a step while something inside it waits. */
  readonly #pauses = new Map<string, () => () => void>()
  readonly #ending = Promise.withResolvers<DriveEnd>()
  /** Settles when a step turns out to be one that cannot go on. */
  #held = Promise.withResolvers<void>()
  #disarmIdle: () => void = () => {}
  #over = false
  #hasReturned = false

  constructor(attempt: Attempt) {
    this.attempt = attempt
    this.machine = new Machine(attempt.history)
    this.signal = anyOf(attempt.signal, this.left)
    this.#delivery = new Delivery({
      machine: this.machine, clock: attempt.clock, holdMs: attempt.policies.replayHoldMs, isOver: () => this.#over, track: (work) => this.track(work), pause: (tickets) => this.#pause(tickets),
    })
    if (attempt.signal.aborted) this.end({ type: 'stopped', reason: attempt.signal.reason })
    else attempt.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Nothing of this drive is handed out or started any more. */
  get isOver(): boolean {
    return this.#over
  }

  /** Drives the handler until it returns, throws, or cannot go on. */
  run(handler: () => PromiseLike<unknown> | unknown): Promise<DriveEnd> {
    const call = async (): Promise<void> => {
      try {
        const value = await handler()
        await this.#quiet()
        this.end({ type: 'returned', value })
      } catch (error) {
        this.end({ type: 'threw', error: readable(error, 'its handler', 'RUN_FAILED') })
      }
    }
    void inContext({ drive: this, branch: MAIN }, call)
    return this.#ending.promise
  }

  /** What the code that goes on now comes after, besides what it has asked for itself: see {@link Delivery}. */
  get goesOn(): GoesOn {
    return this.#delivery.goesOn
  }

  /** A branch has ended: what goes on from there comes after it. */
  goOnFrom(branch: Asked): void {
    this.#delivery.goOnFrom(branch)
  }

  /** Asks for a step. The claim is made before this returns. */
  perform(asked: StepSpec): Promise<unknown> {
    const context = currentContext()
    const { secrets } = this.attempt
    const spec = { ...asked, ...(secrets && { claim: hiddenClaim(asked.claim, secrets) }), around: context?.step?.signal }
    if (this.#over) {
      return this.#hasReturned ? this.refuse(afterTheEnd(spec.label), spec.claim.branch) : this.#neverIn(spec.claim.branch)
    }
    this.#disarmIdle()
    const { after, ...here } = context?.drive === this ? followerOf(context, this.goesOn) : {}
    const verdict = refusedIn(spec.label, context) ?? this.machine.claim({ ...spec.claim, ...here, ...(after && isBlind(spec.claim) && { after }), ...(asked.signal && givenUpBy(asked.signal)) })
    if (verdict.type === 'refuse') {
      this.#watch()
      return this.refuse(verdict, spec.claim.branch)
    }
    const { ticket, notes } = verdict
    spec.onClaimed?.(ticket.ref)
    const ended = this.#delivery.turnOf(ticket, context?.drive === this)
    const written = this.#note(notes)
    if (verdict.type === 'replay') {
      this.#delivery.put(ticket, { outcome: ticket.record!.end!.outcome, asked: ticket.record!.asked })
      // What waits because it may be this one is another one.
      this.wake()
    } else {
      this.track(written.then(() => performLive(this, ticket, spec)), ticket)
    }
    return ended.then((end) => this.#handOut(ticket, end))
  }

  /**
   * What is asked for in a branch does not happen. Where it cannot be told apart the run ends with that, whatever the code around makes of errors: a loop
   * that swallows it, or a model that is told so, would go on without what was asked for.
   */
  refuse({ code, message, advice }: Refusal, branch: string): Promise<never> {
    const { runId } = this.attempt
    const error = new HoldfastError(code, `run "${runId}": ${message}`, { advice, runId })
    if (code !== 'AMBIGUOUS_STEP') return Promise.reject(error)
    this.end({ type: 'refused', error })
    return this.#neverIn(branch)
  }

  /** What is asked for after the end never settles: its code is held up. */
  #neverIn(branch: string): Promise<never> {
    this.#stuck.add(branch)
    this.#hold()
    return never()
  }

  /** Counts work as going on until it settles. It never rejects. */
  track(work: Promise<unknown>, ticket?: Ticket): void {
    const done: Promise<void> = work.then(
      () => this.#settle(done),
      (error: unknown) => {
        this.#settle(done)
        this.end({ type: 'stopped', reason: error })
      },
    )
    this.#live.set(done, ticket)
  }

  /** A live step has an end: it is handed out when its turn is. `seq` undefined: the store refused the record. */
  ended(ticket: Ticket, end: Ended, seq: number | undefined): void {
    this.machine.ended(ticket, seq)
    this.#delivery.put(ticket, end)
  }

  /** The step cannot go on: resolves when something happened that may change that, and never when nothing does. */
  park(ticket: Ticket, reason: () => SuspendReason, { resumeAt = null, isWork = false, signal }: Partial<Pick<Waiting, 'resumeAt' | 'isWork' | 'signal'>> = {}): Promise<void> {
    return new Promise((wake) => this.#wait(ticket, { reason, resumeAt, wake, isWork, signal }))
  }

  /** The step goes on in another attempt only. Never resolves. */
  hold(ticket: Ticket, reason: SuspendReason, resumeAt: number | null = null, signal?: AbortSignal): Promise<void> {
    this.#wait(ticket, { reason: () => reason, resumeAt, wake: undefined, signal })
    return never()
  }

  /** Tells once why a step is in doubt, however often it is looked at again. */
  tellDoubt({ ref }: Pick<Ticket, 'ref'>, cause: 'reconcile' | 'in-doubt' | 'repeat'): void {
    if (this.#doubts.get(ref.id) === cause) return
    this.#doubts.set(ref.id, cause)
    this.attempt.emit({ type: 'step-in-doubt', ...ofStep(ref), cause })
  }

  #wait(ticket: Ticket, waiting: Waiting): void {
    const { signal } = waiting
    if (this.dropIfLeft(ticket, signal)) return
    const reason = waiting.reason()
    if (this.#told.get(ticket.ref.id) !== reason.message) {
      this.#told.set(ticket.ref.id, reason.message)
      this.attempt.emit({ type: 'step-waiting', ...ofStep(ticket.ref), reason })
    }
    const resume = waiting.isWork ? () => {} : this.#pause([ticket])
    const drop = (): void => void this.dropIfLeft(ticket, signal)
    const goOn = (): void => {
      signal?.removeEventListener('abort', drop)
      resume()
    }
    this.#waiting.set(ticket, { ...waiting, goOn })
    signal?.addEventListener('abort', drop)
    this.#hold()
    this.#watch()
  }

  /** Waiting for a person never counts as the time of the steps around (R10): `pause` stops the step's clock until what it returns is called. */
  onPause(step: string, pause: () => () => void): void {
    this.#pauses.set(step, pause)
  }

  /** Of all that is around these, each once. */
  #pause(tickets: Iterable<Ticket>): () => void {
    const steps = new Set([...tickets].flatMap(({ ref }) => around(ref.branch)))
    const resumes = [...steps].flatMap((step) => this.#pauses.get(step)?.() ?? [])
    return () => { for (const resume of resumes) resume() }
  }

  /** The try has ended: what it holds, its caller's messages among it, must not stay as long as the run. */
  offPause(step: string, pause: () => () => void): void {
    if (this.#pauses.get(step) === pause) this.#pauses.delete(step)
  }

  /** Does what a verdict says: until that is written down, or was not, nobody else is given what it uses up, and the step does not start a second time. */
  async carryOut({ ref, claim }: Ticket, consumes: Consumption, work: () => Promise<void>): Promise<void> {
    for (const effect of consumes.effects) this.taken.effects.add(effect)
    for (const decision of consumes.decisions) this.taken.decisions.add(decision)
    if (claim.effect) this.underWay.add(ref.id)
    try {
      await work()
    } finally {
      for (const effect of consumes.effects) this.taken.effects.delete(effect)
      for (const decision of consumes.decisions) this.taken.decisions.delete(decision)
      if (this.underWay.delete(ref.id)) this.wake()
    }
  }

  /** An effect started, ended or was settled, or a decision was made: all that waits looks again. */
  wake(): void {
    for (const [ticket, { wake, goOn }] of [...this.#waiting]) {
      if (!wake) continue
      this.#waiting.delete(ticket)
      this.#disarmIdle()
      goOn()
      wake()
    }
  }

  /** The inside of a step has ended: what waits in it waits no more. */
  dropWaiting(step: string): void {
    for (const ticket of [...this.#waiting.keys()]) if (isWithin(ticket.ref.branch, step)) this.dropIfLeft(ticket)
  }

  /** Ends a step that nobody waits for any more: what it stands in has ended, or (`signal`) its own caller has given it up. Gives whether that is so. */
  dropIfLeft(ticket: Ticket, signal?: AbortSignal): boolean {
    const isAbandoned = this.machine.isAbandoned(ticket)
    if (this.#over || !(isAbandoned || signal?.aborted)) return false
    this.#waiting.get(ticket)?.goOn()
    this.#waiting.delete(ticket)
    withdraw(this, ticket)
    const error: unknown = isAbandoned ? surroundingsEnded(this, ticket) : signal?.reason
    this.ended(ticket, { outcome: failed(error), asked: [] }, undefined)
    for (const [done, of] of this.#live) if (of === ticket) this.#settle(done)
    return true
  }

  /** Ends the drive; the first end counts. */
  end(end: DriveEnd): void {
    if (this.#over) return
    this.#over = true
    this.#hasReturned = end.type === 'returned'
    this.#disarmIdle()
    this.#delivery.look()
    this.#hold()
    this.attempt.signal.removeEventListener('abort', this.#onAbort)
    this.#ending.resolve(end)
  }

  /** What became of the drive is written down, and nothing of it goes on: `reason` is told to who still reads what it has handed out. */
  leave(reason: unknown): void {
    this.#left.abort(reason)
  }

  /** Whether the end has cut the step's code off in its middle: nothing that still happens to it (its caller's time limit, what wakes it when the drive was left) makes an end of the step. */
  isCutOff({ ref }: Ticket): boolean {
    return this.#over && this.#heldUp().has(ref.id)
  }

  /** Resolves when no step of this drive runs any more. */
  async settled(): Promise<void> {
    for (let running = this.#running(); running.length > 0; running = this.#running()) await Promise.race([...running, this.#held.promise])
  }

  #hold(): void {
    if (this.#over) this.#stopClocks()
    this.#held.resolve()
    this.#held = Promise.withResolvers()
  }

  /** What is held up after the end comes to none: its time must not run out, and end it or try it again beside the drive that asks for it anew. */
  #stopClocks(): void {
    for (const step of this.#heldUp()) {
      this.#pauses.get(step)?.()
      this.#pauses.delete(step)
    }
  }

  readonly #onAbort = (): void => this.end({ type: 'stopped', reason: this.attempt.signal.reason })

  /** What can go on by itself: neither a step that waits, nor one that is held up, nor one that only holds others, which are what goes on in it. */
  #running(): Promise<void>[] {
    const held = this.#heldUp()
    return [...this.#live].flatMap(([done, ticket]) => (ticket && (this.#waiting.has(ticket) || held.has(ticket.ref.id) || isHolder(ticket.claim)) ? [] : [done]))
  }

  /** Steps around one that waits or, after the end, around one whose result is not handed out any more, and those that only hold others. */
  #heldUp(): Set<string> {
    const inside = [...this.#waiting.keys(), ...(this.#over ? this.#delivery.awaited : [])].map(({ ref }) => ref.branch)
    const holders = this.#over ? [...this.#live.values()].flatMap((ticket) => (ticket && isHolder(ticket.claim) ? [ticket.ref.id] : [])) : []
    return new Set([...inside, ...(this.#over ? this.#stuck : []), ...holders].flatMap(around))
  }

  /** It has settled, or nobody waits for it any more. */
  #settle(done: Promise<void>): void {
    this.#live.delete(done)
    this.#hold()
    this.#watch()
  }

  /** The handler has returned; steps that it did not wait for may still run (B10). */
  async #quiet(): Promise<void> {
    while (!this.#over && (this.#live.size > 0 || this.#delivery.awaited.length > 0)) {
      if (this.#live.size > 0) await Promise.race([...this.#live.keys(), this.#held.promise])
      else await this.attempt.clock.idle()
    }
  }

  /** A step ends: what it leaves inside of it, unasked for, is written down with its record. */
  noteLeft(ticket: Ticket): void {
    const note = this.machine.leftInside(ticket)
    if (note) this.#note([note])
  }

  /**
   * Tells what a claim found. What later records depend on is written down before, and together with, whatever is recorded next; the rest as well as may be.
   * Resolves when the step may run: what tells it from others has to be there also where its process does not outlive it.
   */
  #note(notes: readonly Note[]): Promise<void> {
    let written = Promise.resolve()
    for (const note of notes) {
      if (note.type === 'superseded') {
        this.attempt.emit({ type: 'replay-diverged', step: note.step, reason: note.reason, superseded: note.ids.length })
      } else if (note.type === 'config-changed') this.attempt.emit(note)
      else if (note.type === 'warning') this.attempt.emit({ type: 'warning', code: note.code, message: note.message })
      if (note.type === 'superseded' || note.type === 'config' || note.type === 'step-entered') this.attempt.options.writer.prepend(note)
      else {
        const write = this.attempt.write([note]).then(() => {}, () => {})
        if (note.type === 'warning' && note.code === 'SAME_CONVERSATION') written = write
      }
    }
    return written
  }

  #handOut(ticket: Ticket, { outcome, asked, thrown }: Ended): unknown {
    const replayed = ticket.record?.end !== undefined
    if (replayed) {
      this.attempt.countReplayed(ticket.ref.kind, ticket.ref.id)
      this.attempt.emit({ type: 'step-replayed', ...ofStep(ticket.ref) })
    }
    if (ticket.ref.kind === 'model') this.machine.register(ticket, asked)
    if (outcome.type === 'value') return decode(outcome.value, `result of ${ticket.ref.id}`)
    if (thrown) throw thrown.error
    const error = decode(outcome.error, `error of ${ticket.ref.id}`)
    this.blame.remember(error, ticket.ref.id)
    throw error
  }

  /** Suspends when all that is left waits, and nothing new was asked for in `idleMs` (R10). */
  #watch(): void {
    this.#disarmIdle()
    if (this.#over || this.#waiting.size === 0 || this.#running().length > 0) return
    this.#disarmIdle = this.attempt.clock.timer(this.attempt.policies.idleMs, () => {
      if (this.#running().length > 0 || this.#waiting.size === 0) return
      const waiting = [...this.#waiting.values()]
      const now = this.attempt.clock.now()
      const due = waiting.flatMap((each) => dueOf(each, now) ?? [])
      this.end({ type: 'suspended', reasons: waiting.map(({ reason }) => reason()), resumeAt: due.length > 0 ? Math.min(...due) : null })
    })
  }
}

/** Made here: it is kept with the claim, and must keep nothing else of its step. */
const givenUpBy = (signal: AbortSignal): { isGivenUp: () => boolean } => ({ isGivenUp: () => signal.aborted })
