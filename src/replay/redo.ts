/** What is superseded when a run is to be driven again from a step on (R7). */
import type { History, StepRecord } from './history.ts'
import { isWithin, MAIN, parentOf, turnOf } from './identity.ts'

export type Redo =
  | { readonly type: 'from'; readonly ids: readonly string[] }
  /** The step lies inside one that answers as a whole: that one has to be redone. */
  | { readonly type: 'inside'; readonly step: string }
  /** Its record answers no more: `now` stands in its place, where that has a record. */
  | { readonly type: 'superseded'; readonly now: string | undefined }
  | { readonly type: 'unknown' }

/**
 * The step, and what came after it in its branch and in those above: steps, calls, and branches that were opened later.
 * What ran beside it stays.
 */
export function redoFrom(history: History, step: string): Redo {
  const record = history.records.get(step)
  if (history.isGone(step)) return { type: 'superseded', now: standingAt(history, step) }
  if (!record) return { type: 'unknown' }
  const around = enclosing(history, record)
  if (around) return { type: 'inside', step: around.ref.id }
  const since = record.end?.seq ?? Infinity
  const ids = [step]
  for (let branch: string | undefined = record.ref.branch; branch !== undefined; branch = parentOf(branch)) {
    for (const child of history.childrenOf(branch)) {
      if (!isWithin(step, child) && firstOf(history, child) > since) ids.push(child)
    }
  }
  return { type: 'from', ids }
}

/** Position at which the first step at or below a path was under way: that of its start, where that is written, else of its end. */
function firstOf(history: History, path: string): number {
  let first = Infinity
  for (const id of history.recordsBelow(path)) first = Math.min(first, history.ledger.effects.get(id)?.startedSeq ?? history.records.get(id)!.seq)
  return first
}

/** The outermost step that holds the record and has an end. */
function enclosing(history: History, record: StepRecord): StepRecord | undefined {
  let found: StepRecord | undefined
  for (let path: string | undefined = record.ref.branch; path !== undefined && path !== MAIN; path = parentOf(path)) {
    const around = history.records.get(path)
    if (around?.end && around.ref.kind !== 'model') found = around
  }
  return found
}

/** What stands at the turn of a step now, as each thing that it stands in does. */
function standingAt(history: History, step: string): string | undefined {
  const now = turnOf(step).split('/').reduce((path, segment) => history.current(path === MAIN ? segment : `${path}/${segment}`), MAIN)
  return history.records.has(now) ? now : undefined
}
