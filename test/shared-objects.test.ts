/** Objects that the user's code holds as well as we do: what it changes in them changes nothing of what was recorded, asked or is given again. */
import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { generateText, stepCountIs, streamText, tool, type ModelMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../src/core/clock.ts'
import { createRunner, defineAgent, memoryStore, type RunEvent, type RunnerOptions } from '../src/index.ts'
import { testModel, type TestModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 3, backoff: { baseMs: 1, maxMs: 2, jitter: 'none' } } } satisfies Partial<RunnerOptions>
const reset = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/** A model that answers with a text, and whose request of this number breaks after the beginning of one. */
function breakingAt(request: number): TestModel {
  const model = testModel(() => ({ text: 'Dear customer' }))
  const whole = model.doStream.bind(model)
  const beginning: LanguageModelV4StreamPart[] = [{ type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: 'Dear' }]
  model.doStream = async (call) => {
    if (model.requests.length + 1 !== request) return whole(call)
    model.requests.push(call)
    const parts = [...beginning]
    return { stream: new ReadableStream({ pull: (to) => (parts.length > 0 ? to.enqueue(parts.shift()!) : to.error(reset())) }, { highWaterMark: 0 }) }
  }
  return model
}

describe('the input of a run', () => {
  it('is as it was recorded each time the handler is driven, also where it took things off it the time before', async () => {
    const refunded: string[] = []
    const model = breakingAt(2)
    const agent = defineAgent('a', async (run, { orders }: { orders: string[] }) => {
      for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
        await streamText({ model: run.model(model), prompt: `Write to the customer of order ${order}` }).text
        await run.step('refund', { key: order }, () => void refunded.push(order!))
      }
      return refunded.length
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    expect(await runner.run(agent, { orders: ['A', 'B', 'C'] }, { runId: 'r' })).toEqual({ status: 'completed', result: 3 })
    expect(refunded).toEqual(['A', 'B', 'C'])
  })

  it('is taken when the run is asked for, with its options: the caller may use the objects for the next one at once', async () => {
    const agent = defineAgent('a', async (_run, { order }: { order: string }) => order)
    const runner = createRunner({ agents: [agent], store: memoryStore() })
    const input = { order: '' }
    const limits = { maxSteps: 0 }
    const outcomes = ['A', 'B', 'C'].map((order, i) => {
      input.order = order
      limits.maxSteps = i + 1
      return runner.run(agent, input, { runId: order, limits })
    })
    expect(await Promise.all(outcomes)).toEqual(['A', 'B', 'C'].map((result) => ({ status: 'completed', result })))
    const started = (await Promise.all(['A', 'B', 'C'].map((runId) => runner.history(runId)))).map((entries) => entries.find(({ entry }) => entry.type === 'attempt-started')!.entry)
    expect(started).toMatchObject([1, 2, 3].map((maxSteps) => ({ limits: { maxSteps } })))
  })

  it('is compared with the recorded one whatever its size: a lower limit does not refuse a run that exists', async () => {
    const agent = defineAgent('a', async (_run, text: string) => text.length)
    const store = memoryStore()
    const text = 'x'.repeat(10_000)
    await createRunner({ agents: [agent], store }).run(agent, text, { runId: 'r' })
    const runner = createRunner({ agents: [agent], store, maxStepBytes: 5_000 })
    expect(await runner.run(agent, text, { runId: 'r' })).toEqual({ status: 'completed', result: 10_000 })
    await expect(runner.run(agent, text, { runId: 'other' })).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE' })
    expect(await store.get('other')).toBeUndefined()
  })
})

describe('the arguments of a tool call', () => {
  const take = { description: 'takes its arguments apart', inputSchema: z.object({ to: z.array(z.string()) }) }
  const asks = (to: readonly string[]): TestModel => testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'send', input: { to } }] } : { text: 'done' }))

  it('are those that were asked with in each try, also where the one before has taken things off them', async () => {
    const sent: string[] = []
    const send = tool({
      ...take,
      execute: async ({ to }) => {
        const isFirst = sent.length === 0
        for (let one = to.shift(); one !== undefined; one = to.shift()) {
          if (isFirst && one === 'bob') throw reset()
          sent.push(one)
        }
      },
    })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(asks(['ada', 'bob', 'cy'])), tools: run.tools({ send }, { send: { idempotent: true } }), prompt: 'go', stopWhen: stepCountIs(3) })).text)
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
    expect(sent).toEqual(['ada', 'ada', 'bob', 'cy'])
  })

  it('stay in the conversation as the model asked with them, whatever the tool and its policies make of theirs: a resume replays', async () => {
    const model = asks([' bob ', ' ada '])
    const given: unknown[] = []
    const send = tool({ ...take, execute: async ({ to }) => (given.push([...to]), to.splice(0).map((one) => one.trim())) })
    const tools = { effectKey: ({ to }: { to: string[] }) => to.sort().join(), approval: { when: ({ to }: { to: string[] }) => to.pop() === undefined } }
    let attempts = 0
    const agent = defineAgent('a', async (run) => {
      const { text } = await generateText({ model: run.model(model), tools: run.tools({ send }, { send: tools }), prompt: 'go', stopWhen: stepCountIs(3) })
      if (++attempts === 1) throw new Error('interrupted')
      return text
    })
    const events: RunEvent[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (event) => events.push(event) })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow('interrupted')
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'done' })
    expect(model.requests[1]!.prompt).toContainEqual(expect.objectContaining({ role: 'assistant', content: [expect.objectContaining({ input: { to: [' bob ', ' ada '] } })] }))
    expect([model.requests.length, given, events.filter(({ type }) => type === 'replay-diverged')]).toEqual([2, [[' bob ', ' ada ']], []])
    const started = (await runner.history('r')).find(({ entry }) => entry.type === 'step-started')!.entry
    expect(started).toMatchObject({ input: { json: { to: [' bob ', ' ada '] } } })
  })

  it('are what a schema made of them where that cannot be copied', async () => {
    class Cart { lines: string[] = [] }
    const cart = new Cart()
    const given: unknown[] = []
    const agent = defineAgent('a', async (run) => {
      const { send } = run.tools({ send: { execute: async (input: object, _call: object) => void given.push(input) } })
      const total = { of: cart, cents: () => 5 }
      await send.execute({ cart, total, at: new Date(0) }, { toolCallId: 'c', messages: [] })
      return (given[0] as { total: unknown }).total === total
    })
    expect(await createRunner({ agents: [agent], store: memoryStore() }).run(agent, {}, { runId: 'r' })).toEqual({ status: 'completed', result: true })
    expect(given).toEqual([{ cart, total: { of: cart, cents: expect.any(Function) }, at: new Date(0) }])
    expect((given[0] as { cart: unknown }).cart).toBe(cart)
  })
})

