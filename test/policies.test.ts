/** Policies as a user writes them: of the runner, a call, a model, a tool, a step; who says it nearest is heeded (R10-R12). */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sleep } from '../src/core/clock.ts'
import { createClassifier, createRunner, currentStep, defineAgent, durable, durableTools, memoryStore, type Agent, type CallOptions, type RunEvent, type RunnerOptions } from '../src/index.ts'
import { manualClock } from '../src/testing/index.ts'
import { testModel } from './support/model.ts'
import { endParts, streamingModel, textParts, type Piece } from './support/streaming.ts'
import { during, failureOf } from './support/time.ts'

const none = { jitter: 'none', baseMs: 10, maxMs: 10 } as const
const busy = () => Object.assign(new Error('busy'), { statusCode: 503 })
const forever = () => new Promise<never>(() => {})

function scene(handler: Agent<unknown, unknown>['handler'], options: Partial<RunnerOptions> = {}) {
  const clock = manualClock(1_000_000)
  const events: RunEvent[] = []
  const agent = defineAgent('a', handler)
  const runner = createRunner({ agents: [agent], store: memoryStore(), clock, idleMs: 5, replayHoldMs: 20, retry: { backoff: none }, onEvent: (event) => events.push(event), ...options })
  return {
    clock, runner, agent, events,
    ofType: <T extends RunEvent['type']>(type: T) => events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type),
    run: (call: CallOptions = {}) => during(clock, runner.run(agent, {}, { runId: 'r', ...call })),
    failure: (call: CallOptions = {}) => failureOf(clock, runner.run(agent, {}, { runId: 'r', ...call })),
  }
}

describe('a streamed model request', () => {
  const metadata: readonly Piece[] = [{ type: 'stream-start', warnings: [] }, { type: 'response-metadata', id: 'x' }, { type: 'text-start', id: '0' }]

  it('is cut where the first part of its answer does not come in time, whatever came before it, and tried again', async () => {
    const model = streamingModel((n) => (n === 1 ? [...metadata, { type: 'pause', until: forever() }] : [...textParts('fine'), ...endParts]))
    const { run, ofType, clock } = scene(async (run) => streamText({ model: run.model(model), prompt: 'x' }).text, { timeouts: { modelFirstPartMs: 2_000, modelIdleMs: 500 } })
    expect(await run()).toEqual({ status: 'completed', result: 'fine' })
    expect(ofType('step-timeout')).toEqual([expect.objectContaining({ step: '0', try: 1, limit: 'first-part', timeoutMs: 2_000, at: 1_002_000 })])
    expect(ofType('retry-wait')).toEqual([expect.objectContaining({ category: 'timeout', message: 'model request to test/model timed out: nothing of an answer in 2000 ms' })])
    expect(clock.pending).toBe(0)
  })

  it('is cut where it stops between two parts; what was shown is void, it is driven again', async () => {
    const model = streamingModel((n) => (n === 1 ? [...textParts('He', 'l'), { type: 'pause', until: forever() }] : [...textParts('Hel', 'lo'), ...endParts]))
    const { run, events } = scene(async (run) => streamText({ model: run.model(model), prompt: 'x' }).text, { timeouts: { modelFirstPartMs: 2_000, modelIdleMs: 500 } })
    expect(await run()).toEqual({ status: 'completed', result: 'Hello' })
    expect(events.map(({ type }) => type).slice(1, 4)).toEqual(['step-started', 'step-timeout', 'step-reset'])
    expect(events[2]).toMatchObject({ limit: 'idle', timeoutMs: 500 })
  })

  it('may take as long as it likes while its parts come', async () => {
    const made: ReturnType<typeof scene> = scene(async (run) => streamText({ model: run.model(streamingModel(() => [
      ...textParts('a'), { type: 'pause', until: sleep(made.clock, 400) }, { type: 'text-delta', id: '1', delta: 'b' }, { type: 'pause', until: sleep(made.clock, 800) }, { type: 'text-delta', id: '1', delta: 'c' }, ...endParts,
    ])), prompt: 'x' }).text, { timeouts: { modelIdleMs: 500 } })
    expect(await made.run()).toEqual({ status: 'completed', result: 'abc' })
    expect(made.ofType('step-timeout')).toEqual([])
  })

  it('counts silence from the beginning where the first part has no limit of its own', async () => {
    const model = streamingModel((n) => (n === 1 ? [{ type: 'pause', until: forever() }] : [...textParts('fine'), ...endParts]))
    const { run, ofType } = scene(async (run) => streamText({ model: run.model(model), prompt: 'x' }).text, { timeouts: { modelIdleMs: 500 } })
    expect(await run()).toEqual({ status: 'completed', result: 'fine' })
    expect(ofType('step-timeout')).toEqual([expect.objectContaining({ limit: 'idle', timeoutMs: 500 })])
  })
})

