/** The face: starts, resumes, watches and settles runs. */
import { randomUUID } from 'node:crypto'
import { sleep } from '../core/clock.ts'
import { shown } from '../core/shown.ts'
import { HoldfastError, type RunUsage } from '../errors.ts'
import type { Placed } from '../journal/chain.ts'
import { encode } from '../journal/codec.ts'
import { copyOf } from '../journal/copy.ts'
import type { ApprovalDecision, ApprovalReason } from '../journal/entry.ts'
import { NAME_BYTES, textWithin } from '../journal/given-text.ts'
import { readJournal } from '../journal/read.ts'
import { legible } from '../journal/secrets.ts'
import type { RunFilter, RunRow, Store } from '../journal/store.ts'
import { settleResult, type Recorded } from '../ai-sdk/result.ts'
import { memoryStore } from '../stores/memory.ts'
import type { StampedEvent } from '../run/events.ts'
import type { OnIncompleteTool, RetryPolicy, TimeoutPolicy } from '../reliability/index.ts'
import type { RunLimits } from '../run/limits.ts'
import { usageOf } from '../run/usage.ts'
import type { Agent, AnyAgent } from './agent.ts'
import { answer, approvedBy, deniedBy, type ApproveInput, type DenyInput } from './approve.ts'
import { Driving } from './driving.ts'
import { EventStream, type RunStream } from './event-stream.ts'
import { both } from './listeners.ts'
import { endedOutcome, whole } from './open.ts'
import { checkCall, checkFilter, checkRunId, count, duration, ON_INCOMPLETE, resolveOptions, stepsOf, type ResolvedOptions, type RunnerOptions } from './options.ts'
import type { Outcome } from './outcome.ts'
import { plainRun } from './plain.ts'
import { sweep, type Recovered, type RecoverOptions, type Recovering } from './recover.ts'
import { Recovery, type StartOptions } from './recovery.ts'
import { decide, type DecisionInput, type WaitingCall } from './resolve.ts'
import type { Saying } from './saying.ts'

export interface CallOptions {
  /** Ends this attempt when it aborts; the run stays resumable. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Goes on although the agent's version, its name or the input is not what the run was started with. Default false. */
  readonly allowMismatch?: boolean
  /** Drives once more a run that is stalled (`RUN_STALLED`), or that has cleaned up behind its failure (`RUN_CLEANED_UP`). Default false. */
  readonly force?: boolean
  /**
   * What the run may use in all, over its attempts: `maxSteps`, `maxTokens`, `maxJournalBytes`, `runMs`, `deadline`. They stand in its journal, before what
   * the runner says, until another call gives others: to go on with a run that has used them up, resume it with higher ones.
   */
  readonly limits?: RunLimits
  /** How failed steps are tried again in this call; what it leaves out is as the runner says. What a tool, a model or a step says comes before it. */
  readonly retry?: RetryPolicy | false
  /** Time limits of steps in this call, ms; as `retry`. The run's own is `limits.runMs`. */
  readonly timeouts?: Omit<TimeoutPolicy, 'runMs'>
  /** What becomes in this call of a call in doubt whose tool does not say; default: as the runner says. What the tool says comes before it. */
  readonly onIncompleteTool?: OnIncompleteTool
  /** Told what happens in this call, after the runner's own `onEvent`. */
  readonly onEvent?: ((event: StampedEvent) => unknown) | undefined
}

export interface RunOptions extends CallOptions {
  /** The id of the run: the same id resumes it. May be left out only where the runner has no store. */
  readonly runId?: string | undefined
  /** Groups runs, such as the turns of one chat. At most 1 KiB. */
  readonly threadId?: string | undefined
}

export interface ResumeOptions extends CallOptions {
  /** The id of a step, or of several: its record and those of what came after it in its branch and in those above are superseded, and the run is driven
   * again from there, also when it is finished; what ran beside it stays. Effects among them are not repeated without a decision. */
  readonly redo?: string | readonly string[]
}

/** Of what is said to a run that waits. */
export interface SayOptions extends CallOptions {
  /** The run is resumed at once, with the other options. Default false: it is due. */
  readonly resume?: boolean
  /** Position in the journal of the newest entry that was known to who says it: refused where the call was started, or asked, again since. Default: the newest. */
  readonly asOf?: number
}

