/** A model response as it is recorded, and made again: whole, or as the parts of a stream with their deltas joined. */
import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4GenerateResult, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { AskedCall, StepUsage } from '../journal/entry.ts'
import { hash } from '../core/hash.ts'
import { copyOf } from '../journal/copy.ts'
import { fingerprint } from '../journal/fingerprint.ts'
import type { Secrets } from '../journal/secrets.ts'

/** What is kept of a response. The request's body and the raw response body are not: they would make every record as long as the conversation. */
export type RecordedResponse =
  | { readonly as: 'result'; readonly result: RecordedResult }
  | { readonly as: 'parts'; readonly parts: readonly LanguageModelV4StreamPart[]; readonly headers?: Readonly<Record<string, string>> }

type RecordedResult = Omit<LanguageModelV4GenerateResult, 'request'>

/** What a framework would otherwise make up anew on each run. */
export interface Stamp {
  readonly id: string
  readonly timestamp: Date
  readonly modelId: string
}

export const stampOf = (model: LanguageModelV4, idempotencyKey: string, now: number): Stamp => ({
  id: `response-${idempotencyKey.slice(3, 27)}`,
  timestamp: new Date(now),
  modelId: model.modelId,
})

export function recordResult(result: LanguageModelV4GenerateResult, stamp: Stamp): RecordedResponse {
  const { request: _request, response, ...rest } = result
  const { body: _body, ...metadata } = response ?? {}
  return { as: 'result', result: { ...rest, response: { ...metadata, ...stamped(metadata, stamp) } } }
}

/** Joins deltas, and leaves out what is no part of the answer (`raw`, `ping`). */
export class PartsRecorder {
  readonly #parts: LanguageModelV4StreamPart[] = []
  readonly #open = new Map<string, number>()
  readonly #stamp: Stamp
  #hasMetadata = false

  constructor(stamp: Stamp) {
    this.#stamp = stamp
  }

  /** Metadata of our own, where the stream has brought none before its content. */
  missingMetadata(): LanguageModelV4StreamPart[] {
    return this.#hasMetadata ? [] : [this.add({ type: 'response-metadata' })]
  }

