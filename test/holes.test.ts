/** Answers with a hole, as an adapter or middleware of one's own may make them: no answer, so tried again, and then the step fails (A5). */
import type { LanguageModelV4, LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { generateText, streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore } from '../src/index.ts'
import { endParts, textParts } from './support/streaming.ts'
import { testModel } from './support/model.ts'

const text = { type: 'text', text: 'fine' }

/** The first answers are `broken`, the next one is whole. */
async function asking(broken: unknown, times: number, loop: 'generateText' | 'streamText') {
  const model = testModel(() => ({ text: 'fine' }))
  let asked = 0
  const lossy: LanguageModelV4 = {
    ...model,
    doGenerate: async (call) => {
      const whole = await model.doGenerate(call)
      return ++asked > times ? whole : typeof broken === 'object' && broken !== null ? ({ ...whole, ...broken } as LanguageModelV4GenerateResult) : (broken as never)
    },
    doStream: async () => {
      const parts = ++asked > times ? [...textParts('fine'), ...endParts] : [broken as LanguageModelV4StreamPart, ...endParts]
      return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> }
    },
  }
  const agent = defineAgent('a', async (run) => {
    const asks = { model: run.model(lossy), prompt: 'x', maxRetries: 0 }
    return loop === 'generateText' ? (await generateText(asks)).text : streamText({ ...asks, onError() {} }).text
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5, retry: { maxAttempts: 2, backoff: { baseMs: 0 } } })
  const outcome = await runner.run(agent, {}, { runId: 'r' }).catch((error: unknown) => ({ error }))
  return { outcome, row: await runner.get('r'), asked: () => asked }
}

const call = { type: 'tool-call', toolCallId: 'c', toolName: 't', input: '{}' }

describe.each<['generateText' | 'streamText', string, unknown]>([
  ['generateText', 'a part that is not there', { content: [text, undefined] }],
  ['generateText', 'a part without a type', { content: [{ text: 'x' }] }],
  ['generateText', 'a call without an id', { content: [{ ...call, toolCallId: undefined }] }],
  ['generateText', 'a call with an input that is no text', { content: [{ ...call, input: {} }] }],
  ['generateText', 'no content', { content: undefined }],
  ['generateText', 'no finish', { finishReason: undefined }],
  ['generateText', 'nothing at all', undefined],
  ['streamText', 'a part that is null', null],
  ['streamText', 'a call without a name', { ...call, toolName: undefined }],
])('in %s, an answer that has %s', (loop, _what, broken) => {
  it('is asked for again', async () => {
    const { outcome, asked } = await asking(broken, 1, loop)
    expect(outcome).toEqual({ status: 'completed', result: 'fine' })
    expect(asked()).toBe(2)
  })

  it('fails its step, with a code, where there is no better one', async () => {
    const { outcome, row } = await asking(broken, 9, loop)
    expect(outcome).toMatchObject({ error: { code: expect.any(String), message: expect.stringMatching(loop === 'generateText' ? /the model response was broken off/ : /./) } })
    expect(row).toMatchObject({ status: 'failed' })
  })
})
