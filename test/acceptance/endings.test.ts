/** Time limits, failures of tools, and the ways in which a run ends, in both loops of the AI SDK (B1, B2, B5-B11). */
import { generateText, stepCountIs, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../src/core/clock.ts'
import { createRunner, currentStep, defineAgent, memoryStore, type CallOptions, type Run, type RunEvent, type RunnerOptions, type Store, type ToolPolicies } from '../../src/index.ts'
import { manualClock, type ManualClock } from '../../src/testing/index.ts'
import { testModel, type TestModel } from '../support/model.ts'
import { callParts, endOfCalls, endParts, streamingModel, textParts } from '../support/streaming.ts'
import { during, failureOf } from '../support/time.ts'

const START = 1_000_000

const LOOPS = ['generateText', 'streamText'] as const

interface Scene {
  readonly clock: ManualClock
  readonly store: Store
  readonly events: (RunEvent & { readonly at: number })[]
  readonly types: () => string[]
  run(call?: CallOptions): Promise<unknown>
  failure(call?: CallOptions): Promise<unknown>
  resume(): Promise<unknown>
  readonly runner: ReturnType<typeof createRunner>
}

/** One loop with its tools as the whole of a run. */
function scene<TOOLS extends ToolSet>(
  loop: (typeof LOOPS)[number],
  model: (clock: ManualClock) => TestModel,
  tools: (clock: ManualClock) => TOOLS,
  policies: ToolPolicies<TOOLS> = {},
  { abortSignal, ...options }: Partial<RunnerOptions> & { abortSignal?: AbortSignal } = {},
): Scene {
  const clock = manualClock(START)
  const store = memoryStore()
  const events: Scene['events'] = []
  const [asked, called] = [model(clock), tools(clock)]
  const agent = defineAgent('a', async (run: Run) => {
    const request = { model: run.model(asked), tools: run.tools(called, policies) as ToolSet, prompt: 'go', stopWhen: stepCountIs(5), ...(abortSignal && { abortSignal }) }
    return loop === 'generateText' ? (await generateText(request)).text : streamText({ ...request, onError: () => {} }).text
  })
  const runner = createRunner({ agents: [agent], store, clock, idleMs: 5, replayHoldMs: 20, retry: { backoff: { baseMs: 10, jitter: 'none' } }, onEvent: (event) => events.push(event), ...options })
  const start = (call: CallOptions = {}) => runner.run(agent, {}, { runId: 'r', ...call })
  return {
    clock, store, events, runner,
    types: () => events.map(({ type }) => type),
    run: (call) => during(clock, start(call)),
    failure: (call) => failureOf(clock, start(call)),
    resume: () => during(clock, runner.resume('r')),
  }
}

const nothing = z.object({})
const resultsIn = (model: TestModel): string => JSON.stringify(model.requests.at(-1)!.prompt.filter(({ role }) => role === 'tool'))

/** How attempts end, by their events. */
const ENDS: readonly string[] = ['run-completed', 'run-failed', 'run-suspended', 'run-cancelled'] satisfies RunEvent['type'][]
const endsOf = ({ types }: Scene): string[] => types().filter((type) => ENDS.includes(type))

describe.each(LOOPS)('in %s', (loop) => {
  it('a tool that hangs and ignores its signal: its call returns in time, the model is told that its outcome is unknown, its late result is recorded and settles that (B1)', async () => {
    const asked: number[] = []
    const model = (clock: ManualClock) => testModel(async (turn) => {
      asked.push(clock.now() - START)
      if (turn === 0) return { calls: [{ id: 'x', tool: 'pay', input: {} }] }
      await sleep(clock, 5_000)
      return { text: 'told' }
    })
    let made: TestModel
    const { run, events, runner } = scene(loop, (clock) => (made = model(clock)), (clock) => ({ pay: tool({ inputSchema: nothing, execute: async () => (await sleep(clock, 3_000), 'receipt') }) }), { pay: { timeoutMs: 200 } })
    expect(await run()).toEqual({ status: 'completed', result: 'told' })
    expect(asked).toEqual([0, 200])
    expect(resultsIn(made!)).toMatch(/HoldfastError: tool \S+ timed out after 200 ms\. Its outcome is unknown/)
    const told = events.flatMap((event) => (['step-timeout', 'step-in-doubt', 'doubt-settled'].includes(event.type) ? [[event.type, event.at - START]] : []))
    expect(told).toEqual([['step-timeout', 200], ['step-in-doubt', 200], ['doubt-settled', 3_000]])
    expect((await runner.history('r')).flatMap(({ entry }) => (entry.type === 'settled' ? [entry] : []))).toMatchObject([{ by: 'late-result', settlement: { type: 'completed' } }])
  })

  it('a model request without an answer is cut, and tried again (B2)', async () => {
    const asked: number[] = []
    const { run, types } = scene(loop, (clock) => testModel(() => (asked.push(clock.now() - START) === 1 ? new Promise(() => {}) : { text: 'fine' })), () => ({}), {}, { timeouts: { modelMs: 1_000 } })
    expect(await run()).toEqual({ status: 'completed', result: 'fine' })
    expect(asked).toEqual([0, 1_010])
    expect(types()).toEqual(['run-started', 'step-started', 'step-timeout', 'retry-wait', 'step-finished', 'attempt-ended', 'run-completed'])
  })

  it('a tool that throws is an error for the model, in its own words, and the run goes on (B7)', async () => {
    let made: TestModel
    const { run } = scene(loop, () => (made = testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'look', input: {} }] } : { text: 'went on' }))), () => ({
      look: tool({ inputSchema: nothing, execute: async (): Promise<string> => { throw new RangeError('no such order: o-1') } }),
    }))
    expect(await run()).toEqual({ status: 'completed', result: 'went on' })
    expect(resultsIn(made!)).toContain('no such order: o-1')
  })

  it('an unknown tool and arguments that do not parse are observations, each beside its call (B8)', async () => {
    let made: TestModel
    const calls = [{ id: 'a', tool: 'nope', input: {} }, { id: 'b', tool: 'get', input: { n: 'not a number' } }, { id: 'c', tool: 'get', input: { n: 1 } }]
    const { run } = scene(loop, () => (made = testModel((turn) => (turn === 0 ? { calls } : { text: 'went on' }))), () => ({ get: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => n }) }))
    expect(await run()).toEqual({ status: 'completed', result: 'went on' })
    const { prompt } = made!.requests.at(-1)!
    const ids = (type: string) => prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : content.flatMap((part) => (part.type === type && 'toolCallId' in part ? [part.toolCallId] : []))))
    expect(ids('tool-call')).toEqual(['a', 'b', 'c'])
    expect(ids('tool-result').toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('closed with work in flight: running tools may end within drainMs, none starts, the lease is given back; what hangs is cut (B9)', async () => {
    const started: string[] = []
    const calls = ['quick', 'slow', 'hangs'].map((name) => ({ id: name, tool: name, input: {} }))
    const model = testModel((turn) => (turn === 0 ? { calls } : turn === 1 ? { calls: [{ id: 'next', tool: 'quick', input: {} }] } : { text: 'done' }))
    const working = (clock: ManualClock, name: string, ms: number) => tool({ inputSchema: nothing, execute: async () => (started.push(name), await sleep(clock, ms), name) })
    const made = scene(loop, () => model, (clock) => ({ quick: working(clock, 'quick', 100), slow: working(clock, 'slow', 900), hangs: working(clock, 'hangs', 60_000) }), { hangs: { readOnly: true } }, { drainMs: 1_000 })
    const outcome = made.run()
    while (started.length < 3) await made.clock.idle()
    const closed = made.runner.close()
    expect(await outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'draining' }] })
    await closed
    expect(made.clock.now() - START).toBeGreaterThanOrEqual(1_000)
    expect(made.events.filter(({ type }) => type === 'step-finished').map((event) => 'name' in event && event.name)).toEqual(['test/model', 'quick', 'slow'])
    expect(started.toSorted()).toEqual(['hangs', 'quick', 'slow'])
    expect(endsOf(made)).toEqual(['run-suspended'])
    await made.store.open()
    expect(await made.store.get('r')).toMatchObject({ status: 'suspended', owner: null })
    await expect(made.runner.resume('r')).rejects.toMatchObject({ code: 'RUNNER_CLOSED' })
  })

  it.each([['readOnly', { readOnly: true }, { status: 'completed', result: 'done' }], ['with effects', {}, { status: 'suspended', reasons: [{ type: 'in-doubt' }] }]] as const)(
    'aborted by its caller in the middle of a tool (%s): it ends at once with the reason, what was done is kept, and it can be resumed (B11)', async (_what, policy, resumed) => {
      const reason = new Error('the user left')
      const stop = new AbortController()
      let looked = 0
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'first', input: {} }] } : turn === 1 ? { calls: [{ id: 'y', tool: 'second', input: {} }] } : { text: 'done' }))
      const made = scene(loop, () => model, (clock) => ({
        first: tool({ inputSchema: nothing, execute: async () => ++looked }),
        second: tool({ inputSchema: nothing, execute: async () => {
          if (!stop.signal.aborted) queueMicrotask(() => stop.abort(reason))
          await sleep(clock, 500)
          return 'second'
        } }),
      }), { first: {}, second: policy })
      expect(await made.failure({ signal: stop.signal })).toBe(reason)
      expect(made.clock.now()).toBe(START)
      expect(endsOf(made)).toEqual(['run-suspended'])
      expect(await made.runner.get('r')).toMatchObject({ status: 'suspended', owner: null })
      expect(await made.resume()).toMatchObject(resumed)
      expect(looked).toBe(1)
      expect(model.requests).toHaveLength(resumed.status === 'completed' ? 3 : 2)
    })
})

