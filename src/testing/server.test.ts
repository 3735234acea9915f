import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { assistantMessage, conversation } from './builder.ts'
import { anyToolResult } from './conversation.ts'
import { startModelServer } from './server.ts'
import type { ModelServer, ModelServerOptions } from './server.ts'

const open: ModelServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function serve(options: ModelServerOptions): Promise<ModelServer> {
  const server = await startModelServer(options)
  open.push(server)
  return server
}

const modelOf = (server: ModelServer): ReturnType<ReturnType<typeof createOpenAICompatible>> =>
  createOpenAICompatible({ name: 'scripted', baseURL: server.url, includeUsage: true })('any-name')

const greeting = conversation('greeting').user('Hi').assistant('Hello, what can I do for you today?').user('Nothing').assistant('Fine.')
const refund = conversation('refund')
  .user('Refund 7 and 8')
  .assistant({ text: 'On it.', toolCalls: [{ name: 'refund', input: { order: 7 } }, { name: 'refund', input: { order: 8 } }] })
  .tool({ ok: true, order: 7 })
  .tool(anyToolResult)
  .assistant('Both refunded.')

function refundTool(orders: number[]) {
  return tool({
    inputSchema: z.object({ order: z.number() }),
    execute: ({ order }) => {
      orders.push(order)
      return { order, ok: true }
    },
  })
}

async function post(server: ModelServer, body: unknown, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  const response = await fetch(`${server.url}/chat/completions`, { method: 'POST', body: JSON.stringify(body), headers })
  return { status: response.status, body: await response.text() }
}

describe('the AI SDK as client', () => {
  it('gets a plain answer with usage and finish reason', async () => {
    const server = await serve({ conversations: [greeting] })
    const result = await generateText({ model: modelOf(server), instructions: 'Be kind.', prompt: 'Hi', maxRetries: 0 })
    expect(result.text).toBe('Hello, what can I do for you today?')
    expect(result.finishReason).toBe('stop')
    expect(result.usage.inputTokens).toBeGreaterThan(0)
    expect(result.usage.outputTokens).toBeGreaterThan(0)
  })

  it('gets the same answer as a stream of small deltas', async () => {
    const server = await serve({ conversations: [greeting] })
    const result = streamText({ model: modelOf(server), prompt: 'Hi', maxRetries: 0 })
    const deltas: string[] = []
    for await (const delta of result.textStream) deltas.push(delta)
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.join('')).toBe('Hello, what can I do for you today?')
    expect(await result.finishReason).toBe('stop')
    expect((await result.usage).outputTokens).toBeGreaterThan(0)
  })

  it.each([true, false])('runs parallel tools and goes on with their results (streamed: %s)', async (streamed) => {
    const server = await serve({ conversations: [refund, greeting] })
    const orders: number[] = []
    const options = { model: modelOf(server), prompt: 'Refund 7 and 8', tools: { refund: refundTool(orders) }, stopWhen: isStepCount(5), maxRetries: 0 }
    const result = streamed ? streamText(options) : await generateText(options)
    expect(await result.text).toBe('Both refunded.')
    expect((await result.steps)[0]?.toolCalls.map((call) => call.toolCallId)).toEqual(['call_1', 'call_2'])
    expect((await result.steps)[0]?.finishReason).toBe('tool-calls')
    expect(orders).toEqual([7, 8])
    expect(server.requests.map(({ conversation: id, turn, try: n }) => [id, turn, n])).toEqual([['refund', 1, 1], ['refund', 2, 1]])
  })

  it('reads a refusal and arguments that do not parse as what they are', async () => {
    const script = conversation('a').user('Hi').assistant({ toolCalls: [{ name: 'refund', arguments: '{"order":' }] }).tool(anyToolResult)
      .assistant({ refusal: 'I cannot.', finishReason: 'content_filter' })
    const server = await serve({ conversations: [script] })
    const result = await generateText({ model: modelOf(server), prompt: 'Hi', tools: { refund: refundTool([]) }, stopWhen: isStepCount(5), maxRetries: 0 })
    expect(result.steps[0]?.toolCalls[0]?.invalid).toBe(true)
    expect(result.finishReason).toBe('content-filter')
    expect(result.text).toBe('I cannot.')
  })

  it('is answered by a function of the conversation', async () => {
    const server = await serve({
      reply: ({ messages, turn }) => assistantMessage(turn === 1 ? { toolCalls: [{ name: 'refund', input: { order: 3 } }] } : `Turn ${turn}, ${messages.at(-1)?.role}`),
    })
    const orders: number[] = []
    const result = await generateText({
      model: modelOf(server), instructions: 'x', prompt: 'anything', tools: { refund: refundTool(orders) }, stopWhen: isStepCount(5), maxRetries: 0,
    })
    expect(result.text).toBe('Turn 2, tool')
    expect(orders).toEqual([3])
    expect(server.requests.map(({ conversation: id, turn }) => [id, turn])).toEqual([['reply', 1], ['reply', 2]])
  })
})

