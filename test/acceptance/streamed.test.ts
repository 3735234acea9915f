/** Loops that stream: doubt, branches, agents inside tools, models that are not wrapped (R1, R6; C1, C5, C15, C16, C16b, C27, C33, C39). */
import { isStepCount, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions, type ToolPolicy } from '../../src/index.ts'
import { later, mortal } from '../support/crash.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel, type Answer, type TestModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

const paying = (second?: object) => (turn: number): Answer => {
  if (turn === 0) return { calls: [{ id: 'c1', tool: 'pay', input: { order: '7' } }] }
  return turn === 1 && second ? { calls: [{ id: 'c2', tool: 'pay', input: second }] } : { text: 'done' }
}

function paymentAgent(model: TestModel, execute: (n: number) => Promise<string>, policy: ToolPolicy<{ order: string }, string> = {}) {
  const scene = { calls: 0 }
  const agent = defineAgent('a', async (run) => {
    const pay = tool({ inputSchema: z.object({ order: z.string() }), execute: () => execute(++scene.calls) })
    const result = streamText({ model: run.model(model), tools: run.tools({ pay }, { pay: policy }), prompt: 'x', stopWhen: isStepCount(4) })
    const told: string[] = []
    for await (const part of result.fullStream) {
      if (part.type === 'tool-result') told.push(String(part.output))
      if (part.type === 'tool-error') told.push((part.error as Error).message)
    }
    return told
  })
  return Object.assign(scene, { agent })
}

describe('a streamed call that was killed between its effect and its record (C1)', () => {
  it.each<[string, 'rerun' | 'skip' | { result: string }, readonly unknown[], number]>([
    ['rerun', 'rerun', ['paid 2'], 2],
    ['skip', 'skip', [expect.stringMatching(/outcome is unknown/)], 1],
    ['its result', { result: 'paid, says the bank' }, ['paid, says the bank'], 1],
  ])('waits, and is settled by the decision %s', async (_what, decision, told, calls) => {
    const scene = paymentAgent(testModel(paying()), async (n) => `paid ${n}`)
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"kind":"tool"/)
    void createRunner({ agents: [scene.agent], store: dying.store, ...quick }).run(scene.agent, {}, { runId: 'r' })
    await died
    const runner = createRunner({ agents: [scene.agent], store, clock: later(), ...quick })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c1' }] })
    expect(await runner.resolve('r', '0/c:c1', decision, { resume: true })).toEqual({ status: 'completed', result: told })
    expect(scene.calls).toBe(calls)
  })
})

describe('a streamed call that timed out', () => {
  it.each([['the same words', { order: '7' }], ['other words', { order: 'seven' }]])('holds back the next one, in %s, which is reconciled or waits (C27)', async (_what, second) => {
    for (const answers of [false, true]) {
      const policy = { timeoutMs: 15, ...(answers && { reconcile: async () => ({ status: 'completed', output: 'found' }) as const }) }
      const scene = paymentAgent(testModel(paying(second)), () => new Promise(() => {}), policy)
      const outcome = await createRunner({ agents: [scene.agent], store: memoryStore(), ...quick }).run(scene.agent, {}, { runId: 'r' })
      if (answers && second.order === '7') expect(outcome).toEqual({ status: 'completed', result: [expect.stringMatching(/unknown/), 'found'] })
      else expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ tool: 'pay', effects: ['0/c:c1'] }] })
      expect(scene.calls).toBe(1)
    }
  })
})