describe('a stream', () => {
  const twoSteps = ({ isSlow = false } = {}) => streamingModel((n) => {
    if (n === 1) return [...callParts('x', 'look', {}), ...endOfCalls]
    return isSlow && n === 2 ? [...textParts('He', 'l'), { type: 'pause', until: new Promise(() => {}) }] : [...textParts('He', 'l', 'lo'), ...endParts]
  })
  const looking = (looked: () => void) => ({ look: tool({ inputSchema: nothing, execute: async () => (looked(), 'seen') }) })

  it('aborted after the tool of its first step and two deltas of the second: one end, and the first step is kept (B5)', async () => {
    const model = twoSteps({ isSlow: true })
    const stop = new AbortController()
    const reason = new Error('stop')
    const shown: string[] = []
    let looked = 0
    const clock = manualClock(START)
    const events: RunEvent[] = []
    const agent = defineAgent('a', async (run) => {
      const result = streamText({ model: run.model(model), tools: run.tools(looking(() => looked++)), prompt: 'go', stopWhen: stepCountIs(5), onError: () => {} })
      for await (const delta of result.textStream) if (run.attempt === 1 && shown.push(delta) === 2) stop.abort(reason)
      return result.text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, idleMs: 5, onEvent: (event) => events.push(event) })
    expect(await failureOf(clock, runner.run(agent, {}, { runId: 'r', signal: stop.signal }))).toBe(reason)
    expect(events.map(({ type }) => type).filter((type) => ENDS.includes(type))).toEqual(['run-suspended'])
    expect(await during(clock, runner.resume('r'))).toEqual({ status: 'completed', result: 'Hello' })
    expect([looked, model.requests.length]).toEqual([1, 3])
    expect(events.flatMap((event) => (event.type === 'step-replayed' ? [event.name] : []))).toEqual(['test/model', 'look'])
  })

  /** A run that hands its stream to a client, who reads a bit of it and leaves. */
  function served({ stops }: { stops: boolean }) {
    const model = twoSteps({ isSlow: stops })
    const clock = manualClock(START)
    const client = new AbortController()
    let looked = 0
    const agent = defineAgent('a', async (run) => {
      const result = streamText({ model: run.model(model), tools: run.tools(looking(() => looked++)), prompt: 'go', stopWhen: stepCountIs(5), onError: () => {} })
      if (run.attempt === 1) {
        const reader = result.textStream.getReader()
        expect((await reader.read()).value).toBe('He')
        await reader.cancel()
        client.abort(new Error('connection closed'))
      }
      return result
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, idleMs: 5 })
    return { model, runner, clock, looked: () => looked, run: () => runner.run(agent, {}, { runId: 'r', ...(stops && { signal: client.signal }) }) }
  }

  it('whose client goes away: the run goes on to its end, where its signal is not that of the client (B6)', async () => {
    const { run, clock, model } = served({ stops: false })
    expect(await during(clock, run())).toMatchObject({ status: 'completed', result: { text: 'Hello', finishReason: 'stop' } })
    expect(model.requests).toHaveLength(2)
  })

  it('whose client goes away: the run stops where it has the signal of the client, nothing that was recorded is lost, and it can be resumed (B6)', async () => {
    const { run, clock, runner, model, looked } = served({ stops: true })
    expect(await failureOf(clock, run())).toMatchObject({ message: 'connection closed' })
    expect(await runner.get('r')).toMatchObject({ status: 'suspended', owner: null })
    expect(await during(clock, runner.resume('r'))).toMatchObject({ status: 'completed', result: { text: 'Hello' } })
    expect([looked(), model.requests.length]).toEqual([1, 3])
  })

  it('of events that nobody reads to its end does not stop its run (B6)', async () => {
    const agent = defineAgent('a', async (run) => run.step('one', () => 1))
    const stream = createRunner({ agents: [agent], store: memoryStore() }).stream(agent, {}, { runId: 'r' })
    for await (const _first of stream) break
    expect(await stream.outcome).toEqual({ status: 'completed', result: 1 })
  })

  it('that the handler returns at once, its tools still running: the run ends when it is consumed and no step is open; text, messages and usage are recorded (B10)', async () => {
    const clock = manualClock(START)
    const events: string[] = []
    const model = twoSteps()
    const agent = defineAgent('a', (run) => {
      void run.branch('beside', () => run.step('note', async () => (await sleep(clock, 2_000), 'noted')))
      const look = tool({ inputSchema: nothing, execute: async () => (await sleep(clock, 1_000), currentStep()!.runId) })
      return streamText({ model: run.model(model), tools: run.tools({ look }), prompt: 'go', stopWhen: stepCountIs(5) })
    })
    const store = memoryStore()
    const runner = createRunner({ agents: [agent], store, clock, idleMs: 5, onEvent: (event) => events.push('name' in event ? `${event.type} ${event.name}` : event.type) })
    const outcome = await during(clock, runner.run(agent, {}, { runId: 'r' }))
    expect(outcome).toMatchObject({
      status: 'completed',
      result: { text: 'Hello', finishReason: 'stop', usage: { inputTokens: 2, outputTokens: 2 }, messages: [{ role: 'assistant' }, { role: 'tool' }, { role: 'assistant' }] },
    })
    expect(events.slice(-3)).toEqual(['step-finished note', 'attempt-ended', 'run-completed'])
    expect(events.filter((event) => event.startsWith('step-finished'))).toEqual(['step-finished test/model', 'step-finished look', 'step-finished test/model', 'step-finished note'])
    expect(await createRunner({ agents: [agent], store }).resume('r')).toEqual(outcome)
  })
})
