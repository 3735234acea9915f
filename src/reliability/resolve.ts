/** Validates policies, once, and fills in what they leave out. */
import { HoldfastError } from '../errors.ts'
import type { BackoffPolicy } from './backoff.ts'
import { callable, checkObject, duration, flag, integer, listOf, number, oneOf, type Check } from './check.ts'
import { checkedClassifier } from './classification/answer.ts'
import { CATEGORIES, classifyError } from './classification/index.ts'
import { nearestNames } from './nearest.ts'
import { DEFAULT_RETRY, oneTry } from './policy.ts'
import type { ApprovalPolicy, ModelPolicy, ResolvedApproval, ResolvedRetry, ResolvedToolPolicy, RetryPolicy, TimeoutPolicy, ToolPolicy } from './policy.ts'

const BACKOFF = { baseMs: number(0), maxMs: number(0), factor: number(1), jitter: oneOf(['full', 'equal', 'none']) }

const RETRY = {
  maxAttempts: integer(1),
  backoff: (value: unknown, path: string) => {
    checkObject(value, path, BACKOFF)
    const { baseMs = 0, maxMs = Infinity } = value as Partial<BackoffPolicy>
    // Where one of them comes from another level, the cap is meant.
    if (maxMs < baseMs) throw new HoldfastError('INVALID_POLICY', `${path}.maxMs is ${maxMs}, below baseMs, which is ${baseMs}`, { advice: 'The cap is the longest delay' })
  },
  categories: listOf(oneOf(CATEGORIES)),
  inlineWaitMs: number(0),
  onLongWait: oneOf(['suspend', 'fail']),
  classify: callable,
  shouldRetry: callable,
  onRetry: callable,
}

const retryOrNone = (value: unknown, path: string): void => {
  if (value !== false) checkObject(value, path, RETRY)
}

const TIMEOUTS = { modelMs: duration, modelFirstPartMs: duration, modelIdleMs: duration, toolMs: duration, toolIdleMs: duration, runMs: duration }

const MODEL = { retry: retryOrNone, timeoutMs: duration, firstPartTimeoutMs: duration, idleTimeoutMs: duration }

const APPROVAL = { when: callable, expiresAfterMs: duration }

const TOOL = {
  idempotent: flag,
  readOnly: flag,
  composite: flag,
  timeoutMs: duration,
  idleTimeoutMs: duration,
  retry: retryOrNone,
  onIncompleteTool: oneOf(['refuse', 'rerun', 'skip', 'reconcile']),
  reconcile: callable,
  afterError: callable,
  effectKey: callable,
  allowRepeat: flag,
  settleAfterMs: number(0),
  approval: (value: unknown, path: string) => {
    if (typeof value !== 'boolean') checkObject(value, path, APPROVAL)
  },
}

/**
 * The policy with everything filled in, frozen: what it leaves out comes from `base`; `false` is one try.
 *
 * @throws HoldfastError `INVALID_POLICY` with the path, such as `retry.maxAttempts must be an integer >= 1, got 0`.
 */
export function resolveRetry(policy: RetryPolicy | false | undefined, path = 'retry', base: ResolvedRetry = DEFAULT_RETRY): ResolvedRetry {
  if (policy === undefined) return base
  if (policy === false) return oneTry(base)
  checkObject(policy, path, RETRY)
  const { categories, classify, shouldRetry, onRetry } = policy
  return Object.freeze({
    ...base,
    ...given(policy),
    backoff: Object.freeze({ ...base.backoff, ...given(policy.backoff ?? {}) }),
    ...(categories && { categories: Object.freeze([...categories]) }),
    // Bound, so that a policy may be an object with methods.
    ...(classify && { classify: checkedClassifier(classify.bind(policy), classifyError) }),
    ...(shouldRetry && { shouldRetry: shouldRetry.bind(policy) }),
    ...(onRetry && { onRetry: onRetry.bind(policy) }),
  })
}

/**
 * The time limits, checked and frozen: what they leave out comes from `base`.
 *
 * @throws HoldfastError `INVALID_POLICY` with the path.
 */
export function resolveTimeouts(policy: TimeoutPolicy = {}, path = 'timeouts', base: TimeoutPolicy = {}): TimeoutPolicy {
  checkObject(policy, path, TIMEOUTS)
  return Object.freeze({ ...base, ...given(policy) })
}

/**
 * A copy of options that hold a model's policy, checked and frozen. `others` are the checks of what else they may hold.
 *
 * @throws HoldfastError `INVALID_POLICY` with the path.
 */
export function fixModelPolicy<OPTIONS extends ModelPolicy>(options: OPTIONS, path: string, others: Readonly<Record<string, Check>>): OPTIONS {
  checkObject(options, path, { ...MODEL, ...others })
  return Object.freeze({ ...given(options), ...fixedRetry(options.retry) })
}

/** A copy that nobody else can change. */
function fixedRetry(retry: RetryPolicy | false | undefined): { retry?: RetryPolicy | false } {
  if (!retry) return retry === undefined ? {} : { retry }
  const { backoff, categories } = retry
  return { retry: Object.freeze({ ...retry, ...(backoff && { backoff: Object.freeze({ ...backoff }) }), ...(categories && { categories: Object.freeze([...categories]) }) }) }
}

