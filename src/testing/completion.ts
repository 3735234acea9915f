/** Answers as OpenAI chat completions: the body of a plain one, the chunks of a streamed one. All of it follows from the script. */
import { hash } from '../core/hash.ts'
import type { AssistantMessage, MessageContent, ScriptMessage, ScriptToolCall, ScriptUsage } from './conversation.ts'
import { pieces } from './pieces.ts'

/** What an answer is made of. */
export interface CompletionSource {
  readonly conversation: string
  readonly turn: number
  readonly model: string
  /** The request's messages: their length makes the default usage. */
  readonly request: readonly ScriptMessage[]
  readonly message: AssistantMessage
}

/** An answer that can be sent either way. */
export interface Completion {
  /** The body where no stream was asked for. */
  readonly body: object
  /** The stream's chunks with content. The first one carries the role. */
  readonly deltas: readonly object[]
  readonly finish: object
  /** Sent after `finish` when the request has `stream_options.include_usage`. */
  readonly usage: object
}

/** Characters of a text delta; of arguments at most this, and at least two deltas. */
const DELTA_LENGTH = 16

/** The answers' `created`, in seconds: any fixed moment, as a repeated request gets the same answer. */
const CREATED = 1_767_225_600

export function completion(source: CompletionSource): Completion {
  const { message } = source
  const calls = message.tool_calls ?? []
  const head = { id: `chatcmpl-${hash(source.conversation, String(source.turn)).slice(0, 16)}`, created: CREATED + source.turn, model: source.model }
  const finishReason = message.finish_reason ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  const usage = tokens(source)
  const chunk = (choice: object): object => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, finish_reason: null, logprobs: null, ...choice }],
  })
  return {
    body: {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message: answered(message), finish_reason: finishReason, logprobs: null }],
      usage,
    },
    deltas: deltas(message).map((delta, index) => chunk({ delta: index === 0 ? { role: 'assistant', ...delta } : delta })),
    finish: chunk({ delta: {}, finish_reason: finishReason }),
    usage: { ...head, object: 'chat.completion.chunk', choices: [], usage },
  }
}

function answered(message: AssistantMessage): object {
  return {
    role: 'assistant',
    content: message.content === undefined ? null : message.content,
    refusal: message.refusal ?? null,
    ...(message.reasoning_content ? { reasoning_content: message.reasoning_content } : {}),
    ...(message.tool_calls?.length ? { tool_calls: message.tool_calls.map(toolCall) } : {}),
  }
}

function deltas(message: AssistantMessage): object[] {
  const all = [
    ...textPieces(message.reasoning_content).map((text) => ({ reasoning_content: text })),
    ...textPieces(plainText(message.content)).map((content) => ({ content })),
    ...textPieces(message.refusal).map((refusal) => ({ refusal })),
    ...(message.tool_calls ?? []).flatMap(callDeltas),
  ]
  return all.length > 0 ? all : [{ content: '' }]
}

function textPieces(text: string | null | undefined): string[] {
  return pieces(text ?? '', DELTA_LENGTH)
}

function callDeltas(call: ScriptToolCall, index: number): object[] {
  const { id, type, function: fn } = toolCall(call)
  const size = Math.max(1, Math.min(DELTA_LENGTH, Math.ceil(fn.arguments.length / 2)))
  return [
    { tool_calls: [{ index, id, type, function: { name: fn.name, arguments: '' } }] },
    ...pieces(fn.arguments, size).map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
  ]
}

function toolCall(call: ScriptToolCall): Required<ScriptToolCall> & { readonly type: 'function' } {
  return { id: call.id, type: 'function', function: { name: call.function.name, arguments: call.function.arguments } }
}

function plainText(content: MessageContent | null | undefined): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (typeof part['text'] === 'string' ? part['text'] : '')).join('')
}

function tokens(source: CompletionSource): ScriptUsage & { readonly total_tokens: number } {
  const { message } = source
  const usage = message.usage ?? {
    prompt_tokens: Math.ceil(JSON.stringify(source.request).length / 4),
    completion_tokens: Math.ceil(JSON.stringify([message.content, message.refusal, message.tool_calls]).length / 4),
  }
  return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens }
}