describe('the input of a step', () => {
  it('of an agent is its own: what the child takes off it is still there for the handler, live and replayed', async () => {
    const child = defineAgent('child', async (_run, { orders }: { orders: string[] }) => orders.splice(0).length)
    const seen: unknown[] = []
    const agent = defineAgent('a', async (run) => {
      const input = { orders: ['A', 'B'] }
      seen.push([await run.agent(child, input), input.orders])
      if (seen.length === 1) throw new Error('interrupted')
    })
    const runner = createRunner({ agents: [agent, child], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow('interrupted')
    await runner.resume('r')
    expect(seen).toEqual([[2, ['A', 'B']], [2, ['A', 'B']]])
  })

  it('is recorded as it was when the step was asked for', async () => {
    const agent = defineAgent('a', async (run) => {
      const input = { order: '' }
      return Promise.all(['A', 'B'].map((order) => {
        input.order = order
        return run.branch(order, () => run.step('refund', { input }, () => order))
      }))
    })
    const runner = createRunner({ agents: [agent], store: memoryStore() })
    await runner.run(agent, {}, { runId: 'r' })
    const started = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-started' ? [entry.input] : []))
    expect(started).toEqual([{ json: { order: 'A' } }, { json: { order: 'B' } }])
  })
})

describe('a message that is changed in place', () => {
  type Part = { type: 'text'; text: string }
  const textOf = (call: { readonly prompt: unknown }): string => JSON.stringify(call.prompt)

  it('between two requests makes another conversation: no answer to what it was is used for what it is', async () => {
    const model = testModel((_turn, call) => ({ text: `answer to ${textOf(call)}` }))
    let attempts = 0
    const agent = defineAgent('a', async (run) => {
      const isFirst = ++attempts === 1
      const message = { role: 'user' as const, content: [{ type: 'text', text: 'Summarise.' }] as Part[] }
      const ask = async (): Promise<unknown> => (await run.model<LanguageModelV4>(model).doGenerate({ prompt: [message] })).content
      await ask()
      message.content.push({ type: 'text', text: isFirst ? 'Document A' : 'Document B' })
      const second = await ask()
      if (isFirst) throw new Error('interrupted')
      return [second, textOf({ prompt: [message] })]
    })
    const events: RunEvent[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (event) => events.push(event) })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow('interrupted')
    const { result: [content, asked] } = await runner.resume('r') as { result: [[Part], string] }
    expect(content).toEqual([{ type: 'text', text: `answer to ${asked}` }])
    expect(asked).toContain('Document B')
    expect(events.find(({ type }) => type === 'replay-diverged')).toMatchObject({ step: '1', reason: expect.stringContaining('message') })
  })

  it('is seen in what generateText is given as well: the result of a tool in a history that is kept as objects', async () => {
    const model = testModel((_turn, call) => ({ text: textOf(call) }))
    let attempts = 0
    const agent = defineAgent('a', async (run) => {
      const isFirst = ++attempts === 1
      const stock = { items: 3 }
      const messages: ModelMessage[] = [
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'stock', input: {} }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'stock', output: { type: 'json', value: stock } }] },
      ]
      await generateText({ model: run.model(model), messages })
      stock.items = isFirst ? 0 : 500
      const { text } = await generateText({ model: run.model(model), messages })
      if (isFirst) throw new Error('interrupted')
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow('interrupted')
    expect(await runner.resume('r')).toMatchObject({ result: expect.stringContaining('"items":500') })
    expect(model.requests).toHaveLength(3)
  })

  it('while its request is on its way is sent as it was: each answer is to what was asked', async () => {
    const model = testModel((_turn, call) => ({ text: textOf(call) }))
    const agent = defineAgent('a', async (run) => {
      const part: Part = { type: 'text', text: '' }
      const prompt = [{ role: 'user' as const, content: [part] }]
      const asked = ['A', 'B'].map((text) => {
        part.text = text
        return run.model<LanguageModelV4>(model).doGenerate({ prompt })
      })
      prompt.pop()
      return (await Promise.all(asked)).map(({ content }) => (JSON.parse((content[0] as Part).text) as LanguageModelV4Message[]).map((message) => message.content))
    })
    const { result } = await createRunner({ agents: [agent], store: memoryStore() }).run(agent, {}, { runId: 'r' }) as { result: unknown }
    expect(result).toEqual(['A', 'B'].map((text) => [[{ type: 'text', text }]]))
  })

  it('by the model itself (a middleware) is as it was in the next try', async () => {
    const model = testModel((_turn, { prompt }) => {
      const { content } = prompt[0] as { content: Part[] }
      content.push({ type: 'text', text: 'Be brief.' })
      if (model.requests.length === 1) throw reset()
      return { text: String(content.length) }
    })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'go' })).text)
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ result: '2' })
  })

  it('is told apart from a configuration that is: the schema of a tool', async () => {
    let attempts = 0
    const agent = defineAgent('a', async (run) => {
      const isFirst = ++attempts === 1
      const inputSchema: { properties: Record<string, object> } = { properties: { order: {} } }
      const ask = (): PromiseLike<unknown> => run.model<LanguageModelV4>(testModel(() => ({ text: 'ok' }))).doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }], tools: [{ type: 'function', name: 'look', inputSchema }] })
      await ask()
      if (!isFirst) inputSchema.properties['customer'] = {}
      await ask()
      if (isFirst) throw new Error('interrupted')
    })
    const changed: unknown[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (event) => void (event.type === 'config-changed' && changed.push(event)) })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow('interrupted')
    await runner.resume('r')
    expect(changed).toMatchObject([{ step: '1', changed: ['tool look'] }])
  })

  it('as a part of a stream that somebody reads is recorded as it came', async () => {
    let attempts = 0
    const model = testModel(() => ({ text: 'H' }))
    const whole = model.doStream.bind(model)
    model.doStream = async (call) => {
      const { stream } = await whole(call)
      // What was passed on is read before the rest arrives.
      return { stream: stream.pipeThrough(new TransformStream({ transform: async (part, to) => { await systemClock.idle(); to.enqueue(part) } })) }
    }
    const agent = defineAgent('a', async (run) => {
      const { stream } = await run.model<LanguageModelV4>(model).doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }] })
      const texts: string[] = []
      for await (const part of stream) {
        if (part.type !== 'text-delta') continue
        texts.push(part.delta)
        part.delta = '*'
      }
      if (++attempts === 1) throw new Error('interrupted')
      return texts.join('')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow('interrupted')
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'H' })
  })
})
