/** What kinds of errors there are, and what the classifier says about one. */

/** The kinds of errors. */
export const CATEGORIES = [
  'rate_limit',       // too much asked in too short a time; later it works
  'overloaded',       // the other side has too much to do
  'timeout',          // no answer in time
  'network',          // no connection, or a broken one
  'server',           // the other side failed
  'context_overflow', // the request is larger than the model takes
  'auth',             // who asks is unknown or not allowed
  'quota',            // paid for so much and no more
  'invalid_request',  // the request is wrong and stays so
  'content_filter',   // refused for its content
  'cancelled',        // somebody stopped it
  'tool',             // a tool call that the model got wrong
  'unknown',          // no evidence
] as const

/** One of {@link CATEGORIES}. */
export type Category = (typeof CATEGORIES)[number]

/** Categories that go away by themselves. All others are never retried, unless a user's rule says so. */
const TRANSIENT: ReadonlySet<Category> = new Set<Category>(['rate_limit', 'overloaded', 'timeout', 'network', 'server'])

/** Whether a value is one of the categories. */
export function isCategory(value: unknown): value is Category {
  return (CATEGORIES as readonly unknown[]).includes(value)
}

/** Whether errors of this category are worth another try, as far as the category alone can tell. */
export function isTransient(category: Category): boolean {
  return TRANSIENT.has(category)
}

/** What decided, for people who ask why. */
export interface Evidence {
  /** The rule, such as `status:429`, `provider:overloaded_error`, `errno:ECONNRESET`, `text:...`, or `none`. */
  readonly rule: string
  /** Where it was found: the way from the thrown value down, such as `error`, `error.lastError.cause`; `context` for the runner's own abort. */
  readonly layer: string
  /** How deep that is: 0 is the thrown value itself. */
  readonly depth: number
  /** What `retryAfterMs` was read from, such as `header:retry-after`. */
  readonly hint?: string
  /** What overrode `retryable`, such as `x-should-retry`. */
  readonly override?: string
  /** A rule or classifier of the user's whose answer was wrong, or that threw: it was not heeded, and what it meant to say nobody knows. */
  readonly ignored?: string
}

/** What the classifier says about an error. */
export interface Classification {
  readonly category: Category
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** How long the other side asks to wait, whole ms; null: it does not say. Never retry earlier. */
  readonly retryAfterMs: number | null
  readonly evidence: Evidence
}

/** What the caller knows beside the error. */
export interface ErrorContext {
  /** Whether the caller's own signal was aborted. */
  readonly aborted?: boolean
  /** Why it was aborted. Default, when `aborted`: `user`. */
  readonly abortReason?: 'user' | 'timeout'
  /** ms since the epoch, against which dates in hints are measured where the response has no `Date` of its own. Default: the system's clock. */
  readonly now?: number
}

export type Classifier = (error: unknown, context?: ErrorContext) => Classification
