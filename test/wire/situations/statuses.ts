/** Failures with a status, with the bodies that the providers send. */
import { everywhere, failure } from './situation.ts'
import type { Situation } from './situation.ts'

const html = (status: number, title: string): Situation['replies'] => everywhere({
  status, headers: { 'content-type': 'text/html', server: 'cloudflare' },
  body: [`<html>\r\n<head><title>${status} ${title}</title></head>\r\n<body>\r\n<center><h1>${status} ${title}</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n`],
})
const text = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Situation['replies'] =>
  everywhere({ status, headers: { 'content-type': 'text/plain', ...headers }, body: body === '' ? [] : [body] })

export const STATUSES: readonly Situation[] = [
  {
    name: '400 for a conversation that is too long',
    replies: failure(400, {
      openai: {
        message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130007 tokens. Please reduce the length of the messages.",
        type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded',
      },
      anthropic: { type: 'invalid_request_error', message: 'prompt is too long: 205471 tokens > 200000 maximum' },
      google: { code: 400, message: 'The input token count (1048577) exceeds the maximum number of tokens allowed (1048575).', status: 'INVALID_ARGUMENT' },
    }),
    expect: ['context_overflow', false],
  },
  {
    name: '400 for a request that is wrong',
    replies: failure(400, {
      openai: { message: "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.", type: 'invalid_request_error', param: 'temperature', code: 'unsupported_value' },
      anthropic: { type: 'invalid_request_error', message: 'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.' },
      google: { code: 400, message: 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.', status: 'INVALID_ARGUMENT' },
    }),
    expect: ['invalid_request', false],
  },
  {
    name: '400 for a prompt that a filter stopped',
    replies: failure(400, {
      openai: {
        message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.", type: null, param: 'prompt', code: 'content_filter',
      },
      anthropic: { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' },
    }),
    expect: ['content_filter', false],
  },
  {
    name: '400 out of credit',
    replies: failure(400, {
      openai: { message: 'Billing hard limit has been reached', type: 'invalid_request_error', code: 'billing_hard_limit_reached' },
      anthropic: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.' },
    }),
    expect: ['quota', false],
  },
  {
    name: '401',
    replies: failure(401, {
      openai: { message: 'Incorrect API key provided: invented. You can find your API key at https://platform.openai.com/account/api-keys.', type: 'invalid_request_error', code: 'invalid_api_key' },
      anthropic: { type: 'authentication_error', message: 'invalid x-api-key' },
      google: {
        code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com', metadata: { service: 'generativelanguage.googleapis.com' } }],
      },
    }),
    expect: ['auth', false],
  },
  {
    name: '402',
    replies: failure(402, { openai: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' }, anthropic: { type: 'billing_error', message: 'There is an issue with your billing.' } }),
    expect: ['quota', false],
  },
  {
    name: '403',
    replies: failure(403, {
      openai: { message: 'Country, region, or territory not supported', type: 'request_forbidden', code: 'unsupported_country_region_territory' },
      anthropic: { type: 'permission_error', message: 'Your API key does not have permission to use the specified resource.' },
      google: { code: 403, message: 'Generative Language API has not been used in project 1 before or it is disabled.', status: 'PERMISSION_DENIED' },
    }),
    expect: ['auth', false],
  },
  {
    name: '404 for a model that is not there',
    replies: failure(404, {
      openai: { message: 'The model `gpt-9` does not exist or you do not have access to it.', type: 'invalid_request_error', code: 'model_not_found' },
      anthropic: { type: 'not_found_error', message: 'model: claude-9' },
      google: { code: 404, message: 'models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.', status: 'NOT_FOUND' },
    }),
    expect: ['invalid_request', false],
  },
  { name: '408 without a body', replies: text(408, ''), expect: ['timeout', true] },
  { name: '409 that says nothing more', replies: text(409, ''), expect: ['invalid_request', false] },
  { name: '409 that the server says to repeat', replies: text(409, '', { 'x-should-retry': 'true' }), expect: ['invalid_request', true] },
  {
    name: '413',
    replies: {
      ...failure(413, { openai: { message: 'Request too large', type: 'invalid_request_error' }, anthropic: { type: 'request_too_large', message: 'Request exceeds the maximum size' } }),
      google: { status: 413, headers: { 'content-type': 'text/html' }, body: ['<html><title>Error 413 (Request Entity Too Large)!!1</title></html>'] },
    },
    expect: ['context_overflow', false],
  },
  {
    name: '422',
    replies: failure(422, { openai: { message: 'Input should be a valid string', type: 'invalid_request_error' }, anthropic: { type: 'invalid_request_error', message: 'max_tokens: Input should be greater than 0' } }),
    expect: ['invalid_request', false],
  },
  {
    name: '500',
    replies: failure(500, {
      openai: { message: 'The server had an error while processing your request. Sorry about that!', type: 'server_error' },
      anthropic: { type: 'api_error', message: 'Internal server error' },
      google: { code: 500, message: 'An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting', status: 'INTERNAL' },
    }),
    expect: ['server', true],
  },
  { name: '500 that the server says not to repeat', replies: text(500, 'no', { 'x-should-retry': 'false' }), expect: ['server', false] },
  { name: '501', replies: text(501, ''), expect: ['server', false] },
  { name: '502 with a proxy’s page', replies: html(502, 'Bad Gateway'), expect: ['server', true] },
  { name: '503 with a proxy’s text', replies: text(503, 'upstream connect error or disconnect/reset before headers. reset reason: connection termination'), expect: ['server', true] },
  {
    name: '503 that says overload',
    replies: failure(503, {
      openai: { message: 'The engine is currently overloaded, please try again later', type: 'server_error' },
      google: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE' },
    }),
    expect: ['overloaded', true],
  },
  {
    name: '503 that says unavailable',
    replies: failure(503, { openai: { message: 'Service Unavailable', type: 'service_unavailable_error' }, google: { code: 503, message: 'The service is currently unavailable.', status: 'UNAVAILABLE' } }),
    expect: ['server', true],
  },
  {
    name: '504',
    replies: { ...html(504, 'Gateway Time-out'), ...failure(504, { google: { code: 504, message: 'Deadline expired before operation could complete.', status: 'DEADLINE_EXCEEDED' } }) },
    expect: ['timeout', true],
  },
  { name: '520', replies: html(520, 'Web server is returning an unknown error'), expect: ['server', true] },
  { name: '524', replies: html(524, 'A timeout occurred'), expect: ['timeout', true] },
  { name: '529', replies: { ...text(529, ''), ...failure(529, { anthropic: { type: 'overloaded_error', message: 'Overloaded' } }) }, expect: ['overloaded', true] },
]
