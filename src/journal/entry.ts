/** What a journal is made of. Everything else about a run is derived from its entries. */
import type { Encoded } from './codec.ts'
import type { HoldfastErrorCode } from '../errors.ts'
import type { SuspendReason } from './suspend-reason.ts'

export type { ApprovalReason, CallInQuestion, Choice, EffectReason, RetryAfterReason, SuspendReason } from './suspend-reason.ts'

/** The format that this build writes. Older ones are migrated on read (`journal/migrate`), newer ones are refused. */
export const FORMAT = 1

/** `model`: a model request. `tool`: a tool call. `step`: `run.step`. `read`: `run.read`. `agent`: a child agent with its own branch. */
export type StepKind = 'model' | 'tool' | 'step' | 'read' | 'agent'

/** Where a step stands. */
export interface StepRef {
  /** Unique in the run for ever: the path of the step, with `~n` where earlier records of the place were superseded. */
  readonly id: string
  /** Path of the branch that the step belongs to; '' is the main line. */
  readonly branch: string
  readonly kind: StepKind
  /** Name of the step or tool; provider and model of a model request. */
  readonly name: string
  /** Number in its branch, for steps that are known by number. */
  readonly slot?: number
}

/** A step with effects that is not idempotent. Calls of one `name` and `key` count as the same effect (R5, R6). */
export interface EffectRef {
  readonly name: string
  readonly key: string
}

/** The effect of a step. */
export interface StepEffect extends EffectRef {
  /** Fingerprint of the arguments that it was called with, where somebody agreed to others than were asked for. */
  readonly called?: string
}

/** A tool call that a model response asks for. */
export interface AskedCall {
  readonly callId: string
  readonly tool: string
  /** Fingerprint of the arguments as asked. */
  readonly fingerprint: string
}

/** What a model request saw of the conversation, to name the message that differs: only what is new is written. */
export interface PromptRecord {
  /** Number of messages. */
  readonly length: number
  /** How many of them are those of the model step `base` of the same branch. */
  readonly keep: number
  readonly base?: string
  /** The messages after those: what they are (`user`, `tool search`), and their hash. */
  readonly added: readonly (readonly [label: string, hash: string])[]
}

/** How a step came out, as its caller saw it. */
export type Outcome =
  | { readonly type: 'value'; readonly value: Encoded }
  /** `mayHaveHappened`: it is idempotent, and may have taken effect before it failed: who asks for the same again asks for this one. */
  | { readonly type: 'error'; readonly error: Encoded; readonly mayHaveHappened?: true }
  /** It completed, but its result could not be stored; the caller is told so. */
  | { readonly type: 'unstored'; readonly error: Encoded }
  /** Nobody knows whether it took effect; the caller is told so, and the doubt stands until it is settled. */
  | { readonly type: 'unknown'; readonly cause: DoubtCause; readonly error: Encoded }

/** `skipped`: somebody, or a policy, decided to leave it at that; the others: how it came about. */
export type DoubtCause = 'interrupted' | 'timeout' | 'cancelled' | 'error' | 'skipped'

/** Tokens of a model step; absent numbers were not reported. */
export interface StepUsage {
  readonly inputTokens?: number
  readonly outputTokens?: number
}

/** What somebody decided about an effect. */
export type Decision =
  | { readonly type: 'rerun' }
  | { readonly type: 'skip' }
  /** Answered with what an earlier call gave: the step with the id `of`. */
  | { readonly type: 'reuse'; readonly value: Encoded; readonly of?: string }
  | { readonly type: 'result'; readonly value: Encoded }

/** What was answered to a question whether a call may be made. */
export type ApprovalDecision =
  /** `input`: it is called with these arguments in place of those that were asked for. */
  | { readonly type: 'approved'; readonly by?: string; readonly input?: Encoded }
  | { readonly type: 'denied'; readonly by?: string; readonly reason?: string }

/** How a doubt ended. */
export type Settlement =
  | { readonly type: 'completed'; readonly outcome: Outcome }
  | { readonly type: 'not-done' }

/** What happened in one attempt (C21). */
export interface AttemptSummary {
  readonly replayed: Readonly<Partial<Record<StepKind, number>>>
  readonly recorded: Readonly<Partial<Record<StepKind, number>>>
  /** Steps that ran but whose record the store refused. */
  readonly unrecorded: readonly string[]
  /** Steps with effects that ran when the attempt was stopped from outside: nobody knows whether they took effect. Absent: none. */
  readonly leftOpen?: readonly string[]
}

/** A file that a model request fetched, for later requests of the run: the link may have expired by then. */
export interface KeptFile {
  /** Hash of its link. */
  readonly link: string
  /** `{ data, mediaType? }` */
  readonly file: Encoded
}