export interface Runner {
  /**
   * Starts the run; or resumes it where it stopped; or returns what was recorded.
   *
   * @throws HoldfastError `RUN_FAILED` with the handler's error as cause (or the handler's own HoldfastError), with the run's `usage`;
   * `LIMIT_REACHED`, `RUN_TIMEOUT` when it has used what it may; `RUN_STALLED`, `RUN_CLEANED_UP` when it is not driven again by itself; `RUN_MISMATCH`,
   * `MISSING_RUN_ID`, `INVALID_RUN_ID`, `UNKNOWN_AGENT`, `VALUE_NOT_STORABLE` for an input that cannot be encoded, a `STORE_...` code.
   */
  run<INPUT, RESULT>(agent: Agent<INPUT, RESULT> | string, input: INPUT, options?: RunOptions): Promise<Outcome<Recorded<RESULT>>>
  /** Goes on with a run whose input is in the journal. @throws HoldfastError as {@link Runner.run}, and `UNKNOWN_RUN`, `UNKNOWN_STEP`. */
  resume(runId: string, options?: ResumeOptions): Promise<Outcome>
  /** As `run`, told event by event; `.outcome` is what `run` would have given. */
  stream<INPUT, RESULT>(agent: Agent<INPUT, RESULT> | string, input: INPUT, options?: RunOptions): RunStream<Recorded<RESULT>>
  /** Waits until the run has come to an end, whoever drives it. Looks every `pollMs` (default 200). @throws HoldfastError `UNKNOWN_RUN`, `RUN_FAILED`. */
  result(runId: string, options?: { readonly signal?: AbortSignal; readonly pollMs?: number }): Promise<Outcome>
  /**
   * Settles a step that is in doubt, or a call that waits because it would repeat an effect.
   *
   * @param step The reason of the suspended run itself, or the id that it and `holdfast show` name. A call that was not started may have another id in the
   * next attempt: with the reason, the decision is refused where the id is another call's by now.
   * @param decision `rerun`: it may run (again). `skip`: it does not run, the model is told that the outcome is unknown. `reuse`: the call is answered
   * with what the earlier one gave that it can be (one of its own arguments, or the only one of its tool that is in question; the reason names it). `{ result }`: it is answered with this. Of a model request (one that offers provider-executed tools) `skip` fails
   * the request: its caller is thrown `OUTCOME_UNKNOWN`, because there is no response to go on with; its `result` is a text, or `{ content }` with the parts of the response.
   * @returns With `resume: true` what `resume` gives.
   * @throws HoldfastError `UNKNOWN_RUN`, `UNKNOWN_STEP`, `NOTHING_TO_RESOLVE`, `VALUE_NOT_STORABLE`, `VALUE_TOO_LARGE`: nothing is decided then.
   */
  resolve(runId: string, step: string | WaitingCall, decision: DecisionInput, options?: SayOptions): Promise<Outcome | undefined>
  /**
   * Agrees to a call that waits because the policy of its tool says `approval`. It counts once; a second answer is refused, whoever gives it.
   *
   * @param step The reason of the suspended run itself, or the id that it and `holdfast show` name.
   * @returns With `resume: true` what `resume` gives; else nothing is driven, the run is due.
   * @throws HoldfastError `UNKNOWN_RUN`, `NOTHING_TO_APPROVE` (it does not wait, was answered, has expired, or is another call by now), `VALUE_NOT_STORABLE`, `VALUE_TOO_LARGE`.
   */
  approve(runId: string, step: string | ApprovalReason, options?: ApproveInput & SayOptions): Promise<Outcome | undefined>
  /** Refuses it: it is not called, the model is told so, with the reason. @throws HoldfastError as {@link Runner.approve}. */
  deny(runId: string, step: string | ApprovalReason, options?: DenyInput & SayOptions): Promise<Outcome | undefined>
  /**
   * Drives every run of its agents that nobody drives although it could go on, those that wait longest first: abandoned ones (their process is
   * known to be dead, or its lease has run out) and those that are due (a wait is over, somebody has answered, their runner was closed).
   * A run that its caller stopped, or that failed, is left alone. Once: for a job that is started every minute, say.
   *
   * @returns What became of them, when all have ended or wait again. It does not reject because of one of them.
   * @throws HoldfastError `INVALID_OPTIONS`, also where the runner has no store; `RUNNER_CLOSED`, a `STORE_...` code.
   */
  recover(options?: RecoverOptions): Promise<readonly Recovered[]>
  /**
   * Does so continuously, until `close()`: for a process that works through runs. Several may share a store, each run is driven by one.
   * A run whose newest attempts died rests before it is driven again, one that cannot be opened as well.
   *
   * @throws HoldfastError `INVALID_OPTIONS`, also the second time, and where the runner has no store; `RUNNER_CLOSED`.
   * @example
   * runner.start()
   * process.once('SIGTERM', () => runner.close())
   */
  start(options?: StartOptions): void
  list(filter?: RunFilter): Promise<RunRow[]>
  get(runId: string): Promise<RunRow | undefined>
  /** The entries of the run's journal, oldest first, with the names of secrets in place of their values, and masked as `redact` says. @throws HoldfastError `UNKNOWN_RUN`. */
  history(runId: string): Promise<readonly Placed[]>
  /** What the run has used so far, over all its attempts. @throws HoldfastError `UNKNOWN_RUN`. */
  usage(runId: string): Promise<RunUsage>
  /**
   * A copy to be shown: the names of secrets in place of their values, and masked as `redact` says. For what is not shown by Holdfast itself:
   * outcomes and errors in a log of your own. Instances of classes other than errors are left as they are.
   *
   * @example
   * try { await runner.resume('ticket-123') } catch (error) { console.error(runner.mask(error)) }
   */
  mask(value: unknown): unknown
  /** Ends: running steps may end within `drainMs`, none starts; what is left suspends, and is due at once for another runner. Then the store is closed. */
  close(): Promise<void>
}