describe('what streams side by side', () => {
  it('two loops in branches, killed, replay wholly, no effect twice (C16)', async () => {
    const model = testModel((turn, call) => (turn === 0 ? { calls: [{ id: 'same', tool: 'pay', input: { who: JSON.stringify(call.prompt[0]!.content) } }] } : { text: 'done' }))
    const paid: string[] = []
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools: ToolSet = run.tools({ pay: tool({ inputSchema: z.object({ who: z.string() }), execute: async ({ who }) => (paid.push(who), who) }) })
      const results = await Promise.all(['ann', 'bob'].map((who) => run.branch(who, async () => {
        const result = streamText({ model: run.model(model), tools, prompt: who, stopWhen: isStepCount(3) })
        return (await result.steps).flatMap((s) => s.toolResults.map((r) => String(r.output)))
      })))
      fail()
      return results.map(([own]) => own)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [expect.stringContaining('ann'), expect.stringContaining('bob')] })
    expect([paid.length, model.requests.length]).toEqual([2, 4])
  })

  it('two loops with tools in one branch are refused, however they are read (C16b)', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'x' }))
    const agent = defineAgent('a', async (run) => {
      const loop = (customer: string) => streamText({ model: run.model(model), prompt: 'what is owed?', stopWhen: isStepCount(3), onError: () => {}, tools: run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => customer }) }) })
      const [ann, bob] = [loop('ann'), loop('bob')]
      return Promise.all([ann.text, bob.text])
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', advice: expect.stringMatching(/currentRun\(\)\.branch\(key, fn\)/) })
  })

  it('tools that finish in reverse order get their own results, and fewer at a time do not deadlock (C5, C33)', async () => {
    const ids = ['a', 'b', 'c']
    const model = testModel((turn) => (turn === 0 ? { calls: ids.map((id) => ({ id, tool: 'look', input: { id } })) } : { text: 'done' }))
    let concurrency = 3
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const execute = async ({ id }: { id: string }) => {
        // The last one first.
        for (let i = 0; i < 3 * (3 - ids.indexOf(id)); i++) await new Promise((resolve) => setImmediate(resolve))
        return `seen ${id}`
      }
      const tools: ToolSet = run.tools({ look: tool({ inputSchema: z.object({ id: z.string() }), execute }) })
      const result = streamText({ model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3), toolCallConcurrency: concurrency })
      const [first] = await result.steps
      fail()
      return first!.toolResults.map((r) => [r.toolCallId, r.output] as const).toSorted()
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    concurrency = 1
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: ids.map((id) => [id, `seen ${id}`]) })
    expect(model.requests).toHaveLength(2)
  })
})

describe('a streaming agent inside a tool', () => {
  it('twice in a run: the first replays without starting, the second finds its own steps (C15)', async () => {
    const inner = testModel((_turn, call) => ({ text: `about ${JSON.stringify(call.prompt[0]!.content)}` }))
    const outer = testModel((turn) => (turn < 2 ? { calls: [{ id: 'same', tool: 'research', input: { topic: `topic ${turn}` } }] } : { text: 'done' }))
    let entered = 0
    let dies = true
    let die: () => void = () => {}
    const agent = defineAgent('a', async (run: Run) => {
      const research = tool({
        inputSchema: z.object({ topic: z.string() }),
        async *execute({ topic }) {
          entered++
          let text = ''
          for await (const delta of streamText({ model: run.model(inner), prompt: topic }).textStream) yield (text += delta)
          if (topic === 'topic 1' && dies) {
            die()
            await new Promise(() => {})
          }
        },
      })
      const result = streamText({ model: run.model(outer), tools: run.tools({ research }, { research: { composite: true } }), prompt: 'x', stopWhen: isStepCount(4) })
      return (await result.steps).flatMap((s) => s.toolResults.map((r) => String(r.output)))
    })
    const store = memoryStore()
    const dying = mortal(store)
    const died = new Promise<void>((resolve) => (die = () => (dying.kill(), resolve())))
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    dies = false
    expect(await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')).toMatchObject({ status: 'completed', result: [expect.stringContaining('topic 0'), expect.stringContaining('topic 1')] })
    expect([inner.requests.length, outer.requests.length, entered]).toEqual([2, 3, 3])
  })
})

describe('a streaming model that is not wrapped, with wrapped tools (C39)', () => {
  it('its calls are ordinary steps, with a warning', async () => {
    const model = testModel(paying())
    const fail = failingOnce()
    const warnings: string[] = []
    let paid = 0
    const agent = defineAgent('a', async (run) => {
      const tools: ToolSet = run.tools({ pay: tool({ inputSchema: z.object({ order: z.string() }), execute: async () => ++paid }) })
      const text = await streamText({ model, tools, prompt: 'x', stopWhen: isStepCount(3) }).text
      fail()
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => e.type === 'warning' && warnings.push(e.code) })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect([paid, model.requests.length, warnings]).toEqual([1, 4, ['MODEL_NOT_WRAPPED']])
  })
})
