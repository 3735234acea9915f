/** Places for work that goes on at the same time: who comes waits for one, not for all of those before. */
export class Slots {
  readonly #size: number
  readonly #taken = new Set<string>()
  /** Who waits for the next end. */
  #waiting: (() => void)[] = []

  constructor(size: number) {
    this.#size = size
  }

  has(key: string): boolean {
    return this.#taken.has(key)
  }

  /** Resolves when there is a free one. */
  async free(): Promise<void> {
    while (this.#taken.size >= this.#size) await this.#nextEnd()
  }

  /** Resolves when all are free. */
  async empty(): Promise<void> {
    while (this.#taken.size > 0) await this.#nextEnd()
  }

  /** Begins work that never rejects, in a free one. */
  take(key: string, work: () => Promise<void>): void {
    this.#taken.add(key)
    void work().finally(() => {
      this.#taken.delete(key)
      const waiting = this.#waiting
      this.#waiting = []
      for (const wake of waiting) wake()
    })
  }

  #nextEnd(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
