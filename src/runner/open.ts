/** From a run id to an attempt that may drive it: found or created, checked, and owned (R7, R9). */
import { HoldfastError } from '../errors.ts'
import { START, link, unlink, type Placed, type Tip } from '../journal/chain.ts'
import { decode, within, type Encoded } from '../journal/codec.ts'
import { FORMAT, type Entry, type LimitsRecord, type RunCreated } from '../journal/entry.ts'
import { fingerprint } from '../journal/fingerprint.ts'
import { newestTaken, readMessage } from '../journal/message.ts'
import { bytesOf, readInbox, readJournal } from '../journal/read.ts'
import { tokenFault } from '../journal/row-faults.ts'
import { unsealed, type Secrets } from '../journal/secrets.ts'
import type { RunRow, Store } from '../journal/store.ts'
import { Writer, type NewEntry } from '../journal/writer.ts'
import { redoFrom, type Redo } from '../replay/redo.ts'
import { History } from '../replay/history.ts'
import { Attempt } from '../run/attempt.ts'
import { Budget } from '../run/budget.ts'
import type { StampedEvent } from '../run/events.ts'
import { entriesOf } from '../run/inbox.ts'
import { Lease, ownership } from '../run/lease.ts'
import { givenLimits, resolveLimits } from '../run/limits.ts'
import { describeOwner } from '../run/owner.ts'
import { usageOf } from '../run/usage.ts'
import type { AnyAgent } from './agent.ts'
import { cleanedUp, cleanUpOf } from './cleaned-up.ts'
import type { ResolvedOptions } from './options.ts'
import type { Outcome } from './outcome.ts'
import { runFailure } from './failure.ts'
import { sendLate, tellSettled } from './late-result.ts'
import { refuseMixture } from './mixture.ts'
import { stall, stallOf } from './stall.ts'

/** What is asked for: a run with an agent and input (started where it does not exist), or only resumed. */
export interface Request {
  readonly runId: string
  readonly start?: { readonly agent: AnyAgent; readonly input: Encoded; readonly threadId?: string }
  readonly allowMismatch: boolean
  /** Drive it again from these steps on. */
  readonly redo?: readonly string[]
  /** Drive it although it is stalled, or has cleaned up behind its failure. */
  readonly force: boolean
  /** Limits that the call gives the run. */
  readonly limits: LimitsRecord
  /** Whether the run, as it is right before its lease is taken, is still one to go on with. Absent: it is. */
  readonly isStill?: (row: RunRow, entries: readonly Placed[]) => boolean
  readonly onEvent: (event: StampedEvent) => void
}

export type Opened =
  /** It is not one to go on with (any more): nothing was done. */
  | { readonly type: 'left' }
  | { readonly type: 'ended'; readonly outcome: Outcome }
  | { readonly type: 'attempt'; readonly attempt: OpenAttempt }

export interface OpenAttempt {
  readonly attempt: Attempt
  readonly agent: AnyAgent
  /** As it was recorded: each drive of the handler is given one of its own, whatever the one before has made of it. */
  readonly input: Encoded
  readonly writer: Writer
  readonly lease: Lease
  readonly inbox: Inbox
  /** What came in before the attempt. */
  readonly taken: readonly NewEntry[]
  readonly drainMs: number
}

