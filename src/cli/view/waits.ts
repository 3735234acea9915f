/** What a run waits for, with what is known of the calls in question, and the commands that settle it. */
import { timeText } from '../../core/moment.ts'
import { hasExpired } from '../../effects/approvals.ts'
import { isInDoubt } from '../../effects/doubt.ts'
import type { Effect } from '../../effects/effect.ts'
import { reusable } from '../../effects/reuse.ts'
import type { Placed } from '../../journal/chain.ts'
import { decode } from '../../journal/codec.ts'
import { isEffectReason, lastReasons, type ApprovalReason, type CallInQuestion, type Choice, type EffectReason, type SuspendReason } from '../../journal/suspend-reason.ts'
import type { History } from '../../replay/history.ts'
import { callOf, heldText, repeatText } from '../../run/wait-reason.ts'
import { presumedText } from '../../run/lost-part.ts'
import { answerCommand, resolveCommand, type Answer, type Place } from '../hint.ts'
import type { TakenDecision } from './steps.ts'

export interface WaitView {
  readonly type: SuspendReason['type']
  readonly step: string | null
  readonly tool: string | null
  /** In words. */
  readonly message: string
  /** Whether it was ever started: false of a call that waits before its start. null where it is about no call. */
  readonly started: boolean | null
  /** Steps whose effect is in question. */
  readonly effects: readonly string[]
  /** Steps to be settled first: it goes on by itself then. */
  readonly settleFirst: readonly string[]
  /** The calls that it is about. */
  readonly calls: readonly CallView[]
  /** What was decided already; the next attempt goes by it. */
  readonly decided: TakenDecision['decision'] | null
  /** How somebody may decide, with the command, and of `reuse` the earlier call (`of`); empty where it is not for somebody to decide, or was decided. */
  readonly choices: readonly { readonly choice: Choice | Answer; readonly of?: string; readonly command: string }[]
}

/** What is not known is null. */
export interface CallView {
  readonly step: string
  readonly tool: string
  /** As executed. */
  readonly input: unknown
  /** Under which the outside world may know it. */
  readonly idempotencyKey: string | null
  /** When it was started last, ms since the epoch; null: never, or nobody knows. */
  readonly startedAt: number | null
  /** It is only presumed: it may have been called in a part of the journal that was lost before then, ms since the epoch. null: what happened is recorded. */
  readonly lostBefore: number | null
  /** It was answered without a start: with a result that a person gave, or an earlier call. */
  readonly answered: boolean
}

/** What is known of the steps that a run waits with, and is not carried out yet, by step. */
export interface Known {
  /** Whether a call may be made. */
  readonly answers: ReadonlyMap<string, TakenDecision['decision']>
  /** What is to be done about a doubt. */
  readonly decisions: ReadonlyMap<string, TakenDecision['decision']>
  /** Steps that have come to their end meanwhile. */
  readonly ended: ReadonlySet<string>
}

const NOTHING_KNOWN: Known = { answers: new Map(), decisions: new Map(), ended: new Set() }

const ANSWERS: ReadonlySet<TakenDecision['decision']> = new Set<TakenDecision['decision']>(['approved', 'denied', 'expired'])

export function decidedOf(decisions: readonly Pick<TakenDecision, 'step' | 'decision'>[]): Pick<Known, 'answers' | 'decisions'> {
  const mapOf = (areAnswers: boolean): Known['answers'] => new Map(decisions.filter(({ decision }) => ANSWERS.has(decision) === areAnswers).map(({ step, decision }) => [step, decision]))
  return { answers: mapOf(true), decisions: mapOf(false) }
}

