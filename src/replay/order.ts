/** The order in which results are handed to their callers (R4): by record, oldest first, waiting a moment for older ones. */
import type { StepRecord } from './history.ts'

/** What to hand out next. */
export type Next<T> =
  | { readonly type: 'nothing' }
  | { readonly type: 'deliver'; readonly item: T }
  /** An older record is still expected to be asked for: wait `replayHoldMs` at most, then `giveUp`. */
  | { readonly type: 'hold'; readonly for: string }

export class Order<T extends { readonly seq: number }> {
  readonly #ready: T[] = []
  /** Records that can still be asked for, oldest first; those before `#next` were asked for, superseded or given up. */
  readonly #expected: readonly StepRecord[]
  #next = 0
  readonly #waitedFor: Set<string>
  /** Branches that are not waited for at present. */
  readonly #givenUp = new Set<string>()
  /** Records that were waited for in vain: a step that the program has lost costs one wait, not one at every later step. */
  readonly #inVain = new Set<string>()

  constructor(expected: readonly StepRecord[]) {
    this.#expected = expected
    this.#waitedFor = new Set(expected.map((record) => record.ref.id))
  }

  /** How many records can still be asked for. */
  get left(): number {
    return this.#waitedFor.size
  }

  /** The record was asked for, or will not be asked for any more. */
  settle(record: string): void {
    this.#waitedFor.delete(record)
  }

  /** A branch in which something is asked for again is worth waiting for again. */
  revive(branch: string): void {
    if (this.#givenUp.delete(branch)) this.#next = 0
  }

  ready(item: T): void {
    let at = this.#ready.length
    while (at > 0 && this.#ready[at - 1]!.seq > item.seq) at--
    this.#ready.splice(at, 0, item)
  }

  next(): Next<T> {
    const [oldest] = this.#ready
    if (!oldest) return { type: 'nothing' }
    const older = this.#olderThan(oldest.seq)
    if (older) return { type: 'hold', for: older.ref.id }
    this.#ready.shift()
    return { type: 'deliver', item: oldest }
  }

  /** What is held back is not held back any longer: what it waited for is not waited for again, nor, for now, is its branch. */
  giveUp(): void {
    const [oldest] = this.#ready
    if (!oldest) return
    for (let older = this.#olderThan(oldest.seq); older; older = this.#olderThan(oldest.seq)) {
      this.#inVain.add(older.ref.id)
      this.#givenUp.add(older.ref.branch)
    }
  }

  #olderThan(seq: number): StepRecord | undefined {
    for (; this.#next < this.#expected.length; this.#next++) {
      const record = this.#expected[this.#next]!
      const { id, branch } = record.ref
      if (!this.#waitedFor.has(id) || this.#inVain.has(id) || this.#givenUp.has(branch)) continue
      return record.end!.seq < seq ? record : undefined
    }
    return undefined
  }
}
