/** Each fault of the scripted model server, through the real provider package over HTTP (A1-A5, R13). */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type RunEvent } from '../src/index.ts'
import { conversation, startModelServer, type Fault, type ModelServer } from '../src/testing/index.ts'

const servers: ModelServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

const hello = conversation('hello').user('hi').assistant('Hello, what can I do for you?')

async function asking(mode: 'generate' | 'stream', fault: Fault) {
  const server = await startModelServer({ conversations: [hello], faults: [{ turn: 1, try: 1, fault }] })
  servers.push(server)
  const model = createOpenAICompatible({ name: 'test', baseURL: server.url }).chatModel('model')
  const agent = defineAgent('a', async (run) => {
    const options = { model: run.model(model), prompt: 'hi', maxRetries: 4 }
    return mode === 'generate' ? (await generateText(options)).text : streamText(options).text
  })
  const events: RunEvent[] = []
  const runner = createRunner({
    agents: [agent], store: memoryStore(), idleMs: 5, timeouts: { modelMs: 2_000 }, retry: { maxAttempts: 3, backoff: { baseMs: 1, jitter: 'none' } }, onEvent: (e) => events.push(e),
  })
  const outcome = await runner.run(agent, 1, { runId: 'r' })
  return { outcome, events, requests: server.requests.length }
}

const done = { status: 'completed', result: 'Hello, what can I do for you?' }

describe('a model request that fails once over HTTP is tried again, and no text is joined', () => {
  it.each<[string, 'generate' | 'stream', Fault]>([
    ['429 with Retry-After', 'generate', { kind: 'status', status: 429, headers: { 'retry-after': '0' } }],
    ['529', 'stream', { kind: 'status', status: 529 }],
    ['reset before the response', 'generate', { kind: 'reset' }],
    ['reset in mid-stream', 'stream', { kind: 'reset', after: 2 }],
    ['clean cut in mid-stream', 'stream', { kind: 'cut', after: 2 }],
    ['cut body', 'generate', { kind: 'cut', after: 1 }],
    ['error event before any content', 'stream', { kind: 'error-event', after: 0 }],
    ['error event after content', 'stream', { kind: 'error-event', after: 2 }],
    ['error body in a 200', 'generate', { kind: 'error-body' }],
    ['garbage in mid-stream', 'stream', { kind: 'garbage', after: 1 }],
    ['garbage for a body', 'generate', { kind: 'garbage' }],
  ])('%s (%s)', async (_what, mode, fault) => {
    const { outcome, requests } = await asking(mode, fault)
    expect(outcome).toEqual(done)
    expect(requests).toBe(2)
  })

  it('a missing end after the whole text is no answer either', async () => {
    const { outcome, events } = await asking('stream', { kind: 'cut', after: 'content' })
    expect(outcome).toEqual(done)
    expect(events.map((e) => e.type)).toContain('step-reset')
  })
})
