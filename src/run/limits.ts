/** What a run may use in all, over its attempts, and what is said where it has (R16). */
import { HoldfastError, type RunUsage } from '../errors.ts'
import type { Entry, LimitsRecord } from '../journal/entry.ts'
import { checkObject, duration, integer } from '../reliability/check.ts'

/**
 * Limits of a run, over all its attempts: a resume does not start at zero. Absent: as an earlier call of this run said, else as its
 * runner says. `Infinity`: none.
 */
export interface RunLimits {
  /** Model requests, tool calls and `run.step`s that may run; an integer >= 1. Tries of one step count once; reads and agents do not count. */
  readonly maxSteps?: number
  /** Tokens, in and out, after which no model request starts; an integer >= 1. A response may go beyond it. Only what the provider reports counts. */
  readonly maxTokens?: number
  /** Active time, ms: while the run is suspended, or only replays, it stands still. Default: the runner's `timeouts.runMs`. */
  readonly runMs?: number
  /** Bytes of its journal (UTF-8) after which no step starts; an integer >= 1. A record may go beyond it. */
  readonly maxJournalBytes?: number
  /** When the run's time ends, whatever it does until then: a Date, or ms since the epoch. */
  readonly deadline?: number | Date
}

export type LimitName = keyof RunLimits

/** Limits with everything filled in; Infinity: none. */
export type ResolvedLimits = Readonly<Record<LimitName, number>>

/** A limit that was reached. `used` and `max`: steps, tokens, bytes, ms, or (deadline) ms since the epoch. */
export interface Reached {
  readonly limit: LimitName
  readonly used: number
  readonly max: number
}

const whole = (value: unknown, path: string): void => (value === Infinity ? undefined : integer(1)(value, path))

const CHECKS = {
  maxSteps: whole,
  maxTokens: whole,
  maxJournalBytes: whole,
  runMs: (value: unknown, path: string) => (value === Infinity ? undefined : duration(value, path)),
  deadline: (value: unknown, path: string) => {
    if (Number.isNaN(timeOf(value))) throw new HoldfastError('INVALID_POLICY', `${path} must be a Date or a time in ms since the epoch, got ${String(value)}`)
  },
}

const timeOf = (value: unknown): number => (value instanceof Date ? value.getTime() : typeof value === 'number' ? value : NaN)

/** @throws HoldfastError `INVALID_POLICY` with the path, such as `limits.maxSteps must be an integer >= 1, got 0`. */
export function checkLimits(limits: unknown, path = 'limits', names: readonly LimitName[] = ['maxSteps', 'maxTokens', 'maxJournalBytes', 'runMs', 'deadline']): void {
  const elsewhere = (['runMs', 'deadline'] as const).find((name) => !names.includes(name) && typeof limits === 'object' && limits !== null && name in limits)
  if (elsewhere !== undefined) {
    const advice = elsewhere === 'runMs' ? 'For all runs of a runner it is timeouts.runMs; a call gives its run { limits: { runMs } }' : 'A call gives its run one: run(agent, input, { runId, limits: { deadline } })'
    throw new HoldfastError('INVALID_POLICY', `${path}.${elsewhere} is not known here`, { advice })
  }
  checkObject(limits, path, Object.fromEntries(names.map((name) => [name, CHECKS[name]])))
}

/** As the journal keeps what a call gave. */
export function recordOf({ deadline, ...limits }: RunLimits): LimitsRecord {
  const given = Object.entries({ ...limits, ...(deadline !== undefined && { deadline: timeOf(deadline) }) }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, value === Infinity ? null : value]))
}

/** What the calls of a run gave, the newest of each. */
export function givenLimits(entries: Iterable<{ readonly entry: Entry }>): LimitsRecord {
  let given: LimitsRecord = {}
  for (const { entry } of entries) if (entry.type === 'attempt-started') given = { ...given, ...entry.limits }
  return given
}

/** The limits of a run: what its calls gave comes before what its runner says. */
export function resolveLimits(runner: RunLimits, given: LimitsRecord = {}): ResolvedLimits {
  const { maxSteps, maxTokens, maxJournalBytes, runMs, deadline } = { ...recordOf(runner), ...given }
  return {
    maxSteps: maxSteps ?? Infinity, maxTokens: maxTokens ?? Infinity, maxJournalBytes: maxJournalBytes ?? Infinity, runMs: runMs ?? Infinity, deadline: deadline ?? Infinity,
  }
}

/** The kinds that `maxSteps` counts: what is paid for. A read is the handler's own look at something, an agent has only its steps. */
export const COUNTED = ['model', 'tool', 'step'] as const

export const countedSteps = ({ steps }: RunUsage): number => COUNTED.reduce((sum, kind) => sum + steps[kind], 0)

/** The error of a run that has used what it may: `LIMIT_REACHED`, for its time `RUN_TIMEOUT`. `label` names the step that did not start. */
export function limitReached(runId: string, { limit, used, max }: Reached, { label, step, cause }: { label?: string; step?: string; cause?: unknown } = {}): HoldfastError {
  const what = {
    maxSteps: () => `run "${runId}" has used ${used} of ${max} steps (limits.maxSteps)`,
    maxTokens: () => `run "${runId}" has used ${used} of ${max} tokens (limits.maxTokens)`,
    maxJournalBytes: () => `the journal of run "${runId}" has ${used} of ${max} bytes (limits.maxJournalBytes)`,
    runMs: () => `the time of run "${runId}" is over: it was active for ${used} of ${max} ms (timeouts.runMs, limits.runMs)`,
    deadline: () => `the time of run "${runId}" is over: its deadline was ${dateText(max)} (limits.deadline)`,
  }[limit]()
  // What was used may be more than the limit was: a call can give a lower one.
  const higher = limit === 'deadline' ? 'a later one' : String(Math.max(max, used, 1) * 2)
  return new HoldfastError(limit === 'runMs' || limit === 'deadline' ? 'RUN_TIMEOUT' : 'LIMIT_REACHED', label === undefined ? what : `${what}: ${label} did not start`, {
    runId,
    ...(step !== undefined && { step }),
    ...(cause !== undefined && { cause }),
    advice: `What was done is kept: it goes on under a higher limit, as with resume(${JSON.stringify(runId)}, { limits: { ${limit}: ${higher} } })`,
  })
}

/** Times beyond what a Date can hold are texts all the same. */
function dateText(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}
