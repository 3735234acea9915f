/** The ways in which a stream's text is read, all at once. Each gives what its reader got by the end, and throws when it is told of an error. */
import { jsonSchema, streamText, tool } from 'ai'
import type { LanguageModel, ToolSet } from 'ai'

/** What came of a response: its text, and the calls it asks for. */
export interface Got {
  readonly text: string
  readonly calls: readonly string[]
}

const anything: ToolSet[string] = tool({ inputSchema: jsonSchema<Record<string, unknown>>({ type: 'object', properties: {} }) })
// Whatever a recording calls is there, and nothing runs it: the loop ends with the response.
const tools = Object.fromEntries(['weather', 'parallel', 'webSearchTool', 'updateIssueList', 'read_file'].map((name) => [name, anything]))

const ask = (model: LanguageModel) => streamText({ model, tools, prompt: 'hi', maxRetries: 3, onError: () => {} })
type Result = ReturnType<typeof ask>

const called = (call: { readonly toolName: string; readonly input: unknown }): string => `${call.toolName} ${JSON.stringify(call.input)}`

const WAYS: Readonly<Record<string, (result: Result) => Promise<Got>>> = {
  text: async (result) => ({ text: await result.text, calls: (await result.toolCalls).map(called) }),
  async textStream(result) {
    let text = ''
    for await (const delta of result.textStream) text += delta
    return { text, calls: (await result.toolCalls).map(called) }
  },
  async fullStream(result) {
    let text = ''
    const calls: string[] = []
    let finished = false
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') text += part.text
      if (part.type === 'tool-call') calls.push(called(part))
      if (part.type === 'error') throw part.error
      if (part.type === 'finish') finished = true
    }
    if (!finished) throw new Error('ended without a finish')
    return { text, calls }
  },
  async toUIMessageStream(result) {
    let text = ''
    const calls: string[] = []
    let finished = false
    for await (const chunk of result.toUIMessageStream({ onError: String })) {
      if (chunk.type === 'text-delta') text += chunk.delta
      if (chunk.type === 'tool-input-available') calls.push(called(chunk))
      if (chunk.type === 'error') throw new Error(chunk.errorText)
      if (chunk.type === 'finish') finished = true
    }
    if (!finished) throw new Error('ended without a finish')
    return { text, calls }
  },
}

/** Reads one response in all ways. `onEnd` hears of each reader that came to an end without an error; throws where one was told of an error. */
export async function readInAllWays(model: LanguageModel, onEnd: (way: string, got: Got) => void): Promise<Got> {
  const result = ask(model)
  const readers = Object.entries(WAYS).map(async ([way, read]) => {
    const got = await read(result)
    onEnd(way, got)
    return got
  })
  await Promise.allSettled(readers)
  return (await Promise.all(readers))[0]!
}
