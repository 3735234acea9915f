/** How a call of `run` or `resume` ends; failures throw. */
import type { SuspendReason } from '../journal/entry.ts'

export type Outcome<RESULT = unknown> =
  | { readonly status: 'completed'; readonly result: RESULT }
  /** It waits: for a person, or until `resumeAt` (ms since the epoch). `run` or `resume` goes on. */
  | { readonly status: 'suspended'; readonly reasons: readonly SuspendReason[]; readonly resumeAt?: number }
  /** Another process drives it (`owner` says which); nothing was done here. */
  | { readonly status: 'running'; readonly owner: string }
  | { readonly status: 'cancelled'; readonly reason: string }
