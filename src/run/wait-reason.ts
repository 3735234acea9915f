/** Why a call waits for somebody, in words, and until when it does by itself. */
import { isExpected, isUnknown } from '../effects/doubt.ts'
import type { GuardVerdict } from '../effects/guard.ts'
import { hasResult, type Effect } from '../effects/effect.ts'
import { asksOtherwise, candidates, reusable } from '../effects/reuse.ts'
import { byteLength } from '../journal/codec.ts'
import type { CallInQuestion, Choice, EffectReason, SuspendReason } from '../journal/entry.ts'
import { calledWith, type Ticket } from '../replay/claim.ts'
import type { Attempt } from './attempt.ts'
import type { Drive } from './drive.ts'
import { presumedText } from './lost-part.ts'
import { encodedInput } from './record.ts'
import { settleAfter } from './settle.ts'
import type { StepSpec } from './step.ts'

const OPTIONS: Readonly<Record<Choice, string>> = { rerun: '--rerun', skip: '--skip', result: '--result JSON', reuse: '--reuse' }

export function waitReason(drive: Drive, { ref, claim, changedAt }: Ticket, spec: StepSpec, { why, effects }: GuardVerdict & { type: 'wait' }): EffectReason {
  const { runId, history } = drive.attempt
  const about = claim.effect ?? claim.former!
  const ids = effects.map((effect) => effect.step.id)
  const isItself = ids.includes(ref.id)
  const isBehind = why === 'in-doubt' && !isItself && effects.every((effect) => isExpected(effect) && drive.machine.comesBack(effect))
  const asking = { step: ref.id, fingerprint: calledWith(claim) }
  const given = why === 'repeat' ? reusable(effects, asking, { isSure: changedAt === 0 }) : undefined
  const choices: Choice[] = isBehind ? [] : ['rerun', 'skip', 'result', ...(given ? ['reuse' as const] : [])]
  const hasInside = isItself && [...history.recordsBelow(ref.id)].some((id) => id !== ref.id)
  // Called with other arguments under its own id, it is the same call still: its schema is another one.
  const isOther = ref.kind === 'tool' && !isBehind && !about.policy.keyed && effects.some(({ step, fingerprint }) => step.id !== ref.id && step.kind === 'tool' && fingerprint !== asking.fingerprint)
  const otherwise = isBehind ? [] : effects.filter((effect) => effect.step.id !== ref.id && asksOtherwise(effect, asking.fingerprint)).map(({ step }) => step.id)
  const own = startOf(history.ledger.effects.get(ref.id))
  const label = `${ref.kind} "${ref.name}"`
  const sentences = [
    why === 'repeat' ? repeatText(label, ids, (id) => history.ledger.effects.get(id)?.state === 'completed') : doubtText(label, ref.id, effects, { isItself, isBehind, isStarted: own.idempotencyKey !== undefined }),
    ...effects.flatMap((effect) => drive.asked.get(effect.step.id)?.message ?? []),
    ...(choices.length > 0 ? [settleIt(runId, ref, choices, given)] : []),
    ...(hasInside ? [ref.kind === 'tool' ? COMPOSITE : INSIDE] : []),
    ...(why === 'repeat' && !given && candidates(effects, asking).some(hasResult) ? [WHOSE] : []),
    ...(isOther ? [EFFECT_KEY] : []),
    ...(otherwise.length > 0 ? [otherInput(otherwise)] : []),
  ]
  return {
    type: why,
    step: ref.id,
    tool: ref.name,
    ...(effects.some((effect) => effect.ref.key !== about.key) && { key: about.key }),
    fingerprint: calledWith(claim),
    effects: ids,
    message: sentences.join('. '),
    ...(isBehind && { first: ids }),
    choices,
    calls: [...(isItself ? [] : [{ step: ref.id, ...encodedInput(spec, { maxBytes: drive.attempt.policies.maxStepBytes, secrets: drive.attempt.secrets }), ...own }]), ...effects.map(callOf)],
    ...(hasInside && { hasInside }),
  }
}

/** `isItself`: the call is one of those in doubt. `isBehind`: it goes on by itself once they are settled. `isStarted`: it is in doubt itself besides. */
function doubtText(label: string, step: string, effects: readonly Effect[], { isItself, isBehind, isStarted }: { readonly isItself: boolean; readonly isBehind: boolean; readonly isStarted: boolean }): string {
  const which = effects.map((effect) => effect.step.id).join(', ')
  const presumed = presumedText(step, effects.map(callOf))
  const doubt = `nobody knows whether ${label} (${which}) took effect${presumed}`
  if (isItself) return doubt
  const held = `${label} (${step}) ${heldText(isStarted)}: `
  return held + (isBehind ? `it waits for the outcome of ${which}, which nobody knows${presumed}. Settle that first, this one then goes on by itself` : doubt)
}