/**
 * Makes a runner. Without a store and policies it changes nothing: `run.model(m) === m`.
 *
 * @throws HoldfastError `INVALID_OPTIONS`, `INVALID_POLICY`, `DUPLICATE_AGENT`, `VALUE_TOO_LARGE`.
 * @example
 * const runner = createRunner({ agents: [support], store: sqliteStore('runs.db') })
 * const outcome = await runner.run(support, { question }, { runId: 'ticket-123' })
 */
export function createRunner(options: RunnerOptions): Runner {
  return new DefaultRunner(resolveOptions(options))
}

const CALL = { signal: 'signal', limits: 'limits', retry: 'checked elsewhere', timeouts: 'checked elsewhere', allowMismatch: 'boolean', force: 'boolean', onIncompleteTool: ON_INCOMPLETE, onEvent: 'function' } as const
const RUN = { runId: 'checked elsewhere', threadId: 'string', ...CALL } as const
const RESUME = { redo: 'checked elsewhere', ...CALL } as const
const RESOLVE = { resume: 'boolean', asOf: 'number', ...CALL } as const
const APPROVE = { input: 'checked elsewhere', by: 'string', ...RESOLVE } as const
const DENY = { reason: 'string', by: 'string', ...RESOLVE } as const
const RECOVER = { concurrency: 'checked elsewhere', signal: 'signal', onEvent: 'function' } as const
const START = { everyMs: 'checked elsewhere', concurrency: 'checked elsewhere', onError: 'function', onEvent: 'function' } as const

