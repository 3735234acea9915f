/**
 * Holdfast: reliable and durable AI agent runs.
 *
 * @example
 * const support = defineAgent('support', async (run, input: { question: string }) =>
 *   (await generateText({ model: durable(model), tools: durableTools(tools), prompt: input.question })).text)
 * const runner = createRunner({ agents: [support], store: sqliteStore('runs.db') })
 * const outcome = await runner.run(support, { question }, { runId: 'ticket-123' })
 */
export { HoldfastError } from './errors.ts'
export type { HoldfastErrorCode, RunUsage } from './errors.ts'
export { createRunner } from './runner/runner.ts'
export type { CallOptions, ResumeOptions, Runner, RunOptions } from './runner/runner.ts'
export type { RunnerOptions } from './runner/options.ts'
export type { Recovered, RecoverOptions } from './runner/recover.ts'
export type { StartOptions } from './runner/recovery.ts'
export type { RunStream } from './runner/event-stream.ts'
export type { Outcome } from './runner/outcome.ts'
export type { ApproveInput, DenyInput } from './runner/approve.ts'
export type { DecisionInput, WaitingCall } from './runner/resolve.ts'
export { defineAgent } from './runner/agent.ts'
export type { Agent } from './runner/agent.ts'
export { currentRun, durable, durableTools } from './runner/run.ts'
export type { Run, StepOptions } from './runner/run.ts'
export { currentStep } from './run/current.ts'
export type { StepContext } from './run/step.ts'
export { describeEvent } from './run/describe-event.ts'
export { describeSummary } from './run/events.ts'
export type { RunEvent, StampedEvent } from './run/events.ts'
export type { LimitName, RunLimits } from './run/limits.ts'
export { usageOf } from './run/usage.ts'
export type { ApprovalReason, AttemptSummary, EffectReason, Entry, RetryAfterReason, SuspendReason } from './journal/entry.ts'
export type { RedactRule } from './journal/redact.ts'
export type { RunFilter, RunRow, RunStatus, Store } from './journal/store.ts'
export type { DurableModelOptions } from './ai-sdk/model.ts'
export type { DownloadedFile, DownloadFile } from './ai-sdk/files.ts'
export { repairMessages } from './ai-sdk/orphans.ts'
export type { Recorded, TextResult } from './ai-sdk/result.ts'
export type { DurableToolsOptions, ToolPolicies } from './ai-sdk/tools.ts'
export { classifyError, createClassifier } from './reliability/index.ts'
export type {
  AfterError, ApprovalPolicy, BackoffPolicy, Category, Classification, ClassificationRule, Classifier, ClassifierOptions, DoubtfulCall, FailedTry, ModelPolicy, OnIncompleteTool, Reconciled, RetryEvent,
  RetryPolicy, TimeoutPolicy, ToolPolicy,
} from './reliability/index.ts'
export { memoryStore } from './stores/memory.ts'
export { sqliteStore } from './stores/sqlite.ts'
export type { SqliteStoreOptions } from './stores/sqlite.ts'
