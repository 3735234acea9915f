/** The policies that people write: retry, timeouts, and what a tool is. Their defaults, and what they come to once resolved. */
import { DEFAULT_BACKOFF } from './backoff.ts'
import type { BackoffPolicy } from './backoff.ts'
import type { AfterError } from './after-error.ts'
import type { Category, Classification, Classifier } from './classification/index.ts'

/** A try that failed. */
export interface FailedTry {
  /** What was tried, such as `model request to openai/gpt-6` or `tool "search"`. */
  readonly label: string
  /** Which try it was, from 1. */
  readonly try: number
  readonly error: unknown
  readonly classification: Classification
}

/** A retry that is about to be waited for. */
export interface RetryEvent extends FailedTry {
  /** How long the next try is waited for, ms. */
  readonly delayMs: number
}

/** How failed steps are tried again. What is left out keeps its default. */
export interface RetryPolicy {
  /** Tries in all, the first one included; an integer, at least 1. Default 4. */
  readonly maxAttempts?: number
  /** Delays between tries. Default {@link DEFAULT_BACKOFF}. */
  readonly backoff?: Partial<BackoffPolicy>
  /** Only these categories are retried, as far as they are retryable. Default: all that are. */
  readonly categories?: readonly Category[]
  /** The longest wait that is waited within the process, ms. Default 60000. */
  readonly inlineWaitMs?: number
  /**
   * What happens where the next try is further away than `inlineWaitMs`, or than what is left of the run's active time: the run suspends until
   * then, or the step fails with the error. Default `suspend`; `fail` where the runner has no store.
   */
  readonly onLongWait?: 'suspend' | 'fail'
  /**
   * Says what kind of error something is, in place of `classifyError`; make it with `createClassifier`. It decides also whether a call with
   * effects that threw is in doubt, where `afterError` says nothing. Must answer at once: an answer that is none, and a throw, is not heeded, with a
   * warning, and leaves a call with effects in doubt. Default: `classifyError`.
   */
  readonly classify?: Classifier
  /** Asked before another try that the rest of the policy allows: `false` fails the step with the error. Must answer at once: anything but true or false, and a throw, is `false` with a warning. */
  shouldRetry?(failure: FailedTry): boolean
  /** Told before each wait. What it returns, throws or rejects with is ignored. */
  onRetry?(retry: RetryEvent): unknown
}

/** A {@link RetryPolicy} with everything filled in. */
export interface ResolvedRetry {
  readonly maxAttempts: number
  readonly backoff: BackoffPolicy
  readonly categories: readonly Category[] | undefined
  readonly inlineWaitMs: number
  readonly onLongWait: 'suspend' | 'fail'
  readonly classify: Classifier | undefined
  readonly shouldRetry: ((failure: FailedTry) => boolean) | undefined
  readonly onRetry: ((retry: RetryEvent) => unknown) | undefined
}

/** The defaults of {@link RetryPolicy}. */
export const DEFAULT_RETRY: ResolvedRetry = Object.freeze({
  maxAttempts: 4,
  backoff: DEFAULT_BACKOFF,
  categories: undefined,
  inlineWaitMs: 60_000,
  onLongWait: 'suspend',
  classify: undefined,
  shouldRetry: undefined,
  onRetry: undefined,
})

/** One try, no more. */
export const NO_RETRY: ResolvedRetry = Object.freeze({ ...DEFAULT_RETRY, maxAttempts: 1 })

/** One try, where errors are told apart as `base` does. */
export const oneTry = ({ classify }: ResolvedRetry): ResolvedRetry => (classify ? Object.freeze({ ...NO_RETRY, classify }) : NO_RETRY)

/** Time limits, ms. Absent: as the level above says, else none. `Infinity`: none. */
export interface TimeoutPolicy {
  /** Longest duration of each try of a model request. */
  readonly modelMs?: number
  /** Longest duration of each try of a streamed model request until the first part of its answer is there; what providers tell before it (metadata, pings) is none. */
  readonly modelFirstPartMs?: number
  /** Longest duration of each try of a streamed model request without anything arriving; where `modelFirstPartMs` is given, from the first part on. */
  readonly modelIdleMs?: number
  /** Longest duration of each try of a tool call, step or read; a tool's own `timeoutMs` comes before it. */
  readonly toolMs?: number
  /** Longest duration of each try of a tool call, step or read without `currentStep().progress()`; a tool's own `idleTimeoutMs` comes before it. */
  readonly toolIdleMs?: number
  /** Longest active time of a run over all its attempts: while it is suspended, or only replays, it stands still. A call can give its run another (`limits.runMs`). */
  readonly runMs?: number
}

/** How the requests of one model are tried again and cut; what it leaves out is as its run says. */
export interface ModelPolicy {
  /** `false`: one try. */
  readonly retry?: RetryPolicy | false
  /** Longest duration of each try, ms. Default: `timeouts.modelMs`. */
  readonly timeoutMs?: number
  /** Of a streamed request: longest duration of each try until the first part of its answer is there, ms. Default: `timeouts.modelFirstPartMs`. */
  readonly firstPartTimeoutMs?: number
  /** Of a streamed request: longest duration of each try without anything arriving, ms. Default: `timeouts.modelIdleMs`. */
  readonly idleTimeoutMs?: number
}

/** What becomes of a call that is in doubt when its run resumes. */
export type OnIncompleteTool = 'refuse' | 'rerun' | 'skip' | 'reconcile'

