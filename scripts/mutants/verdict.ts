/** What came of a mutant. */
import type { TestResult } from './test-run.ts'

export type Verdict =
  | { readonly type: 'caught' }
  /** The named test passes although the mistake is there. */
  | { readonly type: 'survived' }
  /** It was noticed by accident: it does not run at all. That says nothing about the test. */
  | { readonly type: 'broken'; readonly message: string }

/** What a variant says that was written wrongly itself. */
const NOT_RUN = /\b(SyntaxError|ReferenceError)\b|\bis not defined\b/

export function verdictOf(result: TestResult): Verdict {
  if (result.type === 'passed') return { type: 'survived' }
  if (result.type === 'broken') return result
  const accident = result.messages.find((message) => NOT_RUN.test(message))
  return accident === undefined ? { type: 'caught' } : { type: 'broken', message: accident.split('\n')[0]! }
}
