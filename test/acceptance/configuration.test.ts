/** A deploy changes the configuration while runs are suspended (R8; C11): replay, diverge or refuse, and what changed is named. */
import { generateText, isStepCount, Output, streamText, tool, type ToolChoice, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunEvent, type RunnerOptions } from '../../src/index.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

interface Deployed {
  instructions: string
  modelId: string
  temperature: number
  description: string
  schema: z.ZodType<{ id: string }>
  providerOptions: { test: { effort: string } }
  extra: boolean
}

const before = (): Deployed => ({
  instructions: 'be kind', modelId: 'model', temperature: 0, description: 'looks up', schema: z.object({ id: z.string() }), providerOptions: { test: { effort: 'low' } }, extra: false,
})

const changes: readonly (readonly [string, Partial<Deployed>, string])[] = [
  ['the system text', { instructions: 'be brief' }, 'system'],
  ['the model', { modelId: 'model-2' }, 'model'],
  ['a setting', { temperature: 1 }, 'temperature'],
  ['the description of a tool', { description: 'finds' }, 'tool look'],
  ['the schema of a tool', { schema: z.object({ id: z.string().describe('of the order') }) }, 'tool look'],
  ['the provider options', { providerOptions: { test: { effort: 'high' } } }, 'providerOptions'],
  ['a tool that is new', { extra: true }, 'tool extra'],
]

type Policy = NonNullable<RunnerOptions['onConfigChange']>

/** One call and its answer under the old configuration, then all of it again under the new one. */
async function deployed(mode: 'generateText' | 'streamText', change: Partial<Deployed>, onConfigChange: Policy) {
  let config = before()
  let looks = 0
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: { id: '7' } }] } : { text: 'done' }))
  const fail = failingOnce()
  const events: RunEvent[] = []
  const agent = defineAgent('a', async (run: Run) => {
    const { description, schema, extra, modelId, ...settings } = config
    const look = tool({ description, inputSchema: schema, execute: async () => ++looks })
    const tools: ToolSet = run.tools({ look, ...(extra && { extra: tool({ inputSchema: z.object({}), execute: async () => 1 }) }) }, { look: { readOnly: true } })
    const options = { model: run.model(Object.assign(model, { modelId })), tools, prompt: 'x', stopWhen: isStepCount(3), ...settings }
    const text = mode === 'generateText' ? (await generateText(options)).text : await streamText({ ...options, onError: () => {} }).text
    fail()
    return text
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onConfigChange, onEvent: (e) => events.push(e) })
  await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
  config = { ...config, ...change }
  const outcome = await runner.resume('r').catch((error: unknown) => error)
  return { outcome, requests: model.requests.length, events, runner, restore: () => (config = before()) }
}

describe.each(['generateText', 'streamText'] as const)('with %s', (mode) => {
  it.each(changes)('%s changed: recorded answers stand, and a warning names it (C11)', async (_what, change, name) => {
    const { outcome, requests, events } = await deployed(mode, change, 'replay')
    expect(outcome).toEqual({ status: 'completed', result: 'done' })
    expect(requests).toBe(2)
    expect(events.flatMap((e) => (e.type === 'config-changed' ? [e.changed] : []))).toEqual([[name], [name]])
  })

  it.each(changes)('%s changed, policy diverge: asked anew, the reason names it', async (_what, change, name) => {
    const { outcome, requests, events } = await deployed(mode, change, 'diverge')
    expect(outcome).toEqual({ status: 'completed', result: 'done' })
    expect(requests).toBe(4)
    const [first] = events.flatMap((e) => (e.type === 'replay-diverged' ? [e.reason] : []))
    expect(first).toContain(name)
  })

  it.each(changes)('%s changed, policy refuse: CONFIG_CHANGED names it, nothing is asked, and the old code goes on', async (_what, change, name) => {
    const { outcome, requests, runner, restore } = await deployed(mode, change, 'refuse')
    expect(outcome).toMatchObject({ code: 'CONFIG_CHANGED', message: expect.stringContaining(`(${name})`) })
    expect(requests).toBe(2)
    restore()
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'done' })
  })
})

describe('a change under which the recorded response would be refused', () => {
  it('diverges: its tool is gone', async () => {
    let gone = false
    const model = testModel((turn, call) => (turn === 0 && (call.tools ?? []).some(({ name }) => name === 'look') ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'done' }))
    const fail = failingOnce()
    const events: RunEvent[] = []
    const agent = defineAgent('a', async (run) => {
      const made = (name: string) => tool({ inputSchema: z.object({}), execute: async () => name })
      const tools: ToolSet = run.tools(gone ? { find: made('find') } : { find: made('find'), look: made('look') }, { find: { readOnly: true }, ...(!gone && { look: { readOnly: true } }) })
      const { text } = await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) })
      fail()
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => events.push(e) })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    gone = true
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'done' })
    expect(events.flatMap((e) => (e.type === 'replay-diverged' ? [e.reason] : []))).toEqual(['the configuration changed (tool look)'])
    expect(model.requests).toHaveLength(3)
  })

  it.each<[string, ToolChoice<ToolSet>, boolean, boolean]>([
    ['required, of a text', 'required', false, false],
    ['one tool, of a text', { type: 'tool', toolName: 'look' }, false, false],
    ['none, of a call', 'none', true, false],
    ['required, of a call', 'required', true, true],
    ['one tool, of a call of it', { type: 'tool', toolName: 'look' }, true, true],
    ['none, of a text', 'none', false, true],
  ])('diverges when the tool choice is now %s; what heeds it stands', async (_what, choice, withCall, stands) => {
    let toolChoice: ToolChoice<ToolSet> = 'auto'
    const model = testModel((_turn, call) => {
      const calls = call.toolChoice?.type === 'auto' ? withCall : call.toolChoice?.type !== 'none'
      return calls ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'no call' }
    })
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools: ToolSet = run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => 'seen' }) }, { look: { readOnly: true } })
      await generateText({ model: run.model(model), tools, prompt: 'x', toolChoice })
      fail()
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    toolChoice = choice
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(model.requests).toHaveLength(stands ? 1 : 2)
  })

  it('diverges: another form of the answer', async () => {
    let n = 1
    const model = testModel((_turn, call) => ({ text: JSON.stringify(call.responseFormat).includes('total') ? '{"total":2}' : '{"n":1}' }))
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const output = n === 1 ? Output.object({ schema: z.object({ n: z.number() }) }) : Output.object({ schema: z.object({ total: z.number() }) })
      const result = await generateText({ model: run.model(model), prompt: 'x', output: output as ReturnType<typeof Output.object<{ n: number }>> })
      fail()
      return result.output
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    n = 2
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: { total: 2 } })
    expect(model.requests).toHaveLength(2)
  })
})
