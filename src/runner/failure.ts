/** The error with which a call ends whose run failed: what was done, and how to go on (A19). */
import { HoldfastError, type RunUsage } from '../errors.ts'
import type { Left } from '../replay/failure.ts'
import { messageOf } from '../run/readable.ts'

const ADVICE = 'What was done is kept: run() or resume() drives it again from there'

/** What was decided stands, however often the run is driven again. A failure does, where the run failed with an error in the program's own words. */
function adviceOn({ step, isDecided }: Left): string {
  const again = `drive the run again with resume(id, { redo: ${JSON.stringify(step)} })`
  return isDecided
    ? `${ADVICE}. What was decided about step ${step} stands: if it is the reason, ${again}, which asks anew`
    : `${ADVICE}. Step ${step} failed before that, and its failure answers again: if it is the reason, throw an error that has it as its cause, or ${again}`
}

/**
 * The error itself where it is Holdfast's own and of this run, completed in place: who holds it from elsewhere (a listener, a log) has
 * the same. Else `RUN_FAILED` with it as its cause.
 */
export function runFailure(error: unknown, runId: string, usage: RunUsage, left?: Left): HoldfastError {
  const advice = left ? adviceOn(left) : ADVICE
  const isOfRun = HoldfastError.isInstance(error) && (error.runId ?? runId) === runId && !Object.isFrozen(error)
  if (!isOfRun) {
    return Object.assign(new HoldfastError('RUN_FAILED', `run "${runId}" failed: ${messageOf(error)}`, { runId, cause: error, advice }), { usage })
  }
  const advised = error.advice === undefined ? { advice, message: `${error.message}. ${advice}` } : {}
  return Object.assign(error, { runId, usage, ...advised })
}
