/** Retry, broken streams and time limits through the AI SDK's loops (R11-R13; A1-A9, A19, B1-B2, B8, B10). */
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { APICallError, createUIMessageStreamResponse, generateText, stepCountIs, streamText, tool, ToolLoopAgent, toUIMessageStream, type StreamTextResult, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, durable, durableTools, memoryStore, type RunEvent, type RunnerOptions } from '../src/index.ts'
import { later } from './support/crash.ts'
import { testModel, type TestModel } from './support/model.ts'

const quick = {
  idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 3, backoff: { baseMs: 1, maxMs: 2, jitter: 'none' } },
} satisfies Partial<RunnerOptions>

const overloaded = () => new APICallError({ message: 'Overloaded', url: 'http://127.0.0.1', requestBodyValues: { prompt: 'x'.repeat(10_000) }, statusCode: 529, isRetryable: true })

/** A model that streams what `parts` says for each request. */
function streaming(parts: (request: number) => (LanguageModelV4StreamPart | { type: 'cut' } | { type: 'reset' })[]): TestModel {
  const base = testModel(() => ({}))
  return {
    ...base,
    doStream: async (call) => {
      base.requests.push(call)
      const list = parts(base.requests.length)
      return {
        // Part by part: an error would discard what is queued before it.
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          pull(controller) {
            const part = list.shift()
            if (!part || part.type === 'cut') controller.close()
            else if (part.type === 'reset') controller.error(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
            else controller.enqueue(part)
          },
        }, { highWaterMark: 0 }),
      }
    },
  }
}

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } }
const text = (...deltas: string[]): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id: '1' }, ...deltas.map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
]
const end: LanguageModelV4StreamPart[] = [{ type: 'text-end', id: '1' }, { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage }]

function running(model: TestModel, options: Partial<RunnerOptions> = {}) {
  const events: RunEvent[] = []
  const agent = defineAgent('a', async (run) => streamText({ model: run.model(model), prompt: 'x', maxRetries: 5 }).text)
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => events.push(e), ...options })
  return { events, runner, run: () => runner.run(agent, {}, { runId: 'r' }) }
}

describe('a stream that breaks', () => {
  it('before its first content is tried again silently (A1)', async () => {
    const model = streaming((n) => (n === 1 ? [{ type: 'stream-start', warnings: [] }, { type: 'error', error: overloaded() }] : [...text('fine'), ...end]))
    const { run, events } = running(model)
    expect(await run()).toEqual({ status: 'completed', result: 'fine' })
    expect(model.requests).toHaveLength(2)
    expect(events.map((e) => e.type)).toContain('retry-wait')
    expect(events.map((e) => e.type)).not.toContain('step-reset')
  })

  for (const [how, broken] of [['an error part', { type: 'error', error: overloaded() }], ['a reset', { type: 'reset' }], ['a clean cut', { type: 'cut' }]] as const) {
    it(`by ${how} after two deltas is driven again, and no text is joined (A2)`, async () => {
      const model = streaming((n) => (n === 1 ? [...text('He', 'l'), broken] : [...text('Hel', 'lo'), ...end]))
      const { run, events } = running(model)
      expect(await run()).toEqual({ status: 'completed', result: 'Hello' })
      expect(model.requests).toHaveLength(2)
      expect(events.filter((e) => e.type === 'step-reset')).toEqual([expect.objectContaining({ step: '0', tries: 1 })])
    })
  }

  it('again and again ends within the same budget, as an error and never as a partial success (A2, A9)', async () => {
    const model = streaming(() => [...text('par', 'tial'), { type: 'reset' }])
    const { run } = running(model)
    await expect(run()).rejects.toMatchObject({ code: 'STEP_FAILED' })
    expect(model.requests).toHaveLength(3)
  })

  const readAll = async (stream: AsyncIterable<unknown>): Promise<unknown[]> => {
    const all: unknown[] = []
    for await (const part of stream) all.push(part)
    return all
  }

  const WAYS = {
    text: (result) => result.text,
    finishReason: (result) => result.finishReason,
    steps: (result) => result.steps,
    textStream: (result) => readAll(result.textStream),
    fullStream: (result) => readAll(result.fullStream),
    'the UI message stream': (result) => readAll(toUIMessageStream({ stream: result.stream })),
    'the UI message stream response': (result) => createUIMessageStreamResponse({ stream: toUIMessageStream({ stream: result.stream }) }).text(),
    'the text stream response': (result) => result.toTextStreamResponse().text(),
  } as const satisfies Record<string, (result: StreamTextResult<ToolSet, never, never>) => unknown>

  for (const mode of Object.keys(WAYS) as (keyof typeof WAYS)[]) {
    it.each([['streamText'], ['ToolLoopAgent']] as const)(`is an error for who reads ${mode}, in %s`, async (loop) => {
      const model = streaming(() => [...text('par', 'tial'), { type: 'error', error: Object.assign(new Error('bad key'), { statusCode: 401 }) }])
      const seen: unknown[] = []
      const agent = defineAgent('a', async (run) => {
        const result = loop === 'streamText' ? streamText({ model: run.model(model), prompt: 'x', onError: () => {} }) : await new ToolLoopAgent({ model: run.model(model) }).stream({ prompt: 'x' })
        seen.push(await Promise.resolve(WAYS[mode](result as never)).catch((error: unknown) => error))
        return result
      })
      const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
      await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'STEP_FAILED' })
      expect(seen).toEqual([expect.any(Error)])
      expect(model.requests).toHaveLength(1)
    })
  }
})

