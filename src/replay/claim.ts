/** What a step says of itself when it is asked for, and what it is told. */
import type { EffectPolicy } from '../effects/guard.ts'
import type { Encoded } from '../journal/codec.ts'
import type { ConfigChanged, ConfigSeen, PromptRecord, StepEffect, StepEntered, StepKind, StepRef, Superseded, Warned } from '../journal/entry.ts'
import type { HoldfastErrorCode } from '../errors.ts'
import type { Branch } from './branch.ts'
import type { StepRecord } from './history.ts'

/** How a step is known in its branch. */
export type Place =
  /** By its number. */
  | { readonly type: 'number' }
  /** By name, key and occurrence. */
  | { readonly type: 'key'; readonly key: string }
  /**
   * By the model response that asked for it and its call id. Where no response asked for the id: by the approval that it was given in
   * the messages of the conversation; else by number. `mayRepeat`: an id that was asked for once may be executed once more, its tool is idempotent.
   */
  | { readonly type: 'call'; readonly callId: string; readonly approvalId?: string; readonly mayRepeat?: boolean }

/** The part of a claim that only model requests have. */
export interface ModelClaim {
  /** Digest of the configuration, and the hash of each part by name. */
  readonly config: string
  readonly parts: Readonly<Record<string, string>>
  readonly prompt: PromptRecord
  /** What each message is, and its hash: all of them, made only when a reason has to be given. */
  readonly messages: () => readonly (readonly [label: string, hash: string])[]
  /** The model step of the branch whose whole conversation it carries on. */
  readonly carriesOn: string | undefined
  /** Ids of the calls whose results are new in the conversation, as far as they are no errors. */
  readonly results: readonly string[]
  /** Names of the tools that the request offers. */
  readonly tools: readonly string[]
  /** What the response has to heed: no call, some call, or one of this tool. Absent: it is free. */
  readonly toolChoice?: 'none' | 'required' | { readonly tool: string }
  readonly onConfigChange: 'replay' | 'diverge' | 'refuse'
}

export interface Claim {
  /** Path of the branch in which it is asked. */
  readonly branch: string
  readonly kind: StepKind
  readonly name: string
  readonly place: Place
  /** Of what it asks: of a model request, the conversation. null: it cannot be fingerprinted. */
  readonly fingerprint: string | null
  /** What makes two asks the same to the outside world; default: the fingerprint. */
  readonly content?: string
  /** It says what it asks for: a step without input can only be told by its place, or by its key. */
  readonly hasInput: boolean
  readonly model?: ModelClaim
  /** Whether the code that asks has asked for that step or branch itself, before: it is not a line of work beside it. Absent: nobody knows. */
  readonly follows?: (id: string) => boolean
  /** What its code had asked for last, and what it goes on from: one that says nothing of what it asks is told by these. Absent: nobody knows. */
  readonly after?: readonly string[]
  /** Whether its code is the one that has recorded this of itself. */
  readonly isThat?: (after: readonly string[]) => boolean
  /** What had ended by then, in events of the machine, came before it, whoever had asked for it. */
  readonly seen?: number
  /** Whether who asked for it has given it up, and waits no more. */
  readonly isGivenUp?: () => boolean
  /** It has effects and is not idempotent. */
  readonly effect?: ClaimedEffect
  /** What it would be if it were none of `idempotent` and `composite`: it may have been, when the journal began. */
  readonly former?: ClaimedEffect
}

export interface ClaimedEffect extends StepEffect {
  readonly policy: EffectPolicy
  /** Absent: calls have none. */
  readonly keysNow?: KeysNow
}

/** The keys that calls of a tool have now. */
export interface KeysNow {
  /** The user's function. */
  readonly by: object
  /** Which effect a call with this input is; undefined: that cannot be told, it is of another form, or has not what the function asks for. */
  readonly of: (input: Encoded | undefined) => string | undefined
  /** Where that cannot be told, whether a call with this input, which had that key, may be the one that is asked for. */
  readonly mayBe: (input: Encoded | undefined, key: string) => boolean
}

/** Of the arguments that its code is called with: what it does is told by these. */
export const calledWith = ({ effect, fingerprint }: Claim): string => effect?.called ?? fingerprint ?? ''

/** As it is written down. */
export const effectOf = ({ effect }: Claim): { effect?: StepEffect } =>
  effect ? { effect: { name: effect.name, key: effect.key, ...(effect.called !== undefined && { called: effect.called }) } } : {}

/** Its code does nothing but ask for steps: an agent, or a composite tool. It can be left at any time, and entered again. */
export const isHolder = ({ kind, former }: Claim): boolean => kind === 'agent' || (kind === 'tool' && former !== undefined && former.policy.repeatable !== true)

/** It says nothing of what it asks: it is told by its turn alone. */
export const isBlind = (claim: Claim): boolean => !claim.hasInput && claim.place.type !== 'key'

/** A claimed step. */
export interface Ticket {
  readonly ref: StepRef
  /** The branch in which it was claimed: another one of the same path may have been opened since, by the next try of what it lies in. */
  readonly within: Branch
  /** How often its branch had asked for the same before, in this drive. */
  readonly occurrence: number
  /** The model step whose conversation it carries on, while it is open. */
  readonly carriesOn: string | undefined
  /** Once its result was handed out, without what only a model request has: a long run would keep all its prompts. */
  claim: Claim
  /** The lowest and the highest number of its branch that has been open beside it. */
  low: number
  high: number
  /** Up to which number, exclusive, the journal says or will say that others overlapped it: Infinity before its end is written. */
  to: number
  /** There were records inside of it then: an earlier try of it, or attempt, had asked for them. */
  readonly hadInside: boolean
  /** It says nothing of what it asks for, and the branch had a result that may be another one since this position; 0: not so. */
  readonly changedAt: number
  /** When it was claimed, in events of the machine. */
  readonly claimedAt: number
  /** The record that answers it; undefined: it runs live. */
  readonly record: StepRecord | undefined
  /** Position in the journal of its newest start, where that is written ahead; 0: none. */
  start: number
  /** Position in the journal of what is handed to its caller; set when it has an end. */
  seq: number
  /** When that was handed out, in events of the machine; 0: not yet. */
  deliveredAt: number
}

type Unstamped<T> = T extends unknown ? Omit<T, 'at'> : never

/** What a claim makes the owner write down, before anything that follows from it. */
export type Note = Unstamped<ConfigSeen | ConfigChanged | StepEntered | Superseded | Warned>

export type Verdict =
  /** Its record answers; the result comes when its turn is (`next`). */
  | { readonly type: 'replay'; readonly ticket: Ticket; readonly notes: readonly Note[] }
  /** It runs. A step with effects is guarded first. */
  | { readonly type: 'live'; readonly ticket: Ticket; readonly notes: readonly Note[] }
  /** Not claimed: nothing of it happens. */
  | { readonly type: 'refuse'; readonly code: HoldfastErrorCode; readonly message: string; readonly advice: string }
