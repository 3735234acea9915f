/** What of a message counts when a request is compared with a script: all but what provider packages change on the way. */
import type { AnyToolResult, MessageContent, ScriptMessage } from './conversation.ts'

/** A message in comparable form: two messages are the same when role, id and text are. */
export interface ComparableMessage {
  readonly role: string
  /** Everything that counts, as text; `undefined` is the wildcard of a tool result. */
  readonly text: string | undefined
  /** Of tool messages only. */
  readonly toolCallId?: string
}

export function comparableMessages(messages: readonly ScriptMessage[]): ComparableMessage[] {
  return messages.map(comparable)
}

/** How many system messages the conversation begins with: they belong to the agent and are not compared. */
export function leadingSystemMessages(messages: readonly ScriptMessage[]): number {
  const first = messages.findIndex((message) => message.role !== 'system' && message.role !== 'developer')
  return first === -1 ? messages.length : first
}

function comparable(message: ScriptMessage): ComparableMessage {
  switch (message.role) {
    case 'tool':
      // `name` is left out: some providers send it, some do not.
      return { role: 'tool', toolCallId: message.tool_call_id, text: isAny(message.content) ? undefined : resultText(contentText(message.content)) }
    case 'assistant': {
      // Reasoning and `finish_reason` are left out: not every client sends them back. A refusal comes back as content.
      const calls = (message.tool_calls ?? []).map((call) => `${call.id} ${call.function.name}(${argumentsText(call.function.arguments)})`)
      return { role: 'assistant', text: [contentText(message.content) + (message.refusal ?? ''), ...calls].join('\n-> ') }
    }
    default:
      return { role: message.role, text: contentText(message.content) }
  }
}

function isAny(content: MessageContent | AnyToolResult | null): content is AnyToolResult {
  return typeof content === 'object' && content !== null && 'any' in content
}

function contentText(content: MessageContent | null | undefined): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' && typeof part['text'] === 'string' ? part['text'] : canonicalJson(part))).join('')
}

/** Arguments as a JSON value. What is no object becomes `{}`, as in the AI SDK's prompt: the model's text does not come back. */
function argumentsText(text: string): string {
  const value = parse(text)
  const inner = typeof value === 'string' ? parse(value) : value
  return canonicalJson(typeof inner === 'object' && inner !== null ? inner : {})
}

/** A tool's result: JSON text as its value, a JSON string as the string itself. */
function resultText(text: string): string {
  const value = parse(text)
  if (value === undefined) return text
  return typeof value === 'string' ? value : canonicalJson(value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** JSON with sorted keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    // Pairs are defined, not assigned: an own `__proto__` is data like any other key.
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
  })
}
