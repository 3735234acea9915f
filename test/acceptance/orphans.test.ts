/** Calls without a result in the messages that the user passes in (C19): repaired before the request, recorded, and shown. */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { generateText, isStepCount, streamText, tool, type ModelMessage, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runView } from '../../src/cli/view/run-view.ts'
import { showText } from '../../src/cli/view/show-text.ts'
import { createRunner, defineAgent, memoryStore, repairMessages, type Run, type RunnerOptions } from '../../src/index.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel, type TestModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

const orphaned: LanguageModelV4Prompt = [
  { role: 'user', content: [{ type: 'text', text: 'refund it' }] },
  { role: 'assistant', content: ['a', 'b'].map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'refund', input: {} })) },
  { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'refund', output: { type: 'text', value: 'refunded' } }] },
  { role: 'user', content: [{ type: 'text', text: 'and?' }] },
]

const results = (call: LanguageModelV4CallOptions): unknown[] =>
  call.prompt.flatMap((m) => (m.role === 'tool' ? m.content.flatMap((part) => (part.type === 'tool-result' ? [[part.toolCallId, part.output]] : [])) : []))

const unknown = ['b', { type: 'error-text', value: 'interrupted: the outcome of this call is unknown' }]
const known = ['a', { type: 'text', value: 'refunded' }]

/** A loop of its own; a middleware of the user may stand between. */
const byHand: Readonly<Record<string, (run: Run, model: TestModel) => Promise<unknown>>> = {
  doGenerate: async (run, model) => run.model(model).doGenerate({ prompt: orphaned }),
  doStream: async (run, model) => {
    const { stream } = await run.model(model).doStream({ prompt: orphaned })
    for await (const _part of stream) { /* to its end */ }
  },
}

describe.each(Object.entries(byHand))('a call without a result, in a loop of your own over %s (C19)', (_how, ask) => {
  it('is given one right after it, "interrupted, outcome unknown"; none is invented where one exists; it replays, and show tells it', async () => {
    const model = testModel(() => ({ text: 'fine' }))
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      await ask(run, model)
      await ask(run, model)
      fail()
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(model.requests).toHaveLength(2)
    for (const request of model.requests) {
      expect(request.prompt.map((m) => m.role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user'])
      expect(results(request)).toEqual([unknown, known])
    }
    const entries = await runner.history('r')
    expect(entries.flatMap(({ entry }) => (entry.type === 'warning' ? [entry.code] : []))).toEqual(['MESSAGES_REPAIRED'])
    const view = runView({ row: (await runner.get('r'))!, entries, owner: null, inbox: [], place: {} })
    expect(showText(view, { width: undefined, paint: (_style, text) => text })).toMatch(/MESSAGES_REPAIRED \(attempt 1\): the messages hold calls without a result \(b\)/)
  })
})

describe.each(['generateText', 'streamText'] as const)('a call without a result, in %s (C19)', (mode) => {
  const messages: ModelMessage[] = [
    { role: 'user', content: 'refund it' },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'b', toolName: 'refund', input: {} }] },
    { role: 'user', content: 'and?' },
  ]

  it('is refused by the AI SDK before a model is asked, and repaired by repairMessages, without the tool', async () => {
    const model = testModel(() => ({ text: 'fine' }))
    let refunds = 0
    const agent = defineAgent('a', async (run, input: { repaired: boolean }) => {
      const tools: ToolSet = run.tools({ refund: tool({ inputSchema: z.object({}), execute: async () => ++refunds }) })
      const options = { model: run.model(model), tools, messages: input.repaired ? repairMessages(messages) : messages, stopWhen: isStepCount(3) }
      return mode === 'generateText' ? (await generateText(options)).text : streamText({ ...options, onError: () => {} }).text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, { repaired: false }, { runId: 'not' })).rejects.toThrow()
    expect(model.requests).toHaveLength(0)
    expect(await runner.run(agent, { repaired: true }, { runId: 'r' })).toEqual({ status: 'completed', result: 'fine' })
    expect(results(model.requests[0]!)).toEqual([unknown])
    expect(refunds).toBe(0)
    const warned = async (): Promise<string[]> => (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'warning' ? [entry.message] : []))
    expect(await warned()).toEqual([expect.stringMatching(/calls without a result \(b\)/)])
    await runner.resume('r', { redo: '0' })
    expect(await warned()).toHaveLength(2)
  })
})
