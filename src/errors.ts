/** The errors that Holdfast throws: a stable code, what happened, to which run and step, and what to do about it. */

/** Every code that a {@link HoldfastError} can carry. Stable: programs may switch on it. */
export type HoldfastErrorCode =
  // bad input: refused before anything runs
  | 'INVALID_OPTIONS'
  | 'INVALID_POLICY'
  | 'INVALID_RUN_ID'
  | 'MISSING_RUN_ID'
  | 'UNKNOWN_AGENT'
  | 'DUPLICATE_AGENT'
  | 'UNKNOWN_RUN'
  | 'UNKNOWN_STEP'
  | 'UNKNOWN_TOOL'
  | 'MISSING_STORE'
  | 'MISSING_PEER'
  | 'RUN_MISMATCH'
  // what a run may not do
  | 'AMBIGUOUS_STEP'
  | 'REPEATED_CALL'
  | 'BRANCH_ENDED'
  | 'OUTSIDE_RUN'
  | 'RUN_SUSPENDED'
  | 'STREAM_RESET'
  | 'NOTHING_TO_RESOLVE'
  | 'NOTHING_TO_APPROVE'
  | 'WAIT_INSIDE_EFFECT'
  // endings of a run, a step or an attempt
  | 'RUN_FAILED'
  | 'RUN_BUSY'
  | 'RUN_STALLED'
  | 'RUN_CLEANED_UP'
  | 'STEP_FAILED'
  | 'STEP_TIMEOUT'
  | 'RUN_TIMEOUT'
  | 'OUTCOME_UNKNOWN'
  | 'APPROVAL_DENIED'
  | 'LEASE_LOST'
  | 'CONFIG_CHANGED'
  | 'LIMIT_REACHED'
  | 'RUNNER_CLOSED'
  // values and what is stored
  | 'VALUE_NOT_STORABLE'
  | 'VALUE_TOO_LARGE'
  | 'RESULT_NOT_STORED'
  | 'SECRET_MISSING'
  | 'STORE_NOT_FOUND'
  | 'STORE_FOREIGN'
  | 'STORE_EMPTY'
  | 'STORE_NEWER'
  | 'STORE_CORRUPT'
  | 'STORE_UNAVAILABLE'
  | 'STORE_EPHEMERAL'
  | 'STORE_NOT_ENCRYPTED'
  | 'KEY_MISSING'
  | 'KEY_WRONG'
  | 'STALE_TOKEN'
  | 'INBOX_MOVED'

/** What a run has used, over all its attempts. Replay adds nothing; what was superseded counts, it was paid for. */
export interface RunUsage {
  /** Attempts so far, the newest included. */
  readonly attempts: number
  /** Steps that ran, by kind: several tries of one count once, a step that ran again counts again. */
  readonly steps: Readonly<Record<'model' | 'tool' | 'step' | 'read' | 'agent', number>>
  /** Tokens, as far as providers reported them. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** How long attempts were at work on something new, ms; of an attempt that was killed: until its last record. */
  readonly activeMs: number
}

export interface HoldfastErrorOptions {
  /** What to do about it, one or two sentences. Shown after the message. */
  readonly advice?: string
  readonly runId?: string
  /** The step's id as `holdfast show` prints it. */
  readonly step?: string
  readonly cause?: unknown
}

const marker = Symbol.for('holdfast.error')

/**
 * Base of all errors that Holdfast throws itself. `isInstance` works across two copies of the package.
 *
 * @example
 * try { await runner.run(agent, input, { runId }) }
 * catch (error) { if (HoldfastError.isInstance(error) && error.code === 'RUN_BUSY') return }
 */
export class HoldfastError extends Error {
  override readonly name: string = 'HoldfastError'
  readonly code: HoldfastErrorCode
  readonly advice: string | undefined
  readonly runId: string | undefined
  readonly step: string | undefined
  /** What the run had used; on the error with which a call of `run`, `resume` or `result` ends. */
  declare readonly usage?: RunUsage
  readonly [marker] = true

  constructor(code: HoldfastErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(options.advice ? `${message}. ${options.advice}` : message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.advice = options.advice
    this.runId = options.runId
    this.step = options.step
  }

  static isInstance(error: unknown): error is HoldfastError {
    return typeof error === 'object' && error !== null && marker in error
  }
}

/** What happened, without what to do about it. */
export function withoutAdvice({ message, advice }: HoldfastError): string {
  return advice !== undefined && message.endsWith(`. ${advice}`) ? message.slice(0, -advice.length - 2) : message
}
