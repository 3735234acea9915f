/** The error with which a call ends whose run failed: what was done, and how to go on (A19). */
import { HoldfastError, type RunUsage } from '../errors.ts'
import { messageOf } from '../run/readable.ts'

const ADVICE = 'What was done is kept: run() or resume() drives it again from there'

/** Of an error in the program's own words. */
const adviceOn = (left: string): string =>
  `${ADVICE}. Step ${left} failed before that, and its failure answers again: if it is the reason, throw an error that has it as its cause, or drive the run again with resume(id, { redo: ${JSON.stringify(left)} })`

/**
 * The error itself where it is Holdfast's own and of this run, completed in place: who holds it from elsewhere (a listener, a log) has
 * the same. Else `RUN_FAILED` with it as its cause.
 */
export function runFailure(error: unknown, runId: string, usage: RunUsage, left?: string): HoldfastError {
  const isOfRun = HoldfastError.isInstance(error) && (error.runId ?? runId) === runId && !Object.isFrozen(error)
  if (!isOfRun) {
    return Object.assign(new HoldfastError('RUN_FAILED', `run "${runId}" failed: ${messageOf(error)}`, { runId, cause: error, advice: left === undefined ? ADVICE : adviceOn(left) }), { usage })
  }
  const advised = error.advice === undefined ? { advice: ADVICE, message: `${error.message}. ${ADVICE}` } : {}
  return Object.assign(error, { runId, usage, ...advised })
}
