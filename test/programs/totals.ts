/** Sums over many executions. */
import type { Execution } from './execute.ts'

export class Totals {
  failed = 0
  #programs = 0
  #attempts = 0
  #kills = 0
  #requests = 0
  #decisions = 0
  #answers = 0
  #compared = 0
  readonly #kinds = new Map<string, number>()

  add(execution: Execution): void {
    this.#programs++
    this.#attempts += execution.attempts
    this.#kills += execution.kills
    this.#requests += execution.requests
    this.#decisions += execution.decisions
    this.#answers += execution.answers
    if (!execution.altered) this.#compared++
    const [first] = execution.violations
    if (!first) return
    this.failed++
    this.#kinds.set(first.kind, (this.#kinds.get(first.kind) ?? 0) + 1)
  }

  line(): string {
    const kinds = [...this.#kinds].map(([kind, n]) => `${kind} ${n}`).join(', ')
    return `${this.#programs} programs, ${this.#attempts} attempts, ${this.#kills} kills, ${this.#requests} model requests, `
      + `${this.#decisions} decisions, ${this.#answers} approvals and denials, ${this.#compared} results compared, ${this.failed} failed${kinds && `: ${kinds}`}`
  }
}
