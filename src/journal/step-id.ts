/** What the ids of steps must be (docs/format.md): right by themselves, and each of one step for ever. */
import type { Placed } from './chain.ts'
import type { Entry } from './entry.ts'

/** What is wrong with the id of the step that an entry is of; undefined: nothing. */
export function idFault(entry: Entry): string | undefined {
  if (entry.type !== 'step-started' && entry.type !== 'step-entered' && entry.type !== 'step-ended') return undefined
  const { id, branch, slot } = entry.step
  const above = branch === '' ? '' : `${branch}/`
  if (!id.startsWith(above)) return `step.id is ${JSON.stringify(id)}, and the step is of branch ${JSON.stringify(branch)}`
  if (slot === undefined) return undefined
  const place = `${above}${slot}`
  return id === place || (id.startsWith(`${place}~`) && /^\d+$/.test(id.slice(place.length + 1))) ? undefined : `step.id is ${JSON.stringify(id)}, and the step is number ${slot} of ${JSON.stringify(branch)}`
}

/** The first entry that cannot follow those before it; undefined: there is none. */
export function repeatedStep(entries: readonly Placed[]): { readonly seq: number; readonly message: string } | undefined {
  const ids = new StepIds()
  for (const placed of entries) {
    const message = ids.fault(placed)
    if (message !== undefined) return { seq: placed.seq, message }
    ids.take(placed)
  }
  return undefined
}

/**
 * The steps that have their results: none of them has another entry, unless it was superseded since. What stands inside of a step ends again where that is
 * tried again in the same attempt; and what ended without a result (an error, nobody knows) may end again.
 */
export class StepIds {
  readonly #ended = new Map<string, { readonly seq: number; readonly attempt: number }>()
  #attempt = 0

  /** What is wrong with the entry as the next one; undefined: nothing. */
  fault({ entry }: Placed): string | undefined {
    if (entry.type !== 'step-started' && entry.type !== 'step-entered' && entry.type !== 'step-ended') return undefined
    const { id, branch } = entry.step
    const before = this.#ended.get(id)
    return before && (before.attempt < this.#attempt || !isInStep(branch)) ? `it is of step ${JSON.stringify(id)}, which has its result in entry ${before.seq}` : undefined
  }

  take({ seq, entry }: Placed): void {
    if (entry.type === 'attempt-started') this.#attempt++
    else if (entry.type === 'superseded') {
      for (const id of this.#ended.keys()) if (entry.ids.some((above) => id === above || id.startsWith(`${above}/`))) this.#ended.delete(id)
    } else if (entry.type === 'step-ended' && entry.outcome.type === 'value') this.#ended.set(entry.step.id, { seq, attempt: this.#attempt })
  }
}

/** Whether a branch stands inside of what is tried again: not the handler itself, its branches and agents. */
const isInStep = (branch: string): boolean => branch !== '' && branch.split('/').some((segment) => !/^[ab]:/.test(segment))
