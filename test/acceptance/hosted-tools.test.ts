/** Model requests that offer provider-executed tools: remote MCP, code execution, hosted search (R2, R6; C31). */
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { generateText, isStepCount, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions } from '../../src/index.ts'
import { later, mortal } from '../support/crash.ts'
import { testModel, type TestModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { backoff: { baseMs: 1, jitter: 'none' } } } satisfies Partial<RunnerOptions>

const hosted: ToolSet = { run_code: { type: 'provider', isProviderExecuted: true, id: 'test.run_code', args: {}, inputSchema: z.object({}) } }

/** How a handler asks: a loop of the AI SDK, its stream, or its own `doGenerate` and `doStream`. */
const asks: Readonly<Record<string, (run: Run, model: TestModel) => Promise<string>>> = {
  generateText: async (run, model) => (await generateText({ model: run.model(model), tools: hosted, prompt: 'compute' })).text,
  streamText: async (run, model) => streamText({ model: run.model(model), tools: hosted, prompt: 'compute', onError: () => {} }).text,
  'a loop of its own over doGenerate': async (run, model) => {
    const { content } = await run.model(model).doGenerate(byHand)
    return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  },
  'a loop of its own over doStream': async (run, model) => {
    let text = ''
    const { stream } = await run.model(model).doStream(byHand)
    for await (const part of stream) if (part.type === 'text-delta') text += part.delta
    return text
  },
}

const byHand: LanguageModelV4CallOptions = {
  prompt: [{ role: 'user', content: [{ type: 'text', text: 'compute' }] }],
  tools: [{ type: 'provider', id: 'test.run_code', name: 'run_code', args: {} }],
}

/** A run whose process dies while its first request is in flight. */
async function killedInFlight(ask: (run: Run, model: TestModel) => Promise<string>, options: Partial<RunnerOptions> = {}) {
  const scene = { errors: [] as unknown[], catches: false, inFlight: () => {} }
  const model = testModel(() => {
    if (model.requests.length > 1) return { text: '42' }
    scene.inFlight()
    return new Promise(() => {})
  })
  const agent = defineAgent('a', async (run) => ask(run, model).catch((error: unknown) => {
    scene.errors.push(error)
    if (!scene.catches) throw error
    return 'went on without it'
  }))
  const store = memoryStore()
  const dying = mortal(store)
  const sent = new Promise<void>((resolve) => (scene.inFlight = resolve))
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
  await sent
  dying.kill()
  return Object.assign(scene, { model, agent, store, runner: createRunner({ agents: [agent], store, clock: later(), ...quick, ...options }) })
}

describe.each(Object.entries(asks))('a request with hosted tools, killed in flight, asked by %s (C31)', (_how, ask) => {
  it('is in doubt, is not silently sent again, and the reason says what each way out means', async () => {
    const { runner, model } = await killedInFlight(ask)
    for (let i = 0; i < 2; i++) {
      const outcome = await runner.resume('r')
      expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0', tool: 'test/model', effects: ['0'] }] })
      expect(JSON.stringify(outcome)).toMatch(/--rerun sends it again, --skip fails the request, the result is a text or/)
    }
    expect(model.requests).toHaveLength(1)
  })

  it('is sent again by the decision rerun', async () => {
    const { runner, model } = await killedInFlight(ask)
    expect(await runner.resolve('r', '0', 'rerun', { resume: true })).toMatchObject({ status: 'completed', result: '42' })
    expect(model.requests).toHaveLength(2)
  })

  it('is answered by a text, or by the parts of a response, that a person gives', async () => {
    for (const result of ['by hand', { content: [{ type: 'text', text: 'by hand' }] }]) {
      const { runner, model } = await killedInFlight(ask)
      expect(await runner.resolve('r', '0', { result }, { resume: true })).toMatchObject({ status: 'completed', result: 'by hand' })
      expect(model.requests).toHaveLength(1)
    }
  })

  it('fails by the decision skip: its caller is told that the outcome is unknown, and may go on', async () => {
    const scene = await killedInFlight(ask)
    scene.catches = true
    expect(await scene.runner.resolve('r', '0', 'skip', { resume: true })).toMatchObject({ status: 'completed', result: 'went on without it' })
    expect(scene.errors).toEqual([expect.objectContaining({ code: 'OUTCOME_UNKNOWN' })])
    expect(scene.model.requests).toHaveLength(1)
  })

  it('that was skipped fails the run each time, without being sent; driven again from there, it is asked about anew', async () => {
    const { runner, model } = await killedInFlight(ask)
    await expect(runner.resolve('r', '0', 'skip', { resume: true })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', advice: expect.stringContaining('redo') })
    expect(await runner.resume('r', { redo: '0' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: ['0'] }] })
    expect(model.requests).toHaveLength(1)
  })

  it('is in doubt also when the connection was lost, and is not tried again by itself', async () => {
    const model = testModel(() => {
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    })
    const agent = defineAgent('a', async (run) => ask(run, model))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(model.requests).toHaveLength(1)
  })

  it('is tried again after a 429: nothing of it was begun', async () => {
    const model = testModel(() => {
      if (model.requests.length === 1) throw Object.assign(new Error('slow down'), { statusCode: 429 })
      return { text: 'fine' }
    })
    const agent = defineAgent('a', async (run) => ask(run, model))
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ result: 'fine' })
    expect(model.requests).toHaveLength(2)
  })
})

