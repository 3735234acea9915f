/** The AI SDK's language model as steps of a run. */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult, LanguageModelV4StreamResult } from '@ai-sdk/provider'
import { HoldfastError } from '../errors.ts'
import { TEXT_BYTES, textWithin } from '../journal/given-text.ts'
import { callable, oneOf } from '../reliability/check.ts'
import { fixModelPolicy, resolveRetry, type ModelPolicy, type ResolvedRetry } from '../reliability/index.ts'
import { currentContext, inContext, isDriving } from '../run/current.ts'
import type { Drive } from '../run/drive.ts'
import { messageOf } from '../run/readable.ts'
import type { StepSpec, WorkContext } from '../run/step.ts'
import { asBroken } from './broken.ts'
import { Configurations } from './configuration.ts'
import { BranchConversations, type Conversation } from './conversation.ts'
import { takeRepaired } from './orphans.ts'
import { everyLink, LinkedFiles, type DownloadFile } from './files.ts'
import { outside, type OutsidePolicy } from './outside.ts'
import { refuseNoAnswer } from './no-answer.ts'
import { describeResponse, headersOf, recordResult, responseIdOf, stampOf, toParts, toResult, type RecordedResponse } from './recording.ts'
import { PassedOn, readStream } from './stream.ts'

export interface DurableModelOptions extends OutsidePolicy, ModelPolicy {
  /**
   * Fetches the files whose links the model does not take itself, when their request is sent; they are kept with the run (up to `maxResultBytes`
   * each), so that nothing has to be fetched on resume. Default: `createDownload()` of `ai`. A loop's own `experimental_download`
   * is told that the model takes every link: pass it here. `false`: the loop fetches them, before each request and on each replay.
   */
  readonly download?: DownloadFile | false
  /**
   * Provider-executed tools (hosted search, code execution, remote MCP) that a request offers: `effects` (default) makes such a
   * request a step with effects, which is never sent twice silently; `read-only` says that they change nothing.
   */
  readonly providerTools?: 'effects' | 'read-only'
}

/** Finds the drive and branch that a call belongs to; undefined: outside every run. */
export type Locate = () => { readonly drive: Drive; readonly branch: string } | undefined

/** What a drive remembers of its requests, to compare later ones with. */
interface Requests {
  readonly configurations: Configurations
  readonly conversations: BranchConversations
  /** Ids of calls whose missing results were told of. */
  readonly repaired: Set<string>
}

const OTHERS = {
  outside: oneOf(['plain', 'refuse']),
  download: (value: unknown, path: string) => { if (value !== false) callable(value, path) },
  providerTools: oneOf(['effects', 'read-only']),
}

/** Marks what is durable already: it belongs to the run that is current, so there is nothing to add. */
export const DURABLE = Symbol.for('holdfast.durable')

const requestsOf = new WeakMap<Drive, Requests>()

