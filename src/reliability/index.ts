/** Reliability: what an error is, when to try again, when to stop waiting. */
export { afterError, isAfterError, type AfterError } from './after-error.ts'
export { DEFAULT_BACKOFF, nextDelay } from './backoff.ts'
export type { BackoffPolicy } from './backoff.ts'
export * from './classification/index.ts'
export { execute } from './execute.ts'
export type { Ending, ExecuteOptions, Execution, TimeoutEvent } from './execute.ts'
export { nearestNames } from './nearest.ts'
export { DEFAULT_RETRY, NO_RETRY, oneTry } from './policy.ts'
export type {
  ApprovalPolicy, DoubtfulCall, FailedTry, ModelPolicy, OnIncompleteTool, Reconciled, ResolvedApproval, ResolvedRetry, ResolvedToolPolicy, RetryEvent, RetryPolicy, TimeoutPolicy, ToolPolicy,
} from './policy.ts'
export { checkToolNames, fixModelPolicy, fixToolPolicy, resolveRetry, resolveTimeouts, resolveToolPolicy } from './resolve.ts'
export type { ToolDefaults } from './resolve.ts'
export type { Limit } from './timeout.ts'
export type { LateOutcome, TryContext, Work } from './try.ts'
