/** A run that failed and cleaned up behind its failure: what it had done before may be undone, and its records would answer all the same (R4). */
import { HoldfastError } from '../errors.ts'
import type { Placed } from '../journal/chain.ts'
import { decode } from '../journal/codec.ts'
import type { RunEnded, StepRef } from '../journal/entry.ts'

export const named = (steps: readonly StepRef[]): string => steps.map(({ kind, name, id }) => `${kind} "${name}" (${id})`).join(', ')

/** What is said of a clean-up begins with this. */
export const CLEANED_UP = 'Behind the failure was done: '

/** `steps`: the clean-up. */
export const cleanedUpAdvice = (steps: readonly StepRef[]): string =>
  `${CLEANED_UP}${named(steps)}. What was done before may be undone by that, and would count as done: drive the run again with { redo: ["STEP"] } from each step on that was undone, with { force: true } where none was (holdfast resume ID --redo STEP,STEP | --force), or always with createRunner({ onCleanup: "continue" })`

/** What a run did behind the failure that it ended with. */
export function cleanUpOf({ cleanUp = [] }: RunEnded, entries: readonly Placed[]): readonly StepRef[] {
  const refs = new Map(entries.flatMap(({ entry }) => (entry.type === 'step-started' || entry.type === 'step-ended' ? [[entry.step.id, entry.step]] : [])))
  return cleanUp.flatMap((id) => refs.get(id) ?? [])
}

/** Undefined: its newest attempt did not end like that. */
export function cleanedUp(runId: string, entries: readonly Placed[]): HoldfastError | undefined {
  const last = entries.findLast(({ entry }) => entry.type === 'run-ended' || entry.type === 'attempt-started')?.entry
  if (last?.type !== 'run-ended' || !last.cleanUp) return undefined
  return new HoldfastError('RUN_CLEANED_UP', `run "${runId}" failed, and is not driven again by itself`, {
    runId, advice: cleanedUpAdvice(cleanUpOf(last, entries)), cause: last.error && decode(last.error, 'error'),
  })
}
