/** What happens to the connection: refused, reset, cut, silent, garbled; and who gives up waiting. */
import { ANSWERS, EVENTS, sse, STREAM_HEADERS } from '../answers.ts'
import type { Dialect } from '../clients/client.ts'
import type { Reply } from '../loopback.ts'
import { ALL, everywhere } from './situation.ts'
import type { Situation } from './situation.ts'

const each = (reply: (dialect: Dialect) => Reply): Situation['replies'] => Object.fromEntries(ALL.map((dialect) => [dialect, reply(dialect)]))

const text = (dialect: Dialect): string => JSON.stringify(ANSWERS[dialect])
const half = (dialect: Dialect): string => text(dialect).slice(0, text(dialect).length / 2)
const lengthOf = (dialect: Dialect): { 'content-length': string } => ({ 'content-length': String(text(dialect).length) })
const begun = (dialect: Dialect): string[] => [...EVENTS[dialect].begin, ...EVENTS[dialect].text].map(sse)
const inAnEvent = (dialect: Dialect): string[] => [...begun(dialect).slice(0, -1), begun(dialect).at(-1)!.slice(0, 40)]
const stalled = each((dialect) => ({ body: [half(dialect)], end: 'hang' }))
const stream = (body: (dialect: Dialect) => string[], end: NonNullable<Reply['end']>): Situation['replies'] =>
  each((dialect) => ({ headers: STREAM_HEADERS, body: body(dialect), end }))

/** These do not look for the end of a stream. */
const blind: Situation['but'] = { 'openai*': 'answer', '@anthropic-ai/sdk stream': 'answer' }
/** Aborted, the `openai` SDK's streams just end, once they have begun: only the signal can tell. */
const openaiEnds: Situation['but'] = { 'openai*': 'perhaps' }
const timedOut: Pick<Situation, 'abort' | 'context' | 'expect'> = {
  abort: { reason: new DOMException('The operation was aborted due to timeout', 'TimeoutError') }, context: { aborted: true, abortReason: 'timeout' }, expect: ['timeout', true],
}

export const CONNECTIONS: readonly Situation[] = [
  { name: 'nobody listens', replies: everywhere({}), address: 'refused', expect: ['network', true] },
  
  // An empty label, which no name server is asked for.
  { name: 'the host is unknown', replies: everywhere({}), address: 'unknown-host', expect: ['network', true] },
  { name: 'TLS is spoken to a port without it', replies: everywhere({}), address: 'tls', expect: ['network', true] },
  { name: 'the address is none', replies: everywhere({}), address: 'bad-url', expect: ['invalid_request', false] },
  { name: 'reset before the headers', replies: everywhere({ instead: 'reset' }), expect: ['network', true] },
  { name: 'closed before the headers', replies: everywhere({ instead: 'cut' }), expect: ['network', true] },
  { name: 'something that is not HTTP', replies: everywhere({ instead: 'garbage' }), expect: ['network', true] },
  { name: 'reset in the body', mode: 'generate', replies: each((d) => ({ headers: lengthOf(d), body: [half(d)], end: 'reset' })), expect: ['network', true] },
  { name: 'cut in a body of known length', mode: 'generate', replies: each((d) => ({ headers: lengthOf(d), body: [half(d)], end: 'cut' })), expect: ['network', true] },
  { name: 'cut in a chunked body', mode: 'generate', replies: each((d) => ({ body: [half(d)], end: 'cut' })), expect: ['network', true] },
  { name: 'reset in the stream', mode: 'stream', replies: stream(begun, 'reset'), expect: ['network', true] },
  { name: 'cut between two events', mode: 'stream', replies: stream(begun, 'cut'), expect: ['network', true] },
  { name: 'cut inside an event', mode: 'stream', replies: stream(inAnEvent, 'cut'), expect: ['network', true] },
  {
    name: 'a body that ends cleanly, but too early', mode: 'generate', replies: each((d) => ({ body: [half(d)] })), expect: ['network', true],
    // A SyntaxError says nothing by itself, and who reads text only sees a shorter one.
    but: { 'openai*': ['unknown', false], '@anthropic-ai/sdk*': ['unknown', false], 'fetch*': 'answer', 'undici*': 'answer', 'node:http*': 'answer' },
  },
  { name: 'a stream that ends cleanly, but too early', mode: 'stream', replies: stream(begun, 'end'), expect: ['network', true], but: blind },
  { name: 'a stream that ends cleanly inside an event', mode: 'stream', replies: stream(inAnEvent, 'end'), expect: ['network', true], but: { '@anthropic-ai/sdk stream': 'answer' } },
  { name: 'no headers until the client gives up', replies: everywhere({ instead: 'hang' }), timeoutMs: 40, expect: ['timeout', true] },
  {
    name: 'a body that stops coming until undici gives up', mode: 'generate', only: ['undici fetch', 'undici request'], replies: stalled, timeoutMs: 40,
    expect: ['timeout', true],
  },
  { name: 'a body that stops coming until the caller gives up', mode: 'generate', replies: stalled, ...timedOut },
  { name: 'a stream that stops coming until the caller gives up', mode: 'stream', replies: stream(begun, 'hang'), ...timedOut, but: openaiEnds },
  { name: 'abort before the headers', replies: everywhere({ instead: 'hang' }), abort: {}, expect: ['cancelled', false] },
  { name: 'abort in the body', mode: 'generate', replies: stalled, abort: {}, expect: ['cancelled', false] },
  { name: 'abort in the stream', mode: 'stream', replies: stream(begun, 'hang'), abort: {}, expect: ['cancelled', false], but: openaiEnds },
  {
    name: 'abort with an error of the caller', replies: everywhere({ instead: 'hang' }), abort: { reason: new Error('x') }, context: { aborted: true },
    expect: ['cancelled', false],
  },
  { name: 'abort with a text', replies: everywhere({ instead: 'hang' }), abort: { reason: 'stop' }, context: { aborted: true }, expect: ['cancelled', false] },
  { name: 'abort by a timer of the caller', replies: everywhere({ instead: 'hang' }), ...timedOut },
]
