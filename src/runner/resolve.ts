/** A decision from outside about a step that waits (R6): checked, and put into the run's inbox. */
import { shown } from '../core/shown.ts'
import { isInDoubt } from '../effects/doubt.ts'
import { hasResult, type Effect } from '../effects/effect.ts'
import { candidates, reusable } from '../effects/reuse.ts'
import { givenResponse } from '../ai-sdk/given-response.ts'
import { HoldfastError } from '../errors.ts'
import type { Placed } from '../journal/chain.ts'
import { encode, type Encoded } from '../journal/codec.ts'
import type { CallInQuestion, Decision, EffectReason, EffectRef, StepKind } from '../journal/entry.ts'
import { newestTaken, readMessage, writeMessage, type Message } from '../journal/message.ts'
import { readInbox } from '../journal/read.ts'
import { unsealed, type Secrets } from '../journal/secrets.ts'
import { effectReasons } from '../journal/suspend-reason.ts'
import type { RunRow, Store } from '../journal/store.ts'
import { History } from '../replay/history.ts'
import { isNews } from '../run/inbox.ts'
import { ownership } from '../run/lease.ts'
import { spokenTo, stepOf, type Saying } from './saying.ts'
import { DEFAULT_SIZES, type Sizes, sizeOf } from './sizes.ts'

/** A call that a run waits with, as its reason tells it. */
export type WaitingCall = Pick<EffectReason, 'step' | 'tool' | 'fingerprint' | 'calls'>

export type DecisionInput = 'rerun' | 'skip' | 'reuse' | { readonly result: unknown }

/** Needs the store only: a person may decide where no agent is at hand. The run goes on when it is resumed. */
export async function decide(store: Store, runId: string, asked: string | WaitingCall, input: DecisionInput, { now, secrets, asOf, sizes = DEFAULT_SIZES, shownName = (name) => name }: Saying): Promise<void> {
  const step = stepOf('resolve()', runId, asked)
  checkDecision(input)
  const { row, entries } = await spokenTo(store, runId, asOf)
  const history = new History()
  // What is to be given again is needed whole: the values of secrets in it are put in place once more.
  for (const { entry, seq } of entries) history.apply(input === 'reuse' ? unsealed(runId, entry, secrets) : entry, seq)
  const isDriven = !ownership(row, now).free
  // What an earlier attempt started does not run, even where this one has come to it again.
  const mayRun = ({ state, token }: Effect): boolean => isDriven && state === 'started' && token === row.token
  const question = row.status === 'completed' ? undefined : questionOf(entries, history, step, mayRun)
  if (!question) throw nothingToResolve(runId, step, row.status, row.status === 'completed' ? [] : questionsIn(entries, history, mayRun))
  if (question.first.length > 0) throw nothingToResolve(runId, step, row.status, question.first)
  const advice = 'Look at what it waits for now'
  const known = typeof asked === 'string' ? (asOf === undefined ? undefined : effectReasons(entries.filter(({ seq }) => seq <= asOf)).find((reason) => reason.step === step)) : asked
  const { name } = question.effect
  const isOther = known?.calls?.some(({ step, idempotencyKey }) => idempotencyKey !== undefined && history.ledger.effects.get(step)?.idempotencyKey !== idempotencyKey)
  if (known && (isOther || ![question.fingerprint, question.asked].includes(known.fingerprint) || ![name, shownName(name)].includes(known.tool))) {
    throw new HoldfastError('NOTHING_TO_RESOLVE', `step "${step}" of run "${runId}" is another call now than the one that was asked about`, { runId, step, advice })
  }
  const again = typeof asked === 'string'
    ? [step, ...question.effects].find((id) => (history.ledger.effects.get(id)?.startedSeq ?? 0) > (asOf ?? Infinity))
    : asked.calls?.find((call) => isStartedSince(history.ledger.effects.get(call.step), call))?.step
  if (again !== undefined) throw new HoldfastError('NOTHING_TO_RESOLVE', `step "${again}" of run "${runId}" has been started again since that was asked`, { runId, step, advice })
  const decision = decisionOf(input, question, { runId, step, now, sizes, secrets })
  await refuseSettled(store, row, step, question, history, entries)
  if (decision.type === 'reuse' && decision.of !== undefined) await refuseGiven(store, row, step, decision.of, history, entries)
  const message: Message = { type: 'decision', step, effect: question.effect, fingerprint: question.fingerprint, since: asOf ?? row.lastSeq, decision }
  // A run that waits with it again has met something that was not there when that was decided.
  const waitsAgain = effectReasons(entries).some((reason) => reason.step === step)
  if (!waitsAgain && history.ledger.decisions.some((d) => d.step === step && !d.consumed)) throw resolvedAlready(runId, step)
  // Two who decide at once decide about the same question: that after those which were taken.
  const before = entries.filter(({ entry }) => (entry.type === 'decision' || entry.type === 'inbox-taken') && entry.step === step).length
  const sent = await store.send(runId, { question: `resolve ${step} ${before}`, body: writeMessage(runId, message, secrets), wakes: true, now })
  if (sent === null) throw resolvedAlready(runId, step)
}

