/** What a runner is made with, checked once. */
import type { Clock } from '../core/clock.ts'
import { systemClock } from '../core/clock.ts'
import { systemRandom, type Random } from '../core/random.ts'
import { shown } from '../core/shown.ts'
import { HoldfastError } from '../errors.ts'
import { NAME_BYTES, textWithin } from '../journal/given-text.ts'
import { Redaction, type RedactRule } from '../journal/redact.ts'
import { Secrets } from '../journal/secrets.ts'
import type { RunFilter, RunStatus, Store } from '../journal/store.ts'
import { resolveRetry, resolveTimeouts, type OnIncompleteTool, type RetryPolicy, type TimeoutPolicy, type ToolPolicy } from '../reliability/index.ts'
import type { RunPolicies } from '../run/attempt.ts'
import type { StampedEvent } from '../run/events.ts'
import { checkLimits, resolveLimits, type ResolvedLimits, type RunLimits } from '../run/limits.ts'
import type { AnyAgent } from './agent.ts'
import { DEFAULT_SIZES, LEAST_STEP_BYTES } from './sizes.ts'

export interface RunnerOptions {
  /** The agents that this runner can start and resume, each name once. */
  readonly agents: readonly AnyAgent[]
  /** Where runs are kept; closed by `close()`, so each runner has its own store object (of one file, if you like). Absent, with policies: in this process only, for retries and time limits. Absent, without: nothing is changed at all. */
  readonly store?: Store
  /** How failed model requests, idempotent tools and reads are tried again. Default: 4 tries, exponential backoff with jitter. `false`: one try. */
  readonly retry?: RetryPolicy | false
  /** Time limits, ms. Default: none. */
  readonly timeouts?: TimeoutPolicy
  /** What each run may use in all, over its attempts; a call can give its run others. Default: none. */
  readonly limits?: Pick<RunLimits, 'maxSteps' | 'maxTokens' | 'maxJournalBytes'>
  /** What becomes of a call in doubt whose tool does not say. Default `refuse`: the run waits for `resolve`. */
  readonly onIncompleteTool?: OnIncompleteTool
  /** What an error means for the effect of a tool or step that does not say: `not-done`, `in-doubt`, undefined: as the kind of error says. See `ToolPolicy`. */
  readonly afterError?: NonNullable<ToolPolicy['afterError']>
  /** What becomes of recorded answers when the model, settings, system text or tools changed since. Default `replay`: they stand, with a warning. */
  readonly onConfigChange?: 'replay' | 'diverge' | 'refuse'
  /**
   * What becomes of a run that failed, and whose code did something with effects behind the failure, where others had been done before: it may have undone those (a
   * booking that was cancelled), and their records would answer. Default `refuse`: `RUN_CLEANED_UP`, until a call says `redo` or `force`. `continue`: it is driven again.
   */
  readonly onCleanup?: 'refuse' | 'continue'
  /** How long a lease lasts without renewal, ms: after that another process may take over from one that cannot be seen to be dead. Default 30000. */
  readonly leaseMs?: number
  /** How long a run that can only wait is watched for new work before it suspends, ms. Default 500. */
  readonly idleMs?: number
  /** How long an older recorded result that is still expected may hold back younger ones, ms. Default 100. */
  readonly replayHoldMs?: number
  /** How long running steps may take to end when the runner is closed, ms. Default 5000. */
  readonly drainMs?: number
  /** After how many attempts in a row that died, or that diverged at one place, without progress a run is stalled. Default 5. */
  readonly stallAfter?: number
  /** Largest result of a tool or step that is recorded, bytes of its JSON. Default 4194304. */
  readonly maxResultBytes?: number
  /**
   * Largest record of a step, bytes of its JSON: its start with the input, or its end with the result, the files that it fetched and what it asks
   * for; so of what a model answers, too, and of the input and the result of a run. Default 16777216, or four times `maxResultBytes` where that is more;
   * at least 4096.
   */
  readonly maxStepBytes?: number
  /**
   * Values by name, at least 8 characters each, such as `{ STRIPE_KEY: process.env.STRIPE_KEY! }`. In all that is stored or shown the name
   * stands in place of the value, also inside longer texts, URLs, JSON texts and base64; the run sees the value, live and replayed. It may be
   * another one later: what is recorded still answers. Bytes (typed arrays) are not searched.
   */
  readonly secrets?: Readonly<Record<string, string>>
  /**
   * What to mask in what is shown: `list`, `get`, `history`, events, and so the command line with this runner. A RegExp masks its matches, a text the
   * property of that name (`password`) or path (`customer.email`), a function gives the text to show. What is stored, replayed and returned stays whole.
   */
  readonly redact?: readonly RedactRule[]
  /** Told everything that happens in every run, in order. What it returns, throws or rejects with is ignored. */
  readonly onEvent?: (event: StampedEvent) => unknown
  /** For tests. */
  readonly clock?: Clock
  /** For tests: a source of numbers in [0, 1). */
  readonly random?: Random
}

