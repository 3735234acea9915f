/** The AI SDK's tools as steps of a run. */
import type { InferToolInput, InferToolOutput, Tool, ToolExecutionOptions } from 'ai'
import { anyOf } from '../core/abort.ts'
import { hash } from '../core/hash.ts'
import { shown } from '../core/shown.ts'
import { HoldfastError } from '../errors.ts'
import { decode } from '../journal/codec.ts'
import { copyOf } from '../journal/copy.ts'
import { fingerprint } from '../journal/fingerprint.ts'
import { TEXT_BYTES, textWithin } from '../journal/given-text.ts'
import type { Secrets } from '../journal/secrets.ts'
import { checkObject, oneOf } from '../reliability/check.ts'
import { checkToolNames, fixToolPolicy, resolveToolPolicy, type ResolvedToolPolicy, type ToolPolicy } from '../reliability/index.ts'
import { currentContext, isDriving, lineIn } from '../run/current.ts'
import type { Drive } from '../run/drive.ts'
import type { StepContext, StepSpec } from '../run/step.ts'
import { parsedInput } from './parsed-input.ts'
import { isPart, watched } from './recorded-input.ts'
import { drain, isAsyncGenerator, isAsyncIterable, Preliminary } from './iterator.ts'
import { DURABLE, type Locate } from './model.ts'
import { approvalAsAsked, type NeedsApproval } from './needs-approval.ts'
import { outside, type OutsidePolicy } from './outside.ts'

/** Tools by name. Wider than the AI SDK's `ToolSet`, so that every set that is one can be passed on as it is. */
export type Tools = Readonly<Record<string, object>>

/** A policy for each tool that has one; `reconcile` and `effectKey` are given the tool's own input. */
export type ToolPolicies<TOOLS> = { readonly [NAME in keyof TOOLS]?: PolicyOf<TOOLS[NAME]> }

type PolicyOf<TOOL> = TOOL extends Tool ? ToolPolicy<InferToolInput<TOOL>, InferToolOutput<TOOL>> : ToolPolicy<never, unknown>

export interface DurableToolsOptions extends OutsidePolicy {
  /**
   * What MCP servers say of their tools (`readOnlyHint`, `idempotentHint`, which the AI SDK's client keeps on `metadata.annotations`): `ignore`
   * (default), for a server may say anything; `trust` takes it where a tool's policy says nothing about it.
   */
  readonly mcpAnnotations?: 'ignore' | 'trust'
}

type ClaimedEffect = NonNullable<StepSpec['claim']['former']>

type Execute = (input: unknown, options: ToolExecutionOptions<unknown>) => unknown

/**
 * Tools whose `execute` is a step, and whose `needsApproval` says on replay what it said. Everything else of a tool stays as it is, by property descriptors: AI SDK's code mode
 * hangs what it needs on a property that a spread would lose.
 *
 * @throws HoldfastError `UNKNOWN_TOOL`, `INVALID_POLICY`.
 */
export function wrapTools<TOOLS extends Tools>(tools: TOOLS, policies: ToolPolicies<TOOLS>, locate: Locate, options: DurableToolsOptions = {}): TOOLS {
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools)) {
    throw new HoldfastError('INVALID_OPTIONS', `durable tools must be an object of tools by name, got ${Array.isArray(tools) ? 'an array' : tools === null ? 'null' : typeof tools}`, { advice: NAMED })
  }
  checkToolNames(policies, Object.keys(tools))
  checkOptions(options)
  const wrapped = Object.entries(tools).map(([name, tool]) => {
    if (typeof tool !== 'object' || tool === null) throw new HoldfastError('INVALID_OPTIONS', `tools.${name} must be a tool, got ${shown(tool)}`, { advice: NAMED })
    const { execute, needsApproval } = tool as { execute?: Execute; needsApproval?: unknown }
    if (typeof execute !== 'function') return [name, tool]
    if (Reflect.get(execute, DURABLE) === true) {
      if (Object.hasOwn(policies, name)) throw new HoldfastError('INVALID_POLICY', `tools.${name} is durable already: its policy stands where it was made so`)
      return [name, tool]
    }
    // Without the runner's defaults, to find what contradicts itself before anything runs.
    // Tools may be called like what every object has.
    const given = Object.hasOwn(policies, name) ? (policies[name] as ToolPolicy<never, unknown> | undefined) : undefined
    const policy = fixToolPolicy(given, `tools.${name}`, options.mcpAnnotations === 'trust' ? hintsOf(tool) : {})
    const copy = Object.create(Object.getPrototypeOf(tool), Object.getOwnPropertyDescriptors(tool)) as object
    const durable = Object.assign(wrapExecute(name, tool, execute, policy, locate, options), { [DURABLE]: true })
    const changed = { execute: durable, ...(typeof needsApproval === 'function' && { needsApproval: approvalAsAsked(name, tool, needsApproval as NeedsApproval, locate) }) }
    for (const [key, value] of Object.entries(changed)) Object.defineProperty(copy, key, { value, writable: true, enumerable: true, configurable: true })
    return [name, copy]
  })
  return Object.fromEntries(wrapped) as TOOLS
}

