/**
 * A random agent program as plain data: what its handler does, what the model answers, and what disturbs each attempt. It can be
 * printed, shrunk, and run again.
 */

/** How the code of a tool call or step behaves. All of these take a moment; `effect` is what the outside world sees and cannot undo. */
export type Behaviour =
  | 'ok'
  /** Throws a definite error, without effect. */
  | 'error'
  /** Throws ECONNRESET, without and with its effect. */
  | 'reset-before'
  | 'reset-after'
  /** Never returns, without and with its effect: times out. */
  | 'hang-before'
  | 'hang-after'
  /** Takes effect and returns only after its time limit. */
  | 'late'
  /** Says only after its time limit that it has done nothing. */
  | 'late-error'
  /** Throws ECONNRESET the first two times (of all attempts), then works. Where it may not run twice: as `reset-before`. */
  | 'flaky'

/** The tools of every program, by how they are declared. */
export type ToolName =
  /** Nothing declared: not idempotent, a doubt waits for a person. */
  | 'pay'
  /** Not idempotent, with `reconcile`. */
  | 'mail'
  /** Not idempotent, with `reconcile` and `effectKey`. */
  | 'order'
  /** Not idempotent, a doubt is answered with "unknown". */
  | 'note'
  /** Not idempotent, a doubt runs again (which is a decision, made beforehand). */
  | 'post'
  | 'put'
  | 'look'
  /** Composite: runs a part of the program. */
  | 'team'
  /** The same, with a time limit. */
  | 'crew'

/** Whether somebody has to agree to a call before it is made, and what they say. The call's arguments hold it. */
export interface Gate {
  /** What the condition of its tool says of it; `throws`: it fails, so somebody has to agree. */
  readonly when: boolean | 'throws'
  /** `change`: it is made with other arguments. `lapse`: nobody answers, until its time is over; where there is no such time, they deny it. */
  readonly answer: 'approve' | 'change' | 'deny' | 'lapse'
}

export interface CallNode {
  readonly tool: ToolName
  /** Call id; may repeat within a response and over responses. */
  readonly id: string
  readonly arg: number
  readonly does: Behaviour
  /** For `team`: what it runs. */
  readonly inside?: Node
  readonly gate?: Gate
}

/** One response of the scripted model. After the last one it answers without calls. */
export interface Turn {
  readonly calls: readonly CallNode[]
  /** The arguments hold what the model has seen: a wrong earlier answer shows in them. */
  readonly dependent: boolean
  /** Each time it is asked for it asks for other arguments, as a real model does. */
  readonly fickle?: boolean
  /** The first `times` requests for it fail: 503, 429 with a long Retry-After, or a stream that breaks; `fatal` always fails with 400. */
  readonly fault?: { readonly type: 'busy' | 'wait' | 'break' | 'fatal'; readonly times: number }
}

export interface StepNode {
  readonly type: 'step'
  readonly name: string
  readonly key?: number
  readonly input?: number
  readonly idempotent: boolean
  readonly does: Behaviour
  /** Steps inside its code: only where it is idempotent. */
  readonly inside?: Node
  /** The first time, its code takes so long before it comes to them, ms: about its time limit. */
  readonly slow?: number
}

export interface ReadNode {
  readonly type: 'read'
  readonly name: string
  readonly key?: number
  readonly input?: number
  readonly does: Behaviour
}

/** A wait that nothing records; how long it is differs from attempt to attempt, at most `ms`. */
export interface WaitNode {
  readonly type: 'wait'
  readonly ms: number
}

export type RacerNode = StepNode | ReadNode | WaitNode

export type Via = 'hand' | 'hand-stream' | 'generateText' | 'streamText'

