import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, streamText, tool } from 'ai'
import type { JSONSchema7, ModelMessage, ToolSet } from 'ai'
import { afterAll, describe, expect, it } from 'vitest'
import type { Conversation, ScriptMessage, ToolMessage } from './conversation.ts'
import { mergeToolCalls } from './merge-tool-calls.ts'
import { comparableMessages } from './normalise.ts'
import { parseConversation } from './script.ts'
import { startModelServer } from './server.ts'

const folder = new URL('../../../shared/trajectories/airline/', import.meta.url)
const present = existsSync(folder)
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'))

const recordings = present
  ? readdirSync(folder).filter((name) => /^airline.*\.json$/.test(name)).map((name) => parseConversation(read(name), name))
  : []

/** Runs the agent of a recording: its user turns as input, its tools answering as recorded. Returns the whole conversation. */
async function replay(recording: Conversation, url: string, streamed: boolean): Promise<ModelMessage[]> {
  const model = createOpenAICompatible({ name: 'scripted', baseURL: url, headers: { 'x-conversation': recording.id } })('scripted')
  const results = recording.messages.filter((message) => message.role === 'tool')
  let answered = 0
  const tools: ToolSet = Object.fromEntries(toolDefinitions().map((definition) => [
    definition.name,
    tool({
      inputSchema: jsonSchema(definition.parameters),
      execute: (_input: unknown, { toolCallId }): string => contentOf(results, answered++, toolCallId),
    }),
  ]))
  const messages: ModelMessage[] = []
  for (const message of recording.messages) {
    if (message.role !== 'user') continue
    messages.push({ role: 'user', content: String(message.content) })
    // Eight of the recordings end with a tool's result: the model is not asked again after the last one.
    const endsHere = recording.messages.at(-1)?.role === 'tool'
    const options = { model, tools, messages, instructions: 'The policy.', maxRetries: 0, stopWhen: () => endsHere && answered === results.length }
    const result = streamed ? streamText(options) : await generateText(options)
    messages.push(...(await result.responseMessages))
  }
  return messages
}

interface ToolDefinition {
  readonly name: string
  readonly parameters: JSONSchema7
}

function toolDefinitions(): ToolDefinition[] {
  return (read('tools.json') as { function: ToolDefinition }[]).map((definition) => definition.function)
}

function contentOf(results: readonly ToolMessage[], index: number, id: string): string {
  const result = results[index]
  if (result?.tool_call_id !== id) throw new Error(`call ${index} is ${id}, recorded was ${result?.tool_call_id}`)
  return String(result.content)
}

/** The AI SDK's messages in OpenAI's form. */
function asScript(messages: readonly ModelMessage[]): ScriptMessage[] {
  return messages.flatMap((message): ScriptMessage[] => {
    if (message.role === 'system' || message.role === 'user') return [{ role: message.role, content: String(message.content) }]
    if (message.role === 'tool') {
      return message.content.flatMap((part) => {
        if (part.type !== 'tool-result' || part.output.type !== 'text') throw new Error(`unexpected ${JSON.stringify(part)}`)
        return [{ role: 'tool' as const, tool_call_id: part.toolCallId, content: part.output.value }]
      })
    }
    const parts = typeof message.content === 'string' ? [{ type: 'text' as const, text: message.content }] : message.content
    return [{
      role: 'assistant',
      content: parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('') || null,
      tool_calls: parts.flatMap((part) => part.type === 'tool-call'
        ? [{ id: part.toolCallId, type: 'function' as const, function: { name: part.toolName, arguments: JSON.stringify(part.input) } }]
        : []),
    }]
  })
}

describe.skipIf(!present)('the recorded conversations of ../shared/trajectories (skipped where that folder is absent)', async () => {
  const server = present ? await startModelServer({ conversations: recordings }) : undefined
  const url = server?.url ?? ''
  afterAll(async () => server?.close())

  it('are there', () => {
    expect(recordings).toHaveLength(44)
  })

  describe.each([{ streamed: true }, { streamed: false }])('streamed: $streamed', ({ streamed }) => {
    it.each(recordings.map((recording) => [recording.id, recording] as const))('%s is walked through to its end', async (_id, recording) => {
      const transcript = await replay(recording, url, streamed)
      expect(comparableMessages(asScript(transcript))).toEqual(comparableMessages(recording.messages))
    })
  })

  it('each is known by its messages alone, but for the turns that several share, which are refused', async () => {
    const ambiguous: string[] = []
    for (const recording of recordings) {
      for (const [index, message] of recording.messages.entries()) {
        if (message.role !== 'assistant') continue
        const body = JSON.stringify({ messages: recording.messages.slice(0, index) })
        const response = await fetch(`${url}/chat/completions`, { method: 'POST', body })
        const answer = (await response.json()) as { choices?: { message: ScriptMessage }[]; error?: { code: string } }
        if (answer.error?.code === 'conversation_ambiguous') ambiguous.push(`${recording.id} [${index}]`)
        else expect(comparableMessages([answer.choices![0]!.message])).toEqual(comparableMessages([message]))
      }
    }
    expect(ambiguous).toEqual([
      'airline-00-0 [1]', 'airline-00-0 [3]', 'airline-00-2 [1]', 'airline-00-2 [3]', 'airline-00-3 [1]', 'airline-28-2 [1]', 'airline-28-3 [1]',
    ])
  })
})

describe.skipIf(!present)('with neighbouring calls merged into parallel ones', async () => {
  const merged = recordings.map((recording) => mergeToolCalls(recording))
  const server = present ? await startModelServer({ conversations: merged }) : undefined
  afterAll(async () => server?.close())

  it.each([true, false])('each is walked through to its end (streamed: %s)', async (streamed) => {
    const parallel = merged.filter((script) => script.messages.some((message) => message.role === 'assistant' && (message.tool_calls?.length ?? 0) > 1))
    expect(parallel.length).toBeGreaterThan(20)
    for (const script of parallel) {
      const transcript = await replay(script, server?.url ?? '', streamed)
      expect(comparableMessages(asScript(transcript))).toEqual(comparableMessages(script.messages))
    }
  })
})
