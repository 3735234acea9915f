/** What the outside world counts: every request, and every effect that it really made. Pure. */
import { effects, receiptOf, type EffectPath } from './ticket.ts'

/** One effect as `GET /ledger` shows it. */
export interface EffectCount {
  readonly name: string
  readonly what: string
  /** How often it was made. */
  readonly times: number
  /** How often it was asked for, with an idempotency key and without. */
  readonly requests: { readonly withKey: number; readonly withoutKey: number }
}

export interface LedgerView {
  readonly requests: { readonly received: number; readonly lookups: number; readonly questions: number; readonly effects: number }
  readonly effects: readonly EffectCount[]
}

interface Made {
  readonly key: string | undefined
  readonly receipt: Readonly<Record<string, unknown>>
}

export class Ledger {
  readonly #made = new Map<EffectPath, Made[]>()
  readonly #withKey = new Map<EffectPath, number>()
  readonly #withoutKey = new Map<EffectPath, number>()
  #lookups = 0
  #questions = 0
  #effects = 0

  countLookup(): void {
    this.#lookups++
  }

  /** A question whether an effect was made: by its key, or by whatever a person has at hand. */
  countQuestion(): void {
    this.#questions++
  }

  countEffectRequest(path: EffectPath, key: string | undefined): void {
    this.#effects++
    const counts = key === undefined ? this.#withoutKey : this.#withKey
    counts.set(path, (counts.get(path) ?? 0) + 1)
  }

  /**
   * Makes the effect. Payments honour the key: the same key again gives the receipt of the first time. Mail and tickets
   * do not: they only remember it, so whoever repeats a request there makes the effect twice.
   */
  make(path: EffectPath, key: string | undefined): Readonly<Record<string, unknown>> {
    const made = this.#made.get(path) ?? []
    const former = path === '/payments/refunds' && key !== undefined ? made.find((each) => each.key === key) : undefined
    if (former) return former.receipt
    const receipt = receiptOf(path, made.length + 1)
    this.#made.set(path, [...made, { key, receipt }])
    return receipt
  }

  /** The receipt under this key, or the latest one when no key is named. */
  find(path: EffectPath, key: string | undefined): Readonly<Record<string, unknown>> | undefined {
    return this.#made.get(path)?.findLast((each) => key === undefined || each.key === key)?.receipt
  }

  view(): LedgerView {
    return {
      requests: {
        received: this.#lookups + this.#questions + this.#effects,
        lookups: this.#lookups,
        questions: this.#questions,
        effects: this.#effects,
      },
      effects: effects.map(({ name, path, what }) => ({
        name,
        what,
        times: this.#made.get(path)?.length ?? 0,
        requests: { withKey: this.#withKey.get(path) ?? 0, withoutKey: this.#withoutKey.get(path) ?? 0 },
      })),
    }
  }
}
