/** A model that answers at once, and keeps nothing of what it was asked. */
import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider'

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } }

interface Answer {
  readonly content: LanguageModelV4Content[]
  readonly finishReason: LanguageModelV4FinishReason
}

/** `answer` is given the number of the request, from 0: a text, or the input of a call of the tool `look`. */
export function benchModel(answer: (request: number) => string | object): LanguageModelV4 {
  let requests = 0
  const next = (): Answer => {
    const request = requests++
    const given = answer(request)
    return typeof given === 'string'
      ? { content: [{ type: 'text', text: given }], finishReason: { unified: 'stop', raw: undefined } }
      : { content: [{ type: 'tool-call', toolCallId: `call-${request}`, toolName: 'look', input: JSON.stringify(given) }], finishReason: { unified: 'tool-calls', raw: undefined } }
  }
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'model',
    supportedUrls: {},
    doGenerate: async () => ({ ...next(), usage, warnings: [] }),
    async doStream() {
      const { content, finishReason } = next()
      const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }, ...content.flatMap(streamed), { type: 'finish', finishReason, usage }]
      return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> }
    },
  }
}

function streamed(part: LanguageModelV4Content): LanguageModelV4StreamPart[] {
  if (part.type === 'tool-call') return [part]
  if (part.type !== 'text') return []
  return [{ type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: part.text }, { type: 'text-end', id: '0' }]
}