export interface ResolvedOptions {
  readonly agents: ReadonlyMap<string, AnyAgent>
  readonly store: Store | undefined
  /** There is nothing to do for this runner but to call handlers. */
  readonly isPlain: boolean
  readonly policies: RunPolicies
  readonly secrets: Secrets | undefined
  readonly redaction: Redaction | undefined
  /** Of runs whose calls give none. */
  readonly limits: ResolvedLimits
  readonly leaseMs: number
  readonly drainMs: number
  readonly stallAfter: number
  readonly onCleanup: 'refuse' | 'continue'
  readonly onEvent: (event: StampedEvent) => void
  readonly clock: Clock
  readonly random: Random
}

const KNOWN: ReadonlySet<string> = new Set([
  'agents', 'store', 'retry', 'timeouts', 'limits', 'onIncompleteTool', 'afterError', 'onConfigChange', 'onCleanup', 'leaseMs', 'idleMs', 'replayHoldMs', 'drainMs', 'stallAfter', 'maxResultBytes', 'maxStepBytes', 'secrets', 'redact', 'onEvent', 'clock', 'random',
] satisfies (keyof RunnerOptions)[])

export const ON_INCOMPLETE = ['refuse', 'rerun', 'skip', 'reconcile'] as const satisfies readonly OnIncompleteTool[]

/** @throws HoldfastError `INVALID_OPTIONS`, `INVALID_POLICY`, `DUPLICATE_AGENT`, `VALUE_TOO_LARGE`, with the path. */
export function resolveOptions(options: RunnerOptions): ResolvedOptions {
  if (typeof options !== 'object' || options === null) throw invalid('options must be an object')
  for (const key of Object.keys(options)) if (!KNOWN.has(key)) throw invalid(`${key} is not an option of createRunner`, `The options are ${[...KNOWN].join(', ')}`)
  const { store, clock = systemClock, random = systemRandom } = options
  if (store !== undefined && typeof store.append !== 'function') throw invalid('store must be a store, such as sqliteStore("runs.db")')
  if (options.limits !== undefined) checkLimits(options.limits, 'limits', ['maxSteps', 'maxTokens', 'maxJournalBytes'])
  const maxResultBytes = duration('maxResultBytes', options.maxResultBytes, DEFAULT_SIZES.maxResultBytes)
  const policies: RunPolicies = Object.freeze({
    retry: resolveRetry(options.retry),
    timeouts: resolveTimeouts(options.timeouts),
    onIncompleteTool: oneOf('onIncompleteTool', options.onIncompleteTool, ON_INCOMPLETE, 'refuse'),
    afterError: callable('afterError', options.afterError),
    onConfigChange: oneOf('onConfigChange', options.onConfigChange, ['replay', 'diverge', 'refuse'], 'replay'),
    idleMs: duration('idleMs', options.idleMs, 500),
    replayHoldMs: duration('replayHoldMs', options.replayHoldMs, 100),
    maxResultBytes,
    maxStepBytes: count('maxStepBytes', options.maxStepBytes, Math.max(DEFAULT_SIZES.maxStepBytes, Math.ceil(4 * maxResultBytes)), LEAST_STEP_BYTES, 'It counts bytes, and a record has to hold what its step is'),
    isKept: store !== undefined,
  })
  const secrets = Secrets.of(options.secrets)
  return {
    agents: agentsByName(options.agents, secrets),
    secrets,
    redaction: Redaction.of(options.redact, secrets),
    store,
    isPlain: !store && options.retry === undefined && options.timeouts === undefined && options.limits === undefined,
    policies,
    limits: resolveLimits({ ...options.limits, ...(policies.timeouts.runMs !== undefined && { runMs: policies.timeouts.runMs }) }),
    leaseMs: duration('leaseMs', options.leaseMs, 30_000, 100),
    drainMs: duration('drainMs', options.drainMs, 5_000),
    stallAfter: count('stallAfter', options.stallAfter, 5),
    onCleanup: oneOf('onCleanup', options.onCleanup, ['refuse', 'continue'], 'refuse'),
    onEvent: callable('onEvent', options.onEvent) ?? (() => {}),
    clock,
    random,
  }
}

