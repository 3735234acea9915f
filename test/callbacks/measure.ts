/** Counts what a loop of the AI SDK calls, the first time and when its run is resumed: the table of docs/reliability.md. */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { generateText, Output, stepCountIs, streamText, tool, ToolLoopAgent, toUIMessageStream, wrapLanguageModel, type LanguageModelMiddleware } from 'ai'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run } from '../../src/index.ts'
import { testModel } from '../support/model.ts'
import { streamingModel } from '../support/streaming.ts'

export const LOOPS = ['generateText', 'streamText'] as const
export type Loop = (typeof LOOPS)[number]

/** How often each was called, by name. */
export type Counts = Record<string, number>

class Tally {
  readonly #counts: Counts[] = []
  attempt = 1

  note(name: string): void {
    const counts = (this.#counts[this.attempt - 1] ??= {})
    counts[name] = (counts[name] ?? 0) + 1
  }

  /** A function that counts its calls, and does what `work` does. */
  counted<A extends unknown[], R>(name: string, work: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      this.note(name)
      return work(...args)
    }
  }

  get measured(): { readonly first: Counts; readonly replayed: Counts } {
    return { first: this.#counts[0] ?? {}, replayed: this.#counts[1] ?? {} }
  }
}

const nothing = (): void => {}

const CALLS = [{ id: 'a', tool: 'look', input: { n: 1 } }, { id: 'b', tool: 'look', input: { n: 'one' } }]
const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } }

/** Answers with two calls, one of which does not parse, and then with an object. */
function modelOf(loop: Loop): LanguageModelV4 {
  if (loop === 'generateText') return testModel((turn) => (turn === 0 ? { calls: CALLS } : { text: '{"ok":true}' }))
  return streamingModel((request) => (request === 1
    ? [
      ...CALLS.flatMap(({ id, tool: toolName, input }) => [
        { type: 'tool-input-start', id, toolName } as const, ...JSON.stringify(input).split(':').map((text, i) => ({ type: 'tool-input-delta', id, delta: i === 0 ? `${text}:` : text }) as const), { type: 'tool-input-end', id } as const,
        { type: 'tool-call', toolCallId: id, toolName, input: JSON.stringify(input) } as const,
      ]),
      { type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage } as const,
    ]
    : [
      { type: 'text-start', id: '1' } as const, ...['{"ok"', ':', 'true}'].map((delta) => ({ type: 'text-delta', id: '1', delta }) as const),
      { type: 'text-end', id: '1' } as const, { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage } as const,
    ]))
}

function middleware(tally: Tally, where: string): LanguageModelMiddleware {
  return {
    specificationVersion: 'v4',
    wrapGenerate: tally.counted(where, ({ doGenerate }) => doGenerate()),
    wrapStream: tally.counted(where, ({ doStream }) => doStream()),
  }
}

/** A request with everything that the loops take. */
function request(run: Run, loop: Loop, tally: Tally, plain: LanguageModelV4) {
  const counted: Tally['counted'] = (name, work) => tally.counted(name, work)
  const inside = wrapLanguageModel({ model: plain, middleware: middleware(tally, 'middleware inside `durable(model)`') }) as LanguageModelV4
  const durable = run.model(inside, { download: counted('`download` of `durable(model)`', async () => ({ data: new Uint8Array([1]), mediaType: 'image/png' })) })
  const look = tool({
    inputSchema: z.object({ n: z.number().refine(counted('checks of `inputSchema`', () => true)) }),
    execute: counted('`execute`', async ({ n }: { n: number }) => n),
    toModelOutput: counted('`toModelOutput`', () => ({ type: 'text', value: 'seen' }) as const),
    onInputStart: counted('`onInputStart`', nothing),
    onInputDelta: counted('`onInputDelta`', nothing),
    onInputAvailable: counted('`onInputAvailable`', nothing),
  })
  const common = {
    model: wrapLanguageModel({ model: durable, middleware: middleware(tally, 'middleware around `durable(model)`') }),
    tools: run.tools({ look }, { look: { readOnly: true } }),
    messages: [{ role: 'user', content: [{ type: 'file', data: new URL('https://example.com/a.png'), mediaType: 'image/png' }] }] as never,
    output: Output.object({ schema: z.object({ ok: z.boolean().refine(counted('checks of `output`', () => true)) }) }),
    stopWhen: [counted('`stopWhen`', () => false), stepCountIs(5)],
    prepareStep: counted('`prepareStep`', () => ({})),
    repairToolCall: counted('`repairToolCall`', async ({ toolCall }: { toolCall: object }) => ({ ...toolCall, input: '{"n":2}' })) as never,
    toolApproval: counted('`toolApproval`', () => 'not-applicable' as const),
    experimental_refineToolInput: { look: counted('`experimental_refineToolInput`', (input: { n: number }) => input) },
    experimental_download: counted('`experimental_download`', async (files: readonly unknown[]) => files.map(() => null)) as never,
    onStart: counted('`onStart`', nothing),
    onStepStart: counted('`onStepStart`', nothing),
    onLanguageModelCallStart: counted('`onLanguageModelCallStart`', nothing),
    onLanguageModelCallEnd: counted('`onLanguageModelCallEnd`', nothing),
    onToolExecutionStart: counted('`onToolExecutionStart`', nothing),
    onToolExecutionEnd: counted('`onToolExecutionEnd`', nothing),
    onStepEnd: counted('`onStepEnd`', nothing),
    onEnd: counted('`onEnd`', nothing),
  }
  if (loop === 'generateText') return generateText(common)
  return streamText({
    ...common,
    onChunk: counted('`onChunk`', nothing),
    experimental_transform: () => new TransformStream({ transform: (part, controller) => (tally.note('`experimental_transform`'), controller.enqueue(part)) }),
  })
}