describe('layers above and below', () => {
  it('make exactly maxAttempts requests, whatever maxRetries says (A9)', async () => {
    const model = testModel(() => { throw overloaded() })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'x', maxRetries: 7 })).text)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const error = await runner.run(agent, {}, { runId: 'r' }).catch((e: unknown) => e)
    expect(error).toMatchObject({ code: 'STEP_FAILED', cause: { name: 'AI_APICallError', statusCode: 529 } })
    expect(model.requests).toHaveLength(3)
  })

  it('keep what the request was out of the record of its failure (R17)', async () => {
    const model = testModel(() => { throw overloaded() })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'x' })).text)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, {}, { runId: 'r' }).catch(() => {})
    expect(JSON.stringify(await runner.history('r')).length).toBeLessThan(6_000)
  })

  it('a policy without a store retries and keeps nothing', async () => {
    let n = 0
    const model = testModel(() => { if (++n < 3) throw overloaded(); return { text: 'fine' } })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'x' })).text)
    const runner = createRunner({ agents: [agent], retry: quick.retry })
    expect(await runner.run(agent, {})).toEqual({ status: 'completed', result: 'fine' })
  })
})

describe('time limits', () => {
  it('a model request without an answer times out and is tried again (B2)', async () => {
    let n = 0
    const model = testModel(() => (++n === 1 ? new Promise(() => {}) : { text: 'fine' }))
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'x' })).text)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, timeouts: { modelMs: 30 } })
    expect(await runner.run(agent, {}, { runId: 'r' })).toEqual({ status: 'completed', result: 'fine' })
  })

  it('a Retry-After beyond what is waited inline suspends the run until then, and it is never asked earlier (A10)', async () => {
    const model = testModel(() => {
      throw new APICallError({ message: 'slow down', url: 'x', requestBodyValues: {}, statusCode: 429, responseHeaders: { 'retry-after': '3600' }, isRetryable: true })
    })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'x' })).text)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const before = Date.now()
    const outcome = await runner.run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'retry-after', step: '0' }] })
    expect(outcome.status === 'suspended' && outcome.resumeAt! >= before + 3_600_000).toBe(true)
    expect(model.requests).toHaveLength(1)
  })
})

describe('a Retry-After that the run was suspended for', () => {
  it('is kept by the next attempt too, within the same budget of tries (A9, A10)', async () => {
    const model = testModel(() => {
      throw new APICallError({ message: 'slow down', url: 'x', requestBodyValues: {}, statusCode: 429, responseHeaders: { 'retry-after': '3600' }, isRetryable: true })
    })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'x' })).text)
    const store = memoryStore()
    const at = (hours: number) => createRunner({ agents: [agent], store, ...quick, clock: later(hours * 3_601_000) })
    expect(await at(0).run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended' })
    expect(await at(0).resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'retry-after', tries: 1 }], resumeAt: expect.any(Number) })
    expect(model.requests).toHaveLength(1)
    expect(await at(1).resume('r')).toMatchObject({ status: 'suspended' })
    expect(model.requests).toHaveLength(2)
    await expect(at(2).resume('r')).rejects.toMatchObject({ code: 'STEP_FAILED' })
    expect(model.requests).toHaveLength(3)
  })
})

