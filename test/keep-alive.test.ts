/** `modelIdleMs` counts from the last event that arrived, also where a provider package makes nothing of it: keep-alives, chunks without text (R12). */
import { streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type RunnerOptions } from '../src/index.ts'
import { manualClock, type ManualClock } from '../src/testing/index.ts'
import { during } from './support/time.ts'
import { streamingModel, textParts, endParts } from './support/streaming.ts'
import { EVENTS, sse, STREAM_HEADERS } from './wire/answers.ts'
import { MODELS } from './wire/clients/ai-sdk.ts'

/** A body that comes piece by piece, each so many ms after the one before it. */
function dripping(clock: ManualClock, pieces: readonly (readonly [ms: number, text: string])[]): Response {
  const encoder = new TextEncoder()
  const left = [...pieces]
  let disarm = (): void => {}
  return new Response(new ReadableStream<Uint8Array>({
    start(controller) {
      const next = (): void => {
        const [ms, text] = left.shift() ?? []
        if (ms === undefined || text === undefined) return controller.close()
        disarm = clock.timer(ms, () => {
          controller.enqueue(encoder.encode(text))
          next()
        })
      }
      next()
    },
    cancel: () => disarm(),
  }), { headers: STREAM_HEADERS })
}

async function streaming(name: keyof typeof MODELS, pieces: readonly (readonly [ms: number, text: string])[], timeouts: RunnerOptions['timeouts'], options: { include?: { rawChunks: boolean } } = {}) {
  const clock = manualClock()
  let requests = 0
  const model = MODELS[name]('http://provider', async () => {
    requests++
    return dripping(clock, pieces)
  })
  const parts: string[] = []
  const agent = defineAgent('a', async (run) => {
    const stream = streamText({ model: run.model(model), prompt: 'hi', onError() {}, ...options })
    for await (const { type } of stream.fullStream) parts.push(type)
    return stream.text
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), clock, idleMs: 1, retry: { maxAttempts: 2 }, ...(timeouts && { timeouts }) })
  const outcome = await during(clock, runner.run(agent, {}, { runId: 'r' }), { stepMs: 20 }).catch((error: unknown) => ({ error }))
  return { outcome, requests, parts }
}

const { anthropic, chat } = EVENTS
const [hel, lo] = [0, 1] as const
const ping = sse({ type: 'ping' })
const pings = Array.from({ length: 10 }, () => [60, ping] as const)
const hello = { outcome: { status: 'completed', result: 'Hello' }, requests: 1 }

describe('a stream in which something arrives is not idle', () => {
  it('keep-alives of Anthropic, between two deltas and before the first one', async () => {
    const pieces = [[0, anthropic.begin.map(sse).join('')], ...pings, [0, sse(anthropic.text[hel]!)], ...pings, [0, [anthropic.text[lo]!, ...anthropic.end].map(sse).join('')]] as const
    expect(await streaming('@ai-sdk/anthropic', pieces, { modelIdleMs: 200 })).toMatchObject(hello)
  })

  it('chunks that carry no part: the finish reason, the usage, the end mark', async () => {
    const usage = { ...(chat.begin[0] as object), choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }
    const pieces = [...chat.begin, ...chat.text, ...chat.end, usage, '[DONE]'].map((event) => [120, sse(event)] as const)
    expect(await streaming('@ai-sdk/openai-compatible', pieces, { modelIdleMs: 200 })).toMatchObject(hello)
  })

  it('but silence is', async () => {
    const pieces = [[0, anthropic.begin.map(sse).join('')], [0, sse(anthropic.text[hel]!)], [250, ping]] as const
    expect(await streaming('@ai-sdk/anthropic', pieces, { modelIdleMs: 200 })).toMatchObject({ outcome: { error: { code: 'STEP_TIMEOUT' } }, requests: 2 })
  })

  it('nor is a ping a first part', async () => {
    expect(await streaming('@ai-sdk/anthropic', [[0, anthropic.begin.map(sse).join('')], ...pings], { modelIdleMs: 200, modelFirstPartMs: 300 })).toMatchObject({ outcome: { error: { code: 'STEP_TIMEOUT' } }, requests: 2 })
  })
})

describe('raw chunks', () => {
  const pieces = [...chat.begin, ...chat.text, ...chat.end, '[DONE]'].map((event) => [1, sse(event)] as const)

  it('are asked for only where there is such a limit, and passed on only to who asked for them', async () => {
    const asked: (boolean | undefined)[] = []
    for (const timeouts of [{}, { modelIdleMs: 100 }, { modelIdleMs: Infinity }]) {
      const model = streamingModel(() => [...textParts('Hello'), ...endParts])
      const agent = defineAgent('a', async (run) => streamText({ model: run.model(model), prompt: 'hi' }).text)
      await createRunner({ agents: [agent], store: memoryStore(), timeouts }).run(agent, {}, { runId: 'r' })
      asked.push(model.requests[0]!.includeRawChunks)
    }
    expect(asked).toEqual([false, true, false])
    expect((await streaming('@ai-sdk/openai-compatible', pieces, { modelIdleMs: 100 })).parts).not.toContain('raw')
    expect((await streaming('@ai-sdk/openai-compatible', pieces, { modelIdleMs: 100 }, { include: { rawChunks: true } })).parts).toContain('raw')
  })
})
