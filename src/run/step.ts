/** What a step is, to the drive that performs it. */
import type { AskedCall, KeptFile, StepRef, StepUsage } from '../journal/entry.ts'
import type { AfterError, DoubtfulCall, Reconciled, ResolvedApproval, ResolvedRetry } from '../reliability/index.ts'
import type { Claim } from '../replay/claim.ts'

/** What the code of a step knows of itself: `currentStep()`. */
export interface StepContext {
  readonly runId: string
  /** The step's id, as `holdfast show` prints it. */
  readonly step: string
  /** The same on every attempt and every try of this step: hand it to the outside world. */
  readonly idempotencyKey: string
  /** Which try this is, from 1. */
  readonly attempt: number
  /** Aborts when the step is no longer waited for. */
  readonly signal: AbortSignal
  /** Says that the work goes on: extends an idle timeout. */
  progress(): void
}

/** What the code of a step is given. */
export interface WorkContext extends StepContext {
  /** Says that the first part of what it gives is there: ends the limit for that. */
  begin(): void
}

export interface StepSpec {
  readonly claim: Claim
  /** For messages, such as `tool "refund"`. */
  readonly label: string
  /** Arguments as executed, which nobody else changes: kept with a step that has effects, for `reconcile` and for people. */
  readonly input?: unknown
  /** The step's code may hold steps: they stand in a branch of its own. */
  readonly hasInside: boolean
  readonly retry: ResolvedRetry
  readonly timeoutMs?: number | undefined
  readonly firstPartTimeoutMs?: number | undefined
  readonly idleTimeoutMs?: number | undefined
  /** Largest record of a result, bytes. */
  readonly maxBytes?: number | undefined
  /** Cancels this step alone: what its own caller passed in. */
  readonly signal?: AbortSignal | undefined
  /** Aborts when what it stands in, a try of the step around it, is no longer waited for. */
  readonly around?: AbortSignal | undefined
  /** Told at once, when the step is claimed. */
  onClaimed?(ref: StepRef): void
  work(context: WorkContext): PromiseLike<unknown> | unknown
  /** Whether another try is possible at all: false once something was passed on. */
  mayRetry?(): boolean
  /** What a model step's result adds to its record. */
  describe?(value: unknown): { readonly asked?: readonly AskedCall[]; readonly usage?: StepUsage; readonly files?: readonly KeptFile[] }
  /** What the caller is thrown for an error; default: the error. `advice`: from when on it may be tried again, and why it was not. */
  failure?(error: unknown, tries: number, advice?: string): unknown
  /** Asks the outside world about this effect, or about an earlier one of the same name and key. */
  reconcile?: ((call: DoubtfulCall<unknown>) => Promise<Reconciled<unknown>>) | undefined
  /** What an error that it threw says about its effect; undefined: as the kind of error says. */
  afterError?: ((error: unknown) => AfterError | undefined) | undefined
  /** A person has to agree before it is called. */
  readonly approval?: ResolvedApproval | undefined
  /** The same step with the arguments that somebody approved in place of those asked for. @throws where they do not fit. */
  withInput?(input: unknown): Promise<StepSpec>
  /** How long after the former owner could last act `not-done` is believed, ms. */
  readonly settleAfterMs?: number | undefined
}

/** For events: which step. */
export const ofStep = (ref: StepRef): { step: string; kind: StepRef['kind']; name: string } => ({ step: ref.id, kind: ref.kind, name: ref.name })
