/** Whether a record answers a step that is known by number (R4, R5, R8). Pure: what to do about it is the machine's. */
import type { Branch } from './branch.ts'
import { isBlind, type Claim, type ModelClaim } from './claim.ts'
import type { History, StepRecord } from './history.ts'
import { approved, placeOf } from './identity.ts'
import { changedParts } from './reason.ts'

export type Match =
  /** `changed`: the configuration differs in these parts, and the recorded answer stands. */
  | { readonly type: 'record'; readonly record: StepRecord; readonly changed: readonly string[] }
  /** Nothing is recorded in its place. */
  | { readonly type: 'hole'; readonly slot: number }
  /** Something else is: this record, or (undefined) only what lies inside of a step that such a one cannot hold. */
  | { readonly type: 'diverged'; readonly record: StepRecord | undefined; readonly changed: readonly string[] }
  /** The configuration changed, and the run's policy is to refuse that. */
  | { readonly type: 'refused'; readonly changed: readonly string[] }

/** `configsBefore`: the configurations that the journal knew when the drive began. */
export function matchNumbered(branch: Branch, claim: Claim, history: History, configsBefore: ReadonlySet<string>): Match {
  const { model } = claim
  const isSame = (r: StepRecord): boolean => asksTheSame(r, claim) && isUnder(r, model?.config)
  const { inPlace } = branch
  if (inPlace && isSame(inPlace)) return { type: 'record', record: inPlace, changed: [] }
  const candidates = branch.candidates()
  const exact = candidates.find(isSame)
  if (exact) return { type: 'record', record: exact, changed: [] }

  let changed: readonly string[] = []
  const alike = candidates.find((r) => model && r.ref.kind === 'model' && r.fingerprint === claim.fingerprint)
  if (model && alike) {
    const before = history.configs.get(alike.config ?? '') ?? {}
    changed = changedParts(before, model.parts)
    if (!history.isToldByConfig(alike) && isChange(branch, alike, model, configsBefore)) {
      if (model.onConfigChange === 'refuse') return { type: 'refused', changed }
      if (model.onConfigChange === 'replay' && !wouldBeRefused(alike, changed, model)) return { type: 'record', record: alike, changed }
    }
  }

  const hole = branch.hole(claim.kind)
  if (hole !== undefined) return { type: 'hole', slot: hole }
  const there = alike ?? candidates[0]
  return there || !branch.mayHold(branch.free(), claim.kind) ? { type: 'diverged', record: there, changed } : { type: 'hole', slot: branch.free() }
}

/**
 * Whether a request that differs from a record in its configuration alone is that request, changed, and not one beside it:
 * several configurations of one conversation (three reviewers, one prompt) are told apart by the configuration, and where
 * one of those that overlapped left no record, a configuration that the journal knows may be the missing one's. So may
 * one in which the branch asked the same at another number: then it is that request, at another turn.
 */
const isChange = (branch: Branch, alike: StepRecord, model: ModelClaim, configsBefore: ReadonlySet<string>): boolean =>
  branch.configsInReach(alike.fingerprint) === 1 && !branch.wasAsked(alike.fingerprint, model.config) && (!alike.end || branch.isWhole || !configsBefore.has(model.config))

/** The recorded response makes no sense under the new configuration: it has another form, a tool that it asks for is gone, or it does not heed the tool choice (R8). */
const wouldBeRefused = (record: StepRecord, changed: readonly string[], { tools, toolChoice }: ModelClaim): boolean =>
  changed.includes('responseFormat') || record.asked.some(({ tool }) => changed.includes(`tool ${tool}`) && !tools.includes(tool)) || (changed.includes('toolChoice') && !heeds(record, toolChoice))

function heeds({ asked }: StepRecord, toolChoice: ModelClaim['toolChoice']): boolean {
  if (toolChoice === undefined) return true
  if (toolChoice === 'none') return asked.length === 0
  return asked.some(({ tool }) => toolChoice === 'required' || tool === toolChoice.tool)
}

/** Whether a record answers under a configuration: it was asked in it, or has answered under it before. */
const isUnder = (record: StepRecord, config: string | undefined): boolean =>
  record.config === config || (config !== undefined && record.accepted.has(config))

/** Whether a record is of a step that asks for the same; of model requests, settings aside. */
export const asksTheSame = ({ ref, fingerprint }: StepRecord, claim: Claim): boolean =>
  ref.kind === claim.kind && ref.name === claim.name && fingerprint === claim.fingerprint

/** Where a call stands that an approval in the messages let run. Of several with one id (a client that counts them anew in each conversation) it is the one that asks the same, else the first that nobody has asked for yet. */
export function approvedPlace(branch: Branch, claim: Claim, approvalId: string, recordAt: (place: string) => StepRecord | undefined): string {
  let free: string | undefined
  for (let occurrence = 0; ; occurrence++) {
    const place = approved(branch.path, approvalId, occurrence)
    const before = branch.tickets.findLast(({ ref }) => placeOf(ref.id) === place)
    const record = recordAt(place)
    if (before ? before.ref.name === claim.name && before.claim.fingerprint === claim.fingerprint : record && asksTheSame(record, claim)) return place
    if (!before) free ??= place
    if (!before && !record) return free!
  }
}

/** Whether a record is of a step that says nothing of what it asks, and that other code has asked for than asks now. */
export const isOfOtherCode = ({ after }: StepRecord, claim: Claim): boolean => isBlind(claim) && after !== undefined && claim.isThat?.(after) === false
