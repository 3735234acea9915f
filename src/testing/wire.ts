/** What goes over the wire, in order: an answer, with or without a fault, as a list of things to do. */
import type { Completion } from './completion.ts'
import { overloaded, statusBody } from './faults.ts'
import type { Fault, FaultPoint } from './faults.ts'
import { pieces } from './pieces.ts'

export type WireAction =
  | { readonly do: 'head'; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly do: 'write'; readonly text: string }
  | { readonly do: 'wait'; readonly ms: number }
  /** The body is complete. */
  | { readonly do: 'end' }
  /** The socket is reset, once the client had a moment to read what was written. */
  | { readonly do: 'reset' }
  /** Nothing more comes, and no end. */
  | { readonly do: 'hang' }

/** How an answer is sent to a request. */
export interface WireFormat {
  readonly streamed: boolean
  readonly includeUsage: boolean
}

const STREAM_HEAD: WireAction = {
  do: 'head',
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
}

const BODY_PIECE = 64

/** The list for an answer. Pure. */
export function wireActions(answer: Completion, format: WireFormat, fault?: Fault): WireAction[] {
  const { parts, content } = format.streamed ? streamParts(answer, format.includeUsage) : bodyParts(answer)
  const head = format.streamed ? STREAM_HEAD : jsonHead(200)
  const until = (point: FaultPoint): WireAction[] => {
    const count = typeof point === 'number' ? Math.min(point, content) : point === 'content' ? content : parts.length - 1
    return [head, ...writes(parts.slice(0, count))]
  }
  switch (fault?.kind) {
    case undefined:
      return [head, ...writes(parts), { do: 'end' }]
    case 'status': {
      const { status, headers, body = statusBody(status) } = fault
      return [jsonHead(status, headers), ...writes([typeof body === 'string' ? body : JSON.stringify(body)]), { do: 'end' }]
    }
    case 'delay': {
      const { beforeMs = 0, betweenMs = 0 } = fault
      const slow = writes(parts).flatMap((write, index) => (index > 0 && betweenMs > 0 ? [wait(betweenMs), write] : [write]))
      return [...(beforeMs > 0 ? [wait(beforeMs)] : []), head, ...slow, { do: 'end' }]
    }
    case 'hang':
    case 'reset':
      return [...(fault.after === undefined ? [] : until(fault.after)), { do: fault.kind }]
    case 'cut':
      return [...until(fault.after ?? 'content'), { do: 'end' }]
    case 'error-event':
      if (format.streamed) return [...until(fault.after ?? 0), ...writes([event(errorBody(fault.error))]), { do: 'end' }]
      return errorResponse(fault.error)
    case 'error-body':
      return errorResponse(fault.error)
    case 'garbage': {
      const text = fault.text ?? '{"choices":[{"del'
      if (!format.streamed) return [head, ...writes([text]), { do: 'end' }]
      const before = until(fault.after ?? 0)
      return [...before, ...writes([`data: ${text}\n\n`, ...parts.slice(before.length - 1)]), { do: 'end' }]
    }
  }
}

/** An error response of the server itself, to a request that it cannot answer. */
export function jsonActions(status: number, body: unknown): WireAction[] {
  return [jsonHead(status), ...writes([JSON.stringify(body)]), { do: 'end' }]
}

function errorResponse(error: unknown): WireAction[] {
  return jsonActions(200, errorBody(error))
}

function errorBody(error: unknown): object {
  return { error: error ?? overloaded }
}

/** The whole body in order; the first `content` of them are the answer's content. */
interface Parts {
  readonly parts: readonly string[]
  readonly content: number
}

function streamParts(answer: Completion, includeUsage: boolean): Parts {
  const chunks = [...answer.deltas, answer.finish, ...(includeUsage ? [answer.usage] : [])]
  return { parts: [...chunks.map(event), 'data: [DONE]\n\n'], content: answer.deltas.length }
}

function bodyParts(answer: Completion): Parts {
  const body = pieces(JSON.stringify(answer.body), BODY_PIECE)
  return { parts: body, content: body.length - 1 }
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

function writes(texts: readonly string[]): WireAction[] {
  return texts.map((text) => ({ do: 'write', text }))
}

function wait(ms: number): WireAction {
  return { do: 'wait', ms }
}

/** No content-length: a body that is cut short then ends like a complete one. */
function jsonHead(status: number, headers: Readonly<Record<string, string>> = {}): WireAction {
  return { do: 'head', status, headers: { 'content-type': 'application/json', ...headers } }
}
