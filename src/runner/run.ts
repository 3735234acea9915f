/** A run, as its handler sees it. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { wrapModel, type DurableModelOptions, type Locate } from '../ai-sdk/model.ts'
import { settleResult, type Recorded } from '../ai-sdk/result.ts'
import { wrapTools, type DurableToolsOptions, type ToolPolicies, type Tools } from '../ai-sdk/tools.ts'
import { shown } from '../core/shown.ts'
import { SILENT } from '../effects/effect.ts'
import { HoldfastError } from '../errors.ts'
import { canonical } from '../journal/canonical.ts'
import { copyOf } from '../journal/copy.ts'
import { TEXT_BYTES, textWithin } from '../journal/given-text.ts'
import { hash } from '../core/hash.ts'
import type { Secrets } from '../journal/secrets.ts'
import { nearestNames, oneTry, resolveToolPolicy, type ToolPolicy } from '../reliability/index.ts'
import { beginning, SHOWN_BYTES } from '../run/beginning.ts'
import { currentContext } from '../run/current.ts'
import type { Drive } from '../run/drive.ts'
import type { StepSpec } from '../run/step.ts'
import type { Agent } from './agent.ts'
import { inBranch } from './branch.ts'

export interface StepOptions extends Pick<ToolPolicy, 'timeoutMs' | 'idleTimeoutMs' | 'retry' | 'afterError'> {
  /** Tells apart steps of one name that run side by side, and gives the step a place of its own whatever its order. At most 64 KiB. */
  readonly key?: string | number
  /** What the step asks for: with it a recorded result is used only for the same input. Must be storable. */
  readonly input?: unknown
  /** The step may run twice with the same key: it needs no record before it starts, and may be tried again. Default false. */
  readonly idempotent?: boolean
}

export interface Run {
  readonly runId: string
  /** Which attempt this is, from 1. */
  readonly attempt: number
  /** Whether recorded results are still to be replayed. */
  readonly replaying: boolean
  /**
   * Aborts when the run is over or waits, and when the handler is driven again: pass it on to what is not a step, and to a loop whose stream is
   * handed out (`streamText({ abortSignal: run.signal })`).
   */
  readonly signal: AbortSignal
  /** The model as steps of this run; the same object where the runner has neither store nor policies. */
  model<M extends LanguageModelV4>(model: M, options?: DurableModelOptions): M
  /** The tools as steps of this run; the same object where the runner has neither store nor policies. */
  tools<TOOLS extends Tools>(tools: TOOLS, policies?: ToolPolicies<TOOLS>, options?: DurableToolsOptions): TOOLS
  /**
   * A unit of work with effects: recorded before it starts and when it has ended, never run twice silently.
   *
   * @example
   * const receipt = await run.step('charge', { input: order }, () => payments.charge(order))
   */
  step<T>(name: string, fn: () => PromiseLike<T> | T): Promise<T>
  step<T>(name: string, options: StepOptions, fn: () => PromiseLike<T> | T): Promise<T>
  /** A step without effects: what it read is recorded, so the handler sees the same when it is driven again. */
  read<T>(name: string, fn: () => PromiseLike<T> | T): Promise<T>
  read<T>(name: string, options: Omit<StepOptions, 'idempotent' | 'afterError'>, fn: () => PromiseLike<T> | T): Promise<T>
  /**
   * A line of steps of its own: what runs side by side belongs in branches.
   *
   * @example
   * await Promise.all(regions.map((region) => run.branch(region, () => review(region))))
   */
  branch<T>(key: string, fn: () => PromiseLike<T> | T): Promise<T>
  /** Runs another agent as a part of this run, with a branch and a recorded result of its own. */
  agent<INPUT, RESULT>(child: Agent<INPUT, RESULT>, input: INPUT, options?: { readonly key?: string | number }): Promise<Recorded<RESULT>>
}

