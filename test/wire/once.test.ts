/** What is asked for once, through a run: what does not get better by waiting, and what may not be asked again so soon (A3, A4, A5, A10). */
import { generateText, streamText } from 'ai'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { createRunner, defineAgent, memoryStore } from '../../src/index.ts'
import { ANSWERS, EVENTS, sse, STREAM_HEADERS } from './answers.ts'
import { DIALECTS, MODELS } from './clients/ai-sdk.ts'
import { startLoopback } from './loopback.ts'
import type { Loopback, Reply } from './loopback.ts'
import { CONTENTS } from './situations/contents.ts'
import { HINTS } from './situations/hints.ts'
import type { Situation } from './situations/situation.ts'
import { STATUSES } from './situations/statuses.ts'

let server: Loopback
beforeAll(async () => { server = await startLoopback() })
afterAll(() => server.close())

type Package = keyof typeof MODELS
const PACKAGES = Object.keys(MODELS) as Package[]

async function asking(name: Package, mode: 'generate' | 'stream', reply: Reply) {
  const at = server.at(reply)
  const agent = defineAgent('a', async (run) => {
    const options = { model: run.model(MODELS[name](at.url)), prompt: 'hi', maxRetries: 5 }
    const result = mode === 'generate' ? await generateText(options) : streamText({ ...options, streamRetries: 2, onError() {} })
    return [await result.text, await result.finishReason]
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 1, retry: { maxAttempts: 3, backoff: { baseMs: 0, jitter: 'none' } } })
  const outcome = await runner.run(agent, {}, { runId: 'r' }).catch((error: unknown) => ({ error }))
  return { outcome, requests: at.requests() }
}

const lasting = ({ expect: [, retryable], but = {} }: Situation): boolean => !retryable && !('@ai-sdk/*' in but)
const eachPackage = (situations: readonly Situation[]) => situations.flatMap(({ name, mode = 'generate', replies }) => PACKAGES.flatMap((client) => {
  const reply = replies[DIALECTS[client]]
  return reply ? [[name, client, mode, reply] as const] : []
}))

describe('a failure that waiting does not help is asked for once', () => {
  it.for(eachPackage([...STATUSES, ...HINTS, ...CONTENTS].filter(lasting)))('%s, %s (%s)', async ([, name, mode, reply], { expect }) => {
    expect(await asking(name, mode, reply)).toEqual({ outcome: { error: expect.objectContaining({ code: 'STEP_FAILED' }) }, requests: 1 })
  })
})

describe('a wait beyond what is waited inline suspends the run until then', () => {
  it.for(eachPackage(HINTS.filter(({ expect: [, , ms = 0] }) => ms > 60_000)))('%s, %s (%s)', async ([name, client, mode, reply], { expect }) => {
    const { expect: [, , ms = 0] } = HINTS.find((situation) => situation.name === name)!
    const before = Date.now()
    const { outcome, requests } = await asking(client, mode, reply)
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'retry-after' }] })
    const { resumeAt } = outcome as { resumeAt: number }
    // Never before the server said, measured from when its answer was there.
    expect(resumeAt).toBeGreaterThanOrEqual(before + ms)
    expect(resumeAt).toBeLessThanOrEqual(Date.now() + ms)
    expect(requests).toBe(1)
  })
})

/** A refusal is an answer: it has a finish reason, and nothing is asked again. */
const { chat, anthropic, google, responses } = { ...ANSWERS } as Readonly<Record<keyof typeof ANSWERS, Record<string, unknown>>>
const stopped = (answer: object): Reply => ({ body: [JSON.stringify(answer)] })
const streamed = (events: readonly object[]): Reply => ({ headers: STREAM_HEADERS, body: events.map(sse) })
const filtered = { ...chat, choices: [{ index: 0, message: { role: 'assistant', content: 'Hel' }, finish_reason: 'content_filter' }] }
const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'content_filter' }] }
const delta = { type: 'message_delta', delta: { stop_reason: 'refusal', stop_sequence: null }, usage: { output_tokens: 2 } }
const unsafe = { candidates: [{ content: { parts: [], role: 'model' }, index: 0, finishReason: 'SAFETY' }], usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 } }

describe('a refusal is an answer, and asked for once', () => {
  it.for<[Package, 'generate' | 'stream', Reply]>([
    ['@ai-sdk/openai-compatible', 'generate', stopped(filtered)],
    ['@ai-sdk/openai chat', 'generate', stopped(filtered)],
    ['@ai-sdk/openai-compatible', 'stream', streamed([...EVENTS.chat.begin, ...EVENTS.chat.text, chunk])],
    ['@ai-sdk/openai chat', 'stream', streamed([...EVENTS.chat.begin, ...EVENTS.chat.text, chunk])],
    ['@ai-sdk/openai', 'generate', stopped({ ...responses, status: 'incomplete', incomplete_details: { reason: 'content_filter' } })],
    ['@ai-sdk/anthropic', 'generate', stopped({ ...anthropic, stop_reason: 'refusal' })],
    ['@ai-sdk/anthropic', 'stream', streamed([...EVENTS.anthropic.begin, ...EVENTS.anthropic.text, { type: 'content_block_stop', index: 0 }, delta, { type: 'message_stop' }])],
    ['@ai-sdk/google', 'generate', stopped(unsafe)],
    ['@ai-sdk/google', 'stream', streamed([...EVENTS.google.text, unsafe])],
    ['@ai-sdk/google', 'generate', stopped({ ...google, candidates: [], promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })],
  ])('%s (%s)', async ([name, mode, reply], { expect }) => {
    expect(await asking(name, mode, reply)).toMatchObject({ outcome: { status: 'completed', result: [expect.any(String), 'content-filter'] }, requests: 1 })
  })
})
