/** What the decision `reuse` answers a call with: what an earlier call gave that it may be (R5). */
import { turnOf } from '../replay/identity.ts'
import { hasResult, isSilent, SILENT, type Effect } from './effect.ts'

interface Asking {
  readonly step: string
  /** Of its arguments. */
  readonly fingerprint: string
}

/**
 * Of the effects that a call would repeat, the one whose result it is to be given: of those that it can be that of its turn, else the only one.
 * Undefined: none of them has a stored result, or several fit and gave different ones, so that nobody can tell whose is whose (steps that say nothing
 * of what they ask for, moved together, or behind a result that may be another one: `isSure` false).
 */
export function reusable(effects: readonly Effect[], call: Asking, { isSure = true } = {}): Effect | undefined {
  const turn = turnOf(call.step)
  // What was done inside of the call has given no result of its own.
  const withResult = candidates(effects.filter(({ step }) => !turnOf(step.id).startsWith(`${turn}/`)), call).filter(hasResult)
  return (isSure ? withResult.findLast((effect) => turnOf(effect.step.id) === turn) : undefined) ?? theOnly(withResult)
}

/**
 * Those that a call can be: of the same arguments; else, of steps, where one of the two says nothing of what it asks for. A model may say the same in
 * other words: where one call alone is in question, it can be that. Among several of other arguments nobody knows, wherever they stand.
 */
export function candidates(effects: readonly Effect[], { fingerprint }: Pick<Asking, 'fingerprint'>): readonly Effect[] {
  const same = effects.filter((effect) => effect.fingerprint === fingerprint)
  if (same.length > 0) return same
  const [first, ...others] = effects
  return first?.step.kind === 'tool' ? (others.length === 0 ? [first] : []) : effects.filter((effect) => isVague(effect, fingerprint))
}

/** Of two steps, one does not say what it asks for: they may ask for the same. */
const isVague = (effect: Effect, other: string): boolean => isSilent(effect) || (effect.step.kind === 'step' && other === SILENT)

/** A step of the handler that is known to ask for something else. */
export const asksOtherwise = (effect: Effect, fingerprint: string): boolean => effect.step.kind === 'step' && effect.fingerprint !== fingerprint && !isVague(effect, fingerprint)

const theOnly = (effects: readonly Effect[]): Effect | undefined => (new Set(effects.map(({ outcome }) => JSON.stringify(outcome))).size === 1 ? effects.at(-1) : undefined)