class DefaultRunner implements Runner {
  readonly #options: ResolvedOptions
  readonly #store: Store
  #opened: Promise<void> | undefined
  #closed: Promise<void> | undefined
  #recovery: Recovery | undefined
  readonly #driving: Driving

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#store = options.store ?? memoryStore()
    this.#driving = new Driving(options, this.#store, () => this.#ready())
  }

  async run<INPUT, RESULT>(agent: Agent<INPUT, RESULT> | string, input: INPUT, options: RunOptions = {}): Promise<Outcome<Recorded<RESULT>>> {
    checkCall('run', options, RUN)
    const known = this.#agent(agent)
    if (options.threadId !== undefined) textWithin('threadId', options.threadId, NAME_BYTES)
    const runId = options.runId === undefined && !this.#options.store ? `run-${randomUUID()}` : checkRunId(options.runId)
    this.#refuseSecrets(runId, options.threadId)
    if (this.#options.isPlain && options.limits === undefined && options.retry === undefined && options.timeouts === undefined) return this.#runPlain(known, runId, input, options) as Promise<Outcome<Recorded<RESULT>>>
    return this.#driving.drive(options, {
      runId,
      // As it is now: who calls may change it before the run has been opened.
      start: { agent: known, input: encode(input, { path: 'input' }), ...(options.threadId !== undefined && { threadId: options.threadId }) },
    }) as Promise<Outcome<Recorded<RESULT>>>
  }

  async resume(runId: string, options: ResumeOptions = {}): Promise<Outcome> {
    checkCall('resume', options, RESUME)
    return this.#driving.drive(options, { runId: checkRunId(runId), ...(options.redo !== undefined && { redo: stepsOf(options.redo) }) })
  }

  stream<INPUT, RESULT>(agent: Agent<INPUT, RESULT> | string, input: INPUT, options: RunOptions = {}): RunStream<Recorded<RESULT>> {
    return new EventStream((onEvent) => this.run(agent, input, { ...options, onEvent: both(options.onEvent, onEvent) }))
  }

  async result(runId: string, options: { readonly signal?: AbortSignal; readonly pollMs?: number } = {}): Promise<Outcome> {
    checkCall('result', options, { signal: 'signal', pollMs: 'checked elsewhere' })
    const { clock } = this.#options
    const pollMs = duration('pollMs of result()', options.pollMs, 200, 1)
    for (;;) {
      const row = await this.#row(runId)
      if (row.status !== 'running' && row.status !== 'suspended') return this.#end(row)
      await sleep(clock, pollMs, options.signal)
    }
  }

  async resolve(runId: string, step: string | WaitingCall, decision: DecisionInput, options: SayOptions = {}): Promise<Outcome | undefined> {
    checkCall('resolve', options, RESOLVE)
    const { clock, redaction } = this.#options
    const given = copyOf(decision)
    await this.#driving.counted(async () => {
      await this.#ready()
      await decide(this.#store, checkRunId(runId), step, given, { ...this.#limits, now: clock.now(), asOf: options.asOf, shownName: redaction && ((name) => redaction.name(name)) })
    })
    const { resume, asOf: _asOf, ...call } = options
    return resume ? this.resume(runId, call) : undefined
  }

  async approve(runId: string, step: string | ApprovalReason, options: ApproveInput & SayOptions = {}): Promise<Outcome | undefined> {
    checkCall('approve', options, APPROVE)
    if ('input' in options && options.input === undefined) throw new HoldfastError('INVALID_OPTIONS', 'input of approve() is undefined', { advice: 'Leave it out to make the call as it was asked for' })
    const { input: _input, by: _by, ...call } = options
    return this.#answer(runId, step, approvedBy(options, this.#limits), call)
  }

  async deny(runId: string, step: string | ApprovalReason, options: DenyInput & SayOptions = {}): Promise<Outcome | undefined> {
    checkCall('deny', options, DENY)
    const { reason: _reason, by: _by, ...call } = options
    return this.#answer(runId, step, deniedBy(options, this.#limits), call)
  }

  /** Of what somebody gives. */
  get #limits(): Pick<Saying, 'sizes' | 'secrets'> {
    const { policies: sizes, secrets } = this.#options
    return { sizes, secrets }
  }

  async #answer(runId: string, step: string | ApprovalReason, decision: ApprovalDecision, { resume, asOf, ...call }: SayOptions): Promise<Outcome | undefined> {
    const { clock, secrets } = this.#options
    await this.#driving.counted(async () => {
      await this.#ready()
      await answer(this.#store, checkRunId(runId), step, decision, { now: clock.now(), secrets, asOf })
    })
    return resume ? this.resume(runId, call) : undefined
  }

  async recover(options: RecoverOptions = {}): Promise<readonly Recovered[]> {
    checkCall('recover', options, RECOVER)
    count('concurrency of recover()', options.concurrency, 1)
    const host = this.#recovering('recover')
    return this.#driving.counted(() => sweep(host, options))
  }

  start(options: StartOptions = {}): void {
    checkCall('start', options, START)
    count('concurrency of start()', options.concurrency, 1)
    duration('everyMs of start()', options.everyMs, 1, 1)
    const host = this.#recovering('start')
    this.#refuseClosed()
    if (this.#recovery) throw new HoldfastError('INVALID_OPTIONS', 'the runner was started already', { advice: 'close() stops it' })
    this.#recovery = new Recovery(host, options)
  }

  #recovering(call: string): Recovering {
    const { store, clock, leaseMs, stallAfter, agents } = this.#options
    if (!store) throw new HoldfastError('INVALID_OPTIONS', `${call}() needs a runner with a store: without one nothing outlives its process`, { advice: 'Such as createRunner({ agents, store: sqliteStore("runs.db") })' })
    return {
      store, clock, leaseMs, stallAfter,
      ready: () => this.#ready(),
      hasAgent: (name) => agents.has(name),
      isDriven: (runId) => this.#driving.has(runId),
      drive: (runId, { onEvent, ...asked }) => this.#driving.driveIf({ onEvent }, { runId, ...asked }),
      mask: (value) => this.mask(value),
    }
  }

  async list(filter: RunFilter = {}): Promise<RunRow[]> {
    checkFilter(filter)
    await this.#ready()
    const rows = await this.#store.list(filter)
    const { redaction } = this.#options
    return redaction ? rows.map((row) => redaction.row(row)) : rows
  }

  async get(runId: string): Promise<RunRow | undefined> {
    await this.#ready()
    const row = await this.#store.get(checkRunId(runId))
    return (row && this.#options.redaction?.row(row)) ?? row
  }

  async history(runId: string): Promise<readonly Placed[]> {
    const entries = (await this.#entries(runId)).map(({ seq, entry }) => ({ seq, entry: legible(entry) }))
    return this.#options.redaction?.entries(entries) ?? entries
  }

  /** As they are stored. */
  async #entries(runId: string): Promise<readonly Placed[]> {
    return (await readJournal(this.#store, await this.#row(runId))).entries
  }

  async usage(runId: string): Promise<RunUsage> {
    return usageOf(await this.#entries(runId))
  }

  mask(value: unknown): unknown {
    const { redaction } = this.#options
    return redaction ? redaction.value(value) : value
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#drain())
  }

  async #drain(): Promise<void> {
    this.#recovery?.stop()
    await this.#driving.close()
    await this.#recovery?.done
    await this.#opened?.catch(() => {})
    await this.#store.close()
  }

  async #runPlain(agent: AnyAgent, runId: string, input: unknown, { signal }: CallOptions): Promise<Outcome> {
    this.#refuseClosed()
    const handler = agent.handler as (run: unknown, input: unknown) => unknown
    return { status: 'completed', result: await settleResult(await handler(plainRun(runId, signal ?? new AbortController().signal), input)) }
  }

  #agent(agent: AnyAgent | string): AnyAgent {
    const name = typeof agent === 'string' ? agent : agent?.name
    const known = this.#options.agents.get(name)
    if (known && (typeof agent === 'string' || known === agent)) return known
    const advice = known
      ? `Another agent of that name is in its agents`
      : `Its agents are: ${[...this.#options.agents.keys()].join(', ') || 'none'}. Add it to createRunner({ agents })`
    throw new HoldfastError('UNKNOWN_AGENT', `this runner does not have agent ${shown(name)}`, { advice })
  }

  /** They stand in the store as they are, for anybody to look for. */
  #refuseSecrets(runId: string, threadId: string | undefined): void {
    const { secrets } = this.#options
    const inId = secrets?.nameIn(runId)
    if (inId !== undefined) throw new HoldfastError('INVALID_RUN_ID', `the run id holds the secret ${inId}`, { advice: 'Make it of what the run is about' })
    const inThread = threadId === undefined ? undefined : secrets?.nameIn(threadId)
    if (inThread !== undefined) throw new HoldfastError('INVALID_OPTIONS', `threadId holds the secret ${inThread}`)
  }

  #ready(): Promise<void> {
    this.#refuseClosed()
    return (this.#opened ??= this.#store.open().catch((error: unknown) => {
      // The next call tries again: the reason may be gone by then.
      this.#opened = undefined
      throw error
    }))
  }

  #refuseClosed(): void {
    if (this.#closed) throw new HoldfastError('RUNNER_CLOSED', 'the runner was closed', { advice: 'Make another one with createRunner' })
  }

  async #row(runId: string): Promise<RunRow> {
    await this.#ready()
    const row = await this.#store.get(checkRunId(runId))
    if (!row) throw new HoldfastError('UNKNOWN_RUN', `there is no run "${runId}" in this ${this.#store.kind} store`, { runId, advice: 'Look at list()' })
    return row
  }

  async #end(row: RunRow): Promise<Outcome> {
    return endedOutcome(row.runId, whole(row.runId, await this.#entries(row.runId), this.#options.secrets))
  }
}