/** The run of a drive; steps belong to the branch that is current where they are asked for. */
export function runOf(drive: Drive): Run {
  const { attempt } = drive
  const locate = (): NonNullable<ReturnType<Locate>> => {
    const context = currentContext()
    return { drive, branch: context?.drive === drive ? context.branch : '' }
  }
  const step = async <T>(kind: 'step' | 'read', name: string, options: StepOptions | (() => PromiseLike<T> | T), fn?: () => PromiseLike<T> | T): Promise<T> => {
    const [given, work] = typeof options === 'function' ? [{}, options] : [options, fn]
    checkStep(kind, name, given, work)
    return drive.perform(stepSpec(locate().branch, kind, name, given, work, drive)) as Promise<T>
  }
  return {
    runId: attempt.runId,
    attempt: attempt.options.number,
    get replaying() {
      return drive.machine.replaysLeft > 0
    },
    signal: drive.signal,
    model: (model, options) => wrapModel(model, locate, options),
    tools: (tools, policies = {}, options = {}) => wrapTools(tools, policies, locate, options),
    step: <T>(name: string, options: StepOptions | (() => PromiseLike<T> | T), fn?: () => PromiseLike<T> | T) => step('step', name, options, fn),
    read: <T>(name: string, options: StepOptions | (() => PromiseLike<T> | T), fn?: () => PromiseLike<T> | T) => step('read', name, options, fn),
    branch: (key, fn) => inBranch(drive, locate().branch, key, fn),
    agent: async <INPUT, RESULT>(child: Agent<INPUT, RESULT>, given: INPUT, options: { readonly key?: string | number } = {}) => {
      // What the child makes of it is not replayed where its result is.
      const input = copyOf(given)
      if (typeof child?.handler !== 'function') throw new HoldfastError('INVALID_OPTIONS', 'run.agent() takes an agent', { advice: 'Make it with defineAgent(name, handler)' })
      return drive.perform({
        ...stepSpec(locate().branch, 'agent', child.name, { input, ...options, key: options.key ?? '', idempotent: true }, async () =>
          settleResult(await child.handler(currentRun()!, copyOf(input))), drive),
        claim: {
          branch: locate().branch,
          kind: 'agent',
          name: child.name,
          place: { type: 'key', key: String(options.key ?? '') },
          fingerprint: printOf(`agent "${child.name}"`, { version: child.version, input }, attempt.secrets),
          hasInput: true,
        },
        timeoutMs: undefined,
        idleTimeoutMs: undefined,
      }) as Promise<Recorded<RESULT>>
    },
  }
}

const STEP_OPTIONS = { step: ['key', 'input', 'idempotent', 'timeoutMs', 'idleTimeoutMs', 'retry', 'afterError'], read: ['key', 'input', 'timeoutMs', 'idleTimeoutMs', 'retry'] } as const

/** @throws HoldfastError `INVALID_OPTIONS`. */
function checkStep<T>(kind: 'step' | 'read', name: string, options: StepOptions, work: (() => PromiseLike<T> | T) | undefined): asserts work is () => PromiseLike<T> | T {
  const how = `Call it as run.${kind}(name, fn) or run.${kind}(name, { key, input }, fn)`
  const invalid = (what: string, advice = how): HoldfastError => new HoldfastError('INVALID_OPTIONS', `run.${kind}(): ${what}`, { advice })
  if (typeof name !== 'string' || name === '') throw invalid(`its name must be a string that is not empty, got ${shown(name)}`)
  if (typeof options !== 'object' || options === null) throw invalid(`its options must be an object, got ${shown(options)}`)
  if (typeof work !== 'function') throw invalid(`its function is missing, got ${typeof work}`)
  const unknown = Object.keys(options).find((key) => !(STEP_OPTIONS[kind] as readonly string[]).includes(key))
  if (unknown !== undefined) {
    const [nearest] = nearestNames(unknown, STEP_OPTIONS[kind], 1)
    throw invalid(`${unknown} is not one of its options`, nearest === undefined ? `Known are ${STEP_OPTIONS[kind].join(', ')}` : `Is ${nearest} meant?`)
  }
  if (options.idempotent !== undefined && typeof options.idempotent !== 'boolean') throw invalid(`idempotent must be true or false, got ${shown(options.idempotent)}`)
  if (kind === 'step' && options.retry && options.idempotent !== true) throw invalid('retry is given, but it is not idempotent', 'Set idempotent: true if it may run twice, or leave retry out')
  if (options.key !== undefined && typeof options.key !== 'string' && typeof options.key !== 'number') throw invalid(`its key must be a string or a number, got ${typeof options.key}`)
}