/** Why the run is suspended, and what else is in doubt: a person may settle that before the run is resumed. */
export function waitsOf(runId: string, entries: readonly Placed[], history: History, known: Known, place: Place, now: number): WaitView[] {
  const view = (reason: SuspendReason): WaitView => waitView(runId, reason, place, { history, known, asOf: entries.at(-1)?.seq, now })
  const isPast = ({ type, ...at }: SuspendReason): boolean => {
    const question = type === 'approval' && 'step' in at ? history.approvals.about(at.step) : undefined
    return question !== undefined && question.decision === undefined && !history.approvals.isOpen(question)
  }
  // What was lost since then may have been the answer: it is asked anew, or is in doubt, once the run is resumed.
  const reasons = lastReasons(entries).filter((reason) => !isPast(reason))
  const waits = reasons.map(view)
  const covered = new Set(reasons.flatMap((reason) => coveredBy(reason, history)))
  const questions = history.approvals.open().filter(({ step: { id } }) => !covered.has(id) && !history.isGone(id))
  const doubts = history.ledger.allStanding().filter((effect) => isInDoubt(effect, () => false) && effect.cause !== 'skipped' && !covered.has(effect.step.id))
  const asked = questions.map(({ step, seq, fingerprint, expiresAt }) => view({ type: 'approval', step: step.id, tool: step.name, message: '', fingerprint, question: seq, ...(expiresAt !== undefined && { expiresAt }) }))
  return [...waits, ...asked, ...doubts.map(({ step, fingerprint }) => view({ type: 'in-doubt', step: step.id, tool: step.name, message: '', fingerprint, effects: [step.id] }))]
}

/** Steps that a question about a call settles. What asks for something else stays in doubt: that is settled by itself, for all that wait for it. */
function coveredBy(reason: SuspendReason, { ledger }: History): readonly string[] {
  if (!isEffectReason(reason)) return 'step' in reason && reason.step !== '' ? [reason.step] : []
  const isSettled = (id: string): boolean => {
    const effect = ledger.effects.get(id)
    return reason.type === 'repeat' || !effect || effect.fingerprint === reason.fingerprint || effect.ref.key !== '' || effect.superseded !== undefined
  }
  return [reason.step, ...(reason.first?.length ? [] : reason.effects.filter(isSettled))]
}

/** A reason by itself, where the journal is not at hand. */
export function waitView(runId: string, reason: SuspendReason, place: Place, { history, known: { answers, decisions, ended } = NOTHING_KNOWN, asOf, now = -Infinity }: { readonly history?: History; readonly known?: Known; readonly asOf?: number | undefined; readonly now?: number } = {}): WaitView {
  const { type } = reason
  if (type === 'approval') return approvalView(runId, reason, history, answers.get(reason.step) ?? null, place, { asOf, now })
  if (!isEffectReason(reason)) {
    const step = 'step' in reason && reason.step !== '' ? reason.step : null
    return { type, step, tool: null, message: reason.message, started: null, effects: [], settleFirst: [], calls: [], decided: null, choices: [] }
  }
  const { step, tool, effects, first = [] } = reason
  const decided = decisions.get(step) ?? null
  const calls = callsOf(reason, history)
  const ofModel = history?.ledger.effects.get(step)?.step.kind === 'model'
  const over = [...new Set([step, ...effects])].filter((id) => ended.has(id))
  const isOpen = decided === null && over.length === 0
  return {
    type, step, tool, message: `${messageOf(reason, calls, history)}${over.length > 0 ? `. What came of ${over.join(', ')} is known meanwhile: the run goes on with that once it is resumed` : ''}`, started: effects.includes(step) || isStarted(step, calls), effects, settleFirst: first, calls, decided,
    choices: isOpen ? choicesFor(reason, history).map((choice) => ({ choice, ...(choice === 'reuse' && ofWhat(reason, history)), command: resolveCommand(runId, step, choice, place, { asOf, ofModel }) })) : [],
  }
}

/** A journal has the arguments where the question stands. */
function approvalView(runId: string, { type, step, tool, input, question, expiresAt }: ApprovalReason, history: History | undefined, decided: WaitView['decided'], place: Place, { asOf, now }: { readonly asOf: number | undefined; readonly now: number }): WaitView {
  const asked = history?.approvals.about(step)
  const known = input ?? (asked?.seq === question ? asked.input : undefined)
  const isOver = expiresAt !== undefined && hasExpired({ expiresAt }, now)
  const until = expiresAt === undefined ? '' : isOver ? `. The time for that was over at ${timeText(expiresAt)}: it counts as denied once the run is resumed` : `; it counts as denied at ${timeText(expiresAt)}`
  return {
    type, step, tool, message: `somebody has to agree before "${tool}" is called${until}`, started: false, effects: [], settleFirst: [],
    calls: [viewOf({ step, ...(known && { input: known }) }, tool)], decided,
    choices: decided === null && !isOver ? (['approve', 'deny'] as const).map((choice) => ({ choice, command: answerCommand(runId, step, choice, place, asOf) })) : [],
  }
}