/** The work itself has told meanwhile how it ended, and the run has not read that yet: it counts, and nothing is left to decide about (C20). */
async function refuseSettled(store: Store, row: RunRow, step: string, { effects }: Question, history: History, entries: readonly Placed[]): Promise<void> {
  const { runId } = row
  for (const sent of await readInbox(store, row, newestTaken(entries))) {
    const message = readMessage(runId, sent)
    if (message.type !== 'late-result' || (message.step !== step && !effects.includes(message.step))) continue
    const effect = history.ledger.effects.get(message.step)
    if (!effect || !isNews(effect, message)) continue
    throw new HoldfastError('NOTHING_TO_RESOLVE', `step "${message.step}" of run "${runId}" has come to its end meanwhile`, { runId, step, advice: 'Resume the run: it goes on with what came of it' })
  }
}

/** What an earlier call gave is given once: somebody may have decided so for another call that waits, or that the run has not come back to since. */
async function refuseGiven(store: Store, row: RunRow, step: string, of: string, history: History, entries: readonly Placed[]): Promise<void> {
  // One that the run was driven with, and does not wait with any more, stands at another place now.
  const waiting = new Set(effectReasons(entries).map((reason) => reason.step))
  const taken = history.ledger.decisions.filter(({ consumed, step: at }) => !consumed && waiting.has(at))
  const sent = (await readInbox(store, row, newestTaken(entries))).map((each) => readMessage(row.runId, each)).filter((message) => message.type === 'decision')
  const other = [...taken, ...sent].find(({ step: at, decision }) => at !== step && decision.type === 'reuse' && decision.of === of)
  if (other) throw new HoldfastError('NOTHING_TO_RESOLVE', `what step "${of}" of run "${row.runId}" gave is given to step "${other.step}" already`, { runId: row.runId, step, advice: 'Resume the run: what is left of its questions is asked anew then' })
}

const resolvedAlready = (runId: string, step: string): HoldfastError =>
  new HoldfastError('NOTHING_TO_RESOLVE', `step "${step}" of run "${runId}" was resolved already`, { runId, step, advice: 'Resume the run to go on' })

interface Question {
  /** Ids of the steps whose effect is in question. */
  readonly effects: readonly string[]
  readonly kind: StepKind
  readonly effect: EffectRef
  /** Of the arguments of the call, and of those that it is asked for with now: its schema may make others of them. */
  readonly fingerprint: string
  readonly asked: string
  /** The earlier calls that it would repeat, and the one of them whose result it may be given. */
  readonly earlier: readonly Effect[]
  readonly given: Effect | undefined
  /** Doubts that are to be settled before it: their own calls wait too. */
  readonly first: readonly string[]
}

/** What can be decided about a step: it is in doubt, or a call that a suspended run waits with. */
function questionOf(entries: readonly Placed[], history: History, step: string, mayRun: (effect: Effect) => boolean): Question | undefined {
  const own = history.ledger.effects.get(step)
  const reason = effectReasons(entries).find((r) => r.step === step)
  if (own && isOpen(own, mayRun)) return { effects: [step], kind: own.step.kind, effect: own.ref, fingerprint: own.fingerprint, asked: reason?.fingerprint ?? own.fingerprint, earlier: [], given: undefined, first: [] }
  if (!reason) return undefined
  const effects = reason.effects.flatMap((id) => history.ledger.effects.get(id) ?? [])
  const [first] = effects
  return first && { effects: reason.effects, kind: first.step.kind, effect: { name: reason.tool, key: reason.key ?? first.ref.key }, fingerprint: reason.fingerprint, asked: reason.fingerprint, earlier: effects, given: reason.choices?.includes('reuse') === false ? undefined : reusable(effects, reason), first: reason.first ?? [] }
}