export function wrapModel<M extends LanguageModelV4>(model: M, locate: Locate, given: DurableModelOptions = {}): M {
  if (Reflect.get(model, DURABLE) === true) return model
  const options = fixModelPolicy(given, 'options of durable()', OTHERS)
  const doGenerate = async (asked: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> => {
    const at = locate()
    if (!at) {
      outside(`model "${model.modelId}"`, options, isDriving())
      return model.doGenerate(asked)
    }
    const { call, conversation, files } = read(at, model, asked, options)
    const spec = modelSpec(at, model, call, options, conversation, files, async (context) => {
      warnOfRepair(at.drive, conversation)
      const request = await liveCall(call, conversation, context, files)
      const result = await Promise.resolve(asOneStep(context, () => model.doGenerate(request))).catch((error: unknown) => {
        throw asBroken(error)
      })
      refuseNoAnswer(result)
      return recordResult(result, stampOf(model, context.idempotencyKey, at.drive.attempt.clock.now()))
    })
    const { response, step } = await request(at.drive, spec)
    const result = toResult(response)
    at.drive.blame.remember(result.content, step)
    return result
  }

  // Whatever fails, the stream errors: loops take what `doStream` throws for something to retry, or lose it (FACTS, "Errors").
  const doStream = async (asked: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> => {
    const at = locate()
    if (!at) {
      outside(`model "${model.modelId}"`, options, isDriving())
      return model.doStream(asked)
    }
    const { call, conversation, files } = read(at, model, asked, options)
    const out = new PassedOn()
    const work = async (context: WorkContext): Promise<RecordedResponse> => {
      warnOfRepair(at.drive, conversation)
      const request = await liveCall(call, conversation, context, files)
      const live = await Promise.resolve(asOneStep(context, () => model.doStream(needsRaw ? { ...request, includeRawChunks: true } : request))).catch((error: unknown) => {
        throw asBroken(error)
      })
      const stamp = stampOf(model, context.idempotencyKey, at.drive.attempt.clock.now())
      return readStream(live, out, stamp, { ...context, passesRaw: call.includeRawChunks === true })
    }
    const limits = streamLimits(at.drive, options)
    // Packages make nothing of keep-alives and of chunks without text: only as raw chunks they show that something arrives.
    const needsRaw = limits.idleTimeoutMs !== undefined && limits.idleTimeoutMs !== Infinity
    const spec = { ...modelSpec(at, model, call, options, conversation, files, work), ...limits, mayRetry: () => !out.started }
    out.failOn(at.drive.left)
    request(at.drive, spec).then(
      ({ response }) => out.finish(toParts(response), headersOf(response)),
      (error: unknown) => out.fail(error),
    )
    return out.result
  }

  return new Proxy(model, {
    get(target, property) {
      if (property === DURABLE) return true
      if (property === 'doGenerate') return doGenerate
      if (property === 'doStream') return doStream
      if (property === 'supportedUrls' && options.download !== false && locate()) return everyLink(target.supportedUrls)
      // Private fields need the real object as `this`.
      const value: unknown = Reflect.get(target, property, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** What a model does to answer, its middleware among it, is one step with none inside. */
function asOneStep<T>({ step }: WorkContext, send: () => T): T {
  const current = currentContext()
  return current ? inContext({ ...current, request: step }, send) : send()
}

/** Told once an attempt, when such a request is sent: a replay has the warning in its journal. */
function warnOfRepair(drive: Drive, conversation: Conversation): void {
  const { repaired } = requestsIn(drive)
  const ids = [...takeRepaired(drive), ...conversation.repaired].join(', ')
  if (ids === '' || repaired.has(ids)) return
  repaired.add(ids)
  drive.attempt.warn('MESSAGES_REPAIRED', `the messages hold calls without a result (${ids}): each was given one, "interrupted, outcome unknown", or that it was denied`)
}

async function request(drive: Drive, spec: StepSpec): Promise<{ readonly response: RecordedResponse; readonly step: string }> {
  if (spec.claim.effect && spec.claim.fingerprint === null) throw unrecordable(spec.label)
  let step = ''
  const response = (await drive.perform({
    ...spec,
    onClaimed: (ref) => {
      step = ref.id
      spec.onClaimed?.(ref)
    },
  })) as RecordedResponse
  const id = responseIdOf(response)
  if (id !== undefined) drive.blame.rememberResponse(id, step)
  return { response, step }
}

/** It would be in doubt for ever, and be taken for any other that has none. */
const unrecordable = (label: string): HoldfastError =>
  new HoldfastError('VALUE_NOT_STORABLE', `${label} offers tools that the provider executes, and holds what has no fingerprint: what came of it could not be recorded`, {
    advice: "Leave functions, instances of classes and cycles out of its messages, tools and options, or say { providerTools: 'read-only' } of the model",
  })

/** What is asked, and how it stands to what was asked before. */
function read(
  { drive, branch }: NonNullable<ReturnType<Locate>>,
  model: LanguageModelV4,
  asked: LanguageModelV4CallOptions,
  { download }: DurableModelOptions,
): { readonly call: LanguageModelV4CallOptions; readonly conversation: Conversation; readonly files: LinkedFiles | undefined } {
  const conversation = requestsIn(drive).conversations.of(branch, (path) => drive.machine.hasEnded(path)).read(asked.prompt)
  const files = download === false || !conversation.hasLinks ? undefined : new LinkedFiles(drive.attempt, model, download)
  return { call: { ...asked }, conversation, files }
}

function modelSpec(
  { drive, branch }: NonNullable<ReturnType<Locate>>,
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions,
  options: DurableModelOptions,
  conversation: Conversation,
  files: LinkedFiles | undefined,
  work: (context: WorkContext) => Promise<RecordedResponse>,
): StepSpec {
  const { policies, secrets } = drive.attempt
  const retry = resolveRetry(options.retry, 'retry', policies.retry)
  const configuration = requestsIn(drive).configurations.read(model, call)
  const name = `${model.provider}/${model.modelId}`
  const tools = (call.tools ?? []).map((tool) => textWithin('name of a tool', tool.name, TEXT_BYTES, secrets))
  const hosted = (call.tools ?? []).some((tool) => tool.type === 'provider') && options.providerTools !== 'read-only'
  return {
    claim: {
      branch,
      kind: 'model',
      name,
      place: { type: 'number' },
      fingerprint: configuration ? conversation.fingerprint : null,
      hasInput: true,
      model: {
        config: configuration?.digest ?? '',
        parts: configuration?.parts ?? {},
        prompt: conversation.prompt,
        messages: conversation.messages,
        carriesOn: conversation.carriesOn,
        results: conversation.results,
        tools,
        ...choiceOf(call),
        onConfigChange: policies.onConfigChange,
      },
      ...(hosted && { effect: { name, key: '', policy: { onIncomplete: policies.onIncompleteTool === 'reconcile' ? 'refuse' : policies.onIncompleteTool, allowRepeat: 'known', keyed: false } } }),
    },
    label: `model request to ${name}`,
    hasInside: false,
    retry: hosted ? onlyRefused(retry) : retry,
    timeoutMs: options.timeoutMs ?? policies.timeouts.modelMs,
    signal: call.abortSignal,
    onClaimed: (ref) => conversation.claimedBy(ref.id),
    work,
    describe: (value) => ({ ...describeResponse(value as RecordedResponse, drive.attempt.secrets), ...(files && files.fetched.size > 0 && { files: [...files.fetched.values()] }) }),
    failure: (error, tries, advice) => requestFailed(name, error, tries, advice, call.abortSignal),
  }
}

/** Nothing of a request that is not streamed arrives before all of it. */
function streamLimits({ attempt }: Drive, options: DurableModelOptions): Pick<StepSpec, 'firstPartTimeoutMs' | 'idleTimeoutMs'> {
  const { modelFirstPartMs, modelIdleMs } = attempt.policies.timeouts
  return { firstPartTimeoutMs: options.firstPartTimeoutMs ?? modelFirstPartMs, idleTimeoutMs: options.idleTimeoutMs ?? modelIdleMs }
}

/** The AI SDK refuses a response that does not heed the tool choice. */
function choiceOf({ toolChoice }: LanguageModelV4CallOptions): Pick<NonNullable<StepSpec['claim']['model']>, 'toolChoice'> {
  if (!toolChoice || toolChoice.type === 'auto') return {}
  return { toolChoice: toolChoice.type === 'tool' ? { tool: toolChoice.toolName } : toolChoice.type }
}

/** What may have taken effect is not sent again by itself (R2): only where the other side refused to begin. */
const onlyRefused = (retry: ResolvedRetry): ResolvedRetry => ({ ...retry, categories: (retry.categories ?? ['rate_limit']).filter((category) => category === 'rate_limit') })

/** Layers above must not retry what was retried here: of our own error class they make one call (FACTS, "Errors"). */
function requestFailed(name: string, error: unknown, tries: number, advice: string | undefined, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason
  if (HoldfastError.isInstance(error)) return error
  const message = messageOf(error)
  return new HoldfastError('STEP_FAILED', `model request to ${name} failed after ${tries} ${tries === 1 ? 'try' : 'tries'}: ${message}`, {
    ...(advice !== undefined && { advice }),
    cause: error instanceof Error ? withoutRequest(error) : error,
  })
}

/** APICallError carries the whole request: recording it would make the record as long as the conversation (R17). */
function withoutRequest(error: Error): Error {
  if (!('requestBodyValues' in error)) return error
  const { requestBodyValues: _request, ...rest } = error
  const copy = Object.setPrototypeOf(new Error(error.message), Object.getPrototypeOf(error) as object) as Error
  return Object.assign(copy, rest, { cause: error.cause })
}

/** What is sent is what was compared, whatever became of the caller's messages meanwhile. */
async function liveCall(call: LanguageModelV4CallOptions, conversation: Conversation, context: WorkContext, files: LinkedFiles | undefined): Promise<LanguageModelV4CallOptions> {
  const request = { ...call, prompt: conversation.whole(), abortSignal: context.signal }
  return files ? files.fill(request, context.signal) : request
}

function requestsIn(drive: Drive): Requests {
  const { secrets } = drive.attempt
  let requests = requestsOf.get(drive)
  if (!requests) requestsOf.set(drive, (requests = { configurations: new Configurations(secrets), conversations: new BranchConversations(secrets), repaired: new Set() }))
  return requests
}