/** Of a call that is held because of others. */
export const heldText = (isStarted: boolean): string => (isStarted ? 'was started and is in doubt itself, and was not started again' : 'was not started')

/** Others that nobody knows of may stand in its way beside what was made. */
export function repeatText(label: string, effects: readonly string[], isMade: (id: string) => boolean): string {
  const [made, doubtful] = [effects.filter(isMade), effects.filter((id) => !isMade(id))]
  return `${label} would repeat an effect that was made already (${made.join(', ')})${doubtful.length > 0 ? `; nobody knows whether ${doubtful.join(', ')} took effect` : ''}`
}

function settleIt(runId: string, { id, kind }: Ticket['ref'], choices: readonly Choice[], given: Effect | undefined): string {
  const result = kind === 'model' ? ' (--rerun sends it again, --skip fails the request, the result is a text or {"content": [...]})' : ''
  return `Settle it: holdfast resolve ${runId} ${id} ${choices.map((choice) => OPTIONS[choice]).join(' | ')}${given ? ` (what ${given.step.id} gave)` : ''}${result}`
}

/** Of a tool that is in doubt as a whole although what it did is recorded inside. */
const COMPOSITE = 'It has steps of its own inside: a tool whose only effects are those is never in doubt itself under the policy { composite: true }'

/** Of a step that is in doubt as a whole: what is decided about it says nothing of those. */
const INSIDE = 'It has steps of its own inside, which stay as they are'

/** Of a call that may be any of several that were made. */
const WHOSE = 'Several gave different results and any of them may be its own: give the right one as its result'

/** Of a call that waits because of others with other arguments. */
const EFFECT_KEY = 'Its arguments are others: where that makes it another effect, the tool should say so with effectKey'

/** Of a step that waits because of others that asked for something else. */
const otherInput = (ids: readonly string[]): string => `Its input is another one than that of ${ids.join(', ')}`

/** It may be in doubt itself, which its policy settles, and wait for another reason. */
const startOf = (own: Effect | undefined): Partial<CallInQuestion> => {
  if (!own || !isUnknown(own, () => false)) return {}
  const { step: _step, input: _input, ...known } = callOf(own)
  return known
}

/** One that was answered without a start has no key, and no time of it. */
export const callOf = ({ step, input, idempotencyKey, startedAt, lostBefore }: Effect): CallInQuestion => ({
  step: step.id,
  ...(input && { input }),
  ...(idempotencyKey !== '' && { idempotencyKey, ...(startedAt !== undefined && { startedAt }), ...(lostBefore !== undefined && { lostBefore }) }),
})

/** As the journal keeps them: with the arguments of as many calls as the record of a step may hold, for people. */
export function keptReasons(attempt: Attempt, reasons: readonly SuspendReason[]): SuspendReason[] {
  let room = attempt.policies.maxStepBytes
  const kept = ({ input, ...call }: CallInQuestion): CallInQuestion => {
    if (input) room -= byteLength(input, attempt.secrets)
    return { ...call, ...(input && room >= 0 && { input }) }
  }
  return reasons.map(keptReason).map((reason) => ({ ...reason, message: attempt.told(reason.message), ...('calls' in reason && reason.calls && { calls: reason.calls.map(kept) }) }))
}

/** What was started, or asked about, is there already, with its arguments. */
function keptReason(reason: SuspendReason): SuspendReason {
  if (reason.type === 'approval') {
    const { input: _input, ...kept } = reason
    return kept
  }
  return 'calls' in reason && reason.calls ? { ...reason, calls: reason.calls.filter(({ step }) => !reason.effects.includes(step)) } : reason
}

/** Nobody can decide about it: its first try has to end, or (where the store refuses its record) the next attempt finds what came of it. */
export const stillOnItsWay = ({ ref }: Ticket): SuspendReason => ({
  type: 'not-recorded',
  step: ref.id,
  message: `${ref.kind} "${ref.name}" (${ref.id}) is still on its way from an earlier try of what it stands in: its outcome is waited for`,
})

/** When the outside world may be asked again, or its `not-done` be believed, a run that waits for that is due by itself. */
export function dueAt(drive: Drive, spec: StepSpec, effects: readonly Effect[]): number | null {
  const due = effects.flatMap((effect) => {
    if (!spec.reconcile || !drive.asked.has(effect.step.id)) return []
    const notYet = drive.asked.get(effect.step.id)
    if (notYet) return [notYet.until]
    const from = drive.attempt.believesNotDone(effect, settleAfter(spec))
    return typeof from === 'number' && from > drive.attempt.clock.now() ? [from] : []
  })
  return due.length > 0 ? Math.min(...due) : null
}
