/** Why a run waits, and what somebody may do about it. */
import type { Placed } from './chain.ts'
import type { Encoded } from './codec.ts'
import type { Decision } from './entry.ts'

/** A call that somebody has to find out about, or that waits for that. */
export interface CallInQuestion {
  readonly step: string
  /** Arguments as executed, where they can be stored. */
  readonly input?: Encoded
  /** What its code was given to send along; absent: it was never started. */
  readonly idempotencyKey?: string
  /** When it was started last, ms since the epoch; absent: never, or nobody knows. */
  readonly startedAt?: number
  /** It is only presumed that it was started: it may have been, in a part of the journal that was lost and ended before then (ms since the epoch). */
  readonly lostBefore?: number
}

/** What somebody may decide. */
export type Choice = Decision['type']

/** A step in doubt, or a call that would repeat an effect: waits for `resolve`. */
export interface EffectReason {
  readonly type: 'in-doubt' | 'repeat'
  readonly step: string
  readonly tool: string
  /** Key of its effect, where that of `effects` is another: a step that has a key now, and had none. */
  readonly key?: string
  readonly message: string
  /** Fingerprint of the call's arguments. */
  readonly fingerprint: string
  /** Steps whose effect is in question. */
  readonly effects: readonly string[]
  /** Steps to be settled first: it was never started, and goes on by itself then. Absent: it is for somebody to decide about the step itself. */
  readonly first?: readonly string[]
  /** What may be decided about the step; none where others are to be settled first. */
  readonly choices?: readonly Choice[]
  /** The calls of `effects`, and that of the step where it was never started. A journal keeps only the latter: it has the others where they started. */
  readonly calls?: readonly CallInQuestion[]
  /** It is in doubt itself, and has steps of its own inside. */
  readonly hasInside?: boolean
}

/** A call that a person has to agree to, by the policy of its tool: waits for `approve` or `deny`. */
export interface ApprovalReason {
  readonly type: 'approval'
  readonly step: string
  readonly tool: string
  readonly message: string
  /** Fingerprint of the call's arguments. */
  readonly fingerprint: string
  /** Position of the question in the journal: an answer is an answer to this one. */
  readonly question: number
  /** Arguments as asked for, where they can be stored. A journal has them where the question stands. */
  readonly input?: Encoded
  /** When it counts as denied, ms since the epoch. Absent: never. */
  readonly expiresAt?: number
}

/** The other side said when it may be asked again: not before `until` (ms since the epoch), in this attempt or another. */
export interface RetryAfterReason {
  readonly type: 'retry-after'
  readonly step: string
  readonly message: string
  readonly until: number
  /** Tries used so far: the next attempt has the rest of the budget. */
  readonly tries: number
}

/** Why a run waits. */
export type SuspendReason =
  | EffectReason
  | ApprovalReason
  | RetryAfterReason
  | { readonly type: 'not-recorded'; readonly step: string; readonly message: string }
  | { readonly type: 'draining' | 'aborted'; readonly message: string }

/** It is about the effect of a call: somebody has to find out, or to decide. */
export const isEffectReason = (reason: SuspendReason): reason is EffectReason => reason.type === 'in-doubt' || reason.type === 'repeat'

/** What a run waits for by its journal: none unless it was suspended last. */
export function lastReasons(entries: readonly Placed[]): readonly SuspendReason[] {
  const last = entries.findLast(({ entry }) => entry.type === 'suspended' || entry.type === 'attempt-started' || entry.type === 'run-ended')?.entry
  return last?.type === 'suspended' ? last.reasons : []
}

/** Of these, what somebody has to decide about. */
export const effectReasons = (entries: readonly Placed[]): readonly EffectReason[] => lastReasons(entries).filter(isEffectReason)
