/** Validates policies, once, and fills in what they leave out. */
import { HoldfastError } from '../errors.ts'
import { callable, checkObject, duration, flag, integer, listOf, number, oneOf } from './check.ts'
import { CATEGORIES } from './classification/index.ts'
import { nearestNames } from './nearest.ts'
import { DEFAULT_RETRY, NO_RETRY } from './policy.ts'
import type { ResolvedRetry, ResolvedToolPolicy, RetryPolicy, TimeoutPolicy, ToolPolicy } from './policy.ts'

const BACKOFF = { baseMs: number(0), maxMs: number(0), factor: number(1), jitter: oneOf(['full', 'equal', 'none']) }

const RETRY = {
  maxAttempts: integer(1),
  backoff: (value: unknown, path: string) => checkObject(value, path, BACKOFF),
  categories: listOf(oneOf(CATEGORIES)),
  inlineWaitMs: number(0),
  onLongWait: oneOf(['suspend', 'fail']),
}

const TIMEOUTS = { modelMs: duration, modelIdleMs: duration, toolMs: duration, runMs: duration }

const TOOL = {
  idempotent: flag,
  readOnly: flag,
  composite: flag,
  timeoutMs: duration,
  idleTimeoutMs: duration,
  retry: (value: unknown, path: string) => { if (value !== false) checkObject(value, path, RETRY) },
  onIncompleteTool: oneOf(['refuse', 'rerun', 'skip', 'reconcile']),
  reconcile: callable,
  effectKey: callable,
  allowRepeat: flag,
  settleAfterMs: number(0),
}

/**
 * The policy with everything filled in: what it leaves out comes from `base`; `false` is one try.
 *
 * @throws HoldfastError `INVALID_POLICY` with the path, such as `retry.maxAttempts must be an integer >= 1, got 0`.
 */
export function resolveRetry(policy: RetryPolicy | false | undefined, path = 'retry', base: ResolvedRetry = DEFAULT_RETRY): ResolvedRetry {
  if (policy === undefined) return base
  if (policy === false) return NO_RETRY
  checkObject(policy, path, RETRY)
  return Object.freeze({ ...base, ...given(policy), backoff: Object.freeze({ ...base.backoff, ...given(policy.backoff ?? {}) }) })
}

/**
 * The time limits, checked.
 *
 * @throws HoldfastError `INVALID_POLICY` with the path.
 */
export function resolveTimeouts(policy: TimeoutPolicy = {}, path = 'timeouts'): TimeoutPolicy {
  checkObject(policy, path, TIMEOUTS)
  return Object.freeze(given(policy))
}

/** What a tool's policy takes from its runner. */
export interface ToolDefaults {
  readonly retry?: ResolvedRetry | undefined
  readonly timeoutMs?: number | undefined
}

/**
 * The policy of one tool with everything filled in.
 *
 * @throws HoldfastError `INVALID_POLICY` with the path: a wrong value, an unknown key, or settings that contradict each other.
 */
// `ToolPolicy<never, ...>` takes the policy of a tool with any input.
export function resolveToolPolicy(policy: ToolPolicy<never, unknown> = {}, path = 'tool', defaults: ToolDefaults = {}): ResolvedToolPolicy {
  checkObject(policy, path, TOOL)
  const { readOnly = false, composite = false } = policy
  const idempotent = policy.idempotent ?? readOnly
  const contradiction = contradictionIn({ ...policy, idempotent, readOnly, composite })
  if (contradiction !== undefined) throw new HoldfastError('INVALID_POLICY', `${path}.${contradiction.what}`, { advice: contradiction.advice })
  const { reconcile, effectKey } = policy as ToolPolicy
  return Object.freeze({
    idempotent,
    readOnly,
    composite,
    // A composite tool may wait for a person inside: its steps have limits of their own.
    timeoutMs: policy.timeoutMs ?? (composite ? undefined : defaults.timeoutMs),
    idleTimeoutMs: policy.idleTimeoutMs,
    retry: idempotent ? resolveRetry(policy.retry, `${path}.retry`, defaults.retry) : NO_RETRY,
    onIncompleteTool: policy.onIncompleteTool ?? (reconcile && 'reconcile'),
    // Bound, so that a policy may be an object with methods.
    reconcile: reconcile?.bind(policy),
    effectKey: effectKey?.bind(policy),
    allowRepeat: policy.allowRepeat ?? false,
    settleAfterMs: policy.settleAfterMs,
  })
}

function contradictionIn(policy: ToolPolicy<never, unknown> & { idempotent: boolean }): { what: string; advice: string } | undefined {
  const { idempotent, readOnly, composite, retry, onIncompleteTool, reconcile } = policy
  if (readOnly && !idempotent) return { what: 'idempotent is false, but readOnly is true', advice: 'A tool that changes nothing may be repeated' }
  if (retry && !idempotent) {
    return { what: 'retry is given, but the tool is not idempotent', advice: 'Set idempotent or readOnly if it may run twice, or leave retry out' }
  }
  if (onIncompleteTool === 'reconcile' && !reconcile) {
    return { what: "onIncompleteTool is 'reconcile', but there is no function reconcile", advice: 'Add reconcile, or choose refuse, rerun or skip' }
  }
  if (composite && (onIncompleteTool ?? reconcile)) {
    return { what: 'composite is true: such a call is never in doubt itself', advice: 'Leave onIncompleteTool and reconcile to the tools inside' }
  }
  return undefined
}

/**
 * Checks a table of tool policies against the tools that exist, and every policy in it.
 *
 * @throws HoldfastError `UNKNOWN_TOOL` for a policy without its tool, naming the nearest tools; `INVALID_POLICY` as {@link resolveToolPolicy}.
 */
export function validateToolPolicies(policies: Readonly<Record<string, ToolPolicy<never, unknown>>>, toolNames: readonly string[], path = 'tools'): void {
  if (typeof policies !== 'object' || policies === null) throw new HoldfastError('INVALID_POLICY', `${path} must be an object`)
  for (const [name, policy] of Object.entries(policies)) {
    if (!toolNames.includes(name)) {
      const near = nearestNames(name, toolNames)
      const advice = near.length > 0 ? `Is ${near.join(' or ')} meant?` : `The tools are ${toolNames.join(', ') || 'none'}`
      throw new HoldfastError('UNKNOWN_TOOL', `${path}.${name} is a policy for a tool that does not exist`, { advice })
    }
    resolveToolPolicy(policy, `${path}.${name}`)
  }
}

/** The object without keys whose value is undefined: they count as left out. */
function given<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T
}
