/** What the parent gives to the agent's process, and what it hears from it. */
import type { Outcome, StampedEvent } from '../src/index.ts'
import type { PointReached } from './points.ts'

export interface Job {
  readonly storePath: string
  readonly worldUrl: string
  readonly model: ModelAccess
  /** Calls in doubt are left to a person. */
  readonly refuse: boolean
  /** The process says so at each point at which it may be killed, and waits. */
  readonly mayBeKilled: boolean
}

export interface ModelAccess {
  readonly name: string
  readonly id: string
  readonly url: string
  /** The environment variable that holds the key: the key itself is not handed around. */
  readonly keyFrom?: string
}

export type WorkerMessage =
  | PointReached
  /** `clockMs`: ms of a clock that is finer than that of events. */
  | { readonly type: 'handler-called'; readonly clockMs: number }
  | { readonly type: 'text'; readonly request: number; readonly delta: string }
  | { readonly type: 'asks'; readonly request: number; readonly toolName: string }
  | { readonly type: 'event'; readonly event: StampedEvent; readonly clockMs: number }
  | { readonly type: 'waited'; readonly for: 'running' | 'suspended' }
  | { readonly type: 'outcome'; readonly outcome: Outcome<string> }
  | { readonly type: 'failed'; readonly message: string }
