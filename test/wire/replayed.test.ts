/** What is recorded of the providers' real responses and replayed equals what was live, up to the joining of deltas (R4, C24). */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore } from '../../src/index.ts'
import { joined } from './bodies/joined.ts'
import { withoutMadeUpIds } from './bodies/made-up-ids.ts'
import { answers, failures, present, replyOf, where } from './bodies/recorded.ts'
import type { RecordedBody } from './bodies/recorded.ts'
import { MODELS } from './clients/ai-sdk.ts'
import { startLoopback } from './loopback.ts'
import type { Loopback } from './loopback.ts'

let server: Loopback
beforeAll(async () => { server = await startLoopback() })
afterAll(() => server.close())

const call: LanguageModelV4CallOptions = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] }

async function streamed(model: LanguageModelV4): Promise<{ parts: LanguageModelV4StreamPart[]; headers: unknown }> {
  const { stream, response } = await model.doStream(call)
  const parts: LanguageModelV4StreamPart[] = []
  for await (const part of stream) parts.push(part)
  return { parts, headers: response?.headers }
}

/** Asks in one attempt after the other, each time in the way that is named, and gives what each saw. */
async function attempts(body: RecordedBody, ways: readonly ('stream' | 'generate')[]) {
  const at = server.at(replyOf(body))
  const seen: unknown[] = []
  const agent = defineAgent('a', async (run) => {
    const model = run.model(MODELS[body.model](at.url))
    seen.push(ways[seen.length] === 'stream' ? await streamed(model) : await model.doGenerate(call))
    if (seen.length < ways.length) throw new Error('later')
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5 })
  await runner.run(agent, {}, { runId: 'r' }).catch(() => {})
  for (let i = 1; i < ways.length; i++) await runner.resume('r').catch(() => {})
  expect(seen).toHaveLength(ways.length)
  return { seen, requests: at.requests() }
}

/** Without what a durable model fills in or leaves out: ids and times that a provider does not give, and the raw exchange. */
const content = (parts: readonly LanguageModelV4StreamPart[]): unknown => withoutMadeUpIds(joined(parts.filter(({ type }) => type !== 'response-metadata')))
const metadata = (parts: readonly LanguageModelV4StreamPart[]): unknown[] => parts.filter(({ type }) => type === 'response-metadata').map(given)
const withoutExchange = ({ request: _request, response: _response, ...rest }: LanguageModelV4GenerateResult): unknown => withoutMadeUpIds(rest)
const given = (object: object): object => Object.fromEntries(Object.entries(object).filter(([key, value]) => value !== undefined && key !== 'body'))
const callsOf = (parts: readonly { readonly type: string }[]): unknown[] => parts.filter(({ type }) => type === 'tool-call')

describe.skipIf(!present)(`a recorded response${where}`, () => {
  it.for(answers.filter((body) => body.streamed).map((body) => [body.name, body] as const))('streamed, %s', async ([, body], { expect }) => {
    const plain = await streamed(MODELS[body.model](server.at(replyOf(body)).url))
    const { seen, requests } = await attempts(body, ['stream', 'stream', 'generate'])
    const [live, replayed, asResult] = seen as [Awaited<ReturnType<typeof streamed>>, Awaited<ReturnType<typeof streamed>>, LanguageModelV4GenerateResult]
    expect(requests).toBe(1)
    expect(content(live.parts), 'live as without Holdfast').toEqual(content(plain.parts))
    expect(joined(live.parts), 'replayed as live').toEqual(replayed.parts)
    expect(replayed.headers).toEqual(live.headers)
    expect(metadata(live.parts)).toMatchObject(metadata(plain.parts))
    expect(callsOf(asResult.content), 'asked for whole').toEqual(callsOf(replayed.parts))
    expect(asResult.finishReason).toEqual(replayed.parts.find((part) => part.type === 'finish')?.finishReason)
  })

  it.for(answers.filter((body) => !body.streamed).map((body) => [body.name, body] as const))('whole, %s', async ([, body], { expect }) => {
    const plain = await MODELS[body.model](server.at(replyOf(body)).url).doGenerate(call)
    const { seen, requests } = await attempts(body, ['generate', 'generate', 'stream'])
    const [live, replayed, asStream] = seen as [LanguageModelV4GenerateResult, LanguageModelV4GenerateResult, Awaited<ReturnType<typeof streamed>>]
    expect(requests).toBe(1)
    expect(withoutExchange(live), 'live as without Holdfast').toEqual(withoutExchange(plain))
    expect(live.response).toMatchObject(given(plain.response ?? {}))
    expect(replayed).toEqual(live)
    expect(callsOf(asStream.parts), 'asked for as a stream').toEqual(callsOf(live.content))
    expect(asStream.parts.at(-1)).toMatchObject({ type: 'finish', finishReason: live.finishReason, usage: live.usage })
  })

  it.for(failures.map((body) => [body.name, body] as const))('that is a spent quota is asked for once, %s', async ([, body], { expect }) => {
    const at = server.at({ ...replyOf(body), status: body.streamed ? 200 : 429 })
    const agent = defineAgent('a', async (run) => {
      const model = run.model(MODELS[body.model](at.url))
      return body.streamed ? void (await streamed(model)) : void (await model.doGenerate(call))
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5 })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'STEP_FAILED', message: expect.stringMatching(/quota/) })
    expect(at.requests()).toBe(1)
  })
})