/** It is in doubt, and nobody has left it at that. */
const isOpen = (effect: Effect, mayRun: (effect: Effect) => boolean): boolean => effect.cause !== 'skipped' && isInDoubt(effect, () => mayRun(effect))

/** @throws HoldfastError `NOTHING_TO_RESOLVE`. */
function reused({ earlier, given, fingerprint }: Question, runId: string, step: string): Decision {
  if (given?.outcome?.type === 'value') return { type: 'reuse', value: given.outcome.value, of: given.step.id }
  const stored = earlier.filter(hasResult)
  const its = candidates(stored, { fingerprint })
  const why = stored.length === 0 ? 'has no earlier result to reuse: none is stored'
    : its.length > 1 ? `has no earlier result that is sure to be its own: ${idsOf(its)} gave different ones`
    : `has no earlier result of its own: ${idsOf(stored)} asked for something else`
  throw new HoldfastError('NOTHING_TO_RESOLVE', `step "${step}" of run "${runId}" ${why}`, { runId, step, advice: 'Choose rerun, skip, or give its result' })
}

const idsOf = (effects: readonly Effect[]): string => effects.map((effect) => effect.step.id).join(', ')

/** One that had not been started, or was known not to have happened, may be in doubt by now. */
const isStartedSince = (effect: Effect | undefined, { idempotencyKey, startedAt }: CallInQuestion): boolean =>
  effect !== undefined && (idempotencyKey === undefined ? isInDoubt(effect, () => false) : effect.startedAt !== startedAt)

/** Ids of all steps that can be resolved now. */
function questionsIn(entries: readonly Placed[], history: History, mayRun: (effect: Effect) => boolean): string[] {
  const doubts = history.ledger.allStanding().filter((effect) => isOpen(effect, mayRun))
  return [...new Set([...effectReasons(entries).map((r) => r.step), ...doubts.map((effect) => effect.step.id)])]
}

function nothingToResolve(runId: string, step: string, status: string, open: readonly string[]): HoldfastError {
  const advice = open.length > 0 ? `What can be resolved: ${open.join(', ')}` : 'Nothing of this run waits for a decision'
  return new HoldfastError('NOTHING_TO_RESOLVE', `step "${step}" of run "${runId}" (${status}) does not wait for a decision`, { runId, step, advice })
}

function checkDecision(input: DecisionInput): void {
  if (input === 'rerun' || input === 'skip' || input === 'reuse') return
  const keys = typeof input === 'object' && input !== null ? Object.keys(input) : undefined
  if (keys?.includes('result') && keys.length === 1) return
  throw new HoldfastError('INVALID_OPTIONS', `a decision must be "rerun", "skip", "reuse" or { result }, got ${keys ? `{ ${keys.join(', ')} }` : shown(input)}`)
}

interface Place {
  readonly runId: string
  readonly step: string
  readonly now: number
  readonly sizes: Sizes
  readonly secrets: Secrets | undefined
}

/** @throws HoldfastError `INVALID_OPTIONS`, `NOTHING_TO_RESOLVE`, `VALUE_NOT_STORABLE`, `VALUE_TOO_LARGE`. */
function decisionOf(input: DecisionInput, question: Question, place: Place): Decision {
  if (input === 'reuse') return reused(question, place.runId, place.step)
  if (typeof input === 'string') return { type: input }
  const value = question.kind === 'model' ? responseGiven(input.result, question.effect.name, place) : encode(input.result, sizeOf('result', place.sizes, place.secrets))
  return { type: 'result', value }
}

/** The caller of a model request needs a response. */
function responseGiven(result: unknown, name: string, { runId, step, now, sizes, secrets }: Place): Encoded {
  const response = givenResponse(result, { id: `resolved-${step}`, timestamp: new Date(now), modelId: name.slice(name.indexOf('/') + 1) })
  if (response) return encode(response, sizeOf('response', sizes, secrets))
  throw new HoldfastError('INVALID_OPTIONS', `the result of a model request must be a text or { content: [parts] }, got ${shown(result).slice(0, 200)}`, {
    runId, step, advice: 'Such as "the answer", or { content: [{ type: "text", text: "the answer" }] }',
  })
}
