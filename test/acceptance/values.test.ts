/** Results and inputs that cannot be stored, or are too large (R6, R14; E1, E3, E5). */
import { generateText, isStepCount, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, HoldfastError, memoryStore, type Run, type RunnerOptions } from '../../src/index.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, maxResultBytes: 2_000, retry: { maxAttempts: 3, backoff: { baseMs: 1, jitter: 'none' } } } satisfies Partial<RunnerOptions>

const circular = (): unknown => {
  const loop: Record<string, unknown> = { order: { id: 7 } }
  ;(loop['order'] as Record<string, unknown>)['self'] = loop
  return loop
}

const unstorable: readonly (readonly [string, () => unknown, RegExp])[] = [
  ['a circular result', circular, /\.order\.self/],
  ['a function', () => ({ items: [{ done: () => {} }] }), /\.items\[0\]\.done is a function/],
  ['a Proxy', () => ({ client: new Proxy({}, {}) }), /\.client is a Proxy/],
  ['a symbol', () => ({ key: Symbol('k') }), /\.key is a symbol/],
  ['an instance of a class', () => ({ order: new (class Order { id = 7 })() }), /\.order is an instance of class Order|\.order/],
  ['4,000 bytes where 2,000 are the limit', () => 'x'.repeat(4_000), /takes 4\d+ bytes as JSON, the limit is 2000/],
]

/** Runs a conversation with one call, fails, and drives it again; what the model was told, and how often the tool ran. */
async function conversation(mode: 'generateText' | 'streamText', result: () => unknown, policy: { readonly idempotent?: boolean }) {
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'act', input: {} }] } : { text: 'done' }))
  const fail = failingOnce()
  let calls = 0
  const agent = defineAgent('a', async (run: Run) => {
    const tools: ToolSet = run.tools({ act: tool({ inputSchema: z.object({}), execute: async () => (calls++, result() as string) }) }, { act: policy })
    const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) }
    const text = mode === 'generateText' ? (await generateText(options)).text : await streamText(options).text
    fail()
    return text
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
  expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'done' })
  expect(model.requests).toHaveLength(2)
  const [told] = model.requests[1]!.prompt.flatMap((m) => (m.role === 'tool' ? m.content.flatMap((part) => (part.type === 'tool-result' && 'value' in part.output ? [part.output.value] : [])) : []))
  return { told: String(told), calls }
}

describe.each(['generateText', 'streamText'] as const)('in %s', (mode) => {
  it.each(unstorable)('%s of a tool with effects: it succeeded, the model is told so and why the result is missing, it is never run again (E1, E5)', async (_what, result, path) => {
    const { told, calls } = await conversation(mode, result, {})
    expect(told).toMatch(/tool "act" succeeded, but its result could not be stored/)
    expect(told).toMatch(path)
    expect(calls).toBe(1)
  })

  it.each(unstorable)('%s of an idempotent tool: one error with the path, not retried, and replayed (E3, E5)', async (_what, result, path) => {
    const { told, calls } = await conversation(mode, result, { idempotent: true })
    expect(told).not.toMatch(/succeeded/)
    expect(told).toMatch(path)
    expect(calls).toBe(1)
  })
})

describe('a value that cannot be stored', () => {
  it.each(unstorable)('%s of a step with effects: RESULT_NOT_STORED, which says that it succeeded, also when it replays (E1, E5)', async (_what, result, path) => {
    let calls = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const error = await run.step('act', () => (calls++, result())).then(() => undefined, (e: unknown) => e)
      fail()
      return HoldfastError.isInstance(error) ? [error.code, error.message] : []
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: ['RESULT_NOT_STORED', expect.stringMatching(path)] })
    expect(calls).toBe(1)
  })

  it('of an effect that completed: it is not made again without a decision when the conversation has changed (E1)', async () => {
    let prompt = 'one'
    let calls = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: prompt, tool: 'act', input: {} }] } : { text: 'done' }))
    const agent = defineAgent('a', async (run) => {
      const tools: ToolSet = run.tools({ act: tool({ inputSchema: z.object({}), execute: async () => (calls++, circular() as string) }) })
      const { text } = await generateText({ model: run.model(model), tools, prompt, stopWhen: isStepCount(3) })
      if (run.attempt === 1) throw new Error('later')
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    prompt = 'two'
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['0/c:one'] }] })
    expect(calls).toBe(1)
  })

  it.each(unstorable)('%s of a read: one error that can be caught, not retried (E3, E5)', async (_what, result, path) => {
    let calls = 0
    const agent = defineAgent('a', async (run) => run.read('look', () => (calls++, result())).then(() => undefined, (e: Error) => e.message))
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ result: expect.stringMatching(path) })
    expect(calls).toBe(1)
  })

  it.each(unstorable.slice(0, 5))('%s in the input of a step: one error with the path, before anything runs (E3)', async (_what, input, path) => {
    let calls = 0
    const agent = defineAgent('a', async (run) => run.step('act', { input: input() }, () => calls++).then(() => undefined, (e: Error) => e.message))
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ result: expect.stringMatching(path) })
    expect(calls).toBe(0)
  })

  it('in the result of the run: the run fails with the path, what was done is kept', async () => {
    let calls = 0
    const agent = defineAgent('a', async (run) => {
      await run.step('act', () => ++calls)
      return circular()
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    for (let i = 0; i < 2; i++) await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'VALUE_NOT_STORABLE', message: expect.stringMatching(/result\.order\.self/) })
    expect(calls).toBe(1)
  })

  it('in the arguments of a tool, which a schema made so: the call runs, and replays', async () => {
    let calls = 0
    const fail = failingOnce()
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'act', input: { n: 1 } }] } : { text: 'done' }))
    const agent = defineAgent('a', async (run) => {
      const inputSchema = z.object({ n: z.number() }).transform(({ n }) => ({ n, twice: () => 2 * n }))
      const { steps } = await generateText({ model: run.model(model), tools: run.tools({ act: tool({ inputSchema, execute: async ({ twice }) => (calls++, twice()) }) }), prompt: 'x', stopWhen: isStepCount(3) })
      fail()
      return steps[0]!.toolResults.map((r) => r.output)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: [2] })
    expect(calls).toBe(1)
  })
})
