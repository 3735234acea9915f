/** Streams that a handler hands out of its run end when the run does, whatever ended it (R10, R13; A2, A19, B9). */
import { createUIMessageStream, createUIMessageStreamResponse, isStepCount, streamText, tool, ToolLoopAgent, toUIMessageStream, type StreamTextResult, type ToolSet, type UIMessageChunk, type UIMessageStreamWriter } from 'ai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, defineAgent, durable, durableTools, memoryStore, type Outcome, type RunEvent, type Runner, type RunnerOptions } from '../src/index.ts'
import { manualClock } from '../src/testing/index.ts'
import { callParts, endOfCalls, endParts, streamingModel, textParts, type Piece } from './support/streaming.ts'
import { isLowestAi } from './support/versions.ts'

type Streamed = StreamTextResult<ToolSet, never, never>
type Settled = { readonly ended: unknown } | { readonly error: unknown }

const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
const turns = async (n = 20): Promise<void> => { for (let i = 0; i < n; i++) await turn() }
const never = new Promise<never>(() => {})
const settled = (work: PromiseLike<unknown>): Promise<Settled> => Promise.resolve(work).then((ended) => ({ ended }), (error: unknown) => ({ error }))

const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
beforeEach(() => {
  unhandled.length = 0
  process.on('unhandledRejection', note)
})
afterEach(async () => {
  await turns(3)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

async function readAll<T>(stream: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const part of stream) into.push(part)
  return into
}

const empty = z.object({})
const tools = () => durableTools({
  look: tool({ inputSchema: empty, execute: async () => 'ok' }),
  refund: tool({ inputSchema: empty, execute: async () => 'refunded' }),
  pay: tool({ inputSchema: empty, execute: async (): Promise<string> => { throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) } }),
  hang: tool({ inputSchema: empty, execute: (): Promise<string> => never }),
}, { look: { readOnly: true }, refund: { approval: true } })
const later = (): Piece[] => [{ type: 'error', error: Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '3600' } }) }]
const calling = (name: string): readonly Piece[] => [...textParts('par'), { type: 'text-end', id: '1' }, ...callParts('c', name, {}), ...endOfCalls]

interface Ending {
  readonly pieces: (request: number) => readonly Piece[]
  readonly options?: Partial<RunnerOptions>
  readonly limits?: object
  /** Ends the run in the middle of its stream. */
  readonly end?: (scene: { clock: ReturnType<typeof manualClock>; stop: AbortController; runner: Runner }) => unknown
  readonly run: object
  readonly stream: object
}

const half: readonly Piece[] = [...textParts('par', 'tial'), { type: 'pause', until: never }]

const ENDINGS: Readonly<Record<string, Ending>> = {
  'at a limit of its steps': {
    pieces: (n) => (n === 1 ? calling('look') : [...textParts('more'), ...endParts]), limits: { maxSteps: 2 },
    run: { code: 'LIMIT_REACHED' }, stream: { code: 'LIMIT_REACHED', runId: 'r' },
  },
  'when its time is over': {
    pieces: () => half, limits: { runMs: 1_000 }, end: ({ clock }) => clock.advance(1_000),
    run: { code: 'RUN_TIMEOUT' }, stream: { code: 'RUN_TIMEOUT', runId: 'r' },
  },
  'by its caller': {
    pieces: () => half, end: ({ stop }) => stop.abort(new Error('the client went away')),
    run: { message: 'the client went away' }, stream: { message: 'the client went away' },
  },
  'by the close of its runner': {
    pieces: () => half, options: { drainMs: 0 }, end: ({ runner }) => void runner.close(),
    run: { status: 'suspended', reasons: [{ type: 'draining' }] }, stream: { code: 'RUN_SUSPENDED', runId: 'r', message: 'run "r" is suspended: its runner was closed' },
  },
  'by a wait of an hour': {
    pieces: () => [...textParts('par', 'tial'), ...later()],
    run: { status: 'suspended', reasons: [{ type: 'retry-after' }] }, stream: { code: 'RUN_SUSPENDED', runId: 'r', message: expect.stringMatching(/^run "r" is suspended: model request to test\/model may be tried again/) },
  },
  'by a wait of an hour before there was any text': {
    pieces: later,
    run: { status: 'suspended', reasons: [{ type: 'retry-after' }] }, stream: { code: 'RUN_SUSPENDED', runId: 'r' },
  },
}

