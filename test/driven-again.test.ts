/** What a loop that was left does to the one that is driven in its place: nothing (R10, R13). */
import { stepCountIs, streamText, tool, generateText } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, defineAgent, durable, durableTools, memoryStore, type Run, type RunnerOptions } from '../src/index.ts'
import { testModel } from './support/model.ts'
import { callParts, endOfCalls, endParts, streamingModel, textParts } from './support/streaming.ts'

const quick = { idleMs: 50, replayHoldMs: 20, retry: { backoff: { baseMs: 1 } } } satisfies Partial<RunnerOptions>

interface Scene {
  /** Of the loop around, by the number of the drive, from 1. */
  readonly signalOf: (run: Run, drive: number) => AbortSignal | undefined
  readonly isGenerator?: boolean
  /** Told when the loop inside is asked again, after its stream has broken. */
  readonly onSecond?: () => void
}

/** A loop whose tool asks a second one, in which a stream breaks after a refund. */
function lead({ signalOf, isGenerator = false, onSecond }: Scene) {
  const refunds: string[] = []
  const heard: unknown[] = []
  let drives = 0
  const inner = streamingModel((request) => {
    if (request === 1) return [...callParts('r1', 'refund', { order: '7' }), ...endOfCalls]
    if (request === 2) return [...textParts('half a sen'), { type: 'reset' }]
    onSecond?.()
    return [...textParts('refunded'), ...endParts]
  })
  const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: ({ order }) => (refunds.push(order), `refunded ${order}`) })
  const research = async (): Promise<string> => streamText({ model: durable(inner), tools: durableTools({ refund }), prompt: 'Refund 7', stopWhen: stepCountIs(5) }).text
  const outer = durable(testModel((turn, { prompt }) => {
    if (turn === 0) return { calls: [{ id: 'd', tool: 'research', input: {} }] }
    const last = prompt.at(-1)!
    if (last.role === 'tool') heard.push(...last.content.map((part) => (part.type === 'tool-result' ? part.output : part)))
    return { text: 'done' }
  }))
  const execute = isGenerator ? async function* () { yield await research() } : research
  const agent = defineAgent('lead', async (run) => {
    drives++
    const abortSignal = signalOf(run, drives)
    const tools = durableTools({ research: tool({ inputSchema: z.object({}), execute }) }, { research: { composite: true } })
    return (await generateText({ model: outer, tools, prompt: 'Help', stopWhen: stepCountIs(5), ...(abortSignal && { abortSignal }) })).text
  })
  return { agent, refunds, heard, drives: () => drives }
}

describe('a composite tool in which a stream breaks goes on in the next drive', () => {
  it.each([false, true])('where the loop around has the signal of the run (generator: %s)', async (isGenerator) => {
    const { agent, refunds, heard, drives } = lead({ signalOf: (run) => run.signal, isGenerator })
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
    expect([refunds, heard, drives()]).toEqual([['7'], [{ type: 'text', value: 'refunded' }], 2])
  })

  it('where the time limit of the loop that was left runs out then', async () => {
    const limits = [new AbortController(), new AbortController()]
    const { agent, refunds, heard } = lead({ signalOf: (_, drive) => limits[drive - 1]!.signal, onSecond: () => limits[0]!.abort(new DOMException('too late', 'TimeoutError')) })
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
    expect([refunds, heard]).toEqual([['7'], [{ type: 'text', value: 'refunded' }]])
  })

  it('and is still ended by the time limit of its own loop', async () => {
    const limits = [new AbortController(), new AbortController()]
    const { agent, refunds } = lead({ signalOf: (_, drive) => limits[drive - 1]!.signal, onSecond: () => limits[1]!.abort(new DOMException('too late', 'TimeoutError')) })
    await expect(createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })).rejects.toThrow(/too late/)
    expect(refunds).toEqual(['7'])
  })
})

it('what is done beside a stream that breaks, inside a composite tool under the signal of the run, is done once', async () => {
  const paid: string[] = []
  const isPaying = Promise.withResolvers<void>()
  const hasBroken = Promise.withResolvers<void>()
  const payer = durable(testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'checkout', input: {} }] } : { text: 'paid' })))
  const writer = durable(streamingModel((request) => (request === 1 ? [...textParts('a sum'), { type: 'pause', until: isPaying.promise }, { type: 'reset' }] : [...textParts('a summary'), ...endParts])))
  const checkout = tool({ inputSchema: z.object({}), execute: async () => (currentRun() as Run).step('pay', async () => {
    isPaying.resolve()
    await hasBroken.promise
    return paid.push('7')
  }) })
  const agent = defineAgent('a', (run) => Promise.all([
    run.branch('pay', async () => (await generateText({ model: payer, tools: durableTools({ checkout }, { checkout: { composite: true } }), prompt: 'Pay', stopWhen: stepCountIs(5), abortSignal: run.signal })).steps[0]!.content.at(-1)),
    run.branch('write', async () => streamText({ model: writer, prompt: 'Write', abortSignal: run.signal }).text),
  ]))
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: ({ type }) => { if (type === 'step-reset') hasBroken.resolve() } })
  expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed', result: [{ type: 'tool-result', output: 1 }, 'a summary'] })
  expect(paid).toEqual(['7'])
})

it('what somebody agrees to, inside a composite tool under the signal of the run, is done once, in the same attempt', async () => {
  const refunds: string[] = []
  const inner = durable(testModel((turn) => (turn === 0 ? { calls: [{ id: 'r', tool: 'refund', input: { order: '7' } }] } : { text: 'refunded' })))
  const outer = durable(testModel((turn) => (turn === 0 ? { calls: [{ id: 'd', tool: 'research', input: {} }] } : { text: 'done' })))
  const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: ({ order }) => refunds.push(order) })
  const research = tool({ inputSchema: z.object({}), execute: async () => (await generateText({ model: inner, tools: durableTools({ refund }, { refund: { approval: true } }), prompt: 'Refund 7', stopWhen: stepCountIs(5) })).text })
  const agent = defineAgent('a', async (run) => {
    const { steps } = await generateText({ model: outer, tools: durableTools({ research }, { research: { composite: true } }), prompt: 'Help', stopWhen: stepCountIs(5), abortSignal: run.signal })
    return steps[0]!.toolResults[0]?.output
  })
  const runner = createRunner({
    agents: [agent], store: memoryStore(), ...quick,
    onEvent: (event) => { if (event.type === 'step-waiting' && event.reason.type === 'approval') void runner.approve('r', event.reason.step, { resume: false }) },
  })
  expect(await runner.run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: 'refunded' })
  expect(refunds).toEqual(['7'])
})
