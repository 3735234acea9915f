/** What a 200 may hold instead of an answer. */
import { EVENTS, sse, STREAM_HEADERS } from '../answers.ts'
import type { Dialect } from '../clients/client.ts'
import type { Reply } from '../loopback.ts'
import { errorBodies, everywhere } from './situation.ts'
import type { Bodies, Expected, Situation } from './situation.ts'

const busy: Bodies = {
  openai: { message: 'The server is currently overloaded with other requests. Sorry about that!', type: 'server_error', code: 'server_is_overloaded' },
  anthropic: { type: 'overloaded_error', message: 'Overloaded' },
  google: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE' },
}
const limited: Bodies = {
  openai: { message: 'Rate limit reached for gpt-4.1-mini on tokens per min (TPM): Limit 200000, Used 190000, Requested 12000. Please try again in 600ms.', type: 'tokens', code: 'rate_limit_exceeded' },
  anthropic: { type: 'rate_limit_error', message: 'This request would exceed your rate limit. Please try again in 600ms.' },
  google: { code: 429, message: 'Resource has been exhausted. Please retry in 600ms.', status: 'RESOURCE_EXHAUSTED' },
}
const spent: Bodies = {
  openai: { message: 'You exceeded your current quota, please check your plan and billing details.', type: 'insufficient_quota', code: 'insufficient_quota' },
  anthropic: { type: 'billing_error', message: 'Your credit balance is too low to access the Anthropic API.' },
}
const broken: Bodies = {
  openai: { message: 'The server had an error processing your request. Sorry about that!', type: 'server_error', code: 'server_error' },
  anthropic: { type: 'api_error', message: 'Internal server error' },
  google: { code: 500, message: 'An internal error has occurred.', status: 'INTERNAL' },
}
const proxied: Bodies = { openai: { message: 'Provider returned error', code: 502 } }

const inBody = (bodies: Bodies): Situation['replies'] =>
  Object.fromEntries(Object.entries(errorBodies(bodies)).map(([dialect, body]) => [dialect, { body: [JSON.stringify(body)] }]))

/** The error as an event of a stream. The Responses API has its fields on the event itself, or under `error`. */
function inStream(bodies: Bodies, content: boolean, nested: boolean): Situation['replies'] {
  return Object.fromEntries(Object.entries(errorBodies(bodies)).map(([dialect, body]): [string, Reply] => {
    const { begin, text } = EVENTS[dialect as Dialect]
    const { message, code = null } = bodies.openai ?? {}
    const fields = nested ? body : { code: code && String(code), message, param: null }
    const event = dialect === 'responses' ? { type: 'error', sequence_number: 9, ...fields } : body
    return [dialect, { headers: STREAM_HEADERS, body: [...begin, ...(content ? text : []), event].map(sse) }]
  }))
}

const failed = ({ openai }: Bodies): object =>
  ({ id: 'resp_1', object: 'response', created_at: 1, status: 'failed', model: 'm', output: [], error: openai, incomplete_details: null, usage: null })

const failedResponse = (bodies: Bodies): Situation['replies'] => ({
  responses: {
    headers: STREAM_HEADERS,
    body: [...EVENTS.responses.begin, { type: 'response.failed', sequence_number: 9, response: failed(bodies) }].map(sse),
  },
})

/** Who reads a stream sees no event in a body that is none: what stands in it is lost, and what is left is a stream that broke off. */
const notAStream: Situation['but'] = {
  '@ai-sdk/*': ['network', true], 'openai*': 'answer', '@anthropic-ai/sdk stream() stream': ['network', true], '@anthropic-ai/sdk stream': 'answer',
}
const nothing: Situation['but'] = {
  '@ai-sdk/*': ['network', true], '@anthropic-ai/sdk stream() stream': ['network', true],
  '@anthropic-ai/sdk generate': ['unknown', false], 'openai generate': ['unknown', false], 'openai responses generate': ['unknown', false],
  '*': 'answer',
}

const KINDS: readonly (readonly [string, Bodies, Expected])[] = [
  ['overload', busy, ['overloaded', true]],
  ['a rate limit', limited, ['rate_limit', true, 600]],
  ['a spent quota', spent, ['quota', false]],
  ['a failure of the server', broken, ['server', true]],
  ['a proxy’s failure', proxied, ['server', true]],
]

export const CONTENTS: readonly Situation[] = [
  ...KINDS.flatMap(([what, bodies, expect]): Situation[] => [
    { name: `${what}, as the body of a 200`, mode: 'generate', replies: inBody(bodies), expect },
    { name: `${what}, as the body of a 200 where a stream should be`, mode: 'stream', replies: inBody(bodies), expect, but: notAStream },
    { name: `${what}, in a stream before any content`, mode: 'stream', replies: inStream(bodies, false, true), expect },
    { name: `${what}, in a stream after content`, mode: 'stream', replies: inStream(bodies, true, false), expect },
    { name: `${what}, as a response that failed`, mode: 'stream', replies: failedResponse(bodies), expect },
  ]),
  { name: 'a page instead of an answer', replies: everywhere({ headers: { 'content-type': 'text/html' }, body: ['<!DOCTYPE html><html><body>Sign in</body></html>'] }), expect: ['network', true], but: nothing },
  { name: 'nothing at all', replies: everywhere({}), expect: ['network', true], but: nothing },
]