/** Every way of consuming a stream, from outside of the run. */
const WAYS = {
  text: (result) => settled(result.text),
  steps: (result) => settled(result.steps),
  textStream: (result) => settled(readAll(result.textStream)),
  fullStream: (result) => settled(readAll(result.fullStream)),
  'the UI message stream': (result) => settled(readAll(toUIMessageStream({ stream: result.stream }))),
  'the UI message stream response': (result) => settled(createUIMessageStreamResponse({ stream: result.toUIMessageStream() }).text()),
  'the text stream response': (result) => settled(result.toTextStreamResponse().text()),
} as const satisfies Record<string, (result: Streamed) => Promise<Settled>>

/** Drives a run to its end while others read what its handler hands out. */
async function drive({ pieces, options, limits, end }: Pick<Ending, 'pieces' | 'options' | 'limits' | 'end'>, handOut: (result: Streamed) => unknown, loop = 'streamText', passSignal = false) {
  const clock = manualClock(Date.UTC(2026, 10, 30))
  const events: RunEvent[] = []
  const woken: unknown[] = []
  const model = streamingModel(pieces)
  const agent = defineAgent('a', async (run) => {
    const asked = { prompt: 'x', ...(passSignal && { abortSignal: run.signal }) }
    const set = { model: durable(model), tools: tools(), stopWhen: isStepCount(4) }
    const result = loop === 'streamText' ? streamText({ ...set, ...asked, onError() {} }) : await new ToolLoopAgent(set).stream(asked)
    handOut(result as never)
    await result.consumeStream()
    woken.push(await run.read('after it', () => 'read'))
    return result.text
  })
  const stop = new AbortController()
  const store = memoryStore()
  const runner = createRunner({ agents: [agent], store: { ...store, close: async () => {} }, clock, idleMs: 5, retry: { maxAttempts: 3, backoff: { baseMs: 1, jitter: 'none' } }, onEvent: (event) => events.push(event), ...options })
  let outcome: Outcome | { error: unknown } | undefined
  const run = runner.run(agent, {}, { runId: 'r', signal: stop.signal, ...(limits && { limits }) }).then((is) => (outcome = is), (error: unknown) => (outcome = { error }))
  await turns()
  await end?.({ clock, stop, runner })
  for (let i = 0; i < 100 && outcome === undefined; i++) await clock.advance(1)
  await run
  await turns()
  return { outcome: outcome as object, events, woken, runner, model, store, agent }
}

describe('a stream that was handed out, of a run that ended in its middle', () => {
  for (const [how, ending] of Object.entries(ENDINGS)) {
    it.each(Object.keys(WAYS) as (keyof typeof WAYS)[])(`${how}, is an error for who reads %s, in streamText and ToolLoopAgent`, async (way) => {
      for (const loop of ['streamText', 'ToolLoopAgent']) {
        const read: Promise<Settled>[] = []
        const { outcome, woken } = await drive(ending, (result) => read.push(WAYS[way](result)), loop)
        expect('error' in outcome ? outcome.error : outcome).toMatchObject(ending.run)
        expect(await Promise.race([Promise.all(read), turns(5).then(() => 'still open')])).toMatchObject([{ error: ending.stream }])
        // Nothing that the handler still does is a part of the run.
        expect(woken).toEqual([])
      }
    })

    it(`${how}, has neither a finish nor a second end, and the run records and tells what it does without readers`, async () => {
      const parts: { readonly type: string }[] = []
      const { events, store } = await drive(ending, (result) => settled(readAll(result.fullStream, parts)))
      expect(parts.filter(({ type }) => type === 'finish' || type === 'error' || type === 'abort')).toEqual([])
      const unread = await drive(ending, () => {})
      expect(events.map(({ type }) => type)).toEqual(unread.events.map(({ type }) => type))
      const types = async (from: typeof store): Promise<string[]> => (await createRunner({ agents: [], store: from }).history('r')).map(({ entry }) => entry.type)
      expect(await types(store)).toEqual(await types(unread.store))
    })
  }
})

