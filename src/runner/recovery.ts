/** Sweeps again and again until it is stopped: a run that is due or abandoned does not wait for a start of the process (A15). */
import { sleep } from '../core/clock.ts'
import { notify } from '../core/notify.ts'
import { HoldfastError } from '../errors.ts'
import { messageOf } from '../run/readable.ts'
import { DEFAULT_CONCURRENCY, findRecoverable, recoverOne, type RecoverOptions, type Recovering } from './recover.ts'
import { Slots } from './slots.ts'

export interface StartOptions extends Pick<RecoverOptions, 'concurrency' | 'onEvent'> {
  /** How long after one look for runs the next one follows, ms. Default 2000. */
  readonly everyMs?: number
  /**
   * Told what a run is rejected with (as `resume` would be), and with undefined as its id why runs could not be looked for. What it
   * returns, throws or rejects with is ignored. Default: a warning of the process, once per run and code.
   */
  readonly onError?: ((error: unknown, runId: string | undefined) => unknown) | undefined
}

export const DEFAULT_EVERY_MS = 2_000
const LONGEST_REST_MS = 60_000

/** A run that is left alone for a while. */
interface Rest {
  readonly until: number
  /** How often in a row it was rejected, and with which codes. */
  readonly times: number
  readonly codes: ReadonlySet<string>
}

export class Recovery {
  readonly #host: Recovering
  readonly #options: StartOptions
  readonly #slots: Slots
  readonly #stopping = new AbortController()
  readonly #rests = new Map<string, Rest>()
  /** Why runs cannot be looked for since the last time that they could be. */
  readonly #blind = new Set<string>()
  /** Resolves when it has stopped. */
  readonly done: Promise<void>

  constructor(host: Recovering, options: StartOptions) {
    this.#host = host
    this.#options = options
    this.#slots = new Slots(options.concurrency ?? DEFAULT_CONCURRENCY)
    this.done = this.#run()
  }

  /** No run is begun any more. */
  stop(): void {
    this.#stopping.abort()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#sweep()
      await sleep(this.#host.clock, this.#options.everyMs ?? DEFAULT_EVERY_MS, signal).catch(() => {})
    }
    await this.#slots.empty()
  }

  async #sweep(): Promise<void> {
    const { signal } = this.#stopping
    let found: readonly string[]
    const damaged = new Map<string, unknown>()
    try {
      found = await findRecoverable(this.#host, (runId, error) => damaged.set(runId, error))
      this.#blind.clear()
    } catch (error) {
      if (signal.aborted) return
      this.#tell(error, undefined, this.#blind)
      this.#blind.add(codeOf(error))
      return
    }
    this.#forgetAllBut(new Set([...found, ...damaged.keys()]))
    const rests = (runId: string): boolean => (this.#rests.get(runId)?.until ?? 0) > this.#host.clock.now()
    for (const [runId, error] of damaged) if (!rests(runId)) this.#failed(runId, error)
    for (const runId of found) {
      if (this.#slots.has(runId) || rests(runId)) continue
      await this.#slots.free()
      if (signal.aborted) return
      this.#slots.take(runId, () => this.#drive(runId))
    }
  }

  async #drive(runId: string): Promise<void> {
    const one = await recoverOne(this.#host, runId, { onEvent: this.#options.onEvent })
    if (one && 'until' in one) this.#rests.set(runId, { until: one.until, times: 0, codes: new Set() })
    else if (one && 'error' in one) this.#failed(runId, one.error)
    else this.#rests.delete(runId)
  }

  /** A run that failed is not found any more; one that could not be opened is, and what keeps it from that may last. */
  #failed(runId: string, error: unknown): void {
    const { times, codes } = this.#rests.get(runId) ?? { times: 0, codes: new Set<string>() }
    const restMs = Math.min(LONGEST_REST_MS, (this.#options.everyMs ?? DEFAULT_EVERY_MS) * 2 ** (times + 1))
    this.#rests.set(runId, { until: this.#host.clock.now() + restMs, times: times + 1, codes: new Set([...codes, codeOf(error)]) })
    this.#tell(error, runId, codes)
  }

  /** What is not found has been driven, by whomever. */
  #forgetAllBut(found: ReadonlySet<string>): void {
    for (const runId of this.#rests.keys()) if (!found.has(runId) && !this.#slots.has(runId)) this.#rests.delete(runId)
  }

  /** @param before With which codes the same went wrong since it last went well. */
  #tell(error: unknown, runId: string | undefined, before: ReadonlySet<string>): void {
    const { onError } = this.#options
    if (onError) return notify((told: unknown) => onError(told, runId), error)
    const code = codeOf(error)
    if (before.has(code)) return
    const what = runId === undefined ? 'runs to be recovered could not be looked for' : `run "${runId}" was not recovered`
    process.emitWarning(`${what}: ${this.#masked(error)}`, { code, type: 'HoldfastWarning' })
  }

  /** What cannot be masked is not shown. */
  #masked(error: unknown): string {
    try {
      return messageOf(this.#host.mask(error))
    } catch {
      return codeOf(error)
    }
  }
}

const codeOf = (error: unknown): string => (HoldfastError.isInstance(error) ? error.code : 'UNEXPECTED')
