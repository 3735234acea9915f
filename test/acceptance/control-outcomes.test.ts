/** What a call came to without a result: it replays as the model saw it, and the tool is not asked again (R4; C14, C13). */
import { generateText, isStepCount, streamText, tool, type ModelMessage, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions, type ToolPolicy } from '../../src/index.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel, type Answer, type TestModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 2, backoff: { baseMs: 1, jitter: 'none' } } } satisfies Partial<RunnerOptions>

type Mode = 'generateText' | 'streamText' | 'a loop of its own'

const input = z.object({ order: z.string() })
const asking = (turn: number): Answer => (turn === 0 ? { calls: [{ id: 'c', tool: 'act', input: { order: '7' } }] } : { text: 'done' })

/** What the model was told, in its last request, of each call. */
const told = (model: TestModel): unknown[] =>
  model.requests.at(-1)!.prompt.flatMap((m) => (m.role === 'tool' ? m.content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : [])) : []))

async function ask(mode: Mode, run: Run, model: TestModel, tools: ToolSet, messages: ModelMessage[] = [{ role: 'user', content: 'x' }]): Promise<string> {
  const options = { model: run.model(model), tools, messages, stopWhen: isStepCount(4) }
  if (mode === 'generateText') return (await generateText(options)).text
  if (mode === 'streamText') return streamText(options).text
  return byHand(run, model, tools)
}

/** The smallest loop: one request, its calls, and a second one with what they gave. */
async function byHand(run: Run, model: TestModel, tools: ToolSet): Promise<string> {
  const durable = run.model(model)
  const first = { role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }] }
  const { content } = await durable.doGenerate({ prompt: [first] })
  const calls = content.flatMap((part) => (part.type === 'tool-call' ? [part] : []))
  const results = await Promise.all(calls.map(async ({ toolCallId, toolName, input: text }) => {
    const value = await Promise.resolve(tools[toolName]!.execute!(JSON.parse(text) as never, { toolCallId, messages: [], context: undefined as never })).then(String, (error: Error) => error.message)
    return { type: 'tool-result' as const, toolCallId, toolName, output: { type: 'text' as const, value } }
  }))
  const answer = await durable.doGenerate({ prompt: [first, { role: 'assistant', content: calls.map((c) => ({ ...c, input: JSON.parse(c.input) as unknown })) }, { role: 'tool', content: results }] })
  return answer.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
}

/** Runs twice, the second time from the journal; gives what each attempt told the model, and how often the tool's code ran. */
async function twice(mode: Mode, execute: (signal: AbortSignal | undefined) => Promise<unknown>, policy: ToolPolicy<never, unknown> = {}, answer = asking) {
  const model = testModel((turn) => answer(turn))
  const fail = failingOnce()
  let calls = 0
  const seen: unknown[][] = []
  const agent = defineAgent('a', async (run) => {
    const act = tool({ inputSchema: input, execute: (_input, { abortSignal }) => (calls++, execute(abortSignal)) })
    const text = await ask(mode, run, model, run.tools({ act }, { act: policy }))
    seen.push(told(model))
    fail()
    return text
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
  const requests = model.requests.length
  expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'done' })
  expect(model.requests).toHaveLength(requests)
  return { calls, seen: seen[0]! }
}

describe.each(['generateText', 'streamText', 'a loop of its own'] as const)('in %s, what a call came to replays without the tool (C14):', (mode) => {
  it('its error, a prompt to try otherwise among them', async () => {
    const { calls, seen } = await twice(mode, () => Promise.reject(new Error('give the order with its year, such as 2026-7')))
    expect(calls).toBe(1)
    expect(JSON.stringify(seen)).toMatch(/2026-7/)
  })

  it('a prompt to try again, heeded by the model: both calls replay', async () => {
    let n = 0
    const answer = (turn: number): Answer => (turn === 0 ? asking(0) : turn === 1 && mode !== 'a loop of its own' ? { calls: [{ id: 'd', tool: 'act', input: { order: '2026-7' } }] } : { text: 'done' })
    const { calls } = await twice(mode, async () => {
      if (++n === 1) throw new Error('with its year, please')
      return 'refunded'
    }, {}, answer)
    expect(calls).toBe(mode === 'a loop of its own' ? 1 : 2)
  })

  it('timed out, with effects: unknown, and it stays so', async () => {
    const { calls, seen } = await twice(mode, () => new Promise(() => {}), { timeoutMs: 15 })
    expect(calls).toBe(1)
    expect(JSON.stringify(seen)).toMatch(/outcome is unknown/)
  })

  it('timed out for good, without effects: an error after all its tries', async () => {
    const { calls, seen } = await twice(mode, () => new Promise(() => {}), { timeoutMs: 15, readOnly: true })
    expect(calls).toBe(2)
    expect(JSON.stringify(seen)).toMatch(/15 ms|timed out|time/)
  })

  it('a result that could not be stored: succeeded, and why it is missing', async () => {
    const { calls, seen } = await twice(mode, async () => ({ later: () => {} }))
    expect(calls).toBe(1)
    expect(JSON.stringify(seen)).toMatch(/succeeded, but its result could not be stored/)
  })
})

