/** What the decision `reuse` answers a call with: what an earlier call gave that it may be (R5). */
import { turnOf } from '../replay/identity.ts'
import { hasResult, type Effect } from './ledger.ts'

/**
 * Of the effects that a call would repeat, the one whose result it is to be given: the very same call, else that of its turn, else the only one.
 * Undefined: none has a stored result, or several fit and gave different ones, so that nobody can tell whose is whose (steps that say nothing
 * of what they ask for, moved together, or behind a result that may be another one: `isSure` false).
 */
export function reusable(effects: readonly Effect[], { step, fingerprint }: { readonly step: string; readonly fingerprint: string }, { isSure = true } = {}): Effect | undefined {
  const withResult = effects.filter(hasResult)
  const turn = turnOf(step)
  const atTurn = (some: readonly Effect[]): Effect | undefined => (isSure ? some.findLast((effect) => turnOf(effect.step.id) === turn) : undefined)
  const same = withResult.filter((effect) => effect.fingerprint === fingerprint)
  return atTurn(same) ?? (same.length > 0 ? theOnly(same) : (atTurn(withResult) ?? theOnly(withResult)))
}

const theOnly = (effects: readonly Effect[]): Effect | undefined => (new Set(effects.map(({ outcome }) => JSON.stringify(outcome))).size === 1 ? effects.at(-1) : undefined)
