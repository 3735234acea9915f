/** Reliability: what an error is, when to try again, when to stop waiting. */
export { DEFAULT_BACKOFF, nextDelay } from './backoff.ts'
export type { BackoffPolicy } from './backoff.ts'
export * from './classification/index.ts'
export { execute } from './execute.ts'
export type { Ending, ExecuteOptions, Execution, RetryEvent } from './execute.ts'
export { nearestNames } from './nearest.ts'
export { DEFAULT_RETRY, NO_RETRY } from './policy.ts'
export type {
  DoubtfulCall, OnIncompleteTool, Reconciled, ResolvedRetry, ResolvedToolPolicy, RetryPolicy, TimeoutPolicy, ToolPolicy,
} from './policy.ts'
export { resolveRetry, resolveTimeouts, resolveToolPolicy, validateToolPolicies } from './resolve.ts'
export type { ToolDefaults } from './resolve.ts'
export type { LateOutcome, TryContext, Work } from './try.ts'