describe('a request with hosted tools', () => {
  it('by the policies rerun and skip is sent again, or fails', async () => {
    const again = await killedInFlight(asks['generateText']!, { onIncompleteTool: 'rerun' })
    expect(await again.runner.resume('r')).toMatchObject({ status: 'completed', result: '42' })
    const skipped = await killedInFlight(asks['generateText']!, { onIncompleteTool: 'skip' })
    await expect(skipped.runner.resume('r')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(skipped.model.requests).toHaveLength(1)
  })

  it('takes no result that is no response', async () => {
    const { runner } = await killedInFlight(asks['generateText']!)
    for (const result of [42, null, {}, { content: [] }, { content: ['text'] }, { content: [{ type: 'tool-call', toolName: 'x' }] }]) {
      await expect(runner.resolve('r', '0', { result })).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/must be a text or \{ content/) })
    }
  })

  it('may be answered by a response that asks for tools: they run, and are known by it', async () => {
    const done: number[] = []
    const tools = (run: Run): ToolSet => run.tools({ ...hosted, add: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => done.push(n) }) })
    const scene = await killedInFlight(async (run, model) => (await generateText({ model: run.model(model), tools: tools(run), prompt: 'x', stopWhen: isStepCount(3) })).text)
    const result = { content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{"n":7}' }] }
    expect(await scene.runner.resolve('r', '0', { result }, { resume: true })).toMatchObject({ status: 'completed', result: '42' })
    expect(done).toEqual([7])
    expect((await scene.runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' ? [entry.step.id] : []))).toEqual(['0', '0/c:c', '1'])
  })

  it('that is said to be read-only is like any other: sent again after a kill, retried after a reset', async () => {
    const ask = async (run: Run, model: TestModel): Promise<string> => (await generateText({ model: run.model(model, { providerTools: 'read-only' }), tools: hosted, prompt: 'x' })).text
    const { runner, model } = await killedInFlight(ask)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: '42' })
    expect(model.requests).toHaveLength(2)
  })

  it('that was answered is not in the way of later ones, also after the run diverged', async () => {
    let prompt = 'one'
    const model = testModel(() => ({ text: 'x' }))
    const agent = defineAgent('a', async (run) => {
      for (const suffix of ['a', 'b']) await generateText({ model: run.model(model), tools: hosted, prompt: prompt + suffix })
      if (run.attempt === 1) throw new Error('later')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    prompt = 'two'
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(model.requests).toHaveLength(4)
  })

  it('that is in doubt holds back one that was reworded after a divergence (R5)', async () => {
    let prompt = 'compute'
    const { runner, model } = await killedInFlight(async (run, m) => (await generateText({ model: run.model(m), tools: hosted, prompt })).text)
    prompt = 'please compute'
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: ['0'] }] })
    expect(model.requests).toHaveLength(1)
  })

  it.each(['doGenerate', 'doStream'] as const)('that has no fingerprint is refused before it is sent: what came of it could not be recorded (%s)', async (how) => {
    const model = testModel(() => ({ text: 'x' }))
    const tools: LanguageModelV4CallOptions['tools'] = [{ type: 'provider', id: 'test.run_code', name: 'run_code', args: { onResult: () => {} } }]
    const agent = defineAgent('a', async (run) => {
      const answer = await run.model(model)[how]({ ...byHand, tools })
      if ('stream' in answer) for await (const part of answer.stream) if (part.type === 'error') throw part.error
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'VALUE_NOT_STORABLE', message: expect.stringMatching(/test\/model offers tools that the provider executes.*has no fingerprint.*Leave/) })
    expect(model.requests).toHaveLength(0)
  })
})
