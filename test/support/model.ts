/** A model whose answer is a function of the conversation, and that counts its requests. */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider'

export interface Call {
  readonly id: string
  readonly tool: string
  readonly input: unknown
}

export interface Answer {
  readonly text?: string
  readonly calls?: readonly Call[]
}

export interface TestModel extends LanguageModelV4 {
  readonly requests: LanguageModelV4CallOptions[]
}

const usage = {
  inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}

/** `answer` is given the request and how many assistant messages its conversation holds; it may throw. */
export function testModel(answer: (turn: number, call: LanguageModelV4CallOptions) => Answer | Promise<Answer>): TestModel {
  const requests: LanguageModelV4CallOptions[] = []
  const ask = async (call: LanguageModelV4CallOptions): Promise<{ content: LanguageModelV4Content[]; finish: 'tool-calls' | 'stop' }> => {
    requests.push(call)
    const { text, calls = [] } = await answer(call.prompt.filter((m) => m.role === 'assistant').length, call)
    const content: LanguageModelV4Content[] = [
      ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
      ...calls.map((c) => ({ type: 'tool-call' as const, toolCallId: c.id, toolName: c.tool, input: JSON.stringify(c.input) })),
    ]
    return { content, finish: calls.length > 0 ? 'tool-calls' : 'stop' }
  }
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'model',
    supportedUrls: {},
    requests,
    async doGenerate(call) {
      const { content, finish } = await ask(call)
      return { content, finishReason: { unified: finish, raw: undefined }, usage, warnings: [] }
    },
    async doStream(call) {
      const { content, finish } = await ask(call)
      const parts: LanguageModelV4StreamPart[] = [
        { type: 'stream-start', warnings: [] },
        ...content.flatMap((part, i) => streamed(part, String(i))),
        { type: 'finish', finishReason: { unified: finish, raw: undefined }, usage },
      ]
      return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> }
    },
  }
}

function streamed(part: LanguageModelV4Content, id: string): LanguageModelV4StreamPart[] {
  if (part.type === 'tool-call') return [part]
  if (part.type !== 'text') return []
  return [{ type: 'text-start', id }, ...[...part.text].map((delta) => ({ type: 'text-delta' as const, id, delta })), { type: 'text-end', id }]
}
