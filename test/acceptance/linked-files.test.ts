/** Files behind links, which expire (C30): fetched once a run, kept with it, and not needed for a replay. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LanguageModelV4FilePart } from '@ai-sdk/provider'
import { generateText, isStepCount, streamText, tool, type ModelMessage, type ToolSet } from 'ai'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type DownloadFile, type DurableModelOptions, type Run, type RunnerOptions } from '../../src/index.ts'
import { testModel, type TestModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { backoff: { baseMs: 1, jitter: 'none' } } } satisfies Partial<RunnerOptions>
const PNG = Buffer.from('89504e470d0a1a0a00', 'hex')

/** Serves the file until it is told to answer otherwise, and counts who asks. */
const files = { status: [] as number[], always: 200, asked: 0, body: PNG as Buffer }
let server: Server
let link = ''

beforeEach(async () => {
  Object.assign(files, { status: [], always: 200, asked: 0, body: PNG })
  server = createServer((_request, response) => {
    files.asked++
    const status = files.status.shift() ?? files.always
    response.writeHead(status, { 'content-type': 'image/png' }).end(status === 200 ? files.body : 'no')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  link = `http://127.0.0.1:${(server.address() as AddressInfo).port}/picture.png?signature=s3cret`
})

afterEach(async () => {
  vi.unstubAllGlobals()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

/** The AI SDK's own refuses addresses of this machine. */
const download: DownloadFile = async ({ url, abortSignal }) => {
  const response = await fetch(url, abortSignal ? { signal: abortSignal } : {})
  if (!response.ok) throw Object.assign(new Error(`Failed to download ${url.href}: ${response.status}`), { statusCode: response.status })
  return { data: new Uint8Array(await response.arrayBuffer()), mediaType: response.headers.get('content-type') ?? undefined }
}

const question = (): ModelMessage[] => [{ role: 'user', content: [{ type: 'text', text: 'what is it?' }, { type: 'file', data: new URL(link), mediaType: 'image' }] }]

/** The file parts that reached the model with a request. */
const filesIn = (model: TestModel, request: number): LanguageModelV4FilePart[] =>
  model.requests[request]!.prompt.flatMap((m) => (m.role === 'user' ? m.content.filter((part) => part.type === 'file') : []))

const bytes = { data: { type: 'data', data: new Uint8Array(PNG) }, mediaType: 'image/png' }

/** A run that looks at a file in each of two requests, with a step between them, and fails at the first attempts where `fails` says. */
function looking(mode: 'generateText' | 'streamText', options: DurableModelOptions = { download }, fails: 'between' | 'after' = 'after') {
  let attempt = 0
  const model = testModel((turn) => {
    if (turn === 0) return { calls: [{ id: 'c', tool: 'zoom', input: {} }] }
    if (fails === 'between' && attempt === 1) throw Object.assign(new Error('the key is not valid'), { statusCode: 401 })
    return { text: 'a cat' }
  })
  let zooms = 0
  const agent = defineAgent('a', async (run: Run) => {
    const tools: ToolSet = run.tools({ zoom: tool({ inputSchema: z.object({}), execute: async () => ++zooms }) })
    attempt = run.attempt
    const asked = { model: run.model(model, options), tools, messages: question(), stopWhen: isStepCount(3) }
    const text = mode === 'generateText' ? (await generateText(asked)).text : await streamText({ ...asked, onError: () => {} }).text
    if (fails === 'after' && run.attempt === 1) throw new Error('later')
    return text
  })
  return { model, agent, runner: (more: Partial<RunnerOptions> = {}) => createRunner({ agents: [agent], store: memoryStore(), ...quick, ...more }) }
}

describe.each(['generateText', 'streamText'] as const)('a file behind a link, with %s', (mode) => {
  it('whose link has expired when the run resumes: everything replays, and nothing is fetched (C30)', async () => {
    const { model, agent, runner: make } = looking(mode)
    const runner = make()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(filesIn(model, 0)).toEqual([expect.objectContaining(bytes)])
    files.always = 403
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'a cat' })
    expect([model.requests.length, files.asked]).toEqual([2, 1])
  })

  it('whose link has expired when the run goes on live: later requests have the file from the journal', async () => {
    const { model, agent, runner: make } = looking(mode, { download }, 'between')
    const runner = make()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/key is not valid/)
    files.always = 404
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'a cat' })
    expect(model.requests).toHaveLength(3)
    expect(filesIn(model, 2)).toEqual([expect.objectContaining(bytes)])
    expect(files.asked).toBe(1)
  })

  it('is fetched again by its retry policy, and a link that is dead fails the step, without its secret', async () => {
    files.status = [503, 200]
    const { agent, runner } = looking(mode)
    await expect(runner().run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(files.asked).toBe(2)
    files.always = 404
    const error = await runner().run(agent, {}, { runId: 'q' }).catch((e: unknown) => e)
    expect(error).toMatchObject({ code: 'STEP_FAILED', message: expect.stringMatching(/the file at http:\/\/127\.0\.0\.1:\d+\/picture\.png could not be fetched.*durable\(model, \{ download \}\)/) })
    expect((error as Error).message).not.toMatch(/s3cret/)
  })

  it('is fetched by the loop before each request, on replay too, where the model leaves that to it', async () => {
    const { agent, runner: make } = looking(mode, { download: false })
    vi.stubGlobal('fetch', async () => (files.asked++, new Response(PNG, { status: files.always, headers: { 'content-type': 'image/png' } })))
    link = 'https://files.example/picture.png'
    const runner = make()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(files.asked).toBe(2)
    files.always = 403
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'RUN_FAILED' })
  })
})

