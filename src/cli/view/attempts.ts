/** The attempts of a run: when each began, how it ended, what it did. */
import type { AttemptSummary, Entry } from '../../journal/entry.ts'

/** `killed`: its process died. `lost`: its lease ran out, and nobody knows what became of it. */
export type AttemptEnding = 'completed' | 'failed' | 'cancelled' | 'suspended' | 'running' | 'killed' | 'lost'

export interface AttemptView {
  readonly attempt: number
  /** Of the agent's code that drove it. */
  readonly version: string
  readonly startedAt: number
  /** null where it did not end on purpose. */
  readonly endedAt: number | null
  readonly ending: AttemptEnding
  /** null where it did not end on purpose. */
  readonly summary: AttemptSummary | null
}

interface Gathered {
  readonly attempt: number
  readonly version: string
  readonly startedAt: number
  end?: { readonly at: number; readonly summary: AttemptSummary }
  ending?: AttemptEnding
}

export class AttemptLog {
  readonly #attempts: Gathered[] = []

  apply(entry: Entry): void {
    const current = this.#attempts.at(-1)
    switch (entry.type) {
      case 'attempt-started':
        // How the attempt before ended is found out by the one after it.
        if (current && !current.end) current.ending = entry.former === 'expired' || current.ending === 'lost' ? 'lost' : 'killed'
        this.#attempts.push({ attempt: entry.attempt, version: entry.version, startedAt: entry.at })
        break
      case 'salvaged':
        // Where its end was, nobody knows.
        if (current && !current.end) current.ending = 'lost'
        break
      case 'suspended':
        if (current) current.ending = 'suspended'
        break
      case 'run-ended':
        if (current) current.ending = entry.status
        break
      case 'attempt-ended':
        if (current) current.end = { at: entry.at, summary: entry.summary }
    }
  }

  /** @param isDriven Somebody drives the run now: the attempt without an end runs. */
  views(isDriven: boolean): AttemptView[] {
    return this.#attempts.map(({ attempt, version, startedAt, end, ending }) => ({
      attempt,
      version,
      startedAt,
      endedAt: end?.at ?? null,
      ending: end ? (ending ?? 'suspended') : isDriven && attempt === this.#attempts.at(-1)!.attempt ? 'running' : (ending ?? 'killed'),
      summary: end?.summary ?? null,
    }))
  }
}