  /** Gives the part as it is to be passed on: as a replay will give it. */
  add(part: LanguageModelV4StreamPart): LanguageModelV4StreamPart {
    switch (part.type) {
      case 'raw':
      case 'ping':
        return part
      case 'response-metadata': {
        this.#hasMetadata = true
        const whole = { ...part, ...stamped(part, this.#stamp) }
        this.#parts.push(copyOf(whole))
        return whole
      }
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-input-delta': {
        const key = `${part.type} ${part.id}`
        const at = this.#open.get(key)
        const before = at === undefined ? undefined : this.#parts[at]
        if (at !== undefined && before?.type === part.type) this.#parts[at] = { ...before, ...copyOf(part), delta: before.delta + part.delta }
        else this.#open.set(key, this.#parts.push(copyOf(part)) - 1)
        return part
      }
      // A part id may be used again after its end.
      case 'text-end':
      case 'reasoning-end':
      case 'tool-input-end':
        this.#open.delete(`${part.type.replace('-end', '-delta')} ${part.id}`)
        break
      case 'finish':
        this.missingMetadata()
        break
    }
    // Whoever reads the stream is given the part itself.
    this.#parts.push(copyOf(part))
    return part
  }

  response(headers: Record<string, string> | undefined): RecordedResponse {
    return { as: 'parts', parts: this.#parts, ...(headers && { headers }) }
  }
}

const stamped = (metadata: { id?: string; timestamp?: Date; modelId?: string }, stamp: Stamp): Stamp => ({
  id: metadata.id ?? stamp.id,
  timestamp: metadata.timestamp ?? stamp.timestamp,
  modelId: metadata.modelId ?? stamp.modelId,
})

export function responseIdOf(response: RecordedResponse): string | undefined {
  if (response.as === 'result') return response.result.response?.id
  for (const part of response.parts) if (part.type === 'response-metadata') return part.id
  return undefined
}

/** The tool calls that the caller is asked to make, and the tokens, for the journal. */
export function describeResponse(response: RecordedResponse, secrets?: Secrets): { asked: AskedCall[]; usage: StepUsage } {
  const content = response.as === 'result' ? response.result.content : response.parts
  const usage = response.as === 'result' ? response.result.usage : response.parts.find((part) => part.type === 'finish')?.usage
  const asked = (content as readonly { type: string }[]).flatMap((part) => (isCall(part) && !part.providerExecuted ? [askedCall(part, secrets)] : []))
  return { asked, usage: usageOf(usage) }
}

type Call = LanguageModelV4Content & { type: 'tool-call' }

const isCall = (part: { type: string }): part is Call => part.type === 'tool-call'

const askedCall = ({ toolCallId, toolName, input }: Call, secrets: Secrets | undefined): AskedCall =>
  ({ callId: secrets?.hide(toolCallId) ?? toolCallId, tool: secrets?.hide(toolName) ?? toolName, fingerprint: fingerprintOfText(input, secrets) })

/** Of arguments that are JSON text; text that is none is compared as it is. */
function fingerprintOfText(input: string, secrets: Secrets | undefined): string {
  try {
    return fingerprint(input.trim() === '' ? {} : JSON.parse(input), secrets) ?? hash(secrets?.hide(input) ?? input)
  } catch {
    return hash(secrets?.hide(input) ?? input)
  }
}

/** What is no number, as providers report it where they do not know, counts as not reported: the journal takes none such. */
function usageOf(usage: LanguageModelV4Usage | undefined): StepUsage {
  const [inputTokens, outputTokens] = [usage?.inputTokens?.total, usage?.outputTokens?.total]
  return { ...(Number.isFinite(inputTokens) && { inputTokens: inputTokens! }), ...(Number.isFinite(outputTokens) && { outputTokens: outputTokens! }) }
}

/** The response as `doGenerate` gives it, however it was recorded. */
export function toResult(response: RecordedResponse): LanguageModelV4GenerateResult {
  if (response.as === 'result') return response.result
  const content: LanguageModelV4Content[] = []
  const byId = new Map<string, { text: string }>()
  let result: LanguageModelV4GenerateResult = {
    content,
    finishReason: { unified: 'other', raw: undefined },
    usage: { inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }, outputTokens: { total: undefined, text: undefined, reasoning: undefined } },
    warnings: [],
  }
  for (const part of response.parts) {
    switch (part.type) {
      case 'stream-start':
        result = { ...result, warnings: part.warnings }
        break
      case 'response-metadata': {
        const { type: _type, ...metadata } = part
        result = { ...result, response: { ...metadata, ...(response.headers && { headers: response.headers }) } }
        break
      }
      case 'text-start':
      case 'reasoning-start': {
        const block = { type: part.type === 'text-start' ? ('text' as const) : ('reasoning' as const), text: '', ...metadataOf(part) }
        content.push(block)
        byId.set(`${block.type} ${part.id}`, block)
        break
      }
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end': {
        const block = byId.get(`${part.type.split('-')[0]} ${part.id}`)
        if (block) Object.assign(block, 'delta' in part ? { text: block.text + part.delta } : {}, metadataOf(part))
        break
      }
      case 'finish':
        result = { ...result, finishReason: part.finishReason, usage: part.usage, ...metadataOf(part) }
        break
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
      case 'error':
        break
      default:
        content.push(part)
    }
  }
  return result
}

const metadataOf = <M>(part: { providerMetadata?: M }): { providerMetadata?: M } =>
  part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata }

/** The response as the parts of a stream, however it was recorded. */
export function toParts(response: RecordedResponse): readonly LanguageModelV4StreamPart[] {
  if (response.as === 'parts') return response.parts
  const { result } = response
  const { id, timestamp, modelId } = result.response ?? {}
  return [
    { type: 'stream-start', warnings: result.warnings },
    { type: 'response-metadata', ...(id !== undefined && { id }), ...(timestamp && { timestamp }), ...(modelId !== undefined && { modelId }) },
    ...result.content.flatMap((part, i) => contentParts(part, String(i))),
    { type: 'finish', usage: result.usage, finishReason: result.finishReason, ...metadataOf(result) },
  ]
}

function contentParts(part: LanguageModelV4Content, id: string): LanguageModelV4StreamPart[] {
  switch (part.type) {
    case 'text':
      return [
        { type: 'text-start', id, ...metadataOf(part) },
        { type: 'text-delta', id, delta: part.text },
        { type: 'text-end', id, ...metadataOf(part), ...(part.citations && { citations: part.citations }) },
      ]
    case 'reasoning':
      return [
        { type: 'reasoning-start', id, ...metadataOf(part) },
        { type: 'reasoning-delta', id, delta: part.text },
        { type: 'reasoning-end', id, ...metadataOf(part) },
      ]
    case 'tool-call':
      return [
        { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName },
        { type: 'tool-input-delta', id: part.toolCallId, delta: part.input },
        { type: 'tool-input-end', id: part.toolCallId },
        part,
      ]
    default:
      return [part]
  }
}

/** Response headers of a stream, for its result. */
export const headersOf = (response: RecordedResponse): Readonly<Record<string, string>> | undefined =>
  response.as === 'parts' ? response.headers : response.result.response?.headers
