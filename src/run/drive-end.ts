/** How a drive ended, and how a step of it did. */
import type { AskedCall, Outcome, SuspendReason } from '../journal/entry.ts'
import type { Reached } from './limits.ts'

/** How a drive ended. */
export type DriveEnd =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown }
  /** The run has used what it may: `label` names the step that did not start, `cause` is the error after which it would wait too long. */
  | { readonly type: 'limit'; readonly reached: Reached; readonly label?: string; readonly step?: string; readonly cause?: unknown }
  /** Something was asked for that cannot be told apart: a mistake of the program, which is not its code's to make something of. */
  | { readonly type: 'refused'; readonly error: unknown }
  /** Nothing of the run can go on. */
  | { readonly type: 'suspended'; readonly reasons: readonly SuspendReason[]; readonly resumeAt: number | null }
  /** A step broke after parts of it were passed on: the handler starts over, what is recorded replays. */
  | { readonly type: 'again'; readonly step: string; readonly tries: number; readonly delayMs: number }
  /** The attempt is over: the lease was lost, the caller aborted, the runner closed. */
  | { readonly type: 'stopped'; readonly reason: unknown }

/** What is handed to a step's caller. */
export interface Ended {
  readonly outcome: Outcome
  readonly asked: readonly AskedCall[]
  /** Steps inside of it that it failed with. */
  readonly failedBy?: readonly string[]
  /** The error itself, where it is not the step's own but came through it. */
  readonly thrown?: { readonly error: unknown }
}
