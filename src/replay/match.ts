/** Whether a record answers a step that is known by number (R4, R5, R8). Pure: what to do about it is the machine's. */
import type { Branch } from './branch.ts'
import type { Claim } from './claim.ts'
import type { History, StepRecord } from './history.ts'
import { changedParts } from './reason.ts'

export type Match =
  /** `changed`: the configuration differs in these parts, and the recorded answer stands. */
  | { readonly type: 'record'; readonly record: StepRecord; readonly changed: readonly string[] }
  /** Nothing is recorded in its place. */
  | { readonly type: 'hole'; readonly slot: number }
  /** Something else is. */
  | { readonly type: 'diverged'; readonly record: StepRecord; readonly changed: readonly string[] }
  /** The configuration changed, and the run's policy is to refuse that. */
  | { readonly type: 'refused'; readonly changed: readonly string[] }

export function matchNumbered(branch: Branch, claim: Claim, history: History): Match {
  const candidates = branch.candidates()
  const same = candidates.filter((r) => r.ref.kind === claim.kind && r.ref.name === claim.name && r.fingerprint === claim.fingerprint)
  const { model } = claim
  const exact = same.find((record) => record.config === model?.config)
  if (exact) return { type: 'record', record: exact, changed: [] }

  let changed: readonly string[] = []
  const alike = candidates.find((r) => model && r.ref.kind === 'model' && r.fingerprint === claim.fingerprint)
  if (model && alike) {
    changed = changedParts(history.configs.get(alike.config ?? '') ?? {}, model.parts)
    const configs = new Set(branch.sharing(claim.fingerprint!).map((record) => record.config))
    // Several configurations of one conversation (three reviewers, one prompt): then the configuration tells them apart.
    const stands = configs.size === 1 && model.onConfigChange !== 'diverge' && !wouldBeRefused(alike, changed, model.tools)
    if (model.onConfigChange === 'refuse' && configs.size === 1) return { type: 'refused', changed }
    if (stands) return { type: 'record', record: alike, changed }
  }

  const hole = branch.hole()
  if (hole !== undefined) return { type: 'hole', slot: hole }
  const there = alike ?? candidates[0]
  return there ? { type: 'diverged', record: there, changed } : { type: 'hole', slot: branch.free() }
}

/** The recorded response makes no sense under the new configuration: a tool that it asks for is gone, or it has another form (R8). */
const wouldBeRefused = (record: StepRecord, changed: readonly string[], tools: readonly string[]): boolean =>
  changed.includes('responseFormat') || record.asked.some((call) => !tools.includes(call.tool))