describe('the tools of the AI SDK', () => {
  it('keep every property but execute, also those that are not enumerable', () => {
    const original = Object.defineProperty(tool({ description: 'd', inputSchema: z.object({}), execute: async () => 1, toModelOutput: () => ({ type: 'text', value: 'x' }) }), 'hidden', { value: 'kept', enumerable: false })
    const none = tool({ inputSchema: z.object({}) })
    const wrapped = durableTools({ original, none })
    expect(wrapped.none).toBe(none)
    const before = Object.getOwnPropertyDescriptors(original) as Record<string, PropertyDescriptor>
    const after = Object.getOwnPropertyDescriptors(wrapped.original) as Record<string, PropertyDescriptor>
    expect(Object.keys(after)).toEqual(Object.keys(before))
    for (const key of Object.keys(before)) if (key !== 'execute') expect(after[key]).toEqual(before[key])
  })

  it('an async generator gives its preliminary results live, and only the last one on replay', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'count', input: {} }] } : { text: 'x' }))
    const seen: unknown[][] = []
    let failed = false
    const agent = defineAgent('a', async (run) => {
      const count = tool({ inputSchema: z.object({}), async *execute() { yield 1; yield 2; yield 3 } })
      const results: unknown[] = []
      for await (const part of streamText({ model: run.model(model), tools: run.tools({ count }), prompt: 'x', stopWhen: stepCountIs(3) }).fullStream) {
        if (part.type === 'tool-result') results.push(part.preliminary ? `preliminary ${String(part.output)}` : part.output)
      }
      seen.push(results)
      if (!failed) {
        failed = true
        throw new Error('later')
      }
      return results.at(-1)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ result: 3 })
    expect(seen[0]).toEqual(['preliminary 1', 'preliminary 2', 'preliminary 3', 'preliminary 3', 3])
    expect(seen[1]!.at(-1)).toBe(3)
    expect(seen[1]!.every((v) => v === 3 || v === 'preliminary 3')).toBe(true)
  })

  it.each([['done'], ['failed']] as const)('an async generator shows each preliminary result when it comes, also of a call that is %s in the end', async (how) => {
    const seen: string[] = []
    const shown = Promise.withResolvers<void>()
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'work', input: {} }] } : { text: 'x' }))
    const agent = defineAgent('a', async (run) => {
      const work = tool({
        inputSchema: z.object({}),
        async *execute() {
          yield 'at work'
          // It goes on when that was seen.
          await shown.promise
          if (how === 'failed') throw new Error('no such city')
          yield 'done'
        },
      })
      for await (const part of streamText({ model: run.model(model), tools: run.tools({ work }), prompt: 'x', stopWhen: stepCountIs(3) }).fullStream) {
        if (part.type === 'tool-error') seen.push('failed')
        if (part.type !== 'tool-result') continue
        seen.push(String(part.output))
        shown.resolve()
      }
    })
    await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })
    expect([...new Set(seen)]).toEqual(['at work', how])
  })

  it('an unknown tool and arguments that do not parse are observations, not the end (B8)', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'a', tool: 'nope', input: {} }, { id: 'b', tool: 'get', input: { n: 'not a number' } }] } : { text: 'went on' }))
    const agent = defineAgent('a', async (run) => (await generateText({
      model: run.model(model), prompt: 'x', stopWhen: stepCountIs(3),
      tools: run.tools({ get: tool({ inputSchema: z.object({ n: z.number() }), execute: async () => 1 }) }),
    })).text)
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'went on' })
  })
})

describe('opt-in', () => {
  it('a runner with neither store nor policies changes nothing', async () => {
    const model = testModel(() => ({ text: 'x' }))
    const tools = { get: tool({ inputSchema: z.object({}), execute: async () => 1 }) }
    const same: boolean[] = []
    const agent = defineAgent('a', async (run) => {
      same.push(run.model(model) === model, run.tools(tools) === tools)
      return (await generateText({ model: run.model(model), prompt: 'x' })).text
    })
    expect(await createRunner({ agents: [agent] }).run(agent, {})).toEqual({ status: 'completed', result: 'x' })
    expect(same).toEqual([true, true])
  })

  it('durable models and tools outside every run behave as the plain ones', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'get', input: {} }] } : { text: 'plain' }))
    const tools = durableTools({ get: tool({ inputSchema: z.object({}), execute: async () => 1 }) })
    expect((await generateText({ model: durable(model), tools, prompt: 'x', stopWhen: stepCountIs(3) })).text).toBe('plain')
    await expect(generateText({ model: durable(model, { outside: 'refuse' }), prompt: 'x' })).rejects.toMatchObject({ code: 'OUTSIDE_RUN' })
  })
})