function stepSpec(branch: string, kind: 'step' | 'read' | 'agent', name: string, options: StepOptions, work: () => unknown, drive: Drive): StepSpec {
  const { policies, secrets } = drive.attempt
  textWithin(`name of ${kind}`, name, TEXT_BYTES, secrets)
  if (options.key !== undefined) textWithin(`key of ${kind} "${beginning(name, SHOWN_BYTES, secrets)}"`, String(options.key), TEXT_BYTES, secrets)
  const label = `${kind} "${name}"`
  const repeatable = kind !== 'step' || options.idempotent === true
  const { key: _key, input: _input, ...given } = options
  const policy = resolveToolPolicy({ ...given, idempotent: repeatable }, `options of ${label}`, {
    retry: policies.retry, timeoutMs: policies.timeouts.toolMs, idleTimeoutMs: policies.timeouts.toolIdleMs, afterError: policies.afterError,
  })
  const onIncomplete = policies.onIncompleteTool === 'reconcile' ? 'refuse' : policies.onIncompleteTool
  const effect = { name, key: options.key === undefined ? '' : String(options.key), policy: { allowRepeat: false, keyed: false } }
  return {
    claim: {
      branch,
      kind,
      name,
      place: options.key === undefined ? { type: 'number' } : { type: 'key', key: String(options.key) },
      fingerprint: printOf(label, options.input, secrets),
      hasInput: options.input !== undefined,
      ...(!repeatable && { effect: { ...effect, policy: { onIncomplete, ...effect.policy } } }),
      ...(kind === 'step' && repeatable && { former: { ...effect, policy: { onIncomplete: 'rerun' as const, ...effect.policy, repeatable: true } } }),
    },
    label,
    input: copyOf(options.input),
    hasInside: true,
    retry: kind === 'agent' ? oneTry(policies.retry) : policy.retry,
    timeoutMs: policy.timeoutMs,
    idleTimeoutMs: policy.idleTimeoutMs,
    maxBytes: policies.maxResultBytes,
    work,
    afterError: policy.afterError,
  }
}

/** An input that has no fingerprint is refused before anything runs: the user wrote it, and can write it otherwise. */
function printOf(label: string, input: unknown, secrets: Secrets | undefined): string {
  return input === undefined ? SILENT : hash(canonical(input, `input of ${label}`, secrets))
}

/** Where the code that runs right now belongs to, for durable models and tools at module level. */
const locateCurrent: Locate = () => currentContext()

/**
 * The run that the current code belongs to; undefined outside every run.
 *
 * @example
 * await currentRun()?.branch('audit', () => audit(order))
 */
export function currentRun(): Run | undefined {
  const context = currentContext()
  return context && runOf(context.drive)
}

/**
 * A model whose requests are steps of whatever run and branch is current. Outside a run it is the plain model.
 *
 * @throws HoldfastError `INVALID_OPTIONS` when it is not a model object (a model id has to be resolved first, by a provider).
 * @example
 * const agent = new ToolLoopAgent({ model: durable(openai('gpt-6')), tools: durableTools({ search, refund }) })
 */
export function durable<M extends LanguageModelV4>(model: M, options: DurableModelOptions = {}): M {
  if (typeof model !== 'object' || model === null || typeof model.doGenerate !== 'function') {
    throw new HoldfastError('INVALID_OPTIONS', `durable() takes a language model object, got ${typeof model === 'object' && model !== null ? 'an object without doGenerate()' : shown(model)}`, {
      advice: 'Make one with a provider, such as openai("gpt-6")',
    })
  }
  if (model.specificationVersion !== 'v4') {
    throw new HoldfastError('INVALID_OPTIONS', `durable() takes models of specification v4, got ${shown(model.specificationVersion)}`, { advice: 'Use a provider package for ai 7' })
  }
  return wrapModel(model, locateCurrent, options)
}

/**
 * Tools whose calls are steps of whatever run and branch is current. Outside a run they behave as the plain tools.
 *
 * @throws HoldfastError `UNKNOWN_TOOL` for a policy without its tool, `INVALID_POLICY` for a wrong one.
 * @example
 * const tools = durableTools({ search, refund }, { search: { readOnly: true, timeoutMs: 10_000 } })
 */
export function durableTools<TOOLS extends Tools>(tools: TOOLS, policies: ToolPolicies<TOOLS> = {}, options: DurableToolsOptions = {}): TOOLS {
  return wrapTools(tools, policies, locateCurrent, options)
}