describe('a stream that broke and is driven again', () => {
  const broken = (until: Promise<unknown>) => (n: number): readonly Piece[] =>
    (n === 1 ? [...textParts('He', 'l'), { type: 'pause', until }, { type: 'reset' }] : [...textParts('Hel', 'lo'), ...endParts])

  it('is an error for who reads the first, and whole for who reads the second (R13, A2)', async () => {
    const read: Promise<Settled>[] = []
    const { outcome } = await drive({ pieces: broken(turns()) }, (result) => read.push(settled(readAll(result.textStream))))
    expect(outcome).toEqual({ status: 'completed', result: 'Hello' })
    expect(await Promise.all(read)).toMatchObject([
      { error: { code: 'STREAM_RESET', runId: 'r', message: expect.stringContaining('run "r": the stream of step 0 broke, what was shown of this stream is void') } },
      { ended: ['Hel', 'lo'] },
    ])
  })

  it.skipIf(isLowestAi)('lets a UI message stream end that both were merged into', async () => {
    const clock = manualClock()
    const model = streamingModel(broken(turns()))
    let merge: (stream: ReturnType<Streamed['toUIMessageStream']>) => void
    const chat = defineAgent('chat', async (run) => {
      const result = streamText({ model: run.model(model), prompt: 'x', onError() {}, abortSignal: run.signal })
      merge(result.toUIMessageStream())
      return result.text
    })
    const runner = createRunner({ agents: [chat], store: memoryStore(), clock, retry: { backoff: { baseMs: 1, jitter: 'none' } } })
    const stream = createUIMessageStream({
      execute: async ({ writer }) => {
        merge = (from) => writer.merge(from)
        await runner.run(chat, {}, { runId: 'r' })
      },
    })
    const read = readAll(stream)
    await turns(40)
    await clock.advance(10)
    // With the signal of the run the first one is aborted, so that the second one is still read.
    expect((await read).filter(({ type }) => !['text-start', 'text-end', 'start-step', 'finish-step'].includes(type))).toEqual([
      expect.objectContaining({ type: 'start' }),
      { type: 'text-delta', id: '1', delta: 'He' },
      { type: 'text-delta', id: '1', delta: 'l' },
      { type: 'abort', reason: expect.stringContaining('what was shown of this stream is void') },
      expect.objectContaining({ type: 'start' }),
      { type: 'text-delta', id: '1', delta: 'Hel' },
      { type: 'text-delta', id: '1', delta: 'lo' },
      { type: 'finish', finishReason: 'stop' },
    ])
  })
})

describe('code of a run that the end of a stream wakes', () => {
  it('in a tool makes no result of it: the tool is entered again, and what it says then counts', async () => {
    const clock = manualClock(Date.UTC(2026, 10, 30))
    const waits = Promise.withResolvers<void>()
    const inner = streamingModel((n) => (n === 1 ? later() : [...textParts('found'), ...endParts]))
    const outer = streamingModel((n) => (n === 1 ? [...callParts('c', 'ask', {}), ...endOfCalls] : [...textParts('done'), ...endParts]))
    const beside = streamingModel((n) => (n === 1 ? [...textParts('be'), { type: 'pause', until: waits.promise }, { type: 'reset' }] : [...textParts('beside'), ...endParts]))
    const said: string[] = []
    const ask = tool({
      inputSchema: z.object({}),
      execute: async () => {
        const text = await Promise.resolve(streamText({ model: durable(inner), prompt: 'y', onError() {} }).text).catch((error: { code: string }) => error.code)
        said.push(text)
        return text
      },
    })
    const agent = defineAgent('a', (run) => Promise.all([
      run.branch('asks', async () => streamText({ model: durable(outer), tools: durableTools({ ask }, { ask: { composite: true } }), prompt: 'x', stopWhen: isStepCount(3) }).text),
      run.branch('beside', async () => streamText({ model: durable(beside), prompt: 'x' }).text),
    ]))
    const onEvent = (event: RunEvent): void => { if (event.type === 'step-waiting') waits.resolve() }
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, idleMs: 5, retry: { backoff: { baseMs: 1, jitter: 'none' } }, onEvent })
    const recorded = async () => (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' ? [entry.step.id] : []))
    const call = async (outcome: Promise<Outcome>): Promise<Outcome> => {
      let isOver = false
      void settled(outcome).then(() => (isOver = true))
      while (!isOver) await clock.advance(5)
      return outcome
    }
    expect(await call(runner.run(agent, {}, { runId: 'r' }))).toMatchObject({ status: 'suspended', reasons: [{ type: 'retry-after' }] })
    await turns()
    // Once when the stream beside it broke and the handler was driven again, once when the run was suspended.
    expect(said).toEqual(['STREAM_RESET', 'RUN_SUSPENDED'])
    expect(await recorded()).toEqual(['b:asks#0/0', 'b:beside#0/0'])
    await clock.advance(3_600_000)
    expect(await call(runner.resume('r'))).toEqual({ status: 'completed', result: ['done', 'beside'] })
    expect(said).toEqual(['STREAM_RESET', 'RUN_SUSPENDED', 'found'])
  })

  it('gets an error at once for each stream that it still asks for', async () => {
    const model = streamingModel(() => half)
    const second: Promise<Settled>[] = []
    const { outcome } = await drive({ pieces: () => half, end: ({ stop }) => stop.abort(new Error('the client went away')) }, (result) => {
      void settled(result.text).then(() => second.push(settled(readAll(streamText({ model: currentRun()!.model(model), prompt: 'x', onError() {} }).textStream))))
    })
    expect(outcome).toMatchObject({ error: { message: 'the client went away' } })
    await turns()
    expect(await Promise.race([Promise.all(second), turns(5).then(() => 'still open')])).toMatchObject([{ error: { message: 'the client went away' } }])
    expect(model.requests).toEqual([])
  })
})

