/** What is allowed, and probably not meant: told once. */
import type { Branch } from './branch.ts'
import { isBlind, type Claim, type Note } from './claim.ts'
import type { History } from './history.ts'
import { comesAfter } from './refusal.ts'

export function warningsOf(branch: Branch, claim: Claim, slot: number, history: History): Note[] {
  if (claim.kind === 'model') {
    const twin = branch.effectfulTwin(claim.fingerprint)
    const unrecorded = branch.hasUnrecorded ? undefined : claim.model?.results.find((callId) => branch.isUnclaimed(callId))
    if (unrecorded !== undefined) {
      branch.hasUnrecorded = true
      return [{ type: 'warning', code: 'TOOLS_NOT_WRAPPED', message: `call ${unrecorded} was executed outside of a step: it is not recorded, and is made again on resume. Wrap the tools too, with durableTools(tools)` }]
    }
    const former = branch.otherwiseConfigured(claim, slot)
    if (former && !comesAfter(claim, former)) {
      branch.toldByConfig.add(claim.fingerprint!)
      return [{ type: 'warning', code: 'SAME_CONVERSATION', step: former.ref.id, message: `a model request asks the same as step ${former.ref.id} in another configuration (its system text, model or settings), by other code: only that tells them apart. Give each line of work a branch of its own: run.branch(key, fn)` }]
    }
    return twin === undefined ? [] : [{ type: 'warning', code: 'REPEATED_REQUEST', step: twin, message: `a model request repeats that of step ${twin}, whose response led to effects` }]
  }
  const before = isBlind(claim) ? branch.newestBlind(claim) : undefined
  if (before && !history.toldByOrder.has(claim.name)) {
    return [{ type: 'warning', code: 'TOLD_BY_ORDER', step: before.ref.id, message: `${claim.kind} "${claim.name}" is asked for again without key and input (before that: ${before.ref.id}): their order alone tells them apart, so that a deploy or data which puts one in front of them, or takes one away, gives each the result of another. Say what each is about: { key } or { input }` }]
  }
  if (claim.place.type !== 'call' || branch.isInsideCall || branch.hasUnasked || branch.takenCall(claim.place.callId) !== undefined) return []
  branch.hasUnasked = true
  return [{ type: 'warning', code: 'MODEL_NOT_WRAPPED', message: `tool "${claim.name}" is called, but no recorded response asked for it: wrap the model too, with durable(model)` }]
}
