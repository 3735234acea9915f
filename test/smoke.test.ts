import { generateText, stepCountIs, streamText, tool, ToolLoopAgent } from 'ai'
import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, durable, durableTools, memoryStore } from '../src/index.ts'

const usage = { inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 2, text: 2, reasoning: 0 } }

function scripted() {
  const calls = { model: 0, refund: 0, lookup: 0 }
  const answer = (n: number): { content: LanguageModelV4Content[]; finishReason: { unified: 'tool-calls' | 'stop'; raw: undefined } } =>
    n === 0
      ? { content: [{ type: 'tool-call' as const, toolCallId: 'a', toolName: 'lookup', input: '{"id":"1"}' }, { type: 'tool-call' as const, toolCallId: 'b', toolName: 'refund', input: '{"id":"1"}' }], finishReason: { unified: 'tool-calls' as const, raw: undefined } }
      : { content: [{ type: 'text' as const, text: 'done' }], finishReason: { unified: 'stop' as const, raw: undefined } }
  const model = new MockLanguageModelV4({
    doGenerate: async (options) => {
      calls.model++
      const n = options.prompt.filter((m) => m.role === 'assistant').length
      return { ...answer(n), usage, warnings: [] }
    },
    doStream: async (options) => {
      calls.model++
      const n = options.prompt.filter((m) => m.role === 'assistant').length
      const { content, finishReason } = answer(n)
      const chunks = content.flatMap((c, i): LanguageModelV4StreamPart[] => c.type === 'text'
        ? [{ type: 'text-start' as const, id: `${i}` }, { type: 'text-delta' as const, id: `${i}`, delta: 'do' }, { type: 'text-delta' as const, id: `${i}`, delta: 'ne' }, { type: 'text-end' as const, id: `${i}` }]
        : c.type === 'tool-call' ? [c] : [])
      return { stream: simulateReadableStream<LanguageModelV4StreamPart>({ chunks: [{ type: 'stream-start' as const, warnings: [] }, ...chunks, { type: 'finish' as const, finishReason, usage }] }) }
    },
  })
  const keys: string[] = []
  const tools = {
    lookup: tool({ inputSchema: z.object({ id: z.string() }), execute: async () => { calls.lookup++; return { order: 1 } } }),
    refund: tool({ inputSchema: z.object({ id: z.string() }), execute: async () => { calls.refund++; keys.push(currentStep()!.idempotencyKey); return { ok: true } } }),
  }
  return { calls, model, tools, keys }
}

describe('a run over the memory store', () => {
  for (const mode of ['generateText', 'streamText', 'agent', 'agent stream'] as const) {
    it(`with ${mode} is replayed without a call when its handler fails afterwards`, async () => {
      const { calls, model, tools } = scripted()
      const m = durable(model)
      const t = durableTools(tools, { lookup: { readOnly: true } })
      const loop = new ToolLoopAgent({ model: m, tools: t })
      let fail = true
      const agent = defineAgent('a', async () => {
        const text = mode === 'generateText'
          ? (await generateText({ model: m, tools: t, prompt: 'hi', stopWhen: stepCountIs(5) })).text
          : mode === 'streamText'
            ? await streamText({ model: m, tools: t, prompt: 'hi', stopWhen: stepCountIs(5) }).text
            : mode === 'agent'
              ? (await loop.generate({ prompt: 'hi' })).text
              : await (await loop.stream({ prompt: 'hi' })).text
        if (fail) throw new Error('later')
        return text
      })
      const runner = createRunner({ agents: [agent], store: memoryStore() })
      await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_FAILED' })
      expect(calls).toEqual({ model: 2, refund: 1, lookup: 1 })
      fail = false
      expect(await runner.run(agent, {}, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
      expect(calls).toEqual({ model: 2, refund: 1, lookup: 1 })
      expect(await runner.run(agent, {}, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
    })
  }

  it('returns a stream result as text, messages and usage', async () => {
    const { model, tools } = scripted()
    const agent = defineAgent('a', async (run) => streamText({ model: run.model(model), tools: run.tools(tools), prompt: 'hi', stopWhen: stepCountIs(5) }))
    const runner = createRunner({ agents: [agent], store: memoryStore() })
    const outcome = await runner.run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'completed', result: { text: 'done', finishReason: 'stop', messages: [{ role: 'assistant' }, { role: 'tool' }, { role: 'assistant' }] } })
  })
})