export async function open(store: Store, options: ResolvedOptions, request: Request): Promise<Opened> {
  const { runId } = request
  for (;;) {
    const row = (await store.get(runId)) ?? (await create(store, options, request))
    if (!row) continue
    const journal = await readJournal(store, row)
    const { tip } = journal
    if (request.isStill?.(row, journal.entries) === false) return { type: 'left' }
    const entries = whole(runId, journal.entries, options.secrets)
    const created = entries[0]!.entry as RunCreated
    const agent = agentOf(options, created, runId)
    const mismatches = mismatchesOf(created, agent, request, options.secrets)
    if (mismatches.length > 0 && !request.allowMismatch) throw runMismatch(runId, mismatches, request.start !== undefined)

    const ended = request.redo === undefined ? endOf(runId, entries) : undefined
    const owned = ownership(row, options.clock.now())
    if (ended) {
      if (owned.free) await noteEnd(store, row, ended.status, options.clock.now())
      return { type: 'ended', outcome: ended }
    }
    if (!owned.free) return { type: 'ended', outcome: { status: 'running', owner: describeOwner(owned.owner) } }
    const stalled = request.force ? undefined : stallOf(entries, options.stallAfter)
    if (stalled) throw await stall(store, row, stalled, options.clock.now())
    const undone = request.force || request.redo !== undefined || options.onCleanup === 'continue' ? undefined : cleanedUp(runId, entries)
    if (undone) throw undone
    if (request.redo !== undefined) redone(historyOf(entries), runId, request.redo)
    // What is damaged, or needs a secret that is not there, is not begun with.
    for (const message of await readInbox(store, row, newestTaken(entries))) unsealed(runId, readMessage(runId, message), options.secrets)
    const fault = tokenFault(row.token)
    if (fault !== undefined) throw new HoldfastError('STORE_CORRUPT', `run "${runId}": ${fault}`, { runId, advice: 'Its row is damaged, its journal is whole: holdfast salvage makes the row anew' })
    const lost: { attempt?: Attempt; error?: HoldfastError } = {}
    const onLost = (error: HoldfastError): void => {
      lost.error = error
      lost.attempt?.abort(error)
    }
    const lease = await Lease.take({ store, runId, ttlMs: options.leaseMs, clock: options.clock, onLost }, row.token)
    // Another was faster: look again, who it is.
    if (!lease) continue
    try {
      // Whoever had the run before may have ended it between our looking and our taking the lease.
      const newer = await store.read(runId, tip.seq)
      const read = unlink(runId, newer, tip)
      const rest = { tip: read.tip, entries: whole(runId, read.entries, options.secrets) }
      const end = endOf(runId, rest.entries)
      if (end) {
        lease.stop()
        await store.append(runId, { token: lease.token, entries: [], patch: { status: end.status, release: true }, now: options.clock.now() })
        return { type: 'ended', outcome: end }
      }
      const opened = await begin(store, options, request, { entries: [...entries, ...rest.entries], bytes: journal.bytes + bytesOf(newer), tip: rest.tip, created, agent, lease, former: owned.former, mismatches })
      // It may have stood still for longer than its lease lasts before there was an attempt to tell.
      if (!lease.check()) throw lost.error!
      lost.attempt = opened.attempt
      return { type: 'attempt', attempt: opened }
    } catch (error) {
      lease.stop()
      await putBack(store, row, lease.token, options.clock.now())
      throw error
    }
  }
}

/** Whoever found out that it had ended died before it could say so: else it would be looked for in vain again and again. */
async function noteEnd(store: Store, { runId, status, token }: RunRow, ended: RunRow['status'], now: number): Promise<void> {
  if (status === ended) return
  await store.append(runId, { token, entries: [], patch: { status: ended, resumeAt: null, release: true }, now }).catch(() => {})
}

/** Nothing was driven: the run is as it was, for whoever comes next. Who answered in the meantime has made it due. */
async function putBack(store: Store, { runId, status, resumeAt, inboxSeq }: RunRow, token: number, now: number): Promise<void> {
  const patch = { status, resumeAt, release: true } as const
  await store.append(runId, { token, entries: [], patch, inboxSeq, now })
    .catch(() => store.append(runId, { token, entries: [], patch: { ...patch, ...(status === 'suspended' && { resumeAt: now }) }, now }))
    .catch(() => {})
}

