/** Recorded conversations as runs: what the user says, what the model answers, what each tool call gave. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JSONSchema7 } from '@ai-sdk/provider'
import { mergeToolCalls, parseConversation } from '../../src/testing/index.ts'
import type { Conversation, ScriptMessage, ScriptToolCall } from '../../src/testing/index.ts'

/** A tool as `tools.json` describes it. */
export interface ToolSchema {
  readonly function: { readonly name: string; readonly description?: string; readonly parameters: JSONSchema7 }
}

/** What the agent of a folder is: its policy text and its tools. */
export interface AgentSetup {
  readonly system: string
  readonly tools: readonly ToolSchema[]
}

/** A tool call of a recording, with its place: the call ids of one conversation may repeat. */
export interface RecordedCall {
  /** Counted from 0 over the whole conversation. */
  readonly position: number
  /** Which of the model's answers asks for it, from 0. */
  readonly answer: number
  readonly callId: string
  readonly tool: string
  /** The arguments, parsed. */
  readonly input: unknown
  readonly result: string
  readonly changesState: boolean
}

export interface Recording {
  readonly id: string
  readonly conversation: Conversation
  /** The user's turns, in order: the input of the run. */
  readonly turns: readonly string[]
  /** How often the model answers. */
  readonly answers: number
  readonly calls: readonly RecordedCall[]
}

/** Tools that only read, by their name. Any other tool is taken for one that changes something, which is the safe side. */
const READS = /^(get|search|list|find|think|calculate)(_|$)/

export const changesState = (tool: string): boolean => !READS.test(tool)

export function loadSetup(dir: string): AgentSetup {
  return {
    system: readFileSync(join(dir, 'system.txt'), 'utf8'),
    tools: JSON.parse(readFileSync(join(dir, 'tools.json'), 'utf8')) as ToolSchema[],
  }
}

export function loadConversations(dir: string): Conversation[] {
  const files = readdirSync(dir).filter((name) => name.endsWith('.json') && name !== 'tools.json').sort()
  return files.map((name) => parseConversation(JSON.parse(readFileSync(join(dir, name), 'utf8')), name))
}

export function recordingOf(conversation: Conversation): Recording {
  const { id, messages } = conversation
  const calls: RecordedCall[] = []
  let answer = -1
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    answer++
    const results = resultsAfter(messages, index)
    for (const call of message.tool_calls ?? []) {
      const result = results.find((r) => r.role === 'tool' && r.tool_call_id === call.id)
      if (result?.role !== 'tool' || typeof result.content !== 'string') throw new Error(`${id}: call ${call.id} of messages[${index}] has no result as text`)
      calls.push({ position: calls.length, answer, result: result.content, ...callOf(call) })
    }
  }
  const turns = messages.flatMap((message) => (message.role === 'user' && typeof message.content === 'string' ? [message.content] : []))
  return { id, conversation, turns, answers: answer + 1, calls }
}

function callOf({ id, function: { name, arguments: text } }: ScriptToolCall): Pick<RecordedCall, 'callId' | 'tool' | 'input' | 'changesState'> {
  return { callId: id, tool: name, input: JSON.parse(text) as unknown, changesState: changesState(name) }
}

function resultsAfter(messages: readonly ScriptMessage[], index: number): readonly ScriptMessage[] {
  const end = messages.findIndex((message, i) => i > index && message.role !== 'tool')
  return messages.slice(index + 1, end === -1 ? messages.length : end)
}

/** Neighbouring reads as parallel calls of one response; with `effects`, neighbouring calls of any kind. */
export function merged(conversation: Conversation, effects: boolean): Conversation {
  if (effects) return mergeToolCalls(conversation)
  const messages: ScriptMessage[] = []
  let segment: ScriptMessage[] = []
  const flush = (): void => {
    messages.push(...mergeToolCalls({ id: conversation.id, messages: segment }).messages)
    segment = []
  }
  let alone = false
  for (const message of conversation.messages) {
    if (message.role === 'assistant') {
      const hasEffect = (message.tool_calls ?? []).some((call) => changesState(call.function.name))
      if (alone || hasEffect) flush()
      alone = hasEffect
    }
    segment.push(message)
  }
  flush()
  return { id: conversation.id, messages }
}
