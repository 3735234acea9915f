/** The lease of an attempt: taken by compare-and-set, renewed while it drives, and over at the last confirmed expiry (R9). */
import type { Clock } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'
import type { RunRow, Store } from '../journal/store.ts'
import { decodeOwner, encodeOwner, isKnownDead, thisProcess, type Owner } from './owner.ts'

/** What became of the owner before. */
export type Former = 'none' | 'released' | 'dead' | 'expired'

/** Whether the run may be taken over, and how its last owner ended. */
export function ownership(row: RunRow, now: number): { readonly free: true; readonly former: Former } | { readonly free: false; readonly owner: Owner | undefined } {
  if (row.owner === null) return { free: true, former: row.token === 0 ? 'none' : 'released' }
  const owner = decodeOwner(row.owner)
  if (isKnownDead(owner)) return { free: true, former: 'dead' }
  if (row.leaseUntil <= now) return { free: true, former: 'expired' }
  return { free: false, owner }
}

export class Lease {
  readonly token: number
  readonly #store: Store
  readonly #runId: string
  readonly #ttlMs: number
  readonly #clock: Clock
  readonly #onLost: (error: HoldfastError) => void
  #confirmedUntil: number
  #disarmRenewal: () => void = () => {}
  #disarmEnd: () => void = () => {}
  #over = false

  private constructor(options: LeaseOptions, token: number, confirmedUntil: number) {
    this.token = token
    this.#store = options.store
    this.#runId = options.runId
    this.#ttlMs = options.ttlMs
    this.#clock = options.clock
    this.#onLost = options.onLost
    this.#confirmedUntil = confirmedUntil
  }

  /** Takes the lease of a run whose newest token is `expectedToken`; undefined when another was faster. */
  static async take(options: LeaseOptions, expectedToken: number): Promise<Lease | undefined> {
    const now = options.clock.now()
    const leaseUntil = now + options.ttlMs
    const token = await options.store.take(options.runId, { expectedToken, owner: encodeOwner(thisProcess()), leaseUntil, now })
    if (token === null) return undefined
    const lease = new Lease(options, token, leaseUntil)
    lease.#confirm(leaseUntil)
    return lease
  }

  /** Whether the lease is held for certain: asked right before an effect. One whose time is over is lost, also where its timer has not said so yet (a machine that slept). */
  check(): boolean {
    if (!this.#over && this.#clock.now() >= this.#confirmedUntil) this.#lose()
    return !this.#over
  }

  /** Stops renewing. Giving the lease back is part of the last write. */
  stop(): void {
    this.#over = true
    this.#disarmRenewal()
    this.#disarmEnd()
  }

  /** Gives the lease back where the last write, which would have done so, was refused: whoever comes next need not wait until it runs out. */
  async release(): Promise<void> {
    this.stop()
    await this.#store.append(this.#runId, { token: this.token, entries: [], patch: { release: true }, now: this.#clock.now() }).catch(() => {})
  }

  /** The end has a timer of its own: a renewal may hang for longer than the lease lasts. */
  #confirm(until: number): void {
    this.#confirmedUntil = until
    this.#disarmEnd()
    this.#disarmEnd = this.#clock.timer(until - this.#clock.now(), () => this.#lose())
    this.#renewLater()
  }

  #renewLater(): void {
    this.#disarmRenewal = this.#clock.timer(this.#ttlMs / 3, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    if (this.#over) return
    const until = this.#clock.now() + this.#ttlMs
    let renewed: boolean | undefined
    try {
      renewed = await this.#store.renew(this.#runId, this.token, until)
    } catch {
      // The store may come back before the lease is over; a stale token would have been an answer.
    }
    if (this.#over) return
    if (renewed === undefined) this.#renewLater()
    else if (renewed) this.#confirm(until)
    else this.#lose()
  }

  #lose(): void {
    this.stop()
    this.#onLost(new HoldfastError('LEASE_LOST', `the lease of run "${this.#runId}" could not be kept`, {
      runId: this.#runId,
      advice: 'Another process may drive the run now; run it again to see',
    }))
  }
}

export interface LeaseOptions {
  readonly store: Store
  readonly runId: string
  readonly ttlMs: number
  readonly clock: Clock
  /** Called once, when the lease is over although nobody stopped it. */
  readonly onLost: (error: HoldfastError) => void
}