export type Node =
  | { readonly type: 'seq'; readonly nodes: readonly Node[] }
  /** Side by side, each in a branch; how many at once differs from attempt to attempt. */
  | { readonly type: 'branches'; readonly nodes: readonly Node[] }
  /** The same, where those that fail do not end the others: then the first failure is thrown, or all of them. */
  | { readonly type: 'batch'; readonly nodes: readonly Node[]; readonly throws: 'first' | 'all' }
  /** A step whose code fails the first `times` times that it is called; its failure is thrown on, behind a step that cleans up. */
  | { readonly type: 'fails'; readonly key: number; readonly times: number; readonly undo?: StepNode }
  /** Requests without tools, side by side in one branch. `system` tells apart reviewers with one prompt. `shuffled`: asked in another order each time. */
  | { readonly type: 'asks'; readonly asks: readonly { readonly prompt: string; readonly system: number }[]; readonly shuffled: boolean }
  /** A loop that asks the model and runs its tools, in one of several ways. */
  | {
      readonly type: 'loop'
      readonly script: string
      readonly via: Via
      readonly bound: boolean
      /** The prompt holds something that differs from attempt to attempt and that nothing records: only in unstable programs. */
      readonly drifts?: boolean
    }
  | StepNode
  | ReadNode
  /** Steps with keys side by side in one branch, each after an unrecorded wait. */
  | { readonly type: 'keyed'; readonly steps: readonly (StepNode & { readonly key: number })[]; readonly waitMs: number }
  /** Steps of different names side by side in one branch. */
  | { readonly type: 'steps'; readonly steps: readonly (StepNode | ReadNode)[]; readonly shuffled: boolean }
  /** The first of several wins; a step uses the winner. Racers of several steps stand in branches; what waits in them is short. */
  | { readonly type: 'race'; readonly racers: readonly (readonly RacerNode[])[]; readonly use: string }
  /** A read whose value is another one each time it runs, and a step without input that uses it. */
  | { readonly type: 'chain'; readonly read: string; readonly step: StepNode }
  | { readonly type: 'agent'; readonly name: string; readonly key?: number; readonly node: Node }
  | WaitNode
  /** Side by side in one branch, where branches belong: only in unstable programs. */
  | { readonly type: 'tangled'; readonly nodes: readonly Node[]; readonly waitMs: number }
  /** Throws in the first `attempts` attempts that get here (a bug that is mended then). */
  | { readonly type: 'throw'; readonly attempts: number }

/** What happens to one attempt. */
export interface Disturbance {
  /** Everything of the process stops for ever at this crossing of a seam, from 1; below 1: at this share of the crossings of an undisturbed attempt. */
  readonly kill?: number
  /** After the kill the next process knows that this one is dead; otherwise its lease has to run out. */
  readonly knownDead?: boolean
  /** The process stands still from this crossing on (or the next one that is not right before an effect), until another has taken over. */
  readonly pause?: number
  /** At this crossing of the next attempt it goes on, as if no time had passed. */
  readonly thaw?: number
  /** The process stands still for a while from this crossing on, and nobody takes over; below 1 as with `kill`. */
  readonly nap?: number
  /** The runner is closed in an orderly way at this crossing; below 1 as with `kill`. */
  readonly close?: number
  /** Appends that the store refuses, by their number in the attempt, from 1. */
  readonly refuse?: readonly number[]
  /** How many branches run at once. Default: all. */
  readonly width?: number
  /** Version of the system text and of the tools' descriptions. Default 0. */
  readonly version?: number
  /** How the code is laid out in this attempt: 1: the branches have other keys; 2: some of its parts stand in branches of their own; 4: parts in a row stand in reverse. */
  readonly layout?: number
}

export interface Program {
  readonly seed: number
  /** What it asks for may differ from attempt to attempt: only that nothing wrong happens can be checked, not that all is replayed. */
  readonly unstable?: boolean
  /** Failed tries are repeated almost at once: while what they left behind still runs. */
  readonly hasty?: boolean
  readonly onConfigChange?: 'replay' | 'diverge'
  /** What becomes of doubts whose tool or step does not say. */
  readonly onIncompleteTool?: 'rerun' | 'skip'
  /** How long somebody has to agree to a call, ms. Default: for ever. */
  readonly expiresAfterMs?: number
  readonly node: Node
  /** What the model answers, by the first message of the conversation. */
  readonly scripts: Readonly<Record<string, readonly Turn[]>>
  /** By attempt, from the first; later ones are left alone. */
  readonly attempts: readonly Disturbance[]
}