/** What a tool's policy takes from its run. */
export interface ToolDefaults {
  readonly retry?: ResolvedRetry | undefined
  readonly timeoutMs?: number | undefined
  readonly idleTimeoutMs?: number | undefined
  readonly afterError?: ToolPolicy['afterError'] | undefined
}

/**
 * A copy of a tool's policy, checked and frozen. `hints` stand where it says nothing.
 *
 * @throws HoldfastError `INVALID_POLICY` with the path: a wrong value, an unknown key, or settings that contradict each other.
 */
export function fixToolPolicy(policy: ToolPolicy<never, unknown> = {}, path = 'tool', hints: Pick<ToolPolicy, 'idempotent' | 'readOnly'> = {}): ToolPolicy<never, unknown> {
  checkObject(policy, path, TOOL)
  const said = given(policy)
  const { reconcile, afterError, effectKey, approval } = policy
  const fixed = Object.freeze({
    ...(said.idempotent === false ? {} : hints),
    ...said,
    ...fixedRetry(said.retry),
    // Bound, so that a policy may be an object with methods.
    ...(reconcile && { reconcile: reconcile.bind(policy) }),
    ...(afterError && { afterError: afterError.bind(policy) }),
    ...(effectKey && { effectKey: effectKey.bind(policy) }),
    ...(typeof approval === 'object' && { approval: Object.freeze({ ...given(approval), ...(approval.when && { when: approval.when.bind(approval) }) }) }),
  })
  resolveToolPolicy(fixed, path)
  return fixed
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
  const { reconcile, afterError, effectKey, approval } = policy as ToolPolicy
  return Object.freeze({
    idempotent,
    readOnly,
    composite,
    // A composite tool may wait for a person inside: its steps have limits of their own.
    timeoutMs: limited(policy.timeoutMs ?? (composite ? undefined : defaults.timeoutMs)),
    idleTimeoutMs: limited(policy.idleTimeoutMs ?? (composite ? undefined : defaults.idleTimeoutMs)),
    retry: idempotent ? resolveRetry(policy.retry, `${path}.retry`, defaults.retry) : oneTry(defaults.retry ?? DEFAULT_RETRY),
    onIncompleteTool: policy.onIncompleteTool ?? (reconcile && 'reconcile'),
    reconcile: reconcile?.bind(policy),
    afterError: afterError?.bind(policy) ?? defaults.afterError,
    effectKey: effectKey?.bind(policy),
    allowRepeat: policy.allowRepeat ?? false,
    settleAfterMs: policy.settleAfterMs,
    approval: approval ? resolveApproval(approval) : undefined,
  })
}

const resolveApproval = (approval: true | ApprovalPolicy): ResolvedApproval =>
  approval === true ? { when: undefined, expiresAfterMs: undefined } : { when: approval.when?.bind(approval), expiresAfterMs: limited(approval.expiresAfterMs) }

const limited = (ms: number | undefined): number | undefined => (ms === Infinity ? undefined : ms)

function contradictionIn(policy: ToolPolicy<never, unknown> & { idempotent: boolean }): { what: string; advice: string } | undefined {
  const { idempotent, readOnly, composite, retry, onIncompleteTool, reconcile, afterError } = policy
  if (readOnly && !idempotent) return { what: 'idempotent is false, but readOnly is true', advice: 'A tool that changes nothing may be repeated' }
  if (retry && !idempotent) {
    return { what: 'retry is given, but the tool is not idempotent', advice: 'Set idempotent or readOnly if it may run twice, or leave retry out' }
  }
  if (onIncompleteTool === 'reconcile' && !reconcile) {
    return { what: "onIncompleteTool is 'reconcile', but there is no function reconcile", advice: 'Add reconcile, or choose refuse, rerun or skip' }
  }
  if (composite && (onIncompleteTool ?? reconcile ?? afterError)) {
    return { what: 'composite is true: such a call is never in doubt itself', advice: 'Leave onIncompleteTool, reconcile and afterError to the tools inside' }
  }
  return undefined
}

/**
 * Checks that a table of policies is one, of tools that exist.
 *
 * @throws HoldfastError `UNKNOWN_TOOL` for a policy without its tool, naming the nearest tools; `INVALID_POLICY` for what is no table.
 */
export function checkToolNames(policies: Readonly<Record<string, unknown>>, toolNames: readonly string[], path = 'tools'): void {
  if (typeof policies !== 'object' || policies === null) throw new HoldfastError('INVALID_POLICY', `${path} must be an object`)
  for (const name of Object.keys(policies)) {
    if (toolNames.includes(name)) continue
    const near = nearestNames(name, toolNames)
    const advice = near.length > 0 ? `Is ${near.join(' or ')} meant?` : `The tools are ${toolNames.join(', ') || 'none'}`
    throw new HoldfastError('UNKNOWN_TOOL', `${path}.${name} is a policy for a tool that does not exist`, { advice })
  }
}

/** The object without keys whose value is undefined: they count as left out. */
function given<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T
}
