/** What the ids of steps must be (docs/format.md): right by themselves, and each of one step for ever. */
import type { Placed } from './chain.ts'
import type { Entry } from './entry.ts'

/** What is wrong with the id of the step that an entry is of; undefined: nothing. */
export function idFault(entry: Entry): string | undefined {
  if (entry.type !== 'step-started' && entry.type !== 'step-ended') return undefined
  const { id, branch, slot } = entry.step
  const above = branch === '' ? '' : `${branch}/`
  if (!id.startsWith(above)) return `step.id is ${JSON.stringify(id)}, and the step is of branch ${JSON.stringify(branch)}`
  if (slot === undefined) return undefined
  const place = `${above}${slot}`
  return id === place || (id.startsWith(`${place}~`) && /^\d+$/.test(id.slice(place.length + 1))) ? undefined : `step.id is ${JSON.stringify(id)}, and the step is number ${slot} of ${JSON.stringify(branch)}`
}

/**
 * The first entry of a step that has its result already, and was not superseded since; undefined: there is none. What stands inside of a step ends again
 * where that is tried again in the same attempt; and what ended without a result (an error, nobody knows) may end again.
 */
export function repeatedStep(entries: readonly Placed[]): { readonly seq: number; readonly message: string } | undefined {
  const ended = new Map<string, { readonly seq: number; readonly attempt: number }>()
  let attempt = 0
  for (const { seq, entry } of entries) {
    if (entry.type === 'attempt-started') attempt++
    else if (entry.type === 'superseded') {
      for (const id of ended.keys()) if (entry.ids.some((above) => id === above || id.startsWith(`${above}/`))) ended.delete(id)
    } else if (entry.type === 'step-started' || entry.type === 'step-ended') {
      const { id, branch } = entry.step
      const before = ended.get(id)
      if (before && (before.attempt < attempt || !isInStep(branch))) return { seq, message: `it is of step ${JSON.stringify(id)}, which has its result in entry ${before.seq}` }
      if (entry.type === 'step-ended' && entry.outcome.type === 'value') ended.set(id, { seq, attempt })
    }
  }
  return undefined
}

/** Whether a branch stands inside of what is tried again: not the handler itself, its branches and agents. */
const isInStep = (branch: string): boolean => branch !== '' && branch.split('/').some((segment) => !/^[ab]:/.test(segment))
