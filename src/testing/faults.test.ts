import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError } from '@ai-sdk/provider'
import { generateText, streamText } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import { manualClock } from '../core/manual-clock.ts'
import { conversation } from './builder.ts'
import type { Fault } from './faults.ts'
import { randomFaults } from './fault-plan.ts'
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

async function partsOf(result: { fullStream: AsyncIterable<{ type: string }> }): Promise<string[]> {
  const types: string[] = []
  try {
    for await (const part of result.fullStream) types.push(part.type)
  } catch {
    types.push('thrown')
  }
  return types
}

describe('a fault is seen by the client as what it is', () => {
  const failing = async (fault: Fault): Promise<ModelServer> => serve({ conversations: [greeting], faults: [{ turn: 1, fault }] })
  const generate = (server: ModelServer): Promise<unknown> => generateText({ model: modelOf(server), prompt: 'Hi', maxRetries: 0 })
  const caught = async (server: ModelServer): Promise<unknown> => generate(server).then(() => 'no error', (error: unknown) => error)
  const stream = (server: ModelServer, abortSignal?: AbortSignal): Promise<string[]> =>
    partsOf(streamText({ model: modelOf(server), prompt: 'Hi', maxRetries: 0, onError: () => undefined, ...(abortSignal ? { abortSignal } : {}) }))
  const kinds = (parts: string[]): string[] => parts.filter((type) => ['text-delta', 'error', 'finish', 'thrown', 'abort'].includes(type))

  it.each([
    [429, { 'retry-after': '7' }],
    [503, {}],
    [529, {}],
    [400, {}],
  ])('status %i', async (status, headers: Record<string, string>) => {
    const server = await failing({ kind: 'status', status, headers })
    const error = await caught(server)
    expect(APICallError.isInstance(error) && error.statusCode).toBe(status)
    expect(APICallError.isInstance(error) && error.responseHeaders).toMatchObject(headers)
    expect(APICallError.isInstance(error) && error.responseBody).toContain('"error"')
    expect(server.requests[0]?.fault).toEqual({ kind: 'status', status, headers })
    await expect(generate(server)).resolves.toMatchObject({ text: 'Hello, what can I do for you today?' })
    expect(server.requests[1]).not.toHaveProperty('fault')
  })

  it('a reset before the response is a connection error', async () => {
    const error = await caught(await failing({ kind: 'reset' }))
    expect(APICallError.isInstance(error) && error.statusCode).toBeUndefined()
    expect(String(error)).toContain('Cannot connect to API')
    expect(kinds(await stream(await failing({ kind: 'reset' })))).toEqual(['error'])
  })

  it('a reset in the middle comes after the deltas before it', async () => {
    const parts = kinds(await stream(await failing({ kind: 'reset', after: 2 })))
    expect(parts.slice(0, 3)).toEqual(['text-delta', 'text-delta', 'thrown'])
    const error = await caught(await failing({ kind: 'reset', after: 1 }))
    expect(error).not.toBe('no error')
  })

  it('a client that is busy elsewhere for some turns of its event loop still reads what came before the reset', async () => {
    const server = await failing({ kind: 'reset', after: 2 })
    const body = JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'Hi' }] })
    const reader = (await fetch(`${server.url}/chat/completions`, { method: 'POST', body })).body!.getReader()
    for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done))
    const first = await reader.read()
    expect(new TextDecoder().decode(first.value)).toContain('data: {')
    await expect((async () => { while (!(await reader.read()).done); })()).rejects.toThrow()
  })

  it('a reset after all of the content, before the end', async () => {
    const parts = kinds(await stream(await failing({ kind: 'reset', after: 'finish' })))
    expect(parts.slice(0, 4)).toEqual(['text-delta', 'text-delta', 'text-delta', 'thrown'])
  })

  it('a clean cut is a stream without finish reason', async () => {
    expect(kinds(await stream(await failing({ kind: 'cut', after: 1 })))).toEqual(['text-delta', 'error', 'finish'])
    const server = await failing({ kind: 'cut', after: 1 })
    const error = await caught(server)
    expect(String(error)).toContain('Invalid JSON response')
  })

  it('a missing end mark alone is no fault for this client', async () => {
    expect(kinds(await stream(await failing({ kind: 'cut', after: 'finish' })))).toEqual(['text-delta', 'text-delta', 'text-delta', 'finish'])
  })

  it('an error event inside a 200 stream', async () => {
    const error = { message: 'Overloaded', type: 'overloaded_error' }
    expect(kinds(await stream(await failing({ kind: 'error-event', after: 0, error })))).toEqual(['error', 'finish'])
    expect(kinds(await stream(await failing({ kind: 'error-event', after: 2, error })))).toEqual(['text-delta', 'text-delta', 'error', 'finish'])
  })

  it('an error body in a 200', async () => {
    const error = await caught(await failing({ kind: 'error-body', error: { message: 'Credit is used up', code: 'insufficient_quota' } }))
    expect(APICallError.isInstance(error) && error.statusCode).toBe(200)
    expect(APICallError.isInstance(error) && error.responseBody).toContain('insufficient_quota')
    expect(kinds(await stream(await failing({ kind: 'error-body' })))).toContain('error')
  })

  it('garbage', async () => {
    const parts = kinds(await stream(await failing({ kind: 'garbage', after: 1 })))
    expect(parts.slice(0, 2)).toEqual(['text-delta', 'error'])
    expect(String(await caught(await failing({ kind: 'garbage' })))).toContain('Invalid JSON response')
  })

  it('a hang ends by the client, and does not keep the server from closing', async () => {
    const server = await failing({ kind: 'hang', after: 1 })
    const abort = new AbortController()
    const result = streamText({ model: modelOf(server), prompt: 'Hi', maxRetries: 0, abortSignal: abort.signal })
    const seen: string[] = []
    for await (const part of result.fullStream) {
      seen.push(part.type)
      if (part.type === 'text-delta') abort.abort()
    }
    expect(kinds(seen)).toEqual(['text-delta', 'abort'])
    const other = await failing({ kind: 'hang' })
    const hanging = caught(other)
    await waitForRequest(other)
    await other.close()
    expect(String(await hanging)).toContain('Cannot connect to API')
  })

  it('a delay takes the time of the clock', async () => {
    const clock = manualClock()
    const server = await serve({ conversations: [greeting], clock, faults: [{ turn: 1, fault: { kind: 'delay', beforeMs: 5_000 } }] })
    let answered = false
    const answer = generate(server).then(() => (answered = true))
    await waitForRequest(server)
    await clock.advance(4_999)
    await generate(server)
    expect(answered).toBe(false)
    await clock.advance(1)
    await answer
  })

  it('the plan can be replaced while the counts go on', async () => {
    const server = await serve({ conversations: [greeting] })
    await generate(server)
    server.setFaults([{ turn: 1, try: 2, fault: { kind: 'status', status: 500 } }])
    expect(APICallError.isInstance(await caught(server))).toBe(true)
    expect(() => server.setFaults([{ turn: 0, fault: { kind: 'hang' } }])).toThrow('faults[0].turn')
  })

  it('random faults leave a client with enough attempts its answer', async () => {
    const server = await serve({ conversations: [greeting], faults: [randomFaults({ rate: 1, tries: 2, kinds: ['status', 'reset', 'cut'] })] })
    const tries: unknown[] = []
    for (let n = 0; n < 3; n++) tries.push(await caught(server))
    expect(tries.map((outcome) => outcome === 'no error')).toEqual([false, false, true])
  })
})

/** Resolves when the server has had its first request. */
async function waitForRequest(server: ModelServer): Promise<void> {
  while (server.requests.length === 0) await new Promise((done) => setImmediate(done))
}