/** The model's stream has ended there: only the loop can end its own (`abortSignal`), which it does since ai 7.0.130. */
describe.skipIf(isLowestAi)('a stream that was handed out, of a run that ended in a tool, with the signal of the run', () => {
  const IN_TOOLS: Readonly<Record<string, Omit<Ending, 'stream'> & { readonly reason: RegExp }>> = {
    'waits for approval': { pieces: () => calling('refund'), run: { status: 'suspended', reasons: [{ type: 'approval' }] }, reason: /run "r" is suspended: tool "refund" .*approv/ },
    'is in doubt': { pieces: (n) => (n === 3 ? [...textParts('x'), ...endParts] : calling('pay')), run: { status: 'suspended', reasons: [{ type: 'in-doubt' }] }, reason: /run "r" is suspended: tool "pay"/ },
    'is at a limit': { pieces: () => calling('look'), limits: { maxSteps: 1 }, run: { error: { code: 'LIMIT_REACHED' } }, reason: /limits.maxSteps/ },
    'hangs until the time is over': { pieces: () => calling('hang'), limits: { runMs: 1_000 }, end: ({ clock }) => clock.advance(1_000), run: { error: { code: 'RUN_TIMEOUT' } }, reason: /the time of run "r" is over/ },
    'hangs until its caller stops it': { pieces: () => calling('hang'), end: ({ stop }) => stop.abort(new Error('the client went away')), run: { error: { message: 'the client went away' } }, reason: /the client went away/ },
    'hangs until its runner is closed': { pieces: () => calling('hang'), options: { drainMs: 0 }, end: ({ runner }) => void runner.close(), run: { status: 'suspended', reasons: [{ type: 'draining' }] }, reason: /its runner was closed/ },
  }

  for (const [what, ending] of Object.entries(IN_TOOLS)) {
    it.each(['streamText', 'ToolLoopAgent'])(`that ${what}, is aborted in the UI and rejects its promises, in %s`, async (loop) => {
      const chunks: UIMessageChunk[] = []
      const read: Promise<Settled>[] = []
      const { outcome, woken } = await drive(ending, (result) => read.push(settled(readAll(result.toUIMessageStream(), chunks)), settled(result.text)), loop, true)
      expect(outcome).toMatchObject(ending.run)
      expect(await Promise.race([Promise.all(read), turns(5).then(() => 'still open')])).toEqual([{ ended: chunks }, { error: expect.objectContaining({ message: expect.stringMatching(ending.reason) }) }])
      expect(chunks.at(-1)).toEqual({ type: 'abort', reason: expect.stringMatching(ending.reason) })
      expect(chunks.filter(({ type }) => type === 'finish' || type === 'error')).toEqual([])
      expect(woken).toEqual([])
    })
  }
})

describe.skipIf(isLowestAi)('the route of docs/reliability.md', () => {
  it('ends its response when the run waits for a person, with what it waits for', async () => {
    const clock = manualClock()
    const clients = new Map<string, UIMessageStreamWriter>()
    const desk = new ToolLoopAgent({ model: durable(streamingModel(() => calling('refund'))), tools: tools() })
    const chat = defineAgent('chat', async (run, { question }: { question: string }) => {
      const result = await desk.stream({ prompt: question, abortSignal: run.signal })
      clients.get(run.runId)?.merge(result.toUIMessageStream())
      return result.text
    })
    const runner = createRunner({ agents: [chat], store: memoryStore(), clock, idleMs: 5 })
    const respond = (runId: string, question: string) => createUIMessageStreamResponse({
      stream: createUIMessageStream({
        execute: async ({ writer }) => {
          clients.set(runId, writer)
          const outcome = await runner.run(chat, { question }, { runId }).finally(() => clients.delete(runId))
          if (outcome.status === 'suspended') writer.write({ type: 'data-waiting', data: outcome.reasons })
        },
      }),
    })
    const read = respond('r', 'refund it').text()
    for (let i = 0; i < 20; i++) await clock.advance(1)
    const chunks = (await read).split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as { type: string; data?: object }] : []))
    expect(chunks.map(({ type }) => type).filter((type) => type === 'tool-input-available' || type === 'abort' || type === 'data-waiting' || type.includes('error')).toSorted()).toEqual(['abort', 'data-waiting', 'tool-input-available'])
    expect(chunks.find(({ type }) => type === 'data-waiting')!.data).toMatchObject([{ type: 'approval', tool: 'refund' }])
  })
})