describe('the answer follows from the conversation', () => {
  const ask = (...messages: object[]): object => ({ model: 'm', messages })
  const hi = { role: 'user', content: 'Hi' }

  it('a repeated request gets the same bytes, and the next try', async () => {
    const server = await serve({ conversations: [greeting] })
    for (const stream of [true, false]) {
      const first = await post(server, { ...ask(hi), stream })
      expect(first.status).toBe(200)
      expect(await post(server, { ...ask(hi), stream })).toEqual(first)
    }
    expect(server.requests.map((request) => request.try)).toEqual([1, 2, 3, 4])
  })

  it('an unknown one is told where it departed from the nearest script', async () => {
    const server = await serve({ conversations: [refund, greeting] })
    const { status, body } = await post(server, ask({ role: 'system', content: 's' }, hi, { role: 'assistant', content: 'Hello!' }, { role: 'user', content: 'Nothing' }))
    expect(status).toBe(400)
    expect(JSON.parse(body)).toEqual({
      error: {
        message: 'The conversation departs from the nearest script, greeting, at messages[2] (assistant): '
          + 'expected assistant "Hello, what can I do for you today?", got assistant "Hello!"',
        type: 'invalid_request_error',
        code: 'conversation_departed',
        conversation: 'greeting',
        position: 2,
        role: 'assistant',
      },
    })
    expect(server.requests[0]).toMatchObject({ error: expect.stringContaining('departs'), streamed: false })
    expect(server.requests[0]).not.toHaveProperty('turn')
  })

  it('the AI SDK shows that text', async () => {
    const server = await serve({ conversations: [greeting] })
    await expect(generateText({ model: modelOf(server), prompt: 'Bye', maxRetries: 0 }))
      .rejects.toThrow('departs from the nearest script, greeting, at messages[0] (user): expected user "Hi", got user "Bye". Known: greeting')
  })

  it('one that goes beyond the script is told so', async () => {
    const server = await serve({ conversations: [greeting] })
    const { body } = await post(server, { messages: [...greeting.messages, { role: 'user', content: 'More' }] })
    expect(body).toContain('at messages[4] (user): expected the end of the script, got user \\"More\\"')
  })

  it('one that lacks its next message is told what comes there', async () => {
    const server = await serve({ conversations: [greeting] })
    const { body } = await post(server, { messages: greeting.messages.slice(0, 2) })
    expect(body).toContain('at messages[2] (user): expected user \\"Nothing\\", got the end of the request')
  })

  it('one that two scripts go like is refused until it is named', async () => {
    const twin = conversation('twin').user('Hi').assistant('Hello from the twin')
    const server = await serve({ conversations: [greeting, twin] })
    const { status, body } = await post(server, ask(hi))
    expect(status).toBe(400)
    expect(body).toContain('Several conversations go like this one: greeting, twin')
    expect((await post(server, ask(hi), { 'x-conversation': 'twin' })).body).toContain('Hello from the twin')
  })

  it('a name is taken at its word', async () => {
    const server = await serve({ conversations: [greeting, refund] })
    expect((await post(server, ask(hi), { 'x-conversation': 'nobody' })).body).toContain('No conversation is called nobody. Known: greeting, refund')
    expect((await post(server, ask(hi), { 'x-conversation': 'refund' })).body).toContain('nearest script, refund, at messages[0]')
  })

  it('a function beside other scripts is only asked by name', async () => {
    const server = await serve({ conversations: [greeting, { id: 'echo', reply: () => assistantMessage('echo') }] })
    expect((await post(server, ask({ role: 'user', content: 'Bye' }))).status).toBe(400)
    expect((await post(server, ask({ role: 'user', content: 'Bye' }), { 'x-conversation': 'echo' })).body).toContain('"echo"')
  })

  it('what a function throws, or a wrong answer of it, is a 400', async () => {
    const server = await serve({ conversations: [
      { id: 'throws', reply: () => { throw new Error('out of ideas') } },
      { id: 'wrong', reply: () => ({ role: 'user', content: 'x' }) as never },
    ] })
    expect((await post(server, ask(hi), { 'x-conversation': 'throws' })).body).toContain('out of ideas')
    expect((await post(server, ask(hi), { 'x-conversation': 'wrong' })).body).toContain('reply().role must be assistant')
  })

  it('the tries of a function are counted for each state of the conversation', async () => {
    const server = await serve({ reply: () => assistantMessage('x') })
    for (const text of ['a', 'b', 'a']) await post(server, ask({ role: 'user', content: text }))
    expect(server.requests.map((request) => request.try)).toEqual([1, 1, 2])
  })

  it('a request that is none is refused with the path', async () => {
    const server = await serve({ conversations: [greeting] })
    expect((await post(server, 'x')).body).toContain('body must be an object')
    expect((await post(server, { messages: [{ role: 'user' }] })).body).toContain('messages[0].content must be text')
  })
})