describe('a file behind a link', () => {
  it('is fetched by the AI SDK\'s own function by default, which refuses addresses of this machine', async () => {
    const { agent, model, runner } = looking('generateText', {})
    await expect(runner().run(agent, {}, { runId: 'r' })).rejects.toThrow(/127\.0\.0\.1 is not allowed/)
    expect([model.requests.length, files.asked]).toEqual([0, 0])
    vi.stubGlobal('fetch', async () => new Response(PNG, { headers: { 'content-type': 'image/png' } }))
    link = 'https://files.example/picture.png'
    await expect(runner().run(agent, {}, { runId: 'q' })).rejects.toThrow(/later/)
    expect(filesIn(model, 0)).toEqual([expect.objectContaining(bytes)])
  })

  it('reaches a model that takes links as a link, and is not fetched', async () => {
    const scene = looking('generateText')
    Object.assign(scene.model, { supportedUrls: { 'image/*': [/^http:\/\/127\.0\.0\.1/] } })
    await expect(scene.runner().run(scene.agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(filesIn(scene.model, 0)).toEqual([expect.objectContaining({ data: { type: 'url', url: new URL(link) }, mediaType: 'image' })])
    expect(files.asked).toBe(0)
  })

  it('in a tool\'s result is kept as well', async () => {
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'chart', input: {} }] } : { text: 'up' }))
    const agent = defineAgent('a', async (run) => {
      const chart = tool({ inputSchema: z.object({}), execute: async () => link, toModelOutput: ({ output }) => ({ type: 'content', value: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL(output) } }] }) })
      const { text } = await generateText({ model: run.model(model, { download }), tools: run.tools({ chart }), prompt: 'x', stopWhen: isStepCount(4) })
      if (run.attempt === 1) throw new Error('later')
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const [, result] = model.requests[2]!.prompt.filter((m) => m.role === 'tool')
    expect(result!.content).toEqual([expect.objectContaining({ output: { type: 'content', value: [expect.objectContaining(bytes)] } })])
    files.always = 403
    expect(await runner.resume('r')).toMatchObject({ result: 'up' })
    expect([model.requests.length, files.asked]).toEqual([3, 1])
  })

  it('is fetched for a loop of your own too', async () => {
    const model = testModel(() => ({ text: 'a cat' }))
    const agent = defineAgent('a', async (run) => {
      await run.model(model, { download }).doGenerate({ prompt: [{ role: 'user', content: [{ type: 'file', mediaType: 'image', data: { type: 'url', url: new URL(link) } }] }] })
    })
    await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })
    expect(filesIn(model, 0)).toEqual([expect.objectContaining(bytes)])
  })

  it('that is larger than what is recorded is not kept, with a warning that does not hold its secret', async () => {
    files.body = Buffer.alloc(2_000, PNG)
    const { agent, runner: make, model } = looking('generateText', { download }, 'between')
    const warnings: string[] = []
    const runner = make({ maxResultBytes: 1_000, onEvent: (e) => e.type === 'warning' && warnings.push(`${e.code} ${e.message}`) })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/key is not valid/)
    expect(warnings).toEqual([expect.stringMatching(/^FILE_NOT_KEPT file at http:.*picture\.png takes \d+ bytes.*fetches it again/)])
    expect(warnings[0]).not.toMatch(/s3cret/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect([model.requests.length, files.asked]).toEqual([3, 2])
  })

  it('leaves its link, which is as good as a password, out of the journal', async () => {
    const { agent, runner: make } = looking('generateText')
    const runner = make()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(JSON.stringify(await runner.history('r'))).not.toMatch(/s3cret/)
  })
})
