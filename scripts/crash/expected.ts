/** What must hold for a point and a policy, by the rules of R2, R4, R5 and R6. Pure: nothing here was taken from an output. */
import { isWriteAhead, stateAt, UNDISTURBED, type Point } from './points.ts'
import type { Ending, Policy, Program } from './policies.ts'

export interface Question {
  /** `in-doubt`: nobody knows. `repeat`: it would be done again. */
  readonly type: 'in-doubt' | 'repeat'
  /** The step that has to be decided about. */
  readonly step: string
  readonly effects: readonly string[]
}

export interface Expected {
  /** Whether a process gets to the point at all: a step that writes nothing ahead has no such point. */
  readonly reached: boolean
  /** How often the world carries the effect out. */
  readonly executions: number
  /** Idempotency keys that came with it. */
  readonly keys: number
  /** Where the run stops and asks. */
  readonly questions: readonly Question[]
  /** How often `reconcile` asks the world. */
  readonly lookups: number
  /** Model requests in all. */
  readonly requests: number
  /** How often the world is read by the step before. */
  readonly reads: number
  /** What the model, or the handler, was told about each call. */
  readonly told: readonly string[]
}

/** Model requests of an undisturbed run. */
const REQUESTS: Readonly<Record<Program, number>> = { tool: 3, composite: 3, step: 3, hosted: 2, 'effect-key': 5 }

export const receiptOf = (order: string): string => `receipt of pay ${order}`
export const BY_HAND = 'by hand'
export const UNKNOWN = 'unknown'

const RECEIPT = receiptOf('order-1')

/** How often the code runs again when its doubt ends so. */
function repeats(doubt: Ending, hadEffect: boolean): number {
  switch (doubt) {
    case 'rerun': return 1
    case 'reconcile': return hadEffect ? 0 : 1
    case 'skip': case 'result': return 0
    case 'none': return 1
  }
}

export function expectedOf(point: Point, policy: Policy): Expected {
  const reached = policy.writesAhead || !isWriteAhead(point)
  const { responded, started, effect, recorded } = reached ? stateAt(point) : UNDISTURBED
  const before = effect ? 1 : 0
  // A composite tool's effect is a step of its own: recorded, also where the call around it is not.
  const replays = recorded || (policy.tool?.composite === true && !policy.writesAhead && effect)
  const inDoubt = policy.writesAhead && started && !recorded
  const executions = before + (replays ? 0 : inDoubt ? repeats(policy.doubt, effect) : 1)
  const askedAgain = responded ? 0 : 1
  const told = !inDoubt || policy.doubt === 'rerun' || policy.doubt === 'reconcile' ? RECEIPT : policy.doubt === 'skip' ? UNKNOWN : BY_HAND
  const plain: Expected = {
    reached,
    executions,
    // Whatever became of it, it is the same call: it has one key.
    keys: Math.min(1, executions),
    questions: inDoubt && policy.asks ? [{ type: 'in-doubt', step: policy.target, effects: [policy.target] }] : [],
    lookups: inDoubt && policy.tool?.reconcile ? 1 : 0,
    requests: REQUESTS[policy.program] + askedAgain,
    reads: 1,
    told: [told],
  }
  if (policy.redo) return redone(plain, { inDoubt, recorded })
  if (policy.program === 'effect-key') return withSecondCall(plain, before, inDoubt)
  if (policy.program === 'hosted') return requested(plain, policy, responded)
  return plain
}

/**
 * Driven again from the first step: everything is asked again (two requests before the kill, three after), and what was done, or may have
 * been, is not repeated without a decision (R5): done, its result is used again; in doubt, a person gives it.
 */
function redone(plain: Expected, { inDoubt, recorded }: { inDoubt: boolean; recorded: boolean }): Expected {
  const question = { step: '1~1/c:pay', effects: ['1/c:pay'] }
  const questions: Question[] = recorded ? [{ type: 'repeat', ...question }] : inDoubt ? [{ type: 'in-doubt', ...question }] : []
  return { ...plain, questions, requests: 5, reads: 2 }
}

/** The requests themselves are the effects, so the one before the step under trial is in doubt too where it was sent and its answer is not recorded. */
function requested(plain: Expected, { response, asks }: Policy, responded: boolean): Expected {
  const questions: readonly Question[] = !responded && asks ? [{ type: 'in-doubt', step: response, effects: [response] }] : plain.questions
  return { ...plain, keys: 0, questions, requests: 1 + plain.executions + (responded ? 0 : 1), told: ['nothing'] }
}

/** After the call for order 1 come one for order 2, which is another effect, and one more for order 1. */
function withSecondCall(plain: Expected, before: number, inDoubt: boolean): Expected {
  const told = [inDoubt ? UNKNOWN : RECEIPT, receiptOf('order-2'), RECEIPT]
  if (!inDoubt) return { ...plain, executions: 2, keys: 2, told }
  // The last call runs in the place of the one in doubt, by a person's word, and with its key.
  return { ...plain, executions: before + 1, keys: 1, questions: [{ type: 'in-doubt', step: '3/c:pay3', effects: ['1/c:pay'] }], told }
}