describe('a model request that is not streamed', () => {
  it('has no first part, and nothing between parts: only its whole is limited', async () => {
    const made: ReturnType<typeof scene> = scene(async (run) => (await generateText({
      model: run.model(testModel(async () => (await sleep(made.clock, 5_000), { text: 'slow' }))), prompt: 'x',
    })).text, { timeouts: { modelMs: 9_000, modelFirstPartMs: 100, modelIdleMs: 100 } })
    expect(await made.run()).toEqual({ status: 'completed', result: 'slow' })
  })
})

describe('who says it nearest is heeded', () => {
  it.each([
    ['the runner', { retry: { maxAttempts: 3, backoff: none } }, {}, {}, 3],
    ['the call', { retry: { maxAttempts: 3, backoff: none } }, { retry: { maxAttempts: 2 } }, {}, 2],
    ['the call, with false', { retry: { maxAttempts: 3, backoff: none } }, { retry: false }, {}, 1],
    ['the model', { retry: { maxAttempts: 3, backoff: none } }, { retry: { maxAttempts: 2 } }, { retry: { maxAttempts: 5 } }, 5],
    ['nobody', {}, {}, {}, 4],
  ] as const)('on the tries of a model request: %s', async (_who, runner, call, ofModel, requests) => {
    const model = testModel(() => { throw busy() })
    const { failure, ofType } = scene(async (run) => (await generateText({ model: run.model(model, ofModel), prompt: 'x' })).text, runner)
    expect(await failure(call)).toMatchObject({ code: 'STEP_FAILED' })
    expect(model.requests).toHaveLength(requests)
    // What the nearest leaves out is as the level above says.
    if (_who !== 'nobody') expect(ofType('retry-wait').every(({ delayMs }) => delayMs === 10)).toBe(true)
  })

  it.each([
    ['the runner', { timeouts: { toolMs: 3_000 } }, {}, {}, 3_000],
    ['the call', { timeouts: { toolMs: 3_000 } }, { timeouts: { toolMs: 2_000 } }, {}, 2_000],
    ['the tool', { timeouts: { toolMs: 3_000 } }, { timeouts: { toolMs: 2_000 } }, { timeoutMs: 5_000 }, 5_000],
    ['the tool, with no limit', { timeouts: { toolMs: 3_000 } }, { timeouts: { toolMs: 2_000 } }, { timeoutMs: Infinity }, undefined],
    ['the call, with no limit', { timeouts: { toolMs: 3_000 } }, { timeouts: { toolMs: Infinity } }, {}, undefined],
    ['the runner, on silence', { timeouts: { toolIdleMs: 3_000 } }, {}, {}, 3_000],
    ['the tool, on silence', { timeouts: { toolIdleMs: 3_000 } }, {}, { idleTimeoutMs: 4_000 }, 4_000],
  ] as const)('on the time of a tool: %s', async (_who, runner, call, policy, timeoutMs) => {
    const made: ReturnType<typeof scene> = scene(async (run) => (await generateText({
      model: run.model(testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'look', input: {} }] } : { text: 'done' }))), prompt: 'x', stopWhen: stepCountIs(3),
      tools: run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => (await sleep(made.clock, 20_000), 'seen') }) }, { look: { readOnly: true, retry: false, ...policy } }),
    })).text, runner)
    expect(await made.run(call)).toEqual({ status: 'completed', result: 'done' })
    expect(made.ofType('step-timeout').map((event) => event.timeoutMs)).toEqual(timeoutMs === undefined ? [] : [timeoutMs])
  })

  it('on a step: itself, with limits and tries of its own', async () => {
    const tries = { plain: 0, tried: 0, read: 0 }
    const { run, ofType } = scene(async (run) => {
      await run.step('plain', { timeoutMs: 700 }, () => (tries.plain++, forever())).catch(() => {})
      await run.step('tried', { idempotent: true, idleTimeoutMs: 300, retry: { maxAttempts: 3 } }, () => (tries.tried++, forever())).catch(() => {})
      await run.read('read', { retry: false }, () => (tries.read++, Promise.reject(busy()))).catch(() => {})
      return 'done'
    }, { retry: { maxAttempts: 2, backoff: none }, timeouts: { toolMs: 5_000 } })
    expect(await run()).toMatchObject({ status: 'completed' })
    expect(tries).toEqual({ plain: 1, tried: 3, read: 1 })
    expect(ofType('step-timeout').map(({ name, limit, timeoutMs }) => [name, limit, timeoutMs])).toEqual([['plain', 'total', 700], ...Array<unknown>(3).fill(['tried', 'idle', 300])])
  })

  it('on a step with effects nobody can ask for tries', async () => {
    const { failure } = scene((run) => run.step('pay', { retry: { maxAttempts: 2 } }, () => 1))
    expect(await failure()).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('run.step(): retry is given, but it is not idempotent') })
  })

  it('on a resume the call decides anew', async () => {
    let asked = 0
    const { failure, runner, clock } = scene(async (run) => run.read('look', () => (asked++, Promise.reject(busy()))))
    await failure({ retry: { maxAttempts: 2 } })
    expect(asked).toBe(2)
    await failureOf(clock, runner.resume('r', { retry: false }))
    expect(asked).toBe(3)
  })
})

