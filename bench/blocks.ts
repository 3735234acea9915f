/** Times of a row of steps, in blocks: what a step costs, and whether the last ones take more work than the first. */

export interface Row {
  readonly what: string
  readonly msPerStep: number
  /** Ms of processor time a step in the quickest of the first blocks, and in the quickest of the last ones. */
  readonly first: number
  readonly last: number
  /** What the journal holds, beside what the steps gave. */
  readonly bytesRatio?: number
  /** The same loop without Holdfast: what of the row is not ours. */
  readonly plain?: Row
  /** Its requests as JSON: what a provider does with each of them, at the least. */
  readonly sent?: Row
}

/** What a loop's steps cost beside the same ones without Holdfast. */
export const oursOf = ({ msPerStep, first, last }: Row, plain: Row): Row => ({
  what: '    of that Holdfast', msPerStep: msPerStep - plain.msPerStep, first: first - plain.first, last: last - plain.last,
})

export const BLOCKS = 40

export class Blocks {
  readonly #size: number
  /** Of each block, ms of processor time a step: what waits for a disk or another process is not its work. */
  readonly #work: number[] = []
  readonly #began = performance.now()
  #used = process.cpuUsage()
  #count = 0

  constructor(steps: number) {
    this.#size = Math.max(1, Math.floor(steps / BLOCKS))
  }

  /** One step has ended. */
  step(): void {
    if (++this.#count % this.#size > 0) return
    const { user, system } = process.cpuUsage(this.#used)
    this.#used = process.cpuUsage()
    this.#work.push((user + system) / 1_000 / this.#size)
  }

  row(what: string, more: Pick<Row, 'bytesRatio' | 'plain' | 'sent'> = {}): Row {
    const msPerStep = (performance.now() - this.#began) / this.#count
    return { what, msPerStep, first: Math.min(...this.#work.slice(0, 8)), last: Math.min(...this.#work.slice(-8)), ...more }
  }
}