function agentsByName(agents: unknown, secrets: Secrets | undefined): ReadonlyMap<string, AnyAgent> {
  if (!Array.isArray(agents)) throw invalid('agents must be an array of agents', 'Make them with defineAgent(name, handler)')
  const byName = new Map<string, AnyAgent>()
  for (const [i, agent] of (agents as AnyAgent[]).entries()) {
    if (typeof agent?.name !== 'string' || typeof agent.handler !== 'function') throw invalid(`agents[${i}] is not an agent`, 'Make it with defineAgent(name, handler)')
    // They stand in the store as they are, for anybody to look for.
    for (const field of ['name', 'version'] as const) {
      if (typeof agent[field] === 'string') textWithin(`agents[${i}]: its ${field}`, agent[field], NAME_BYTES)
      const held = secrets?.nameIn(agent[field])
      if (held !== undefined) throw invalid(`agents[${i}]: its ${field} holds the secret ${held}`, 'Name it by what it does')
    }
    if (byName.has(agent.name)) {
      throw new HoldfastError('DUPLICATE_AGENT', `agents[${i}]: two agents are called "${agent.name}"`, { advice: 'A run is resumed by the name of its agent: give each its own' })
    }
    byName.set(agent.name, agent)
  }
  return byName
}

/** @throws HoldfastError `INVALID_OPTIONS`. */
export function duration(path: string, value: number | undefined, fallback: number, least = 0): number {
  if (value === undefined) return fallback
  if (typeof value !== 'number' || !Number.isFinite(value) || value < least) throw invalid(`${path} must be a number >= ${least}, got ${shown(value)}`)
  return value
}

/** @throws HoldfastError `INVALID_OPTIONS`. */
export function count(path: string, value: number | undefined, fallback: number, least = 1, advice?: string): number {
  if (value === undefined) return fallback
  if (!Number.isInteger(value) || value < least) throw invalid(`${path} must be an integer >= ${least}, got ${shown(value)}`, advice)
  return value
}

function callable<F>(path: string, value: F | undefined): F | undefined {
  if (value !== undefined && typeof value !== 'function') throw invalid(`${path} must be a function, got ${typeof value}`)
  return value
}

/** What a call says of the policies of its run. */
export interface CallPolicies {
  readonly retry?: RetryPolicy | false
  readonly timeouts?: Omit<TimeoutPolicy, 'runMs'>
  readonly onIncompleteTool?: OnIncompleteTool
}

/** What holds for every step in one call. @throws HoldfastError `INVALID_POLICY`. */
export function policiesOfCall(policies: RunPolicies, { retry, timeouts, onIncompleteTool = policies.onIncompleteTool }: CallPolicies): RunPolicies {
  if ((timeouts as TimeoutPolicy | undefined)?.runMs !== undefined) {
    throw new HoldfastError('INVALID_POLICY', 'timeouts.runMs is an option of createRunner', { advice: 'A call gives its run { limits: { runMs } }, which stands in its journal' })
  }
  return Object.freeze({
    ...policies, onIncompleteTool, retry: resolveRetry(retry, 'retry', policies.retry), timeouts: resolveTimeouts(timeouts, 'timeouts', policies.timeouts),
  })
}

