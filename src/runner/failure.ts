/** The error with which a call ends whose run failed: what was done, and how to go on (A19). */
import { HoldfastError, type RunUsage } from '../errors.ts'
import type { StepRef } from '../journal/entry.ts'
import type { Left } from '../replay/failure.ts'
import { messageOf } from '../run/readable.ts'
import { cleanedUpAdvice, named } from './cleaned-up.ts'

/** Where nothing is in the way. */
export const DRIVES_AGAIN = 'What was done is kept: run() or resume() drives it again from there'

/** What was decided stands, however often the run is driven again. A failure does, where the run failed with an error in the program's own words. */
function adviceOnLeft({ step, isDecided, cleanUp }: Left): string {
  const again = `drive the run again with resume(id, { redo: ${JSON.stringify(step)} })`
  const undone = cleanUp.length > 0 ? `. Behind it was done: ${named(cleanUp)}. What that has undone counts as done then: redo it too, { redo: ["STEP", ${JSON.stringify(step)}] }` : ''
  return isDecided
    ? `What was decided about step ${step} stands: if it is the reason, ${again}, which asks anew${undone}`
    : `Step ${step} failed before that, and its failure answers again: if it is the reason, throw an error that has it as its cause, or ${again}${undone}`
}

/** What becomes of the run when it is driven again. */
export interface Again {
  readonly left?: Left | undefined
  /** What was done behind the failure, and may have undone what was done before. */
  readonly cleanUp?: readonly StepRef[]
}

function adviceOn({ left, cleanUp = [] }: Again): string {
  if (cleanUp.length > 0) return cleanedUpAdvice(cleanUp)
  return left ? `${DRIVES_AGAIN}. ${adviceOnLeft(left)}` : DRIVES_AGAIN
}

/**
 * The error itself where it is Holdfast's own and of this run, completed in place: who holds it from elsewhere (a listener, a log) has
 * the same. Else `RUN_FAILED` with it as its cause.
 */
export function runFailure(error: unknown, runId: string, usage: RunUsage, again: Again = {}): HoldfastError {
  const advice = adviceOn(again)
  const isOfRun = HoldfastError.isInstance(error) && (error.runId ?? runId) === runId && !Object.isFrozen(error)
  if (!isOfRun) {
    return Object.assign(new HoldfastError('RUN_FAILED', `run "${runId}" failed: ${messageOf(error)}`, { runId, cause: error, advice }), { usage })
  }
  if (error.advice !== undefined && !again.cleanUp?.length) return Object.assign(error, { runId, usage })
  return Object.assign(error, { runId, usage, advice: error.advice === undefined ? advice : `${error.advice}. ${advice}`, message: `${error.message}. ${advice}` })
}
