/** A small answer, "Hello", as each API gives it: whole, and as the events of a stream. */
import type { Dialect } from './clients/client.ts'

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
const chunk = (delta: object, finish: string | null = null): object =>
  ({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })
const response = (output: readonly object[], status: string): object => ({
  id: 'resp_1', object: 'response', created_at: 1, status, error: null, incomplete_details: null, model: 'm', output, parallel_tool_calls: true, tools: [],
  usage: { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 3 },
})
const message = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'Hello', annotations: [] }] }
const claude = (content: readonly object[], stop: string | null): object =>
  ({ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content, stop_reason: stop, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 2 } })
const gemini = (text: string, finish?: string): object => ({
  candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...(finish && { finishReason: finish }) }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 }, modelVersion: 'm',
})

/** Whole bodies. */
export const ANSWERS: Readonly<Record<Dialect, object>> = {
  chat: {
    id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', usage,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  },
  responses: response([message], 'completed'),
  anthropic: claude([{ type: 'text', text: 'Hello' }], 'end_turn'),
  google: gemini('Hello', 'STOP'),
}

/** Events of a stream: how it begins, its text in two pieces, how it ends. */
export const EVENTS: Readonly<Record<Dialect, { readonly begin: readonly object[]; readonly text: readonly object[]; readonly end: readonly object[] }>> = {
  chat: { begin: [chunk({ role: 'assistant', content: '' })], text: [chunk({ content: 'Hel' }), chunk({ content: 'lo' })], end: [chunk({}, 'stop')] },
  responses: {
    begin: [
      { type: 'response.created', sequence_number: 0, response: response([], 'in_progress') },
      { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...message, status: 'in_progress', content: [] } },
    ],
    text: [
      { type: 'response.output_text.delta', sequence_number: 2, item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hel' },
      { type: 'response.output_text.delta', sequence_number: 3, item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'lo' },
    ],
    end: [
      { type: 'response.output_item.done', sequence_number: 4, output_index: 0, item: message },
      { type: 'response.completed', sequence_number: 5, response: response([message], 'completed') },
    ],
  },
  anthropic: {
    begin: [{ type: 'message_start', message: claude([], null) }, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }],
    text: [
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
    ],
    end: [
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
  },
  google: { begin: [], text: [gemini('Hel'), gemini('lo')], end: [gemini('', 'STOP')] },
}

/** One event as it stands in the stream. Anthropic's and the Responses API's also have a name. */
export function sse(event: object | string): string {
  const type = typeof event === 'object' && 'type' in event ? `event: ${String(event.type)}\n` : ''
  return `${type}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`
}

export const STREAM_HEADERS = { 'content-type': 'text/event-stream' }
