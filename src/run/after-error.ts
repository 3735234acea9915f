/** Whether a step with effects is in doubt after it threw: its own word counts, then the kind of error (R6). */
import { HoldfastError } from '../errors.ts'
import { afterError, classifyError, isAfterError, type AfterError, type Category, type Classifier } from '../reliability/index.ts'
import type { Drive } from './drive.ts'
import { messageOf } from './outcome.ts'
import type { StepSpec } from './step.ts'

export interface EffectAfter {
  readonly verdict: AfterError
  /** Whether the tool has said so, or its runner for it. */
  readonly isSaid: boolean
  readonly category: Category
}

/** What `error`, thrown out of `step`, says about its effect. */
export function effectAfter({ attempt }: Drive, spec: StepSpec, step: string, error: unknown): EffectAfter {
  const { verdict, category } = byKind(spec.retry.classify ?? classifyError, error, attempt.clock.now())
  const said = ownWord(spec, error)
  if (said === undefined) return { verdict, isSaid: false, category }
  if (isAfterError(said)) return { verdict: said, isSaid: true, category }
  attempt.warn('AFTER_ERROR_FAILED', `afterError of ${spec.label} must give 'not-done', 'in-doubt' or undefined, ${said.instead}: the call is in doubt`, step)
  return { verdict: 'in-doubt', isSaid: true, category }
}

/** Of work that was told to stop: an error that came because of that may look like any other, so one of no known kind says nothing, unless the tool says it. */
export const isNotDone = ({ verdict, isSaid, category }: EffectAfter): boolean => verdict === 'not-done' && (isSaid || category !== 'unknown')

function byKind(classify: Classifier, error: unknown, now: number): { verdict: AfterError; category: Category } {
  try {
    const classification = classify(error, { now })
    return { verdict: afterError(error, classification, classify), category: classification.category }
  } catch {
    // A classifier of the user's that throws has not said that nothing happened.
    return { verdict: 'in-doubt', category: 'unknown' }
  }
}

function ownWord(spec: StepSpec, error: unknown): AfterError | undefined | { readonly instead: string } {
  // The run's own limit is nothing that the tool threw.
  if (HoldfastError.isInstance(error) && error.code === 'RUN_TIMEOUT') return undefined
  try {
    const said: unknown = spec.afterError?.(error)
    // A promise of an answer is none: whether the call may be made again has to be known now. Its failure must not end the process.
    void Promise.resolve(said).catch(() => {})
    return said === undefined || isAfterError(said) ? said : { instead: `got ${typeof said === 'string' ? JSON.stringify(said) : Object.prototype.toString.call(said)}` }
  } catch (thrown) {
    return { instead: `it threw: ${messageOf(thrown)}` }
  }
}
