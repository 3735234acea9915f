/**
 * How often each step was replayed. The journal says how many steps of each kind an attempt replayed, not which: where it
 * replayed all that it could, each was; where it replayed none, none was; in between, and where it was killed, either.
 */
import type { AttemptSummary, StepKind } from '../../journal/entry.ts'
import type { StepRecord } from '../../replay/history.ts'

export interface Replays {
  readonly least: number
  readonly most: number
}

export class ReplayCount {
  readonly #counts = new Map<string, Replays>()
  /** What the current attempt can replay. */
  #open: readonly StepRecord[] = []

  attemptStarted(expected: readonly StepRecord[]): void {
    this.#settle(() => 'unknown')
    this.#open = expected
  }

  attemptEnded(summary: AttemptSummary): void {
    const could = new Map<StepKind, number>()
    for (const { ref } of this.#open) could.set(ref.kind, (could.get(ref.kind) ?? 0) + 1)
    this.#settle((kind) => {
      const did = summary.replayed[kind] ?? 0
      return did === 0 ? 'none' : did >= could.get(kind)! ? 'all' : 'unknown'
    })
  }

  /** Of a step, an attempt that has not ended included. */
  of(step: string): Replays {
    const { least, most } = this.#counts.get(step) ?? { least: 0, most: 0 }
    return { least, most: most + (this.#open.some(({ ref }) => ref.id === step) ? 1 : 0) }
  }

  #settle(which: (kind: StepKind) => 'all' | 'none' | 'unknown'): void {
    for (const { ref } of this.#open) {
      const { least, most } = this.#counts.get(ref.id) ?? { least: 0, most: 0 }
      const how = which(ref.kind)
      this.#counts.set(ref.id, { least: least + (how === 'all' ? 1 : 0), most: most + (how === 'none' ? 0 : 1) })
    }
    this.#open = []
  }
}
