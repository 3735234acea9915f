/** A model response that a person gives, in place of one that nobody knows (R6): what `resolve` takes as the result of a model request. */
import type { LanguageModelV4Content } from '@ai-sdk/provider'
import type { RecordedResponse, Stamp } from './recording.ts'

const TOKENS_UNKNOWN = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
}

/** From a text, or from `{ content }` with the parts of the AI SDK's language model; undefined: it is neither. */
export function givenResponse(value: unknown, stamp: Stamp): RecordedResponse | undefined {
  const content = typeof value === 'string' ? [{ type: 'text' as const, text: value }] : contentOf(value)
  if (!content) return undefined
  const finish = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'
  return { as: 'result', result: { content, finishReason: { unified: finish, raw: undefined }, usage: TOKENS_UNKNOWN, warnings: [], response: stamp } }
}

function contentOf(value: unknown): LanguageModelV4Content[] | undefined {
  if (typeof value !== 'object' || value === null || !('content' in value) || !Array.isArray(value.content) || value.content.length === 0) return undefined
  const content = value.content as LanguageModelV4Content[]
  // With `of`: `every` passes over holes.
  for (const part of content) if (!isPart(part)) return undefined
  return content
}

/** Of the parts that have a say in what comes next, the form is checked; any other part is the model's own. */
function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null || !('type' in part) || typeof part.type !== 'string') return false
  const { type, text, toolCallId, toolName, input } = part as Record<string, unknown>
  if (type === 'text' || type === 'reasoning') return typeof text === 'string'
  return type !== 'tool-call' || [toolCallId, toolName, input].every((field) => typeof field === 'string')
}
