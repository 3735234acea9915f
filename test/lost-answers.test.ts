/** A refund takes effect over a real socket, its answer is lost in some way, and the model asks again in other words: it is made once (R6; C27, C28). */
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { generateText, stepCountIs, tool } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore } from '../src/index.ts'
import { testModel } from './support/model.ts'

let server: Server
let made = 0
let base = ''

/** What the server does when it has made the refund, by path. */
const ANSWERS: Readonly<Record<string, (end: (status: number, headers: Record<string, string>, body?: string | Buffer) => void, cut: () => void) => void>> = {
  '/reset': (_end, cut) => cut(),
  '/page': (end) => end(200, {}, '<html>'),
  '/loop': (end) => end(307, { location: '/loop-on' }),
  '/to-nowhere': (end) => end(302, { location: 'http://[bad' }),
  '/to-ftp': (end) => end(303, { location: 'ftp://x/' }),
  '/to-bad-port': (end) => end(303, { location: 'http://127.0.0.1:1/receipt' }),
  '/brotli': (end) => end(200, { 'content-encoding': 'br' }, 'not brotli at all'),
  '/500': (end) => end(500, {}, 'oops'),
  '/declined': (end) => end(402, {}, 'declined'),
}

beforeAll(async () => {
  server = createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => {
      if (incoming.url === '/loop-on') return outgoing.writeHead(307, { location: '/loop-on' }).end()
      made++
      ANSWERS[incoming.url!]?.((status, headers, body) => outgoing.writeHead(status, headers).end(body), () => incoming.socket.resetAndDestroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

const post = (path: string, init: RequestInit = {}): Promise<Response> => fetch(base + path, { method: 'POST', body: '{}', ...init })
/** Never answers, as far as its caller can see. */
const silent = async (): Promise<never> => {
  await post('/500').then((response) => response.text())
  return new Promise(() => {})
}
const failing = (say: (response: Response) => unknown) => async (): Promise<void> => {
  throw await say(await post('/500'))
}

const WAYS: Readonly<Record<string, () => unknown>> = {
  'the connection is reset': () => post('/reset'),
  'a page comes in place of JSON': async () => (await post('/page')).json(),
  'a redirect leads to itself': () => post('/loop'),
  'a redirect is refused': () => post('/loop', { redirect: 'error' }),
  'a redirect leads to what is no address': () => post('/to-nowhere'),
  'a redirect leads to another scheme': () => post('/to-ftp'),
  'a redirect leads to a port that is not asked': () => post('/to-bad-port'),
  'the body does not inflate': async () => (await post('/brotli')).json(),
  'the body was read before': async () => {
    const response = await post('/500')
    await response.text()
    return response.json()
  },
  'node:http is reset': () => new Promise((resolve, reject) => request(`${base}/reset`, { method: 'POST' }, resolve).on('error', reject).end('{}')),
  'words: failed with 500': failing(({ status }) => new Error(`refund failed with ${status}`)),
  'words: returned 500': failing(async (response) => new Error(`Refund API returned ${response.status}: ${await response.text()}`)),
  'words: -> 500': failing(({ status, statusText }) => new Error(`POST /refunds -> ${status} ${statusText}`)),
  'words: Error 500': failing(({ status }) => new Error(`Error ${status}`)),
  'the status is the cause': failing(({ status }) => new Error('refund failed', { cause: status })),
  'the response is the cause': failing((response) => new Error('refund failed', { cause: response })),
  'the status is under res': failing(({ status }) => Object.assign(new Error('refund failed'), { res: { statusCode: status } })),
  'an own time limit': () => Promise.race([silent(), wait(30).then(() => { throw new Error('refund timed out after 30 ms') })]),
  'an own time limit in other words': () => Promise.race([silent(), wait(30).then(() => { throw new Error('refund took longer than 30 ms') })]),
  'who asked gave up': () => Promise.race([silent(), wait(30).then(() => { throw new Error('gave up') })]),
  'the worker that asked dies': async () => {
    await post('/500')
    await new Promise((_, reject) => new Worker('process.exit(1)', { eval: true }).on('exit', (code) => reject(new Error(`Worker stopped with exit code ${code}`))))
  },
}

/** The model asks for a refund, and once more, in other words, after it was told that it threw. */
async function refunding(way: () => unknown): Promise<{ readonly status: string; readonly made: number }> {
  made = 0
  const refund = tool({ inputSchema: z.object({ order: z.string(), note: z.string() }), execute: async () => (await way()) ?? 'refunded' })
  const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'refund', input: { order: '7', note: `try ${turn}` } }] } : { text: 'done' }))
  const agent = defineAgent('refunds', async (run, _input: object) =>
    (await generateText({ model: run.model(model), tools: run.tools({ refund }), prompt: 'refund order 7', stopWhen: stepCountIs(5) })).text)
  const { status } = await createRunner({ agents: [agent], store: memoryStore(), idleMs: 5 }).run(agent, {}, { runId: 'r' })
  return { status, made }
}

describe('a refund is made once, and its run waits, when', () => {
  it.each(Object.entries(WAYS))('%s', async (_, way) => {
    expect(await refunding(way)).toEqual({ status: 'suspended', made: 1 })
  })
})

describe('a refund may be asked for again when', () => {
  it.each<readonly [string, () => unknown, number]>([
    ['the service refuses', async () => { throw new Error(`declined (${(await post('/declined')).status})`) }, 2],
    ['the tool says that it failed, in its own words', () => { throw new Error('insufficient funds') }, 0],
  ])('%s', async (_, way, times) => {
    expect(await refunding(way)).toEqual({ status: 'completed', made: times })
  })
})