describe('the other addresses', () => {
  it('list the models, the requests and the plan, and take a new plan', async () => {
    const server = await serve({ conversations: [greeting], models: ['a', 'b'] })
    const root = new URL('/', server.url)
    const get = async (path: string): Promise<unknown> => (await fetch(new URL(path, root))).json()
    expect(await get('v1/models')).toMatchObject({ object: 'list', data: [{ id: 'a' }, { id: 'b' }] })
    await post(server, { messages: [{ role: 'user', content: 'Hi' }] }, { 'x-trace': '1' })
    expect(await get('__requests')).toMatchObject([{ conversation: 'greeting', turn: 1, try: 1, streamed: false, headers: { 'x-trace': '1' } }])
    const plan = [{ turn: 1, try: 2, fault: { kind: 'status', status: 503 } }]
    const replaced = await fetch(new URL('__faults', root), { method: 'POST', body: JSON.stringify(plan) })
    expect(replaced.status).toBe(200)
    expect(await get('__faults')).toEqual(plan)
    expect((await post(server, { messages: [{ role: 'user', content: 'Hi' }] })).status).toBe(503)
    const wrong = await fetch(new URL('__faults', root), { method: 'POST', body: '[{}]' })
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('faults[0].turn')])
    expect((await fetch(new URL('nowhere', root))).status).toBe(404)
  })

  it('options are checked', async () => {
    await expect(startModelServer({})).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: 'options must have either conversations or reply' })
    await expect(startModelServer({ conversations: [greeting], port: -1 })).rejects.toThrow('port must be an integer >= 0, got -1')
    await expect(startModelServer({ conversations: [greeting], fault: [] } as never)).rejects.toThrow('options.fault is not known')
  })
})
