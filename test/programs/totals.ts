/** Sums over many executions. */
import type { Execution } from './execute.ts'
import type { ViolationKind } from './violation.ts'

/** What is counted of an execution. */
export interface Tally extends Pick<Execution, 'attempts' | 'kills' | 'requests' | 'decisions' | 'answers' | 'altered'> {
  readonly failed: ViolationKind | undefined
}

export const tallyOf = ({ attempts, kills, requests, decisions, answers, altered, violations: [first] }: Execution): Tally =>
  ({ attempts, kills, requests, decisions, answers, altered, failed: first?.kind })

export class Totals {
  failed = 0
  #programs = 0
  #attempts = 0
  #kills = 0
  #requests = 0
  #decisions = 0
  #answers = 0
  #compared = 0
  readonly #kinds = new Map<ViolationKind, number>()

  add(tally: Tally): void {
    this.#programs++
    this.#attempts += tally.attempts
    this.#kills += tally.kills
    this.#requests += tally.requests
    this.#decisions += tally.decisions
    this.#answers += tally.answers
    if (!tally.altered) this.#compared++
    if (!tally.failed) return
    this.failed++
    this.#kinds.set(tally.failed, (this.#kinds.get(tally.failed) ?? 0) + 1)
  }

  /** A program without an end. */
  lost(): void {
    this.failed++
    this.#kinds.set('endless', (this.#kinds.get('endless') ?? 0) + 1)
  }

  line(): string {
    const kinds = [...this.#kinds].map(([kind, n]) => `${kind} ${n}`).join(', ')
    return `${this.#programs} programs, ${this.#attempts} attempts, ${this.#kills} kills, ${this.#requests} model requests, `
      + `${this.#decisions} decisions, ${this.#answers} approvals and denials, ${this.#compared} results compared, ${this.failed} failed${kinds && `: ${kinds}`}`
  }
}
