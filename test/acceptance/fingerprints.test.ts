/** What a fingerprint sees: nothing that a framework makes up anew, and everything that the user says (R8; C22, C23). */
import { generateText, isStepCount, streamText, tool, type ModelMessage, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunEvent, type RunnerOptions } from '../../src/index.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel, type TestModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** Runs the handler, fails, and drives it again; gives whether anything diverged or was asked again. */
async function replayed(handler: (run: Run, model: TestModel) => Promise<unknown>, model = testModel(() => ({ text: 'x' }))) {
  const events: RunEvent[] = []
  const fail = failingOnce()
  const agent = defineAgent('a', async (run) => {
    const value = await handler(run, model)
    fail()
    return value
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => events.push(e) })
  await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
  const before = model.requests.length
  const outcome = await runner.resume('r')
  return {
    outcome,
    askedAgain: model.requests.length - before,
    diverged: events.flatMap((e) => (e.type === 'replay-diverged' ? [e.reason] : [])),
  }
}

const same = { outcome: { status: 'completed' }, askedAgain: 0, diverged: [] }

/** `.text` and `.response` of both ways to ask. */
const asks = {
  generateText: async (model: TestModel, messages: ModelMessage[]) => generateText({ model, messages }),
  streamText: async (model: TestModel, messages: ModelMessage[]) => {
    const result = streamText({ model, messages })
    return { text: await result.text, response: await result.response }
  },
}

describe('what a framework makes up anew on each attempt does not diverge (C22):', () => {
  it.each(Object.entries(asks))('the id and the timestamp of a response, in what follows from it (%s)', async (_how, ask) => {
    expect(await replayed(async (run, model) => {
      const { response } = await ask(run.model(model), [{ role: 'user', content: 'x' }])
      await ask(run.model(model), [{ role: 'user', content: `seen ${response.id} at ${response.timestamp.toISOString()}` }])
    })).toMatchObject(same)
  })

  it('the stack of an error in the input of a step, whether it came from a step or not', async () => {
    let effects = 0
    expect(await replayed(async (run) => {
      const recorded = await run.read('failing', () => { throw new TypeError('no such order') }).catch((error: unknown) => error)
      await run.step('report', { input: { recorded } }, () => ++effects)
      await run.step('report', { input: { own: new Error(`not from a step`) } }, () => ++effects)
    })).toMatchObject(same)
    expect(effects).toBe(2)
  })

  it.each(['generateText', 'streamText'] as const)('the stack of an error that a tool threw (%s)', async (mode) => {
    let calls = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'get', input: {} }] } : { text: 'sorry' }))
    expect(await replayed(async (run, m) => {
      const tools: ToolSet = run.tools({ get: tool({ inputSchema: z.object({}), execute: async (): Promise<string> => { calls++; throw new Error('gone') } }) })
      const options = { model: run.model(m), tools, prompt: 'x', stopWhen: isStepCount(3) }
      return mode === 'generateText' ? (await generateText(options)).text : streamText(options).text
    }, model)).toMatchObject(same)
    expect(calls).toBe(1)
  })

  it('ids that the loop gives to messages and calls of its own', async () => {
    let n = 0
    expect(await replayed(async (run, model) => generateText({ model: run.model(model), prompt: 'x', _internal: { generateId: () => `id-${++n}`, generateCallId: () => `call-${++n}` } } as Parameters<typeof generateText>[0]).then((r) => r.text))).toMatchObject(same)
  })

  it('what says how to ask, not what: headers, signals, time limits, prompt-cache settings', async () => {
    let n = 0
    expect(await replayed(async (run, model) => generateText({
      model: run.model(model),
      messages: [{ role: 'user', content: 'x', ...(n++ % 2 === 0 && { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }) }],
      headers: { 'x-request-id': `request ${n}` }, abortSignal: AbortSignal.timeout(60_000 + n), timeout: 60_000 + n,
      providerOptions: { openai: { promptCacheKey: `key ${n}` } },
    }).then((r) => r.text))).toMatchObject(same)
  })

  it('the order of keys, and properties that are undefined', async () => {
    let n = 0
    expect(await replayed(async (run) => {
      const order = n++ === 0 ? { id: 7, note: undefined, to: 'ann' } : { to: 'ann', id: 7 }
      await run.step('ship', { input: order }, () => 'shipped')
      await run.step('tags', { input: new Set(n === 1 ? ['a', 'b'] : ['b', 'a']) }, () => 'tagged')
    })).toMatchObject(same)
  })
})

describe("a user's own field counts, whatever it is called (C23):", () => {
  const names = ['timestamp', 'run_id', 'runId', 'id', 'callId', 'createdAt', 'stack', 'headers', 'abortSignal', 'cacheControl']

  it.each(names)('%s in a message, as JSON', async (name) => {
    let n = 0
    const { diverged, askedAgain } = await replayed(async (run, model) => generateText({ model: run.model(model), prompt: JSON.stringify({ [name]: ++n }) }).then((r) => r.text))
    expect(diverged).toEqual(['message 1 (user) differs from the journal'])
    expect(askedAgain).toBe(1)
  })

  it.each(names)('%s in the input of a step', async (name) => {
    let n = 0
    const { diverged } = await replayed(async (run) => run.read('look', { input: { order: { [name]: ++n } } }, () => n))
    expect(diverged).toHaveLength(1)
  })

  it.each(names)('%s in the arguments of a tool of a loop of your own', async (name) => {
    let n = 0
    let calls = 0
    const { diverged } = await replayed(async (run) => {
      const { look } = run.tools({ look: tool({ inputSchema: z.any(), execute: async () => ++calls }) }, { look: { readOnly: true } })
      return look.execute!({ [name]: ++n }, { toolCallId: 'c', messages: [], context: undefined as never })
    })
    expect(diverged).toHaveLength(1)
    expect(calls).toBe(2)
  })

  it.each(names)('%s in what a tool gave, when the conversation is carried on', async (name) => {
    let n = 0
    const { diverged, askedAgain } = await replayed(async (run, model) => generateText({ model: run.model(model), messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} }] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'look', output: { type: 'json', value: { [name]: ++n } } }] },
    ] }).then((r) => r.text))
    expect(diverged).toEqual(['message 3 (result of look) differs from the journal'])
    expect(askedAgain).toBe(1)
  })
})