describe('a policy of a call', () => {
  it.each([
    [{ retry: { maxAttempts: 0 } }, 'retry.maxAttempts must be an integer >= 1, got 0'],
    [{ timeouts: { toolMs: 0 } }, 'timeouts.toolMs must be a number of ms > 0, got 0'],
    [{ timeouts: { runMs: 5 } }, /^timeouts\.runMs is an option of createRunner\. A call gives its run \{ limits: \{ runMs \} \}/],
  ])('%j is refused before anything is stored', async (call, message) => {
    const { failure, runner } = scene(() => 1)
    expect(await failure(call as CallOptions)).toMatchObject({ code: 'INVALID_POLICY', message: expect.stringMatching(message) })
    expect(await runner.list()).toEqual([])
  })

  it('is enough for a runner that has neither store nor policies', async () => {
    let n = 0
    const agent = defineAgent('a', async (run) => run.read('look', () => (++n < 3 ? Promise.reject(busy()) : n)))
    const clock = manualClock()
    expect(await during(clock, createRunner({ agents: [agent], clock }).run(agent, {}, { retry: { backoff: none } }))).toEqual({ status: 'completed', result: 3 })
  })
})

describe('what is refused at once', () => {
  it.each([
    [() => durable(testModel(() => ({})), { timeoutMs: 0 }), 'options of durable().timeoutMs must be a number of ms > 0, got 0'],
    [() => durable(testModel(() => ({})), { timeout: 5 } as never), 'options of durable().timeout is not known. Is timeoutMs meant?'],
    [() => durable(testModel(() => ({})), { retry: { maxAttempts: 0 } }), 'options of durable().retry.maxAttempts must be an integer >= 1, got 0'],
    [() => durableTools({}, {}, { mcpAnnotations: 'yes' } as never), 'options.mcpAnnotations must be one of ignore, trust, got "yes"'],
  ])('%s', (make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_POLICY', message }))
  })
})

