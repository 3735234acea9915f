/** Loops that ask the model and run its tools: by hand, and through the AI SDK. */
import type {
  LanguageModelV4, LanguageModelV4FunctionTool, LanguageModelV4Prompt, LanguageModelV4ToolCallPart, LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import { asSchema, generateText, stepCountIs, streamText, type ToolSet } from 'ai'
import { describeError } from './claim.ts'
import type { Place } from './place.ts'
import type { Via } from './program.ts'

const MAX_TURNS = 12

interface Loop {
  readonly system: string
  readonly script: string
  readonly model: LanguageModelV4
  readonly tools: ToolSet
}

export function runLoop(via: Via, loop: Loop): Promise<string> {
  switch (via) {
    case 'hand': return byHand(loop, ask)
    case 'hand-stream': return byHand(loop, askStreaming)
    case 'generateText': return generated(loop)
    case 'streamText': return streamed(loop)
  }
}

export const systemOf = ({ session }: Place, reader: string): string => `You are ${reader}. Version ${session.disturbance.version ?? 0}.`

async function generated({ model, tools, system, script }: Loop): Promise<string> {
  return (await generateText({ model, tools, system, prompt: script, stopWhen: stepCountIs(MAX_TURNS) })).text
}

async function streamed({ model, tools, system, script }: Loop): Promise<string> {
  return streamText({ model, tools, system, prompt: script, stopWhen: stepCountIs(MAX_TURNS), onError: () => {} }).text
}

interface Call {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: string
}

interface Response {
  readonly text: string
  readonly calls: readonly Call[]
}

async function byHand({ model, tools, system, script }: Loop, request: typeof ask): Promise<string> {
  const offered = Object.entries(tools).map(([name, tool]): LanguageModelV4FunctionTool => ({
    type: 'function',
    name,
    description: (tool as { description: string }).description,
    inputSchema: asSchema(tool.inputSchema).jsonSchema as LanguageModelV4FunctionTool['inputSchema'],
  }))
  // One array that grows, as people write it.
  const prompt: LanguageModelV4Prompt = [{ role: 'system', content: system }, { role: 'user', content: [{ type: 'text', text: script }] }]
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const { text, calls } = await request(model, prompt, offered)
    if (calls.length === 0) return text
    prompt.push({
      role: 'assistant',
      content: [{ type: 'text', text }, ...calls.map(partOf)],
    })
    prompt.push({ role: 'tool', content: await Promise.all(calls.map((call) => runCall(tools, call))) })
  }
  return 'too many turns'
}

const partOf = ({ toolCallId, toolName, input }: Call): LanguageModelV4ToolCallPart =>
  ({ type: 'tool-call', toolCallId, toolName, input: JSON.parse(input) as unknown })

async function runCall(tools: ToolSet, { toolCallId, toolName, input }: Call): Promise<LanguageModelV4ToolResultPart> {
  const execute = tools[toolName]!.execute as unknown as (input: unknown, options: object) => Promise<unknown>
  try {
    const value = await execute(JSON.parse(input), { toolCallId, messages: [] })
    return { type: 'tool-result', toolCallId, toolName, output: { type: 'json', value: value as never } }
  } catch (error) {
    return { type: 'tool-result', toolCallId, toolName, output: { type: 'error-text', value: describeError(error) } }
  }
}

async function ask(model: LanguageModelV4, prompt: LanguageModelV4Prompt, tools: LanguageModelV4FunctionTool[]): Promise<Response> {
  const { content } = await model.doGenerate({ prompt, tools })
  return {
    text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    calls: content.flatMap((part) => (part.type === 'tool-call' ? [part] : [])),
  }
}

async function askStreaming(model: LanguageModelV4, prompt: LanguageModelV4Prompt, tools: LanguageModelV4FunctionTool[]): Promise<Response> {
  const { stream } = await model.doStream({ prompt, tools })
  let text = ''
  const calls: Call[] = []
  for await (const part of stream) {
    if (part.type === 'text-delta') text += part.delta
    else if (part.type === 'tool-call') calls.push(part)
  }
  return { text, calls }
}
