/** The runs that a runner drives: from a call to the end of its attempt, and how all of them are stopped (R10; B9). */
import { sleep } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'
import type { Store } from '../journal/store.ts'
import { countDriven } from '../run/current.ts'
import { recordOf } from '../run/limits.ts'
import { driveAttempt, type Current } from './drive-attempt.ts'
import { both, masked } from './listeners.ts'
import { open, type OpenAttempt, type Request } from './open.ts'
import { policiesOfCall, type ResolvedOptions } from './options.ts'
import type { Outcome } from './outcome.ts'
import type { DriveOptions } from './recover.ts'
import type { CallOptions } from './runner.ts'

type Asked = Pick<Request, 'runId' | 'start' | 'redo'>

const CLOSED = 'its runner was closed'
const SWEEP_STOPPED = 'the sweep that drove it was stopped'

/** Ends an attempt whose run another runner may go on with at once. */
const stopped = (runId: string, why: string): HoldfastError => new HoldfastError('RUNNER_CLOSED', why, { runId })

export class Driving {
  readonly #options: ResolvedOptions
  readonly #store: Store
  readonly #ready: () => Promise<void>
  readonly #driven = new Map<OpenAttempt, Current>()
  /** Those that are not over: until then their store is needed. */
  readonly #calls = new Set<Promise<unknown>>()
  #closing = false

  /** @param ready Opens the store. */
  constructor(options: ResolvedOptions, store: Store, ready: () => Promise<void>) {
    this.#options = options
    this.#store = store
    this.#ready = ready
  }

  has(runId: string): boolean {
    return [...this.#driven.keys()].some(({ attempt }) => attempt.runId === runId)
  }

  /** Ends all of them. What is still being opened is not driven any more. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#stop([...this.#driven], CLOSED)
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls)
  }

  /** Lets running steps end within `drainMs`, and ends the attempts. */
  async #stop(driven: readonly (readonly [OpenAttempt, Current])[], why: string): Promise<void> {
    const { clock, drainMs } = this.#options
    for (const [{ attempt }] of driven) attempt.draining = true
    const over = new AbortController()
    const settled = Promise.all(driven.map(([, current]) => current.drive?.settled()))
    await Promise.race([settled, sleep(clock, drainMs, over.signal).catch(() => {})])
    over.abort()
    for (const [{ attempt }] of driven) attempt.abort(stopped(attempt.runId, why))
  }

  /** `close` waits until the call is over. */
  async counted<T>(call: () => Promise<T>): Promise<T> {
    const done = call()
    this.#calls.add(done)
    try {
      return await done
    } finally {
      this.#calls.delete(done)
    }
  }

  async drive(options: CallOptions, asked: Asked): Promise<Outcome> {
    return (await this.driveIf(options, asked))!
  }

  /** undefined: the run is not one to go on with, as it was asked. */
  driveIf(options: CallOptions, asked: Asked & Pick<Request, 'isStill'> & Pick<DriveOptions, 'drain'>): Promise<Outcome | undefined> {
    return this.counted(() => this.#openAndDrive(options, asked))
  }

  async #openAndDrive(options: CallOptions, { drain, ...asked }: Asked & Pick<Request, 'isStill'> & Pick<DriveOptions, 'drain'>): Promise<Outcome | undefined> {
    // All of them as they are now: who calls may use the object for the next call before this one has been opened.
    const { signal, allowMismatch = false, force = false } = options
    const limits = recordOf(options.limits ?? {})
    signal?.throwIfAborted()
    const inCall = { ...this.#options, policies: policiesOfCall(this.#options.policies, options) }
    const { redaction } = this.#options
    const tell = both(this.#options.onEvent, options.onEvent)
    const onEvent = redaction ? masked(tell, redaction) : tell
    await this.#ready()
    const opened = await open(this.#store, inCall, { ...asked, allowMismatch, force, limits, onEvent })
    if (opened.type === 'left') return undefined
    if (opened.type === 'ended') return opened.outcome
    const { attempt } = opened.attempt
    const onAbort = (): void => {
      attempt.isCancelled = true
      attempt.abort(signal!.reason)
    }
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    const current: Current = {}
    const onDrain = (): void => void this.#stop([[opened.attempt, current]], SWEEP_STOPPED)
    drain?.addEventListener('abort', onDrain, { once: true })
    // Closed while it was opened: nothing of it has begun.
    if (this.#closing || drain?.aborted) attempt.abort(stopped(attempt.runId, this.#closing ? CLOSED : SWEEP_STOPPED))
    this.#driven.set(opened.attempt, current)
    const uncount = countDriven()
    try {
      const outcome = await driveAttempt(opened.attempt, current)
      return outcome.status === 'suspended' && redaction ? redaction.event(outcome) : outcome
    } finally {
      uncount()
      this.#driven.delete(opened.attempt)
      signal?.removeEventListener('abort', onAbort)
      drain?.removeEventListener('abort', onDrain)
    }
  }
}