/** The call that `reconcile` is asked about. */
export interface DoubtfulCall<INPUT> {
  readonly input: INPUT
  /** The key under which the outside world knows the call, if the tool passed it on. */
  readonly idempotencyKey: string
  readonly runId: string
  readonly step: string
  readonly toolName: string
}

/** What `reconcile` found out. */
export type Reconciled<OUTPUT> =
  | { readonly status: 'completed'; readonly output: OUTPUT }
  | { readonly status: 'not-done' }

/** Which calls of a tool a person has to agree to, and for how long it is waited for. */
export interface ApprovalPolicy<INPUT = unknown> {
  /**
   * Whether this call needs it; may be async. Asked once: what it said stands for the call, however often the run is resumed. Where it throws, or says
   * anything but true or false, somebody is asked, with a warning. Default: each call needs it.
   */
  when?(input: INPUT): boolean | PromiseLike<boolean>
  /** How long an answer is waited for, ms; then the call is denied. Default: for ever. */
  readonly expiresAfterMs?: number
}

/** An {@link ApprovalPolicy} with everything filled in. */
export interface ResolvedApproval {
  readonly when: ((input: unknown) => unknown) | undefined
  readonly expiresAfterMs: number | undefined
}

/**
 * What Holdfast should know about a tool. A tool that says nothing has effects and is not idempotent: it is called at most once.
 *
 * @example
 * const policies = {
 *   search: { readOnly: true, timeoutMs: 10_000 },
 *   refund: { reconcile: async ({ idempotencyKey }) => await findRefund(idempotencyKey) },
 * }
 */
// Method syntax where it counts: a policy of a tool with a narrow input is still a ToolPolicy.
export interface ToolPolicy<INPUT = unknown, OUTPUT = unknown> {
  /** Running it twice with the same key does no more than running it once. Default false. */
  readonly idempotent?: boolean
  /** It changes nothing; includes `idempotent`. Default false. */
  readonly readOnly?: boolean
  /** Its only effects are the steps inside it (it runs an agent, code mode, or asks a person): never itself in doubt. Default false. */
  readonly composite?: boolean
  /** Longest duration of each try, ms; `Infinity`: none. Default: `timeouts.toolMs` of its run; none for a composite tool, whose steps have their own. */
  readonly timeoutMs?: number
  /** Longest duration of each try without `currentStep().progress()`, ms; `Infinity`: none. Default: `timeouts.toolIdleMs` of its run; none for a composite tool. */
  readonly idleTimeoutMs?: number
  /** Only for a tool that is idempotent or read-only. Default there: the `retry` of its run; `false`: one try. */
  readonly retry?: RetryPolicy | false
  /** What becomes of a call in doubt on resume. Default: `reconcile` where that is given, else what the caller says, else `refuse`. */
  readonly onIncompleteTool?: OnIncompleteTool
  /** Asks the outside world whether a call in doubt took effect, by the `retry` of its run. What is no clear answer leaves the doubt, with a warning. */
  reconcile?(call: DoubtfulCall<INPUT>): Promise<Reconciled<OUTPUT>>
  /**
   * Says what an error that the tool threw means for its effect: `not-done` (it surely did not happen, the model may ask again), `in-doubt` (it
   * may have happened: it is not made again until that is known), undefined: as the kind of error says. Must answer at once; anything else, and a
   * throw, is `in-doubt` with a warning. Not asked about time limits and cancellation: those are always in doubt. Default: that of its run.
   */
  afterError?(error: unknown): AfterError | undefined
  /**
   * What the call is about, as a text that is not empty: calls of one key are the same effect. Default: all calls of the tool are, whatever their arguments.
   * It says which calls wait, or may be answered, where an earlier one is in doubt, was superseded (the run diverged, or is driven again), or has a record that nobody
   * asked for. It does not make two calls one that both completed: a model that asks twice, each time after an answer, gets two effects. Where a service shall
   * see one, hand it a key of your own, made of what the call is about, in place of `currentStep().idempotencyKey`.
   */
  effectKey?(input: INPUT): string
  /** Lets a call run although a superseded one with the same effect key was made or is in doubt. A doubt whose record stands holds it all the same. Default false. */
  readonly allowRepeat?: boolean
  /** How long after the former owner's lease ended `not-done` is believed, ms. Default: the tool's timeout. */
  readonly settleAfterMs?: number
  /**
   * A person has to agree before the call is made: the run waits, for `runner.approve` or `runner.deny`, in this process or another. `true`: to each
   * call. Default `false`. A denied call is an error that the model reads.
   */
  readonly approval?: boolean | ApprovalPolicy<INPUT>
}

/** A {@link ToolPolicy} with everything filled in. */
export interface ResolvedToolPolicy {
  readonly idempotent: boolean
  readonly readOnly: boolean
  readonly composite: boolean
  readonly timeoutMs: number | undefined
  readonly idleTimeoutMs: number | undefined
  readonly retry: ResolvedRetry
  /** undefined: as the caller says. */
  readonly onIncompleteTool: OnIncompleteTool | undefined
  readonly reconcile: ((call: DoubtfulCall<unknown>) => Promise<Reconciled<unknown>>) | undefined
  readonly afterError: ((error: unknown) => AfterError | undefined) | undefined
  readonly effectKey: ((input: unknown) => string) | undefined
  readonly allowRepeat: boolean
  readonly settleAfterMs: number | undefined
  /** undefined: none is needed. */
  readonly approval: ResolvedApproval | undefined
}