/** Drives a run that fails after `work`, and drives it again. */
async function twice(tally: Tally, work: (run: Run) => Promise<unknown>): Promise<void> {
  const agent = defineAgent('a', async (run) => {
    tally.attempt = run.attempt
    await work(run)
    if (run.attempt === 1) throw new Error('not ready')
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5, replayHoldMs: 20 })
  await runner.run(agent, {}, { runId: 'r' }).catch((error: unknown) => {
    if (!(error instanceof Error && error.message.includes('not ready'))) throw error
  })
  await runner.resume('r')
}

/** A loop that goes well. */
export async function measure(loop: Loop): Promise<Tally['measured']> {
  const tally = new Tally()
  const plain = modelOf(loop)
  await twice(tally, async (run) => {
    await run.read('note', tally.counted('functions of `run.step`, `run.read`', () => 1))
    const result = await request(run, loop, tally, plain)
    if (!('fullStream' in result)) return result.output
    for await (const _part of toUIMessageStream({ stream: result.stream, onEnd: tally.counted('`onEnd` of `toUIMessageStream`', nothing) })) continue
    return result.output
  })
  return tally.measured
}

/** A loop whose request fails for good, in a run that goes on after it. */
export async function measureFailure(loop: Loop): Promise<Tally['measured']> {
  const tally = new Tally()
  const model = testModel(() => { throw Object.assign(new Error('bad key'), { statusCode: 401 }) })
  await twice(tally, async (run) => {
    const asked = { model: run.model(model), prompt: 'x', onStepError: tally.counted('`onStepError`', nothing) }
    await (loop === 'generateText' ? generateText(asked) : streamText({ ...asked, onError: tally.counted('`onError` of `streamText`', nothing) }).text).then(null, nothing)
    await run.read('went on', () => true)
  })
  return tally.measured
}

/** A loop that its own caller aborts, in a run that goes on after it. */
export async function measureAbort(loop: Loop): Promise<Tally['measured']> {
  const tally = new Tally()
  const model = testModel(() => new Promise(() => {}))
  await twice(tally, async (run) => {
    const stop = new AbortController()
    if (run.attempt === 1) setImmediate(() => setImmediate(() => stop.abort()))
    const asked = { model: run.model(model), prompt: 'x', abortSignal: stop.signal, onAbort: tally.counted('`onAbort`', nothing) }
    await (loop === 'generateText' ? generateText(asked) : streamText(asked).text).then(null, nothing)
    await run.read('went on', () => true)
  })
  return tally.measured
}

/** Approval as a tool says it, which a loop asks for where it has none of its own. */
export async function measureApproval(loop: Loop): Promise<Tally['measured']> {
  const tally = new Tally()
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'a', tool: 'look', input: {} }] } : { text: 'x' }))
  await twice(tally, async (run) => {
    const look = tool({ inputSchema: z.object({}), execute: async () => 1, needsApproval: tally.counted('`needsApproval`', () => false) })
    const asked = { model: run.model(model), prompt: 'x', tools: run.tools({ look }), stopWhen: stepCountIs(3) }
    return loop === 'generateText' ? (await generateText(asked)).text : streamText(asked).text
  })
  return tally.measured
}

/** The agent's own callback before its loop. */
export async function measureAgent(loop: Loop): Promise<Tally['measured']> {
  const tally = new Tally()
  const model = testModel(() => ({ text: 'x' }))
  await twice(tally, async (run) => {
    const agent = new ToolLoopAgent({ model: run.model(model), prepareCall: tally.counted('`prepareCall` of `ToolLoopAgent`', (settings: object) => settings) as never })
    return loop === 'generateText' ? (await agent.generate({ prompt: 'x' })).text : (await agent.stream({ prompt: 'x' })).text
  })
  return tally.measured
}
