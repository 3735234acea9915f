/** Checks what code of the user's says about an error: a wrong answer must not decide whether something is sent twice. */
import { shown as asText } from '../../core/shown.ts'
import { isCategory, isTransient, type Classification, type Classifier } from './category.ts'
import { read } from './layers.ts'

/** The longest hint, ms: what a timer takes. */
const MAX_MS = 2 ** 31 - 1

/** What is wrong with what a rule or a classifier gave, in words; undefined: nothing is. */
export function wrongAnswer(value: unknown): string | undefined {
  if (typeof read(value, 'then') === 'function') {
    // It is not waited for, and its failure must not end the process.
    void Promise.resolve(value).catch(() => {})
    return 'it gave a promise, and must answer at once'
  }
  if (typeof value !== 'object' || value === null) return `it gave ${shown(value)} in place of { category }`
  const [category, retryable, retryAfterMs] = ['category', 'retryable', 'retryAfterMs'].map((key) => read(value, key))
  if (!isCategory(category)) return `it gave the category ${shown(category)}, which there is not`
  if (retryable !== undefined && typeof retryable !== 'boolean') return `it gave retryable ${shown(retryable)}, which is neither true nor false`
  const isHint = retryAfterMs === undefined || retryAfterMs === null || (typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs <= MAX_MS)
  return isHint ? undefined : `it gave retryAfterMs ${shown(retryAfterMs)}, which is not from 0 to ${MAX_MS} ms`
}

const shown = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value === 'object' && value !== null ? 'an object' : String(value))

/** What was thrown, in words. */
export function thrownBy(thrown: unknown): string {
  const message = read(thrown, 'message') ?? thrown
  return `it threw: ${(typeof message === 'string' ? message : asText(message)).slice(0, 200)}`
}

/** `given`, and where what it says is wrong, or it throws: `fallback`, with that in its evidence. What it leaves out is filled in. */
export function checkedClassifier(given: Classifier, fallback: Classifier): Classifier {
  return (error, context) => {
    const instead = (why: string): Classification => {
      const classification = fallback(error, context)
      return { ...classification, evidence: { ...classification.evidence, ignored: `retry.classify was ignored: ${why}` } }
    }
    try {
      const answer: Partial<Classification> & Pick<Classification, 'category'> = given(error, context)
      const wrong = wrongAnswer(answer)
      if (wrong !== undefined) return instead(wrong)
      const { category, retryable = isTransient(category), retryAfterMs = null, evidence } = answer
      return { category, retryable, retryAfterMs, evidence: typeof evidence?.rule === 'string' ? evidence : { rule: 'rule:retry.classify', layer: 'error', depth: 0 } }
    } catch (thrown) {
      return instead(thrownBy(thrown))
    }
  }
}
