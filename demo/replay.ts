/** What of a drive was replayed, and how long that took. */
import type { StepKind } from '../src/journal/entry.ts'

const WORDS: readonly (readonly [StepKind, string])[] = [['model', 'model request'], ['tool', 'tool call'], ['step', 'step'], ['read', 'read'], ['agent', 'agent']]

export class Replay {
  readonly #fromMs: number
  #toMs = 0
  readonly #count = new Map<StepKind, number>()
  /** Of each model request since the handler began, whether it was answered from the journal. */
  readonly #requests: boolean[] = []
  #isTold = false

  constructor(fromMs = 0) {
    this.#fromMs = fromMs
  }

  replayed({ kind }: { readonly kind: StepKind }, clockMs: number): void {
    this.#count.set(kind, (this.#count.get(kind) ?? 0) + 1)
    this.#toMs = clockMs
    if (kind === 'model') this.#requests.push(true)
  }

  /** A model request is made live. */
  live(): void {
    this.#requests.push(false)
  }

  /** `request` is counted from 1. */
  isReplayed(request: number): boolean {
    return this.#requests[request - 1] === true
  }

  /** Something else happens now: what there is to say about the replay, once. */
  end(): string | undefined {
    if (this.#isTold || this.#count.size === 0) return undefined
    this.#isTold = true
    const counts = WORDS.flatMap(([kind, word]) => {
      const n = this.#count.get(kind)
      return n === undefined ? [] : [`${n} ${word}${n === 1 ? '' : 's'}`]
    })
    return `${counts.join(' and ')} answered from the journal in ${(this.#toMs - this.#fromMs).toFixed(0)} ms, none was sent again`
  }
}
