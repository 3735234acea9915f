/** Responses of status 200 that are no answer, through a run and the real packages: tried again, never recorded as the model's (A2, A5). */
import { generateText, streamText } from 'ai'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { createRunner, defineAgent, memoryStore } from '../../src/index.ts'
import { ANSWERS, EVENTS, sse, STREAM_HEADERS } from './answers.ts'
import { DIALECTS, MODELS } from './clients/ai-sdk.ts'
import type { Dialect } from './clients/client.ts'
import { startLoopback } from './loopback.ts'
import type { Loopback, Reply } from './loopback.ts'

let server: Loopback
beforeAll(async () => { server = await startLoopback() })
afterAll(() => server.close())

type Package = keyof typeof MODELS
const PACKAGES = Object.keys(MODELS) as Package[]
const whole = (dialect: Dialect): Record<string, unknown> => ANSWERS[dialect] as Record<string, unknown>
const body = (json: unknown): Reply => ({ body: [JSON.stringify(json)] })
const events = (...json: readonly (object | string)[]): Reply => ({ headers: STREAM_HEADERS, body: json.map(sse) })

/** The first request is answered with `reply`, each later one with "Hello". */
async function asking(name: Package, mode: 'generate' | 'stream', reply: Reply, model = MODELS[name]) {
  const { begin, text, end } = EVENTS[DIALECTS[name]]
  const at = server.at(reply, mode === 'generate' ? body(whole(DIALECTS[name])) : events(...begin, ...text, ...end))
  const agent = defineAgent('a', async (run) => {
    const options = { model: run.model(model(at.url)), prompt: 'hi' }
    return mode === 'generate' ? (await generateText(options)).text : streamText({ ...options, onError() {} }).text
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 1, retry: { maxAttempts: 3, backoff: { baseMs: 0, jitter: 'none' } } })
  const outcome = await runner.run(agent, {}, { runId: 'r' }).catch((error: unknown) => ({ error }))
  return { outcome, requests: at.requests() }
}
const hello = { outcome: { status: 'completed', result: 'Hello' }, requests: 2 }

const ERRORS: readonly (readonly [string, object])[] = [
  ['of Anthropic', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
  ['of OpenAI', { error: { message: 'Overloaded', type: 'server_error', code: 'server_is_overloaded' } }],
  ['of Google', { error: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE' } }],
  ['of a gateway', { error: { message: 'Provider returned error', code: 502 } }],
]
const quota = { error: { message: 'You exceeded your current quota, please check your plan and billing details.', type: 'insufficient_quota', code: 'insufficient_quota' } }

describe('an error in the body of a 200 is what it says', () => {
  it.for(PACKAGES.flatMap((name) => ERRORS.map(([whose, error]) => [name, whose, error] as const)))('%s: one %s is tried again', async ([name, , error], { expect }) => {
    expect(await asking(name, 'generate', body(error))).toEqual(hello)
  })

  it.for(PACKAGES)('%s: a spent quota is not', async (name, { expect }) => {
    expect(await asking(name, 'generate', body(quota))).toMatchObject({ outcome: { error: { code: 'STEP_FAILED' } }, requests: 1 })
  })
})

const choice = (finish: string | null, more: object = {}): object => ({ ...whole('chat'), choices: [{ index: 0, message: { role: 'assistant', content: 'Hel' }, finish_reason: finish, ...more }] })
const candidate = { content: { parts: [{ text: 'Hel' }], role: 'model' }, index: 0 }
const UNFINISHED: readonly (readonly [Package, string, unknown])[] = [
  ['@ai-sdk/openai chat', 'no finish reason', choice(null)],
  ['@ai-sdk/openai-compatible', 'no finish reason', choice(null)],
  ['@ai-sdk/openai chat', 'a finish that is an error (OpenRouter)', choice('error', { error: { code: 502, message: 'Provider disconnected' } })],
  ['@ai-sdk/openai-compatible', 'a finish that is an error (OpenRouter)', choice('error', { error: { code: 502, message: 'Provider disconnected' } })],
  ['@ai-sdk/openai-compatible', 'a finish that is an error, and no more', choice('error')],
  ['@ai-sdk/openai-compatible', 'a server that aborted it (vLLM)', choice('abort')],
  ['@ai-sdk/openai-compatible', 'a server without resources (DeepSeek)', choice('insufficient_system_resource')],
  ['@ai-sdk/openai', 'a response in progress', { ...whole('responses'), status: 'in_progress' }],
  ['@ai-sdk/anthropic', 'no stop reason', { ...whole('anthropic'), stop_reason: null }],
  ['@ai-sdk/google', 'no finish reason', { ...whole('google'), candidates: [candidate] }],
  ['@ai-sdk/google', 'no candidates', { ...whole('google'), candidates: [] }],
  ['@ai-sdk/google', 'nothing', {}],
]
const chunk = (delta: object, finish: string | null, more: object = {}): object =>
  ({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more })

describe('an answer without its end is no answer', () => {
  it.for(UNFINISHED)('%s: %s', async ([name, , json], { expect }) => {
    expect(await asking(name, 'generate', body(json))).toEqual(hello)
  })

  it.for<[Package, object]>([
    ['@ai-sdk/openai chat', {}], ['@ai-sdk/openai-compatible', {}],
    ['@ai-sdk/openai chat', { error: { code: 502, message: 'Provider disconnected' } }], ['@ai-sdk/openai-compatible', { error: { code: 502, message: 'Provider disconnected' } }],
  ])('%s: a stream that a gateway ends as an error %o', async ([name, more], { expect }) => {
    const reply = events(...EVENTS.chat.begin, chunk({ content: 'Hel' }, null), chunk({ content: '' }, 'error', more), '[DONE]')
    expect(await asking(name, 'stream', reply)).toEqual(hello)
  })

  it.for(PACKAGES)('%s: a stream whose first event is not JSON', async (name, { expect }) => {
    expect(await asking(name, 'stream', { headers: STREAM_HEADERS, body: ['data: {"id": "x", \n\n'] })).toEqual(hello)
  })

  it.for(PACKAGES.flatMap((name) => (['generate', 'stream'] as const).map((mode) => [name, mode] as const)))('%s: a 204 (%s)', async ([name, mode], { expect }) => {
    expect(await asking(name, mode, { status: 204 })).toEqual(hello)
  })
})