interface At {
  /** ms since the epoch. */
  readonly at: number
}

export interface RunCreated extends At {
  readonly type: 'run-created'
  readonly format: number
  /** So that a journal is not taken for that of another run. */
  readonly runId: string
  readonly agent: string
  readonly version: string
  readonly input: Encoded
  readonly threadId?: string
}

/** Limits that a call gave its run; null: none. They hold until another call gives others. */
export interface LimitsRecord {
  readonly maxSteps?: number | null
  readonly maxTokens?: number | null
  /** Of the texts of its entries, UTF-8. */
  readonly maxJournalBytes?: number | null
  readonly runMs?: number | null
  /** ms since the epoch. */
  readonly deadline?: number | null
}

export interface AttemptStarted extends At {
  readonly type: 'attempt-started'
  readonly attempt: number
  readonly token: number
  readonly version: string
  /** How the attempt before it ended: given back on purpose, its process known to be dead, or its lease run out. */
  readonly former: 'none' | 'released' | 'dead' | 'expired'
  readonly limits?: LimitsRecord
  /** The format of this entry and of those that follow, where it is not that of the entries before: a newer build goes on with the run. */
  readonly format?: number
}

/** The attempt ended on purpose; an attempt that was killed has none. */
export interface AttemptEnded extends At {
  readonly type: 'attempt-ended'
  readonly attempt: number
  readonly summary: AttemptSummary
}

/** Write-ahead: the step's code is called after this is durable, and not before (R2). */
export interface StepStarted extends At {
  readonly type: 'step-started'
  readonly step: StepRef
  readonly fingerprint: string
  /** Of a step that says nothing of what it asks for: what its code had asked for last in its branch, and what it went on from, steps and branches by their turns. */
  readonly after?: readonly string[]
  readonly low?: number
  /** As far as it was known then: that of the end counts. */
  readonly to?: number
  readonly idempotencyKey: string
  readonly effect?: StepEffect
  /** Arguments as executed, where they can be stored. */
  readonly input?: Encoded
  readonly config?: string
  readonly prompt?: PromptRecord
  /** Its code was not called now: it may have been, in a part of the journal that was lost. */
  readonly presumed?: true
}

/** A step without effects of its own, inside of which something is asked for: written with the first record inside, so that what asks for something else does not go on there. */
export interface StepEntered extends At {
  readonly type: 'step-entered'
  readonly step: StepRef
  readonly fingerprint: string
  readonly after?: readonly string[]
  readonly low?: number
}

export interface StepEnded extends At {
  readonly type: 'step-ended'
  readonly step: StepRef
  readonly fingerprint: string
  readonly after?: readonly string[]
  /** Branch counter range [low, to) in which the step overlapped others: lowest number still open at its claim, next number at its end. */
  readonly low?: number
  readonly to?: number
  readonly outcome: Outcome
  /** Ids of the steps inside of it that it failed with. */
  readonly failedBy?: readonly string[]
  readonly effect?: StepEffect
  readonly input?: Encoded
  readonly config?: string
  readonly prompt?: PromptRecord
  readonly asked?: readonly AskedCall[]
  readonly usage?: StepUsage
  readonly files?: readonly KeptFile[]
  readonly tries: number
  readonly ms: number
}

/** A configuration of model requests, written once: the hash of each part by name (`model`, `system`, `tool search` ...). */
export interface ConfigSeen extends At {
  readonly type: 'config'
  readonly digest: string
  readonly parts: Readonly<Record<string, string>>
}

export interface ConfigChanged extends At {
  readonly type: 'config-changed'
  readonly step: string
  readonly changed: readonly string[]
  /** Digest of the configuration under which the recorded answer stands from now on. */
  readonly config: string
}

/** Records that no longer answer. They are kept: their effects are guarded (R5). */
export interface Superseded extends At {
  readonly type: 'superseded'
  /** `live-result`: a step that says nothing of what it asks, which follows a result that may be another one, or which other code has asked for. */
  readonly by: 'divergence' | 'failure' | 'redo' | 'live-result'
  /** The step at which it was found. */
  readonly step: string
  readonly reason: string
  /** Ids of steps and paths of branches; all below them is meant too. */
  readonly ids: readonly string[]
  /** Ids of steps whose end alone is meant: they are entered again, and what is inside of them stays. */
  readonly reopened?: readonly string[]
}

/** What came of one start of a step with effects. */
export interface Settled {
  readonly step: string
  /** Position of the record of that start. Absent in what earlier builds wrote: the newest. */
  readonly start?: number
  readonly settlement: Settlement
}

