/** A model whose streams do what a test says: parts, silence, and the ways in which a stream breaks. */
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { testModel, type TestModel } from './model.ts'

/** A part; `pause` is silence, `cut` the end without a finish, `reset` a broken connection. */
export type Piece = LanguageModelV4StreamPart | { readonly type: 'pause'; readonly until: Promise<unknown> } | { readonly type: 'cut' } | { readonly type: 'reset' }

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } }

export const textParts = (...deltas: string[]): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id: '1' }, ...deltas.map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
]

export const callParts = (id: string, toolName: string, input: unknown): LanguageModelV4StreamPart[] => [{ type: 'tool-call', toolCallId: id, toolName, input: JSON.stringify(input) }]

export const endParts: readonly LanguageModelV4StreamPart[] = [{ type: 'text-end', id: '1' }, { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage }]

export const endOfCalls: readonly LanguageModelV4StreamPart[] = [{ type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage }]

/** `pieces` is given the number of the request, from 1. A part is not queued before the one before it was read: an error would discard it. */
export function streamingModel(pieces: (request: number) => readonly Piece[]): TestModel {
  const base = testModel(() => ({}))
  return {
    ...base,
    doStream: async (call) => {
      base.requests.push(call)
      const list = [...pieces(base.requests.length)]
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          async pull(controller) {
            for (let piece = list.shift(); ; piece = list.shift()) {
              if (piece?.type === 'pause') {
                await piece.until
                continue
              }
              if (!piece || piece.type === 'cut') controller.close()
              else if (piece.type === 'reset') controller.error(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
              else controller.enqueue(piece)
              return
            }
          },
        }, { highWaterMark: 0 }),
      }
    },
  }
}