describe.each(['generateText', 'streamText'] as const)('in %s, approvals of the AI SDK replay without the tool (C14):', (mode) => {
  /** Asks; a person answers between two requests; asks again with the answer. */
  async function approving(approved: boolean) {
    const model = testModel((_turn, call) => (call.prompt.some((m) => m.role === 'tool') ? { text: 'done' } : asking(0)))
    const fail = failingOnce()
    const sent: string[] = []
    const approvalIds: string[] = []
    let asked = 0
    const agent = defineAgent('a', async (run) => {
      const tools: ToolSet = run.tools({ act: tool({ inputSchema: input, needsApproval: true, execute: async ({ order }) => sent.push(order) }) })
      const messages: ModelMessage[] = [{ role: 'user', content: 'x' }]
      const step = async () => {
        const options = { model: run.model(model), tools, messages, stopWhen: isStepCount(3) }
        const result = mode === 'generateText' ? await generateText(options) : streamText(options)
        return { text: await result.text, content: await result.content, added: (await result.response).messages }
      }
      const first = await step()
      const request = first.content.find((part) => part.type === 'tool-approval-request')!
      approvalIds.push(request.approvalId)
      await run.read('decision', { key: 'act' }, () => (asked++, approved))
      messages.push(...first.added, { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: request.approvalId, approved, reason: 'a person said so' }] })
      const second = await step()
      fail()
      return [second.text, told(model)]
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const outcome = await runner.resume('r')
    return { outcome, sent, approvalIds, asked, requests: model.requests.length }
  }

  it('needed, then given: executed once, although the framework makes up another approval id on each attempt (C22)', async () => {
    const { outcome, sent, approvalIds, asked, requests } = await approving(true)
    expect(outcome).toMatchObject({ status: 'completed', result: ['done', [expect.anything()]] })
    expect(new Set(approvalIds).size).toBe(2)
    expect([sent, asked, requests]).toEqual([['7'], 1, 2])
  })

  it('needed, then denied with a reason', async () => {
    const { outcome, sent, asked, requests } = await approving(false)
    expect(JSON.stringify(outcome)).toMatch(/execution-denied.*a person said so/)
    expect([sent, asked, requests]).toEqual([[], 1, 2])
  })

  it('needed, and nobody answers: the request ends with the question, and asking again sends nothing', async () => {
    const model = testModel((turn) => asking(turn))
    const fail = failingOnce()
    const sent: string[] = []
    const agent = defineAgent('a', async (run) => {
      const tools: ToolSet = run.tools({ act: tool({ inputSchema: input, needsApproval: true, execute: async ({ order }) => sent.push(order) }) })
      const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) }
      const content = mode === 'generateText' ? (await generateText(options)).content : await streamText(options).content
      fail()
      return content.map((part) => part.type)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ result: ['tool-call', 'tool-approval-request'] })
    expect([sent, model.requests.length]).toEqual([[], 1])
  })
})

describe('a run that recovered from the error of a step (C13)', () => {
  it.each<[string, (run: Run, count: () => void) => Promise<unknown>]>([
    ['a read', (run, count) => run.read('x', () => { count(); throw new Error('no') })],
    ['a step with effects', (run, count) => run.step('x', () => { count(); throw new Error('no') })],
    ['a child agent', (run, count) => run.agent(defineAgent('child', async (inner) => inner.read('y', () => { count(); throw new Error('no') })), 1)],
    ['a model request', async (run, count) => generateText({ model: run.model(testModel(() => { count(); throw Object.assign(new Error('no'), { statusCode: 401 }) })), prompt: 'x' })],
    ['a streamed model request', async (run, count) => streamText({ model: run.model(testModel(() => { count(); throw Object.assign(new Error('no'), { statusCode: 401 }) })), prompt: 'x', onError: () => {} }).text],
  ])('replays everything: %s', async (_what, failing) => {
    let calls = 0
    let after = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const caught = await failing(run, () => void calls++).then(() => 'nothing', (error: Error) => error.name)
      await run.step('after', { input: caught }, () => ++after)
      fail()
      return caught
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect([calls, after]).toEqual([1, 1])
  })
})
