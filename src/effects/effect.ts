/** An effect: a step that is not idempotent, and what is known of it (R2, R6). */
import { hash } from '../core/hash.ts'
import type { Encoded } from '../journal/codec.ts'
import type { DoubtCause, EffectRef, Outcome, Settled, StepRef } from '../journal/entry.ts'

/**
 * `started`: its code was called; without an end it is in doubt, unless it runs right now.
 * `unknown`: it ended and its caller was told that the outcome is unknown.
 * `completed`, `failed` (a definite error), `not-done` (settled so): known.
 */
export type EffectState = 'started' | 'unknown' | 'completed' | 'failed' | 'not-done'

export interface Effect {
  readonly step: StepRef
  readonly ref: EffectRef
  /** Of the arguments that it was called with, and of those that it was asked for with: somebody may have agreed to others. */
  readonly fingerprint: string
  readonly asked: string
  readonly idempotencyKey: string
  readonly input: Encoded | undefined
  /** Fencing token of the attempt that started it last. */
  readonly token: number
  /** Position of the record of its last start, and of what settled it since. */
  readonly startedSeq: number
  settledSeq: number
  /** Those of starts before it with the same arguments. */
  readonly startedBefore: readonly number[]
  /** When it was started last, ms since the epoch; undefined: that is not known, or not whether it was. */
  readonly startedAt: number | undefined
  /** It is only presumed: it may have been called in a part of the journal that was lost, which ended before then (ms since the epoch). */
  readonly lostBefore: number | undefined
  state: EffectState
  /** Why nobody knows, where its caller was told so. */
  cause: DoubtCause | undefined
  /** Its outcome, where it is known. */
  outcome: Outcome | undefined
  /** What its caller was told: nothing yet, so its own call comes back and is answered; that the outcome is unknown; or the outcome. */
  told: 'nothing' | 'unknown' | 'outcome'
  /** Fencing token of the attempt in which its caller was told so. */
  toldIn: number
  /** No record of it answers any more: the program or what came before it is another one (`divergence`), or it failed its run, which is driven again (`failure`). */
  superseded: 'divergence' | 'failure' | undefined
  /** The other call that used it up, and the position at which it did. */
  takenBy: string | undefined
  takenSeq: number
  /** Its run has failed with it. */
  hasFailed: boolean
  /** It was answered for: a decision or an answer used it up. */
  consumed: boolean
  /** A call of other arguments was let past it: it stands in the way of the very same one only. */
  passed: boolean
}

/** Known to have happened, though its caller does not know or no record says so any more: another start would repeat it unawares. */
export const wouldBeRepeated = (effect: Effect): boolean => effect.state === 'completed' && (effect.superseded !== undefined || effect.told === 'unknown')

/** Known to have happened, and no record says so yet: its own call comes back and is answered, or is another one now. */
export const isUntold = ({ state, told, superseded }: Effect): boolean => state === 'completed' && told === 'nothing' && !superseded

/** It happened, and its caller was told that it had failed: the start before has told since. */
export const wasToldOtherwise = (effect: Effect): boolean => wouldBeRepeated(effect) && effect.told === 'unknown' && effect.cause === undefined

/** It happened, and its own call is still to be answered: by its record, or with what was found out of it. */
export const isDone = ({ state, told, superseded, consumed }: Effect): boolean => state === 'completed' && told !== 'unknown' && !superseded && !consumed

/**
 * Whether it says something of an effect that nobody knew. Of two outcomes of a start the first counts (C20); that it happened is news also after "not done". That one
 * start did nothing says nothing of the next; that it happened does, where both asked for the same, also if the next one failed.
 */
export function tells({ state, outcome, startedSeq, startedBefore }: Effect, { start = startedSeq, settlement }: Settled): boolean {
  return start === startedSeq ? outcome === undefined : settlement.type === 'completed' && startedBefore.includes(start) && state !== 'completed'
}

/** Fingerprint of a step of the handler that says nothing of what it asks for. */
export const SILENT = hash('')

/** Such a step. One that was answered without a start has no input either, and has said what it asks for. */
export const isSilent = ({ step, fingerprint }: Effect): boolean => step.kind === 'step' && fingerprint === SILENT

/** There is a stored result that another call may be answered with. */
export const hasResult = ({ outcome }: Effect): boolean => outcome?.type === 'value'

/** A name and key as one text. */
export const refOf = ({ name, key }: EffectRef): string => JSON.stringify([name, key])

/** Its end is recorded. */
export function end(effect: Effect, outcome: Outcome): void {
  switch (outcome.type) {
    case 'value':
    case 'unstored':
      effect.state = 'completed'
      effect.outcome = outcome
      effect.told = 'outcome'
      break
    case 'error':
      // An earlier start has turned out to have done it: its caller is told otherwise.
      if (effect.state === 'completed') {
        effect.told = 'unknown'
        break
      }
      effect.state = 'failed'
      effect.outcome = outcome
      effect.told = 'outcome'
      break
    case 'unknown':
      // It may have been settled just before its caller was told.
      if (effect.state === 'started') effect.state = 'unknown'
      effect.cause = outcome.cause
      effect.told = 'unknown'
      break
  }
}
