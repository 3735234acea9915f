/** What a run waits for, with the commands that settle it. */
import { isInDoubt } from '../../effects/doubt.ts'
import type { Placed } from '../../journal/chain.ts'
import type { Decision, SuspendReason } from '../../journal/entry.ts'
import type { History } from '../../replay/history.ts'
import { resolveCommand, type Choice, type Place } from '../hint.ts'

export interface WaitView {
  readonly type: SuspendReason['type']
  readonly step: string | null
  readonly tool: string | null
  /** In words. */
  readonly message: string
  /** Steps whose effect is in question. */
  readonly effects: readonly string[]
  /** What was decided already; the next attempt goes by it. */
  readonly decided: Decision['type'] | null
  /** How somebody may decide, with the command; empty where it is not for somebody to decide, or was decided. */
  readonly choices: readonly { readonly choice: Choice; readonly command: string }[]
}

/** Why the run is suspended, and what else is in doubt: a person may settle that before the run is resumed. */
export function waitsOf(runId: string, entries: readonly Placed[], history: History, decided: ReadonlyMap<string, Decision['type']>, place: Place): WaitView[] {
  const view = (reason: SuspendReason): WaitView => waitView(runId, reason, history, decided, place)
  const waits = lastReasons(entries).map(view)
  const covered = new Set(waits.flatMap(({ step, effects }) => [...(step === null ? [] : [step]), ...effects]))
  const doubts = history.ledger.allStanding().filter((effect) => isInDoubt(effect, () => false) && !covered.has(effect.step.id))
  return [...waits, ...doubts.map(({ step, fingerprint }) => view({ type: 'in-doubt', step: step.id, tool: step.name, message: '', fingerprint, effects: [step.id] }))]
}

/** A reason by itself, where the journal is not at hand. */
export function waitView(runId: string, reason: SuspendReason, history: History | undefined, decided: ReadonlyMap<string, Decision['type']>, place: Place): WaitView {
  const { type } = reason
  if (type !== 'in-doubt' && type !== 'repeat') {
    const step = 'step' in reason && reason.step !== '' ? reason.step : null
    return { type, step, tool: null, message: reason.message, effects: [], decided: null, choices: [] }
  }
  const { step, tool, effects } = reason
  const others = effects.filter((id) => id !== step).join(', ')
  const message = type === 'in-doubt'
    ? `nobody knows whether "${tool}"${others && ` (${others})`} took effect`
    : `"${tool}" would repeat an effect that was made already (${others})`
  const known = decided.get(step) ?? null
  const choices: Choice[] = canReuse(reason, history) ? ['result', 'reuse', 'skip', 'rerun'] : ['result', 'skip', 'rerun']
  return {
    type, step, tool, message, effects, decided: known,
    choices: known === null ? choices.map((choice) => ({ choice, command: resolveCommand(runId, step, choice, place) })) : [],
  }
}

/** As `resolve` sees it: an earlier call has an outcome, and the step is not itself in doubt. */
function canReuse({ type, step, effects }: SuspendReason & { readonly type: 'in-doubt' | 'repeat' }, history: History | undefined): boolean {
  if (!history) return type === 'repeat'
  const { ledger } = history
  const own = ledger.effects.get(step)
  if (own && isInDoubt(own, () => false)) return false
  return effects.some((id) => ledger.effects.get(id)?.outcome !== undefined)
}

/** Why it is suspended, if it is. */
function lastReasons(entries: readonly Placed[]): readonly SuspendReason[] {
  const last = entries.findLast(({ entry }) => entry.type === 'suspended' || entry.type === 'attempt-started' || entry.type === 'run-ended')?.entry
  return last?.type === 'suspended' ? last.reasons : []
}