/** What to pass in place of what are no tools. */
const NAMED = 'Pass them as generateText takes them: { search: tool({ ... }), refund: tool({ ... }) }'

const checkOptions = (options: DurableToolsOptions): void =>
  checkObject(options, 'options', { outside: oneOf(['plain', 'refuse']), mcpAnnotations: oneOf(['ignore', 'trust']) })

/** What an MCP server says of a tool. */
function hintsOf(tool: object): Pick<ToolPolicy, 'idempotent' | 'readOnly'> {
  const { annotations } = Object((tool as { metadata?: unknown }).metadata) as { annotations?: { readOnlyHint?: unknown; idempotentHint?: unknown } }
  return { ...(annotations?.readOnlyHint === true && { readOnly: true }), ...(annotations?.idempotentHint === true && { idempotent: true }) }
}

function wrapExecute(name: string, tool: object, execute: Execute, policy: ToolPolicy<never, unknown>, locate: Locate, options: OutsidePolicy): Execute {
  return (asked, call) => {
    const at = locate()
    if (!at) {
      if (policy.approval) return withoutApproval(name, policy, asked, () => execute.call(tool, asked, call))
      outside(`tool "${name}"`, options, isDriving())
      return execute.call(tool, asked, call)
    }
    // Those that are asked with stand in the loop's own messages as well.
    const input = copyOf(asked)
    if (typeof call?.toolCallId !== 'string') return Promise.reject(withoutCallId(name))
    const { retry, timeouts, afterError } = at.drive.attempt.policies
    const resolved = resolveToolPolicy(policy, `tools.${name}`, { retry, timeoutMs: timeouts.toolMs, idleTimeoutMs: timeouts.toolIdleMs, afterError })
    // Preliminary results reach the AI SDK only through an iterable that is returned at once.
    const preliminary = isAsyncGenerator(execute) ? new Preliminary() : undefined
    const work = (given: unknown) => async (context: StepContext): Promise<unknown> => {
      const { abortSignal } = call
      const signal = anyOf(context.signal, abortSignal)
      const output = await execute.call(tool, copyOf(given), { ...call, abortSignal: signal })
      return isAsyncIterable(output) ? drain(output, lineIn(currentContext()!), (value) => preliminary?.push(value)) : output
    }
    const spec = toolSpec(at, name, resolved, input, call, work(input))
    const done = at.drive.perform({ ...spec, approval: resolved.approval, withInput })

    async function withInput(changed: unknown): Promise<StepSpec> {
      const given = await parsedInput(tool, changed, input)
      const approved = toolSpec(at!, name, resolved, given, call, work(given))
      const { claim: { content, fingerprint: print, effect, ...claim } } = approved
      const called = print ?? ''
      return { ...approved, claim: { ...claim, fingerprint: spec.claim.fingerprint, content: content ?? called, ...(effect && { effect: { ...effect, called } }) } }
    }
    return preliminary ? preliminary.followedBy(done) : done
  }
}

/** Nobody can be asked: what needs approval is not called. */
async function withoutApproval(name: string, { approval }: ToolPolicy<never, unknown>, input: unknown, call: () => unknown): Promise<unknown> {
  if (typeof approval === 'object' && approval.when && (await approval.when(input as never)) === false) return call()
  throw new HoldfastError('OUTSIDE_RUN', `tool "${name}" needs approval, and it was called outside of a run, where nobody can be asked`, { advice: 'Call it in a run of a runner that has a store' })
}

/** A call is known by its id. */
const withoutCallId = (name: string): HoldfastError =>
  new HoldfastError('INVALID_OPTIONS', `tool "${name}" was called without the id of its call`, {
    advice: 'Call it as execute(input, { toolCallId, messages }), with the id that the model gave the call; what no model asks for is run.step(name, fn)',
  })

/**
 * The approval that a call was given in the messages: such calls execute before any model request, when the messages end with the answers
 * to approvals (`collectToolApprovals` of `ai`), and no response of this run asked for them.
 */
function approvalOf({ messages, toolCallId }: ToolExecutionOptions<unknown>): { approvalId?: string } {
  const last = messages?.at(-1)
  if (last?.role !== 'tool' || !last.content.some((part) => part.type === 'tool-approval-response')) return {}
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const part of content) if (part.type === 'tool-approval-request' && part.toolCallId === toolCallId) return { approvalId: part.approvalId }
  }
  return {}
}

