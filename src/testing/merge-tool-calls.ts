/** Makes parallel tool calls out of calls that were made one after the other. */
import type { AssistantMessage, Conversation, ScriptMessage } from './conversation.ts'

/**
 * A conversation in which neighbouring tool-call turns are one response with parallel calls, at most `most` in each
 * (default: any number). A turn is not merged when it has a text of its own or repeats a call id of the response.
 *
 * @example
 * startModelServer({ conversations: [mergeToolCalls(parseConversation(JSON.parse(text)))] })
 */
export function mergeToolCalls(conversation: Conversation, most = Infinity): Conversation {
  const merged: ScriptMessage[] = []
  for (const turn of turns(conversation.messages)) {
    const last = merged.findLastIndex((message) => message.role === 'assistant')
    const before = merged[last]
    const isNeighbour = last !== -1 && merged.slice(last + 1).every((message) => message.role === 'tool')
    if (before?.role === 'assistant' && isNeighbour && joins(before, turn.assistant, most)) {
      merged[last] = { ...before, tool_calls: [...(before.tool_calls ?? []), ...(turn.assistant?.tool_calls ?? [])] }
      merged.push(...turn.rest)
    } else {
      merged.push(...(turn.assistant ? [turn.assistant] : []), ...turn.rest)
    }
  }
  return { id: conversation.id, messages: merged }
}

interface Turn {
  readonly assistant: AssistantMessage | undefined
  /** What follows up to the next assistant message. */
  readonly rest: readonly ScriptMessage[]
}

function turns(messages: readonly ScriptMessage[]): Turn[] {
  const starts = [0, ...messages.flatMap((message, index) => (message.role === 'assistant' && index > 0 ? [index] : []))]
  return starts.map((start, index) => {
    const [first, ...rest] = messages.slice(start, starts[index + 1])
    return first?.role === 'assistant' ? { assistant: first, rest } : { assistant: undefined, rest: first ? [first, ...rest] : rest }
  })
}

function joins(before: AssistantMessage, turn: AssistantMessage | undefined, most: number): boolean {
  const first = before.tool_calls ?? []
  const next = turn?.tool_calls ?? []
  if (!turn || first.length === 0 || next.length === 0 || turn.content || turn.refusal) return false
  return first.length + next.length <= most && next.every((call) => first.every((other) => other.id !== call.id))
}
