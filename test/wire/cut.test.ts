/** Real responses cut at every packet, and small ones at every byte: tried again within the budget, and never a partial text as a success (A1, A2, A9, R13). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore } from '../../src/index.ts'
import type { RunEvent } from '../../src/index.ts'
import { classifyError } from '../../src/reliability/index.ts'
import { ANSWERS, EVENTS, sse } from './answers.ts'
import { answers, present, replyOf, where } from './bodies/recorded.ts'
import type { RecordedBody } from './bodies/recorded.ts'
import { readInAllWays } from './bodies/ways.ts'
import type { Got } from './bodies/ways.ts'
import { DIALECTS, generate, MODELS, stream } from './clients/ai-sdk.ts'
import { startLoopback } from './loopback.ts'
import type { Loopback, Reply } from './loopback.ts'

let server: Loopback
beforeAll(async () => { server = await startLoopback() })
afterAll(() => server.close())

/** Runs an agent that reads the response in all ways. `ended`: what readers got that were not told of an error. */
async function run(body: RecordedBody, replies: readonly Reply[], maxAttempts = 3) {
  const at = server.at(...replies)
  const ended: [way: string, got: Got][] = []
  const events: RunEvent['type'][] = []
  const agent = defineAgent('a', ({ model }) => readInAllWays(model(MODELS[body.model](at.url)), (way, got) => ended.push([way, got])))
  const runner = createRunner({
    agents: [agent], store: memoryStore(), idleMs: 1, retry: { maxAttempts, backoff: { baseMs: 0, jitter: 'none' } }, onEvent: ({ type }) => events.push(type),
  })
  const outcome = await runner.run(agent, {}, { runId: 'r' }).catch((error: unknown) => ({ error }))
  return { outcome, ended, events, requests: at.requests() }
}

/** Whether the package tells anything of an answer in so many packets. */
async function hasContent(body: RecordedBody, count: number): Promise<boolean> {
  const kinds = new Set<string>()
  const call = { prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }] }
  const read = async (): Promise<void> => {
    for await (const { type } of (await MODELS[body.model](server.at(replyOf(body, count)).url).doStream(call)).stream) kinds.add(type)
  }
  await read().catch(() => {})
  return ['text-delta', 'reasoning-delta', 'tool-input-delta', 'tool-call'].some((kind) => kinds.has(kind))
}

describe.skipIf(!present)(`a recorded stream that ends too early${where}`, () => {
  it.for(answers.filter(({ streamed }) => streamed).map((body) => [body.name, body] as const))('%s', async ([, body], { expect }) => {
    const whole = await run(body, [replyOf(body)])
    expect(whole.outcome).toMatchObject({ status: 'completed' })
    const { result } = whole.outcome as { result: unknown }
    expect(whole.ended.map(([, got]) => got)).toEqual([result, result, result, result])
    for (let count = 0; count < body.packets.length; count++) {
      const content = await hasContent(body, count)
      const isFinished = body.packets.slice(0, count).some((packet) => /"finish_reason":"/.test(packet))
      await Promise.all((['cut', 'end'] as const).map(async (end) => {
        const what = `${count} packets, ${end}`
        const { outcome, ended, events, requests } = await run(body, [replyOf(body, count, end), replyOf(body)])
        expect(outcome, what).toEqual({ status: 'completed', result })
        expect(ended.map(([, got]) => got), what).toEqual([result, result, result, result])
        // Where only the end mark is missing, or the usage, the whole answer is there.
        if (requests === 1) return expect(isFinished, what).toBe(true)
        const how = events.filter((type) => type === 'step-reset' || type === 'retry-wait')
        // A stream that errors takes with it what was not read yet, so there may have been nothing after all.
        const silent = !content ? [true] : end === 'end' ? [false] : [true, false]
        expect(silent.map((is) => [2, is ? 'retry-wait' : 'step-reset']), what).toContainEqual([requests, ...how])
      }))
      const { outcome, ended, requests } = await run(body, [replyOf(body, count, 'reset')], 1)
      expect([outcome, ended, requests], `${count} packets, reset, one try`).toEqual([{ error: expect.objectContaining({ code: 'STEP_FAILED' }) }, [], 1])
    }
  })
})

describe.skipIf(!present)(`a recorded body that ends too early${where}`, () => {
  it.for(answers.filter(({ streamed }) => !streamed).map((body) => [body.name, body] as const))('%s', async ([, body], { expect }) => {
    for (let count = 0; count < body.packets.length; count++) {
      const { url } = server.at(replyOf(body, count, count % 2 === 0 ? 'cut' : 'end'))
      const error = await generate(MODELS[body.model](url), { url }).catch((e: unknown) => e)
      expect(classifyError(error), `${count} packets`).toMatchObject({ category: 'network', retryable: true })
    }
  })
})

/** A `fetch` whose response has so many bytes of the body, and then ends or breaks: every byte over a socket takes too long. */
const fetchOf = (body: string, bytes: number, breaks: boolean) => async (): Promise<Response> => new Response(new ReadableStream({
  pull(controller) {
    controller.enqueue(new TextEncoder().encode(body.slice(0, bytes)))
    if (breaks) controller.error(new TypeError('terminated', { cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }) }))
    else controller.close()
  },
}), { headers: { 'content-type': 'application/json' } })

describe('a small answer cut at every byte is broken, or whole', () => {
  it.each(['@ai-sdk/openai-compatible', '@ai-sdk/anthropic'] as const)('%s', async (name) => {
    const { begin, text, end } = EVENTS[DIALECTS[name]]
    const bodies = { generate: JSON.stringify(ANSWERS[DIALECTS[name]]), stream: [...begin, ...text, ...end].map(sse).join('') }
    for (const mode of ['generate', 'stream'] as const) {
      const body = bodies[mode]
      const answer = async (bytes: number): Promise<unknown> => {
        const model = MODELS[name]('http://127.0.0.1', fetchOf(body, bytes, bytes % 2 === 1))
        return mode === 'generate' ? (await generate(model, { url: '' })).content : await stream(model, { url: '' })
      }
      const whole = JSON.stringify(await answer(body.length + body.length % 2))
      for (let bytes = 0; bytes < body.length; bytes++) {
        const got = await answer(bytes).catch((error: unknown) => classifyError(error))
        if (JSON.stringify(got) !== whole) expect(got, `${mode}, ${bytes} of ${body.length} bytes`).toMatchObject({ category: 'network', retryable: true })
      }
    }
  })
})