function toolSpec(
  { drive, branch }: { drive: Drive; branch: string },
  name: string,
  policy: ResolvedToolPolicy,
  input: unknown,
  call: ToolExecutionOptions<unknown>,
  work: (context: StepContext) => Promise<unknown>,
): StepSpec {
  const { onIncompleteTool, maxResultBytes } = drive.attempt.policies
  const onIncomplete = policy.onIncompleteTool ?? (onIncompleteTool === 'reconcile' && !policy.reconcile ? 'refuse' : onIncompleteTool)
  const hasEffects = !policy.idempotent && !policy.composite
  const effectKey = effectKeyOf(name, policy, copyOf(input), drive.attempt.secrets)
  const effect = (rule: Omit<ClaimedEffect['policy'], 'allowRepeat' | 'keyed'>): ClaimedEffect => ({
    name, key: effectKey ?? '', policy: { ...rule, allowRepeat: policy.allowRepeat, keyed: effectKey !== undefined },
    ...(policy.effectKey && { keysNow: keysNow(name, policy, input, drive.attempt.secrets) }),
  })
  return {
    claim: {
      branch,
      kind: 'tool',
      name,
      place: { type: 'call', callId: call.toolCallId, ...approvalOf(call), ...(policy.idempotent && { mayRepeat: true }) },
      fingerprint: fingerprint(input, drive.attempt.secrets) ?? printOfAsked(drive, branch, name, call.toolCallId, input),
      hasInput: true,
      ...(effectKey !== undefined && { content: effectKey }),
      ...(hasEffects && { effect: effect({ onIncomplete }) }),
      ...(policy.composite && { former: effect({ onIncomplete }) }),
      ...(policy.idempotent && !policy.readOnly && { former: effect({ onIncomplete: 'rerun', repeatable: true }) }),
    },
    label: `tool "${name}"`,
    input,
    hasInside: true,
    retry: policy.retry,
    timeoutMs: policy.timeoutMs,
    idleTimeoutMs: policy.idleTimeoutMs,
    maxBytes: maxResultBytes,
    signal: call.abortSignal,
    work,
    reconcile: policy.reconcile,
    afterError: policy.afterError,
    settleAfterMs: policy.settleAfterMs,
  }
}

/**
 * Of arguments that a schema turned into something without a fingerprint: what the model asked with. Two calls are not the same because
 * both have none, so of a call that no response asks for, it is what JSON says of it.
 */
function printOfAsked({ machine, attempt: { secrets } }: Drive, branch: string, name: string, callId: string, input: unknown): string {
  const hide = (text: string): string => secrets?.hide(text) ?? text
  return machine.branchAt(branch)?.askedWith(hide(callId), hide(name)) ?? hash('no fingerprint', hide(jsonOf(input)))
}

function jsonOf(input: unknown): string {
  try {
    return JSON.stringify(input) ?? typeof input
  } catch {
    return typeof input
  }
}

/** The keys that earlier calls would have now, of their recorded arguments. Those may be of another form, or lack what a schema adds today. */
function keysNow(name: string, policy: ResolvedToolPolicy, input: unknown, secrets: Secrets | undefined): NonNullable<ClaimedEffect['keysNow']> {
  const keyOf = (former: unknown): string | undefined => {
    try {
      const key = effectKeyOf(name, policy, former, secrets)
      return key === undefined ? undefined : (secrets?.hide(key) ?? key)
    } catch {
      return undefined
    }
  }
  return {
    by: policy.effectKey!,
    of: (encoded) => {
      if (!encoded) return undefined
      const [former, lacks] = watched(decode(encoded))
      const key = keyOf(former)
      return lacks() ? undefined : key
    },
    // Keys that are made as they were tell two calls apart, unless all that the earlier one says is said again.
    mayBe: (encoded, key) => !encoded || keyOf(decode(encoded)) !== key || isPart(decode(encoded), input),
  }
}

/** A key that is missing would make all calls one effect. @throws HoldfastError `INVALID_POLICY`, `VALUE_TOO_LARGE`; what `effectKey` throws. */
function effectKeyOf(name: string, { effectKey }: ResolvedToolPolicy, input: unknown, secrets: Secrets | undefined): string | undefined {
  if (!effectKey) return undefined
  const key: unknown = effectKey(input)
  if (typeof key === 'string' && key !== '') return textWithin(`tools.${name}.effectKey`, key, TEXT_BYTES, secrets)
  throw new HoldfastError('INVALID_POLICY', `tools.${name}.effectKey must return a text that is not empty, got ${key === '' ? 'an empty one' : key === null ? 'null' : typeof key}`, {
    advice: 'Make it of what the call is about, such as ({ order }) => String(order)',
  })
}