describe('a policy that is changed after it was given', () => {
  it('stays what it was', async () => {
    let calls = 0
    const policies = { look: { readOnly: true, retry: { maxAttempts: 2 } } }
    const retry = { maxAttempts: 3, backoff: { ...none } }
    const look = tool({ inputSchema: z.object({}), execute: async (): Promise<string> => (calls++, Promise.reject(busy())) })
    const tools = durableTools({ look }, policies)
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'look', input: {} }] } : { text: 'done' }))
    const { run } = scene(async () => (await generateText({ model: durable(model), tools, prompt: 'x', stopWhen: stepCountIs(3) })).text, { retry })
    policies.look.retry.maxAttempts = 9
    Object.assign(policies.look, { readOnly: false })
    retry.maxAttempts = 9
    expect(await run()).toMatchObject({ status: 'completed' })
    expect(calls).toBe(2)
  })
})

describe('the hooks of a retry policy', () => {
  it('are told which step it is, and decide about it', async () => {
    const told: string[] = []
    let looked = 0
    const { failure } = scene(async (run) => run.read('look', () => (looked++, Promise.reject(busy()))), {
      retry: { backoff: none, onRetry: ({ label, try: number, delayMs }) => told.push(`${label} ${number} ${delayMs}`), shouldRetry: ({ try: number }) => number < 3 },
    })
    await failure()
    expect([looked, told]).toEqual([3, ['read "look" 1 10', 'read "look" 2 10']])
  })

  it('are told of a stream that is driven again too', async () => {
    const told: number[] = []
    const model = streamingModel((n) => (n === 1 ? [...textParts('He'), { type: 'reset' }] : [...textParts('Hello'), ...endParts]))
    const { run, ofType } = scene(async (run) => streamText({ model: run.model(model), prompt: 'x' }).text, { retry: { backoff: none, onRetry: ({ delayMs }) => told.push(delayMs) } })
    expect(await run()).toEqual({ status: 'completed', result: 'Hello' })
    expect([told, ofType('step-reset')]).toEqual([[10], [expect.objectContaining({ tries: 1, delayMs: 10, category: 'network' })]])
  })

  it('say what an error is, also whether a call with effects is in doubt after it', async () => {
    class BankAnswer extends Error {}
    const classify = createClassifier({ rules: [{ name: 'bank', match: (error) => (error instanceof BankAnswer ? { category: 'timeout' } : undefined) }] })
    for (const [retry, doubts] of [[{}, 0], [{ classify }, 1]] as const) {
      const { run, ofType } = scene(async (run) => {
        await run.step('pay', () => Promise.reject(new BankAnswer('BK-17'))).catch(() => {})
        return 'done'
      }, { retry })
      expect(await run()).toMatchObject({ status: 'completed' })
      expect(ofType('step-in-doubt')).toHaveLength(doubts)
    }
  })
})

describe('an error that comes too late', () => {
  it('settles a doubt as not done where the policy knows that it was refused', async () => {
    class Refused extends Error {}
    const classify = createClassifier({ rules: [{ name: 'bank', match: (error) => (error instanceof Refused ? { category: 'invalid_request' } : undefined) }] })
    for (const [retry, settled] of [[{}, []], [{ classify }, ['not-done']]] as const) {
      const made: ReturnType<typeof scene> = scene(async (run) => {
        await run.step('pay', { timeoutMs: 100 }, async () => (await sleep(made.clock, 500), Promise.reject(new Refused('no')))).catch(() => {})
        await run.read('wait', () => sleep(made.clock, 1_000))
      }, { retry })
      await made.run()
      expect(made.ofType('doubt-settled').map(({ as }) => as)).toEqual(settled)
    }
  })
})