function messageOf({ type, step, tool, effects, first, hasInside }: EffectReason, calls: readonly CallView[], history: History | undefined): string {
  const others = effects.filter((id) => id !== step).join(', ')
  const presumed = presumedText(step, calls)
  if (type === 'repeat') return repeatText(`"${tool}"`, effects, (id) => history === undefined || history.ledger.effects.get(id)?.state === 'completed')
  const held = heldText(isStarted(step, calls))
  if (first) return `"${tool}" ${held}: it waits for the outcome of ${others}, which nobody knows${presumed}. Settle that first, this one then goes on by itself`
  if (!effects.includes(step)) return `"${tool}" ${held}: nobody knows whether "${tool}" (${others}) took effect${presumed}`
  const inside = hasInside || (history && [...history.recordsBelow(step)].some((id) => id !== step))
  return `nobody knows whether "${tool}" took effect${presumed}${inside ? '; it has steps of its own inside: a tool whose only effects are those should say composite: true' : ''}`
}

/** What never started is known by the reason; the rest by the journal, or where that is not at hand by the reason too. */
function callsOf({ step, tool, effects, calls = [] }: EffectReason, history: History | undefined): CallView[] {
  const ids = effects.includes(step) ? effects : [step, ...effects]
  return ids.flatMap((id) => {
    const isStarted = effects.includes(id)
    const effect = isStarted ? history?.ledger.effects.get(id) : undefined
    if (effect) return callView(effect)
    const call = calls.find(({ step: at }) => at === id) ?? (isStarted ? undefined : { step: id })
    return call ? viewOf(call, tool, { answered: isStarted && call.idempotencyKey === undefined }) : []
  })
}

/** It is in doubt itself, although it is held because of others. */
const isStarted = (step: string, calls: readonly CallView[]): boolean => calls.some((call) => call.step === step && call.idempotencyKey !== null)

const viewOf = ({ step, input, idempotencyKey, startedAt, lostBefore }: CallInQuestion, tool: string, { answered = false } = {}): CallView =>
  ({ step, tool, input: input ? decode(input, `input of ${step}`) : null, idempotencyKey: idempotencyKey ?? null, startedAt: startedAt ?? null, lostBefore: lostBefore ?? null, answered })

export const callView = (effect: Effect): CallView => viewOf(callOf(effect), effect.step.name, { answered: effect.idempotencyKey === '' })

/** For `--json`: with the arguments as they are. */
export const reasonView = (reason: SuspendReason): object =>
  reason.type === 'approval' ? { ...reason, input: reason.input ? decode(reason.input, `input of ${reason.step}`) : null }
  : 'calls' in reason && reason.calls ? { ...reason, calls: reason.calls.map((call) => viewOf(call, reason.tool, { answered: reason.effects.includes(call.step) && call.idempotencyKey === undefined })) } : reason

/** In the order in which they are to be thought about. */
const ORDER: readonly Choice[] = ['result', 'reuse', 'skip', 'rerun']

/** As `resolve` sees it: to reuse there is the stored result of an earlier call, if the step is not itself in doubt. */
function choicesFor({ type, step, fingerprint, effects, choices }: EffectReason, history: History | undefined): readonly Choice[] {
  if (choices) return ORDER.filter((choice) => choices.includes(choice))
  const own = history?.ledger.effects.get(step)
  const canReuse = history ? !(own && isInDoubt(own, () => false)) && reusable(effects.flatMap((id) => history.ledger.effects.get(id) ?? []), { step, fingerprint }) !== undefined : type === 'repeat'
  return ORDER.filter((choice) => canReuse || choice !== 'reuse')
}

/** The earlier call that a call would be given the result of, as far as that is known here. */
function ofWhat({ step, fingerprint, effects }: EffectReason, history: History | undefined): { readonly of?: string } {
  const of = history ? reusable(effects.flatMap((id) => history.ledger.effects.get(id) ?? []), { step, fingerprint })?.step.id : effects.length === 1 ? effects[0] : undefined
  return of === undefined ? {} : { of }
}
