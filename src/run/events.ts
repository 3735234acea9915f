/** What a run tells while it is driven: typed, noun-verb, in the order in which it happens. */
import type { AttemptSummary, StepKind, SuspendReason } from '../journal/entry.ts'
import type { Reached } from './limits.ts'

interface OfStep {
  readonly step: string
  readonly kind: StepKind
  readonly name: string
}

export type RunEvent =
  | { readonly type: 'run-started'; readonly attempt: number }
  /** `former` says how the attempt before ended. */
  | { readonly type: 'run-resumed'; readonly attempt: number; readonly former: 'none' | 'released' | 'dead' | 'expired' }
  | ({ readonly type: 'step-started' } & OfStep)
  /** Its result is durable. `ok` is false for an error or an unknown outcome; with `tries: 0` it was answered, by a decision or by what was found out, and not called. */
  | ({ readonly type: 'step-finished'; readonly ok: boolean; readonly tries: number; readonly ms: number } & OfStep)
  | ({ readonly type: 'step-replayed' } & OfStep)
  | ({ readonly type: 'retry-wait'; readonly try: number; readonly delayMs: number; readonly category: string; readonly message: string } & OfStep)
  /** A stream broke after parts of it were passed on: what was shown of the step is void, the handler is driven again. */
  | ({ readonly type: 'step-reset'; readonly tries: number; readonly delayMs: number; readonly category: string; readonly message: string } & OfStep)
  /** A limit of the step (not of the run) has cut a try. `limit`: of the whole try, until the first part of an answer, or without progress. What was cut may still be running. */
  | ({ readonly type: 'step-timeout'; readonly try: number; readonly limit: 'total' | 'first-part' | 'idle'; readonly timeoutMs: number } & OfStep)
  /** Nobody knows whether it took effect: `timeout` (also: of the run, or of the step around it), `cancelled` (also: the attempt was stopped while it ran, or the step around it ended) or `error` in this attempt; else what is done about it: `reconcile`, or it waits (`in-doubt`, `repeat`). */
  | ({ readonly type: 'step-in-doubt'; readonly cause: string } & OfStep)
  /** What was answered to a call that waited for approval is carried out; `expired`: nobody had answered in time. */
  | ({ readonly type: 'approval-decided'; readonly decision: 'approved' | 'denied' | 'expired'; readonly by?: string } & OfStep)
  /** A doubt came to an end. */
  | ({ readonly type: 'doubt-settled'; readonly by: 'reconcile' | 'late-result'; readonly as: string } & OfStep)
  | ({ readonly type: 'step-waiting'; readonly reason: SuspendReason } & OfStep)
  | { readonly type: 'replay-diverged'; readonly step: string; readonly reason: string; readonly superseded: number }
  | { readonly type: 'config-changed'; readonly step: string; readonly changed: readonly string[] }
  /** The run has used what it may, and ends; `step` is the one that did not start. `used` and `max`: steps, tokens, ms, or ms since the epoch. */
  | ({ readonly type: 'limit-reached'; readonly step?: string } & Reached)
  | { readonly type: 'warning'; readonly code: string; readonly message: string }
  | { readonly type: 'attempt-ended'; readonly attempt: number; readonly summary: AttemptSummary }
  | { readonly type: 'run-suspended'; readonly reasons: readonly SuspendReason[]; readonly resumeAt: number | null }
  | { readonly type: 'run-completed'; readonly result: unknown }
  | { readonly type: 'run-failed'; readonly error: unknown }
  | { readonly type: 'run-cancelled'; readonly reason: string }

/** An event with its run and time (ms since the epoch). */
export type StampedEvent = RunEvent & { readonly runId: string; readonly at: number }

const NAMES: Readonly<Record<StepKind, string>> = { model: 'model', tool: 'tool', step: 'other', read: 'other', agent: 'other' }

/** `replayed 5 steps (3 model, 2 tool, 0 other), recorded 2 new`, what was not recorded (C21), and which effects were left open. */
export function describeSummary(summary: AttemptSummary): string {
  const count = { model: 0, tool: 0, other: 0 } as Record<string, number>
  let replayed = 0
  let recorded = 0
  for (const [kind, n] of Object.entries(summary.replayed)) {
    count[NAMES[kind as StepKind]]! += n
    replayed += n
  }
  for (const n of Object.values(summary.recorded)) recorded += n
  const lost = summary.unrecorded.length > 0 ? `, not recorded: ${summary.unrecorded.join(', ')}` : ''
  const open = summary.leftOpen ? `, left open: ${summary.leftOpen.join(', ')}` : ''
  return `replayed ${replayed} ${replayed === 1 ? 'step' : 'steps'} (${count['model']} model, ${count['tool']} tool, ${count['other']} other), recorded ${recorded} new${lost}${open}`
}