async function begin(store: Store, options: ResolvedOptions, request: Request, found: {
  entries: Placed[]; bytes: number; tip: Tip; created: RunCreated; agent: AnyAgent; lease: Lease; former: Attempt['options']['former']; mismatches: readonly string[]
}): Promise<OpenAttempt> {
  const { runId } = request
  const { created, agent, lease, former, entries } = found
  const { secrets } = options
  const history = new History(secrets && ((text) => secrets.hide(text)))
  const late: { attempt?: Attempt } = {}
  const { limits } = request
  const budget = new Budget(resolveLimits(options.limits, { ...givenLimits(entries), ...limits }), options.clock)
  const writer = new Writer({
    store, runId, token: lease.token, tip: found.tip, clock: options.clock, secrets: options.secrets,
    onAppended: (entry, seq, bytes) => {
      history.apply(entry, seq)
      budget.apply(entry)
      budget.addBytes(bytes)
      late.attempt?.noteAttempt(entry)
    },
  })
  const number = entries.filter(({ entry }) => entry.type === 'attempt-started').length + 1
  const attempt = new Attempt({
    runId, number, former, createdAt: created.at, clock: options.clock, random: options.random, history, writer, lease, policies: options.policies,
    budget, secrets: options.secrets,
    onEvent: request.onEvent,
    onLateMessage: (message) => void sendLate(store, options, attempt, message),
    takeLate: () => inbox.takeLate(),
  })
  const inbox = new Inbox(store, attempt, entries)
  late.attempt = attempt
  budget.addBytes(found.bytes)
  for (const { entry, seq } of entries) {
    history.apply(entry, seq)
    budget.apply(entry)
    attempt.noteAttempt(entry)
  }
  const started: NewEntry[] = [{ type: 'attempt-started', attempt: number, token: lease.token, version: agent.version, former, ...(Object.keys(limits).length > 0 && { limits }), ...((found.tip.format ?? FORMAT) < FORMAT && { format: FORMAT }) }]
  if (request.redo !== undefined) started.push(...redone(history, runId, request.redo))
  for (const what of found.mismatches) started.push({ type: 'warning', code: 'MISMATCH_ALLOWED', message: `goes on although ${what}` })
  await writer.write(started)
  const taken = await inbox.take()
  return { attempt, agent, input: created.input, writer, lease, inbox, taken, drainMs: options.drainMs }
}

/** The entries with the values of secrets, as the run sees them. @throws HoldfastError `SECRET_MISSING`. */
export const whole = (runId: string, entries: readonly Placed[], secrets: Secrets | undefined): Placed[] =>
  entries.map(({ seq, entry }) => ({ seq, entry: unsealed(runId, entry, secrets) }))

/** The owner's side of the inbox: takes what has come into the journal. */
export class Inbox {
  readonly #store: Store
  readonly #attempt: Attempt
  /** The newest message that was taken. */
  seq: number

  constructor(store: Store, attempt: Attempt, entries: readonly Placed[]) {
    this.#store = store
    this.#attempt = attempt
    this.seq = newestTaken(entries)
  }