describe('what an MCP server says of its tools', () => {
  /** As the AI SDK's MCP client makes them. */
  const mcpTool = (annotations: Record<string, string | boolean> | undefined, execute: () => Promise<unknown>) =>
    tool({ inputSchema: z.object({}), execute, metadata: { clientName: 'c', toolName: 'look', ...(annotations && { annotations }) } })

  it.each([
    ['nobody trusts it', { readOnlyHint: true }, {}, {}, 1],
    ['it is trusted', { readOnlyHint: true }, {}, { mcpAnnotations: 'trust' }, 4],
    ['it is trusted', { idempotentHint: true }, {}, { mcpAnnotations: 'trust' }, 4],
    ['it says nothing', undefined, {}, { mcpAnnotations: 'trust' }, 1],
    ['it says no', { readOnlyHint: false, idempotentHint: false }, {}, { mcpAnnotations: 'trust' }, 1],
    ['it says something else', { destructiveHint: false, readOnlyHint: 'yes' }, {}, { mcpAnnotations: 'trust' }, 1],
    ['the policy says no', { readOnlyHint: true, idempotentHint: true }, { look: { idempotent: false } }, { mcpAnnotations: 'trust' }, 1],
    ['the policy says how often', { readOnlyHint: true }, { look: { retry: { maxAttempts: 2 } } }, { mcpAnnotations: 'trust' }, 2],
  ] as const)('where %s: %j', async (_what, annotations, policies, options, calls) => {
    let called = 0
    const look = mcpTool(annotations, async () => (called++, Promise.reject(busy())))
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'look', input: {} }] } : { text: 'done' }))
    for (const where of ['run', 'module'] as const) {
      called = 0
      const { run, ofType } = scene(async (run) => (await generateText({
        model: run.model(model), tools: where === 'run' ? run.tools({ look }, policies, options) : durableTools({ look }, policies, options), prompt: 'x', stopWhen: stepCountIs(3),
      })).text)
      expect(await run()).toEqual({ status: 'completed', result: 'done' })
      expect([called, ofType('step-in-doubt').length]).toEqual([calls, calls === 1 ? 1 : 0])
    }
  })
})

describe('the time of a tool', () => {
  it('is that of its work alone: progress extends the limit of silence, not the whole (B4)', async () => {
    for (const loop of ['generateText', 'streamText'] as const) {
      const made: ReturnType<typeof scene> = scene(async (run) => {
        const model = run.model(testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'long', input: {} }, { id: 'y', tool: 'endless', input: {} }] } : { text: 'done' })))
        const reporting = (times: number) => tool({ inputSchema: z.object({}), execute: async () => {
          const { progress } = currentStep()!
          for (let i = 0; i < times; i++) {
            await sleep(made.clock, 5_000)
            progress()
          }
          return 'ended'
        } })
        const tools = run.tools({ long: reporting(5), endless: reporting(50) }, { long: { readOnly: true, idleTimeoutMs: 6_000, timeoutMs: 30_000 }, endless: { readOnly: true, retry: false, idleTimeoutMs: 6_000, timeoutMs: 42_000 } })
        const asked = { model, tools, prompt: 'x', stopWhen: stepCountIs(3) } as const
        return loop === 'generateText' ? (await generateText(asked)).text : streamText(asked).text
      })
      expect(await made.run()).toEqual({ status: 'completed', result: 'done' })
      expect(made.ofType('step-timeout').map(({ name, limit, timeoutMs }) => [name, limit, timeoutMs])).toEqual([['endless', 'total', 42_000]])
      expect(made.ofType('step-finished').map(({ name, ok }) => [name, ok])).toContainEqual(['long', true])
    }
  })
})