/** Options of a call, checked: an object with none but known keys, each of its kind. */
export function checkCall(call: string, options: unknown, known: Readonly<Record<string, 'string' | 'boolean' | 'number' | 'function' | 'signal' | 'limits' | 'checked elsewhere' | readonly string[]>>): void {
  if (typeof options !== 'object' || options === null) throw invalid(`options of ${call}() must be an object, got ${options === null ? 'null' : typeof options}`)
  for (const [key, value] of Object.entries(options)) {
    const kind = Object.hasOwn(known, key) ? known[key] : undefined
    if (kind === undefined) throw invalid(`${key} is not an option of ${call}()`, `The options are ${Object.keys(known).join(', ')}`)
    if (kind === 'limits' && value !== undefined) checkLimits(value)
    if (typeof kind === 'object') {
      oneOf(`${key} of ${call}()`, value, kind, '')
      continue
    }
    const fits = value === undefined || kind === 'limits' || kind === 'checked elsewhere' || (kind === 'signal' ? value instanceof AbortSignal : typeof value === kind)
    if (!fits) throw invalid(`${key} of ${call}() must be ${kind === 'signal' ? 'an AbortSignal' : `a ${kind}`}, got ${value === null ? 'null' : typeof value}`)
  }
}

/** The steps that `redo` names. @throws HoldfastError `INVALID_OPTIONS`. */
export function stepsOf(redo: unknown): readonly string[] {
  const steps: readonly unknown[] = Array.isArray(redo) ? redo : [redo]
  const wrong = steps.find((step) => typeof step !== 'string')
  if (steps.length > 0 && wrong === undefined) return steps as readonly string[]
  throw invalid(`redo of resume() must be the id of a step, or an array of them, got ${shown(steps.length === 0 ? redo : wrong)}`, 'holdfast show lists the steps')
}

const STATUSES = ['running', 'suspended', 'completed', 'failed', 'cancelled', 'stalled'] as const satisfies readonly RunStatus[]

/** @throws HoldfastError `INVALID_OPTIONS`. */
export function checkFilter(filter: RunFilter): void {
  const { status, limit, dueBy } = filter
  checkCall('list', filter, { agent: 'string', status: 'checked elsewhere', threadId: 'string', dueBy: 'checked elsewhere', limit: 'checked elsewhere' })
  if (status !== undefined && !Array.isArray(status)) throw invalid(`status of list() must be an array of ${STATUSES.join(', ')}, got ${shown(status)}`)
  for (const each of status ?? []) oneOf('status of list()', each, STATUSES, 'running')
  if (dueBy !== undefined && typeof dueBy !== 'number') throw invalid(`dueBy of list() must be a time, ms since the epoch, got ${typeof dueBy}`, 'For those that are due now, the time of now')
  if (limit !== undefined && limit !== Infinity) count('limit of list()', limit, 1)
}

function oneOf<T extends string>(path: string, value: unknown, allowed: readonly T[], fallback: T): T {
  if (value === undefined) return fallback
  if (!isOneOf(value, allowed)) throw invalid(`${path} must be one of ${allowed.join(', ')}, got ${shown(value)}`)
  return value
}

const isOneOf = <T extends string>(value: unknown, allowed: readonly T[]): value is T => (allowed as readonly unknown[]).includes(value)

const invalid = (message: string, advice?: string): HoldfastError => new HoldfastError('INVALID_OPTIONS', message, advice === undefined ? {} : { advice })

/** What a run id may be: safe in every store, in a file name, a URL and a shell. */
const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,199}$/

/** @throws HoldfastError `MISSING_RUN_ID`, `INVALID_RUN_ID`. */
export function checkRunId(runId: unknown): string {
  if (runId === undefined || runId === null || runId === '') {
    throw new HoldfastError('MISSING_RUN_ID', 'a run needs an id', { advice: 'Pass { runId } made of what the run is about, such as "ticket-123": the same id resumes it' })
  }
  if (typeof runId === 'string' && RUN_ID.test(runId)) return runId
  throw new HoldfastError('INVALID_RUN_ID', `${shown(runId).slice(0, 80)} cannot be a run id`, {
    advice: 'Use 1 to 200 letters, digits and . _ : @ + - and begin with a letter or digit',
  })
}
