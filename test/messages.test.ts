/** What is asked for wrongly is refused before anything of it runs, in words that say what was asked and how to ask for it. */
import { generateText, isStepCount, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, memoryStore, type Run, type RunEvent, type ToolPolicy } from '../src/index.ts'
import { testModel } from './support/model.ts'

type Execute = (input: unknown, options?: object) => Promise<unknown>

/** A hand-written loop around one tool: `calls` counts what its code did. */
function byHand(drive: (tools: { pay: Execute; ask: () => Promise<unknown> }, run: Run) => Promise<unknown>, policy: ToolPolicy = {}, during: (n: number) => unknown = (n) => `paid ${n}`) {
  const calls: string[] = []
  const events: RunEvent[] = []
  const model = testModel(() => ({ calls: [{ id: 'c1', tool: 'pay', input: { to: 'x' } }] }))
  const agent = defineAgent('a', async (run) => {
    const tools: ToolSet = { pay: tool({ inputSchema: z.object({ to: z.string() }), execute: async () => during(calls.push(currentStep()!.step)) }) }
    const { pay } = run.tools(tools, { pay: policy })
    const asked = run.model(model)
    return drive({ pay: pay!.execute as Execute, ask: async () => asked.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'pay' }] }] }) }, run)
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5, replayHoldMs: 20, onEvent: (event) => events.push(event) })
  const warnings = () => events.flatMap((event) => (event.type === 'warning' ? [event.code] : []))
  return { calls, warnings, runner, run: () => runner.run(agent, {}, { runId: 'r' }) }
}

describe('effectKey', () => {
  it.each([['undefined', undefined], ['an empty one', ''], ['number', 7], ['object', { order: 7 }], ['null', null]])('that gives %s is refused before the call starts', async (got, key) => {
    const { calls, run } = byHand(async ({ pay, ask }) => {
      await ask()
      return pay({ to: 'x' }, { toolCallId: 'c1' })
    }, { effectKey: () => key as string })
    await expect(run()).rejects.toMatchObject({ code: 'INVALID_POLICY', message: expect.stringContaining(`tools.pay.effectKey must return a text that is not empty, got ${got}. Make it of`) })
    expect(calls).toEqual([])
  })

  it('does not make two calls one that both completed, as its docs say', async () => {
    const keys: string[] = []
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'refund', input: { order: '7' } }] } : { text: 'done' }))
    const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: async () => keys.push(currentStep()!.idempotencyKey) })
    const agent = defineAgent('a', async (run) =>
      (await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: { effectKey: ({ order }) => order } }), prompt: 'refund', stopWhen: isStepCount(4) })).text)
    const outcome = await createRunner({ agents: [agent], store: memoryStore() }).run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(new Set(keys).size).toBe(2)
  })
})

describe('a tool that is called by hand', () => {
  it.each([['no options', undefined], ['options without an id', {}], ['an id that is no text', { toolCallId: 7 }]])('with %s is refused', async (_what, options) => {
    const { calls, run } = byHand(async ({ pay }) => pay({ to: 'x' }, options))
    await expect(run()).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/tool "pay" was called without the id of its call\. Call it as execute\(input, \{ toolCallId, messages \}\)/) })
    expect(calls).toEqual([])
  })
})
