/** A terse way to write conversations in tests. */
import type { AnyToolResult, AssistantMessage, Conversation, ScriptMessage, ScriptToolCall, ScriptUsage, ToolMessage } from './conversation.ts'
import { HoldfastError } from '../errors.ts'

/** An answer, tersely. */
export interface Answer {
  readonly text?: string
  /** The calls of one response: more than one are parallel calls. */
  readonly toolCalls?: readonly AnswerToolCall[]
  readonly refusal?: string
  readonly reasoning?: string
  readonly finishReason?: string
  readonly usage?: ScriptUsage
}

export interface AnswerToolCall {
  readonly name: string
  /** A JSON value. Default: `{}`. */
  readonly input?: unknown
  /** The arguments as text, in the place of `input`: to write some that do not parse. */
  readonly arguments?: string
  /** Default: `call_<n>`, numbered within the conversation (within the answer when made by {@link assistantMessage}). */
  readonly id?: string
}

/**
 * An assistant message from its terse form, for a `reply` function.
 *
 * @example
 * startModelServer({ reply: ({ turn }) => assistantMessage(turn === 1 ? { toolCalls: [{ name: 'search', input: { q: 'x' } }] } : 'done') })
 */
export function assistantMessage(answer: string | Answer, firstCall = 1): AssistantMessage {
  if (typeof answer === 'string') return { role: 'assistant', content: answer }
  const calls = answer.toolCalls?.map((call, index): ScriptToolCall => ({
    id: call.id ?? `call_${firstCall + index}`,
    type: 'function',
    function: { name: call.name, arguments: call.arguments ?? JSON.stringify(call.input ?? {}) },
  }))
  return {
    role: 'assistant',
    content: answer.text ?? null,
    ...(calls?.length ? { tool_calls: calls } : {}),
    ...(answer.refusal === undefined ? {} : { refusal: answer.refusal }),
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
    ...(answer.finishReason === undefined ? {} : { finish_reason: answer.finishReason }),
    ...(answer.usage === undefined ? {} : { usage: answer.usage }),
  }
}

/** A conversation in the making. Immutable: each method returns a longer one. It is a {@link Conversation} at any point. */
export class ConversationBuilder implements Conversation {
  readonly id: string
  readonly messages: readonly ScriptMessage[]

  constructor(id: string, messages: readonly ScriptMessage[]) {
    this.id = id
    this.messages = messages
  }

  user(text: string): ConversationBuilder {
    return this.#with({ role: 'user', content: text })
  }

  assistant(answer: string | Answer): ConversationBuilder {
    return this.#with(assistantMessage(answer, this.#calls().length + 1))
  }

  /**
   * What a tool answered: text as it is, other values as JSON, or `anyToolResult`.
   * It answers the first call of the last answer that has none yet.
   *
   * @throws HoldfastError `INVALID_OPTIONS` when no call is open.
   */
  tool(result: unknown): ConversationBuilder {
    const last = this.messages.findLastIndex((message) => message.role === 'assistant')
    const open = this.#calls(last)[this.messages.length - 1 - last]
    if (!open) throw new HoldfastError('INVALID_OPTIONS', `conversation ${this.id}: tool() at message ${this.messages.length} answers no tool call`)
    return this.#with({ role: 'tool', tool_call_id: open.id, content: toolContent(result) })
  }

  #calls(from = 0): readonly ScriptToolCall[] {
    return this.messages.slice(Math.max(0, from)).flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  }

  #with(message: ScriptMessage): ConversationBuilder {
    return new ConversationBuilder(this.id, [...this.messages, message])
  }
}

/**
 * Begins a conversation.
 *
 * @example
 * const refund = conversation('refund')
 *   .user('Refund order 7')
 *   .assistant({ toolCalls: [{ name: 'refund', input: { order: 7 } }] })
 *   .tool({ ok: true })
 *   .assistant('Refunded.')
 */
export function conversation(id: string): ConversationBuilder {
  return new ConversationBuilder(id, [])
}

function toolContent(result: unknown): ToolMessage['content'] {
  if (typeof result === 'string') return result
  if (isAnyToolResult(result)) return result
  return JSON.stringify(result ?? null)
}

function isAnyToolResult(value: unknown): value is AnyToolResult {
  return typeof value === 'object' && value !== null && 'any' in value && value.any === true
}
