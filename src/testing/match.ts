/** Where a request stands in a scripted conversation: at an answer, or where it departed from the script. */
import type { ComparableMessage } from './normalise.ts'

export type Match =
  /** The request equals the script up to the assistant message at `index`. */
  | { readonly kind: 'answer'; readonly index: number }
  /** Equal up to `at`; there the request has `got` (nothing: it ends there) and the script `expected` (nothing: it ends there). */
  | { readonly kind: 'departed'; readonly at: number; readonly expected: ComparableMessage | undefined; readonly got: ComparableMessage | undefined }

/**
 * Compares a request's messages with a script's, both without their leading system messages. The results of one turn's
 * tool calls may come in any order: a client that runs tools in parallel may send them as they finish.
 */
export function match(script: readonly ComparableMessage[], request: readonly ComparableMessage[]): Match {
  let open: ComparableMessage[] = []
  for (const [at, got] of request.entries()) {
    const expected = script[at]
    if (got.role === 'tool' && expected?.role === 'tool') {
      if (request[at - 1]?.role !== 'tool') open = toolRun(script, at)
      const result = take(open, got)
      if (!result) return { kind: 'departed', at, expected: open.find((message) => message.toolCallId === got.toolCallId) ?? open[0], got }
    } else if (!expected || expected.role !== got.role || expected.text !== got.text) {
      return { kind: 'departed', at, expected: open[0] ?? expected, got }
    } else {
      open = []
    }
  }
  const next = script[request.length]
  if (next?.role === 'assistant') return { kind: 'answer', index: request.length }
  return { kind: 'departed', at: request.length, expected: open[0] ?? next, got: undefined }
}

/** The tool messages that follow one another from `start`. */
function toolRun(script: readonly ComparableMessage[], start: number): ComparableMessage[] {
  const end = script.findIndex((message, index) => index >= start && message.role !== 'tool')
  return script.slice(start, end === -1 ? script.length : end)
}

/** Takes the scripted result that equals `got` out of `open`: an exact one first, a wildcard else. */
function take(open: ComparableMessage[], got: ComparableMessage): ComparableMessage | undefined {
  const sameCall = (message: ComparableMessage): boolean => message.toolCallId === got.toolCallId
  const exact = open.findIndex((message) => sameCall(message) && message.text === got.text)
  const index = exact === -1 ? open.findIndex((message) => sameCall(message) && message.text === undefined) : exact
  return index === -1 ? undefined : open.splice(index, 1)[0]
}