  /** What has come late of earlier attempts is known at once; the messages are taken in with the others. Where they cannot be read nothing is known. */
  async takeLate(): Promise<void> {
    const { runId, history, secrets, options: { writer } } = this.#attempt
    const row = await this.#store.get(runId).catch(() => undefined)
    const messages = row ? await readInbox(this.#store, row, this.seq).catch(() => []) : []
    for (const message of messages) {
      const settled = entriesOf(runId, message, history, secrets).filter(({ type }) => type === 'settled')
      if (settled.length > 0) await writer.write(settled).then(() => tellSettled(this.#attempt, settled), () => {})
    }
  }

  /** Resolves to what it has made of the messages. */
  async take(): Promise<readonly NewEntry[]> {
    const { runId, history, secrets, clock, options: { writer } } = this.#attempt
    this.#attempt.inboxTakenAt = clock.now()
    const row = await this.#store.get(runId)
    const messages = row ? await readInbox(this.#store, row, this.seq) : []
    const taken: NewEntry[] = []
    for (const message of messages) {
      const entries = entriesOf(runId, message, history, secrets)
      await writer.write(entries)
      this.seq = message.seq
      taken.push(...entries)
    }
    return taken
  }
}

async function create(store: Store, options: ResolvedOptions, { runId, start }: Request): Promise<RunRow | undefined> {
  if (!start) {
    throw new HoldfastError('UNKNOWN_RUN', `there is no run "${runId}" in this ${store.kind} store`, { runId, advice: 'Start it with run(), or look at list()' })
  }
  const at = options.clock.now()
  const entry: Entry = {
    type: 'run-created', at, format: FORMAT, runId, agent: start.agent.name, version: start.agent.version,
    input: within(start.input, { path: 'input', maxBytes: options.policies.maxStepBytes, option: 'maxStepBytes', secrets: options.secrets }),
    ...(start.threadId !== undefined && { threadId: start.threadId }),
  }
  await refuseMixture(store)
  await store.create({ runId, agent: start.agent.name, threadId: start.threadId ?? null, createdAt: at, entries: [link(START, entry, options.secrets)] })
  return store.get(runId)
}

function agentOf(options: ResolvedOptions, created: RunCreated, runId: string): AnyAgent {
  const agent = options.agents.get(created.agent)
  if (agent) return agent
  const known = [...options.agents.keys()].join(', ') || 'none'
  throw new HoldfastError('UNKNOWN_AGENT', `run "${runId}" belongs to agent "${created.agent}", which this runner does not have`, { runId, advice: `Its agents are: ${known}` })
}

/** What is not as it was when the run was started (R7), in words. */
function mismatchesOf(created: RunCreated, agent: AnyAgent, { start }: Request, secrets: Secrets | undefined): string[] {
  const mismatches: string[] = []
  if (start && start.agent.name !== created.agent) mismatches.push(`the agent is "${start.agent.name}", the run was started with "${created.agent}"`)
  else if (agent.version !== created.version) mismatches.push(`agent "${agent.name}" has version "${agent.version}", the run was started with "${created.version}"`)
  if (start && !isSameInput(start.input, created.input, secrets)) mismatches.push('the input is not the one that the run was started with')
  return mismatches
}

/** As it is stored, or by its fingerprint: what is too large for one (more than a million objects) has none, and two of those need not be the same. */
function isSameInput(given: Encoded, recorded: Encoded, secrets: Secrets | undefined): boolean {
  if (JSON.stringify(given) === JSON.stringify(recorded)) return true
  const print = fingerprint(decode(given), secrets)
  return print !== null && print === fingerprint(decode(recorded), secrets)
}

function historyOf(entries: readonly Placed[]): History {
  const history = new History()
  for (const { entry, seq } of entries) history.apply(entry, seq)
  return history
}

/** @throws HoldfastError `UNKNOWN_STEP`. */
function redone(history: History, runId: string, steps: readonly string[]): NewEntry[] {
  const taken = new Set<string>()
  return steps.flatMap((step): NewEntry[] => {
    const redo = redoFrom(history, step)
    if (redo.type !== 'from') throw notRedone(runId, step, adviceOf(redo))
    const ids = redo.ids.filter((id) => !taken.has(id))
    for (const id of ids) taken.add(id)
    return ids.length === 0 ? [] : [{ type: 'superseded', by: 'redo', step, reason: 'the run is driven again from here on', ids }]
  })
}

const notRedone = (runId: string, step: string, advice: string): HoldfastError =>
  new HoldfastError('UNKNOWN_STEP', `run "${runId}" cannot be driven again from step "${step}"`, { runId, step, advice })

function adviceOf(redo: Exclude<Redo, { type: 'from' }>): string {
  switch (redo.type) {
    case 'inside': return `It lies inside step ${redo.step}, which answers as a whole: redo that one`
    case 'superseded': return redo.now === undefined ? 'It is superseded already, and nothing has come in its place yet: resume the run' : `It is superseded already: in its place stands ${redo.now}`
    case 'unknown': return 'holdfast show lists the steps'
  }
}

const runMismatch = (runId: string, mismatches: readonly string[], mayResume: boolean): HoldfastError =>
  new HoldfastError('RUN_MISMATCH', `run "${runId}" cannot go on: ${mismatches.join('; ')}`, {
    runId,
    advice: `Use another run id for another run, ${mayResume ? 'resume() to go on with the recorded input, ' : ''}or { allowMismatch: true } if you know that it fits`,
  })

/** How the newest attempt ended the run, by its journal; undefined: it did not. A run that failed is not finished: it is driven again. */
function endOf(runId: string, entries: readonly Placed[]): (Outcome & { status: 'completed' | 'cancelled' }) | undefined {
  const last = entries.findLast(({ entry }) => entry.type === 'run-ended' || entry.type === 'attempt-started')?.entry
  if (last?.type !== 'run-ended' || last.status === 'failed') return undefined
  return endedOutcome(runId, entries) as Outcome & { status: 'completed' | 'cancelled' }
}

/** How a run ended, from its journal. @throws HoldfastError `RUN_FAILED` with the recorded error. */
export function endedOutcome(runId: string, entries: readonly Placed[]): Outcome {
  const end = entries.findLast(({ entry }) => entry.type === 'run-ended')?.entry
  if (end?.type !== 'run-ended') throw new HoldfastError('STORE_CORRUPT', `the journal of run "${runId}" does not say how it ended`, { runId })
  if (end.status === 'cancelled') return { status: 'cancelled', reason: end.reason ?? '' }
  if (end.status === 'completed') return { status: 'completed', result: end.result && decode(end.result, 'result') }
  throw runFailure(end.error && decode(end.error, 'error'), runId, usageOf(entries), { cleanUp: cleanUpOf(end, entries) })
}
