/** Where a step stands, from what the journal says of it. Pure. */
import { isInDoubt } from '../../effects/doubt.ts'
import type { Effect } from '../../effects/effect.ts'
import { decode } from '../../journal/codec.ts'
import { lostText } from '../../run/lost-part.ts'
import { messageOf } from '../../run/readable.ts'
import type { TakenDecision } from './steps.ts'
import type { DoubtCause, StepEnded, Superseded } from '../../journal/entry.ts'

/**
 * `in-doubt`: it was started, and nobody knows whether it took effect. `running`: its code runs now. `waiting`: it was not started and waits
 * for a decision. `skipped`: by a decision or a policy. `not-done`: it was found out that it did not take effect. `unknown`: what it did was never found
 * out, and a decision let the run go on. `superseded`: its record does not answer any more.
 */
export type StepState = 'completed' | 'failed' | 'in-doubt' | 'running' | 'waiting' | 'skipped' | 'not-done' | 'unknown' | 'superseded'

/** `result`, `reuse`: a decision. `settled`: what an effect turned out to be, by `reconcile` or a late result. */
export type Answer = 'ran' | 'result' | 'reuse' | 'settled'

export interface StepFacts {
  readonly end: Pick<StepEnded, 'outcome' | 'tries'> | undefined
  readonly effect: Pick<Effect, 'state' | 'cause' | 'consumed' | 'step' | 'lostBefore'> | undefined
  /** The attempt that started it drives the run now. */
  readonly isDriven: boolean
  /** The run waits with it. */
  readonly isWaiting: boolean
  readonly superseded: Pick<Superseded, 'by' | 'reason'> | undefined
  /** Decisions that it used up. */
  readonly decided: readonly TakenDecision['decision'][]
}

export function stateOf({ end, effect, isDriven, isWaiting, superseded, decided }: StepFacts): StepState {
  if (effect && effect.cause !== 'skipped' && isInDoubt(effect as Effect, () => false)) return isDriven && effect.state === 'started' ? 'running' : 'in-doubt'
  if (superseded) return 'superseded'
  if (isWaiting) return 'waiting'
  switch (end?.outcome.type) {
    case 'value':
    case 'unstored':
      return 'completed'
    case 'error':
      return 'failed'
  }
  // Told as unknown, or without an end: what was found out since decides.
  if (effect?.state === 'completed' || effect?.state === 'not-done') return effect.state
  return decided.includes('skip') || (end?.outcome.type === 'unknown' && end.outcome.cause === 'skipped') ? 'skipped' : 'unknown'
}

export function answerOf({ end, effect, decided }: StepFacts): Answer | null {
  if (end && end.tries > 0 && end.outcome.type !== 'unknown') return 'ran'
  if (end && end.outcome.type !== 'unknown') return decided.includes('result') ? 'result' : decided.includes('reuse') ? 'reuse' : 'settled'
  return effect?.state === 'completed' ? 'settled' : null
}

const CAUSES: Readonly<Record<DoubtCause, string>> = {
  interrupted: 'its attempt ended before its outcome was recorded',
  timeout: 'it timed out while it ran',
  cancelled: 'it was cancelled while it ran',
  error: 'it failed in a way that says nothing about its effect',
  skipped: 'it is left at that',
}

const ANSWERS: Readonly<Record<Answer, string | null>> = {
  ran: null,
  result: 'a decision gave its result',
  reuse: 'by a decision, answered with what an earlier call gave',
  settled: 'answered with what its effect turned out to be',
}

/** Why it is in that state, in words; null where that goes without saying. */
export function whyOf(facts: StepFacts): string | null {
  const { end, effect, superseded, decided } = facts
  const outcome = end?.outcome
  switch (stateOf(facts)) {
    case 'in-doubt': {
      const cause = (outcome?.type === 'unknown' ? outcome.cause : effect?.cause) ?? 'interrupted'
      const words = effect?.lostBefore !== undefined && cause === 'interrupted' ? `it is presumed: it ${lostText(effect.lostBefore)}` : CAUSES[cause]
      return `${words}${outcome?.type === 'unknown' ? '; its caller was told that the outcome is unknown' : ''}`
    }
    case 'superseded':
      return superseded!.reason
    case 'failed':
    case 'completed':
      if (outcome?.type === 'error' || outcome?.type === 'unstored') return saidBy(decode(outcome.error, 'error'))
      return ANSWERS[answerOf(facts) ?? 'ran']
    case 'skipped':
      return `by ${decided.includes('skip') ? 'a decision' : 'its policy'}; its caller was told that the outcome is unknown`
    case 'unknown':
      return 'its outcome was never found out; a decision let the run go on'
    case 'not-done':
      return 'it was found out that it did not take effect'
    case 'waiting':
      return 'it was not started, and waits'
    case 'running':
      return null
  }
}

const saidBy = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : messageOf(error))
