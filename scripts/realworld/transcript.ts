/** A run's messages in the form of the recording, and where the two differ. */
import { isDeepStrictEqual } from 'node:util'
import type { ModelMessage } from 'ai'
import type { Conversation } from '../../src/testing/index.ts'

type ChatMessage =
  | { readonly role: string; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[] }
  | { readonly role: 'tool'; readonly callId: string; readonly content: unknown }

/** The first difference in words; undefined: they are equal. */
export function transcriptDifference(conversation: Conversation, messages: readonly ModelMessage[]): string | undefined {
  const expected = inCallOrder(conversation.messages.map(recordedMessage))
  const got = inCallOrder(messages.flatMap(runMessages))
  for (let i = 0; i < Math.max(expected.length, got.length); i++) {
    if (!isDeepStrictEqual(expected[i], got[i])) return `messages[${i}]: recorded ${shown(expected[i])}, got ${shown(got[i])}`
  }
  return undefined
}

function recordedMessage(message: Conversation['messages'][number]): ChatMessage {
  switch (message.role) {
    case 'assistant':
      return assistant(textOf(message.content), (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({ id, name, input: JSON.parse(text) as unknown })))
    case 'tool':
      return { role: 'tool', callId: message.tool_call_id, content: message.content }
    default:
      return { role: message.role, content: textOf(message.content) }
  }
}

function runMessages(message: ModelMessage): ChatMessage[] {
  if (message.role === 'tool') {
    return message.content.flatMap((part) => (part.type === 'tool-result' ? [{ role: 'tool' as const, callId: part.toolCallId, content: valueOf(part.output) }] : []))
  }
  if (message.role !== 'assistant') return [{ role: message.role, content: textOf(message.content) }]
  const parts = typeof message.content === 'string' ? [{ type: 'text' as const, text: message.content }] : message.content
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [{ id: part.toolCallId, name: part.toolName, input: part.input }] : []))
  return [assistant(text, calls)]
}

const assistant = (content: string, calls: { id: string; name: string; input: unknown }[]): ChatMessage =>
  calls.length > 0 ? { role: 'assistant', content, calls } : { role: 'assistant', content }

/** Only a text is what the world answered; anything else shows up as a difference. */
const valueOf = (output: { readonly type: string; readonly value?: unknown }): unknown => (output.type === 'text' ? output.value : output)

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return ''
  return (content as readonly { readonly text?: string }[]).map((part) => part.text ?? JSON.stringify(part)).join('')
}

/** Results of one response in the order of its calls: in which order they come does not count. */
function inCallOrder(messages: readonly ChatMessage[]): ChatMessage[] {
  const ordered: ChatMessage[] = []
  let calls: readonly string[] = []
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i]!
    if ('calls' in message) calls = message.calls.map(({ id }) => id)
    if (!('callId' in message)) {
      ordered.push(message)
      continue
    }
    const end = messages.findIndex((next, j) => j > i && !('callId' in next))
    const results = messages.slice(i, end === -1 ? messages.length : end)
    ordered.push(...results.toSorted((a, b) => ('callId' in a && 'callId' in b ? calls.indexOf(a.callId) - calls.indexOf(b.callId) : 0)))
    i += results.length - 1
  }
  return ordered
}

const shown = (message: ChatMessage | undefined): string => (message ? JSON.stringify(message).slice(0, 300) : 'nothing')