export interface DoubtSettled extends At, Settled {
  readonly type: 'settled'
  /** `owner`: it had not called the step's code. */
  readonly by: 'reconcile' | 'late-result' | 'owner'
}

export interface DecisionTaken extends At {
  readonly type: 'decision'
  /** Position in the inbox that it came from. */
  readonly inbox: number
  readonly step: string
  readonly effect: EffectRef
  /** Of the arguments of the call that was decided about. */
  readonly fingerprint: string
  /** Position of the newest entry that was known when it was made. */
  readonly since: number
  readonly decision: Decision
}

/** A person is asked whether a call may be made: once, however often the run is resumed. */
export interface ApprovalAsked extends At {
  readonly type: 'approval-asked'
  readonly step: StepRef
  readonly fingerprint: string
  /** Arguments as asked for, where they can be stored. */
  readonly input?: Encoded
  /** When it counts as denied, ms since the epoch. Absent: never. */
  readonly expiresAt?: number
}

export interface ApprovalDecided extends At {
  readonly type: 'approval-decided'
  /** Position in the inbox that it came from. Absent: nobody has answered. */
  readonly inbox?: number
  readonly step: string
  /** `expired`: not in time. `withdrawn`: nobody waits for the call any more; where it is asked for again, so is the question. */
  readonly decision: ApprovalDecision | { readonly type: 'expired' } | { readonly type: 'withdrawn' }
}

/** A decision or an effect's outcome was used up by the start or the answer of `step`. */
export interface EffectConsumed extends At {
  readonly type: 'consumed'
  readonly step: string
  readonly effects: readonly string[]
  /** Effects that it passed although they are not its own: they stand in the way of the very same calls only from now on. */
  readonly passed?: readonly string[]
  readonly decisions: readonly number[]
}

export interface InboxTaken extends At {
  readonly type: 'inbox-taken'
  readonly seq: number
  /** The step that it decided about, of a decision that came too late: it had an outcome by then. */
  readonly step?: string
}

/** The next try of a step is waited for, and not made before `until` (ms since the epoch), whoever drives the run: a wait may outlive its process. */
export interface RetryAfter extends At {
  readonly type: 'retry-after'
  readonly step: string
  readonly message: string
  readonly until: number
  /** Tries used so far; 0: the step has failed for good, and begins anew when its run is driven again. */
  readonly tries: number
}

export interface RunSuspended extends At {
  readonly type: 'suspended'
  readonly reasons: readonly SuspendReason[]
  readonly resumeAt: number | null
}

export interface RunEnded extends At {
  readonly type: 'run-ended'
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly result?: Encoded
  readonly error?: Encoded
  readonly reason?: string
  /** Ids of steps with effects that were done behind the failure, where others had been done before it: they may have undone those. */
  readonly cleanUp?: readonly string[]
}

/** The journal was damaged behind the entry before, and was cut there on request (`holdfast salvage`): what was done after it may have been done. */
export interface Salvaged extends At {
  readonly type: 'salvaged'
  /** What was wrong, as `holdfast verify` names it. */
  readonly fault: string
  /** How many entries there had been: none is lost where it is not more than are before this one. */
  readonly had: number
  /** Newest message of the inbox: those up to it count as taken in. */
  readonly inbox: number
  /** Fencing token of the newest attempt before. */
  readonly token: number
  /** Name of the file to which what was there was copied. */
  readonly copy: string
}

/** A finding that a person should see: shown by `holdfast show`. */
export interface Warned extends At {
  readonly type: 'warning'
  readonly code: HoldfastErrorCode | WarningCode
  readonly message: string
  readonly step?: string
}

export type WarningCode = 'NOT_RECORDED' | 'REPEATED_REQUEST' | 'SAME_CONVERSATION' | 'TOLD_BY_ORDER' | 'MODEL_NOT_WRAPPED' | 'MISMATCH_ALLOWED' | 'ARGUMENTS_CHANGED' | 'NOT_FINGERPRINTED' | 'RECONCILE_FAILED' | 'AFTER_ERROR_FAILED' | 'RETRY_HOOK_FAILED' | 'MESSAGES_REPAIRED' | 'APPROVAL_CONDITION_FAILED' | 'EFFECTS_LEFT' | 'TOOLS_NOT_WRAPPED' | 'FILE_NOT_KEPT'

export type Entry =
  | RunCreated
  | AttemptStarted
  | AttemptEnded
  | StepStarted
  | StepEntered
  | StepEnded
  | ConfigSeen
  | ConfigChanged
  | Superseded
  | DoubtSettled
  | DecisionTaken
  | ApprovalAsked
  | ApprovalDecided
  | EffectConsumed
  | InboxTaken
  | RetryAfter
  | RunSuspended
  | RunEnded
  | Salvaged
  | Warned
