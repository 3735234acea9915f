/** What the watching process and the ones that drive runs say to each other. */
import type { SuspendReason } from '../../src/index.ts'
import type { Moment } from './points.ts'
import type { PolicyName } from './policies.ts'

/** Where a process stands still until it is killed: at a moment of the step under trial, or when so many steps were replayed. */
export type Stop = { readonly at: Moment } | { readonly replayed: number }

/** A type of entry that the store acknowledges without keeping it: to see that the judge finds it. */
export type Dropped = 'step-started' | 'step-ended'

/** What a process is told to drive. */
export interface Job {
  readonly runId: string
  readonly store: string
  readonly model: string
  readonly world: string
  /** `trip`: the program of the random kills. */
  readonly program: PolicyName | 'trip'
  readonly stop?: Stop
  readonly drop?: Dropped
  /** Drive the run again from this step on. */
  readonly redo?: string
}

/** What a driving process says. */
export type WorkerMessage =
  | { readonly type: 'ready' }
  /** It stands still. */
  | { readonly type: 'stopped'; readonly where: string }
  /** Something that has no place in a run of the same program over a model and tools that work. */
  | { readonly type: 'noticed'; readonly what: string }
  | { readonly type: 'ended'; readonly status: string; readonly result: unknown; readonly reasons: readonly SuspendReason[] }
  | { readonly type: 'failed'; readonly error: string }

/** A call as the world is asked to carry it out. */
export interface WorldCall {
  readonly runId: string
  readonly name: string
  /** The idempotency key; null where nothing is changed. */
  readonly key: string | null
  /** The world takes its time. */
  readonly slow: boolean
}
