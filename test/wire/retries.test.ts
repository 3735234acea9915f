/** Who retries, how often, and what ends it, with a real provider package and a real server (A8, A9, A11-A14). */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText, ToolLoopAgent } from 'ai'
import type { LanguageModel } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.ts'
import { createRunner, defineAgent, memoryStore } from '../../src/index.ts'
import type { Run, RunEvent, RunnerOptions } from '../../src/index.ts'
import { testModel } from '../support/model.ts'
import { ANSWERS, EVENTS, sse, STREAM_HEADERS } from './answers.ts'
import { startLoopback } from './loopback.ts'
import type { Loopback, Reply } from './loopback.ts'

let server: Loopback
beforeAll(async () => { server = await startLoopback() })
afterAll(() => server.close())

const { begin, text, end } = EVENTS.chat
const whole: Reply = { body: [JSON.stringify(ANSWERS.chat)] }
const overloaded: Reply = { status: 529, body: ['{"error":{"message":"Overloaded"}}'] }
const errorEvent = { error: { message: 'Overloaded', code: 'server_is_overloaded' } }

const modelAt = (url: string) => createOpenAICompatible({ name: 'compatible', baseURL: url })('model')

function running<T>(work: (run: Run) => Promise<T>, options: Partial<RunnerOptions> = {}) {
  const events: RunEvent[] = []
  const agent = defineAgent('a', work)
  const runner = createRunner({
    agents: [agent], store: memoryStore(), idleMs: 1, retry: { maxAttempts: 3, backoff: { baseMs: 0, jitter: 'none' } }, onEvent: (event) => events.push(event), ...options,
  })
  return { events, run: (signal?: AbortSignal) => runner.run(agent, {}, { runId: 'r', ...(signal && { signal }) }), resume: () => runner.resume('r') }
}

describe('exactly maxAttempts requests in all, whatever the layers above are told (A9)', () => {
  const faults: readonly (readonly [string, Reply])[] = [
    ['529', overloaded],
    ['a reset', { instead: 'reset' }],
    ['an error event before content', { headers: STREAM_HEADERS, body: [...begin, errorEvent].map(sse) }],
    ['an error event after content', { headers: STREAM_HEADERS, body: [...begin, ...text, errorEvent].map(sse) }],
    ['a cut after content', { headers: STREAM_HEADERS, body: [...begin, ...text].map(sse), end: 'cut' }],
  ]
  const retry = () => ({ retry: true })
  const above: readonly (readonly [string, (model: LanguageModel) => PromiseLike<string>])[] = [
    ['maxRetries: 0', (model) => streamText({ model, prompt: 'hi', maxRetries: 0, onError() {} }).text],
    ['maxRetries: 7', (model) => streamText({ model, prompt: 'hi', maxRetries: 7, onError() {} }).text],
    ['streamRetries: 5', (model) => streamText({ model, prompt: 'hi', maxRetries: 2, streamRetries: 5, onError() {} }).text],
    ['onError: retry', (model) => streamText({ model, prompt: 'hi', streamRetries: 0, onError: retry }).text],
    ['streamRetries and onError: retry', (model) => streamText({ model, prompt: 'hi', maxRetries: 4, streamRetries: 2, onError: retry }).text],
    ['an agent', async (model) => (await new ToolLoopAgent({ model, maxRetries: 4 }).stream({ prompt: 'hi' })).text],
  ]
  it.for(above.flatMap(([layer, ask]) => faults.map(([fault, reply]) => [layer, fault, ask, reply] as const)))('%s, %s', async ([, , ask, reply], { expect }) => {
    const at = server.at(reply)
    const { run } = running(async ({ model }) => ask(model(modelAt(at.url))))
    await expect(run()).rejects.toMatchObject({ code: 'STEP_FAILED' })
    expect(at.requests()).toBe(3)
  })

  it.each([0, 7])('generateText, maxRetries: %s', async (maxRetries) => {
    const at = server.at(overloaded)
    const { run } = running(async ({ model }) => (await generateText({ model: model(modelAt(at.url)), prompt: 'hi', maxRetries })).text)
    await expect(run()).rejects.toMatchObject({ code: 'STEP_FAILED', cause: { statusCode: 529 } })
    expect(at.requests()).toBe(3)
  })

  it('an SDK in an idempotent step, its own retries switched off', async () => {
    const at = server.at(overloaded)
    const client = new OpenAI({ baseURL: at.url, apiKey: 'invented', maxRetries: 0 })
    const ask = async () => (await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })).choices.length
    const { run } = running(({ step }) => step('ask', { idempotent: true }, ask))
    await expect(run()).rejects.toMatchObject({ code: 'RUN_FAILED' })
    expect(at.requests()).toBe(3)
  })
})

describe('what is thrown without a class of a provider is retried like the rest (A8)', () => {
  const reset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  const wrapped = () => new Error('could not load', { cause: { status: 503 } })
  it.each([['a bare ECONNRESET', reset], ['a 503 as a cause', wrapped]])('%s', async (_, error) => {
    let [asked, called] = [0, 0]
    const model = testModel(() => { if (++asked < 3) throw error(); return { text: 'fine' } })
    const { run } = running(async (run) => {
      const { text } = await generateText({ model: run.model(model), prompt: 'x' })
      return [text, await run.step('load', { idempotent: true }, () => { if (++called < 3) throw error(); return 'loaded' })]
    })
    expect(await run()).toEqual({ status: 'completed', result: ['fine', 'loaded'] })
    expect([asked, called]).toEqual([3, 3])
  })
})

describe('waiting', () => {
  it('after a Retry-After that no timer takes, or that is garbage, is the own backoff, not an instant storm (A11)', async () => {
    const clock = manualClock(Date.parse('2026-11-29T12:00:00Z'))
    const limited = (hint: string): Reply => ({ status: 429, headers: { 'retry-after': hint } })
    const at = server.at(limited('99999999999'), limited('-5'), limited('soon'), whole)
    const { run, events } = running(async ({ model }) => (await generateText({ model: model(modelAt(at.url)), prompt: 'hi' })).text, {
      clock, retry: { maxAttempts: 4, backoff: { baseMs: 1_000, factor: 2, maxMs: 30_000, jitter: 'none' } },
    })
    const outcome = run()
    for (let request = 1; request < 4; request++) {
      await until(() => events.filter(({ type }) => type === 'retry-wait').length === request)
      expect(at.requests()).toBe(request)
      await clock.advance(1_000 * 2 ** (request - 1) - 1)
      expect(at.requests()).toBe(request)
      await clock.advance(1)
    }
    expect(await outcome).toEqual({ status: 'completed', result: 'Hello' })
    expect(events.flatMap((event) => (event.type === 'retry-wait' ? [event.delayMs] : []))).toEqual([1_000, 2_000, 4_000])
  })

  it.each([['an Error', new Error('x')], ['a text', 'stop']])('in a 3 s backoff ends with the abort, in the same turn, with its reason; one request, no timer left (A12, A13): %s', async (_, reason) => {
    const clock = manualClock(0)
    const at = server.at({ status: 429, headers: { 'retry-after': '3' } })
    const stop = new AbortController()
    const { run, events } = running(async ({ model }) => (await generateText({ model: model(modelAt(at.url)), prompt: 'hi' })).text, { clock })
    let ended: { readonly error: unknown } | undefined
    const outcome = run(stop.signal).catch((error: unknown) => { ended = { error } })
    await until(() => events.some(({ type }) => type === 'retry-wait'))
    await clock.idle()
    stop.abort(reason)
    await clock.idle()
    await outcome
    expect(ended).toEqual({ error: reason })
    expect(clock.now()).toBe(0)
    expect(at.requests()).toBe(1)
    expect(clock.pending).toBe(0)
  })

  it.each([['an Error', new Error('x')], ['a text', 'stop']])('aborted by the caller of the loop is not retried, and keeps its reason (A13): %s', async (_, reason) => {
    const at = server.at({ instead: 'hang' })
    const stop = new AbortController()
    const seen: unknown[] = []
    const { run } = running(async ({ model }) => {
      const asked = generateText({ model: model(modelAt(at.url)), prompt: 'hi', abortSignal: stop.signal })
      await until(() => at.requests() === 1)
      stop.abort(reason)
      return asked.catch((error: unknown) => { seen.push(error); return 'stopped' })
    })
    expect(await run()).toEqual({ status: 'completed', result: 'stopped' })
    expect(seen).toEqual([reason])
    expect(at.requests()).toBe(1)
  })
})

describe('a time limit is a timeout and no cancellation, though fetch says AbortError (A14)', () => {
  it.each<[string, Reply]>([
    ['no headers', { instead: 'hang' }],
    ['a stream that stops', { headers: STREAM_HEADERS, body: begin.map(sse), end: 'hang' }],
  ])('%s', async (_, hanging) => {
    const clock = manualClock(0)
    const at = server.at(hanging, { headers: STREAM_HEADERS, body: [...begin, ...text, ...end].map(sse) })
    const { run, events } = running(async ({ model }) => streamText({ model: model(modelAt(at.url)), prompt: 'hi' }).text, { clock, timeouts: { modelMs: 20_000 } })
    const outcome = run()
    await until(() => at.requests() === 1)
    await clock.advance(20_000)
    await clock.advance(1)
    expect(await outcome).toEqual({ status: 'completed', result: 'Hello' })
    expect(events.flatMap((event) => (event.type === 'retry-wait' ? [event.category] : []))).toEqual(['timeout'])
  })
})

/** Lets the event loop turn, sockets included, until something holds; the test's own time limit ends it where it never does. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
}
