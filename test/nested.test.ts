/** Steps inside steps: composite tools, agents, waits inside (R1, R10; C15, C32, D15). */
import { APICallError, generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, currentStep, defineAgent, durable, durableTools, HoldfastError, memoryStore, type RunEvent, type RunnerOptions } from '../src/index.ts'
import { sleep } from '../src/core/clock.ts'
import { manualClock } from '../src/testing/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { endParts, streamingModel, textParts } from './support/streaming.ts'
import { during } from './support/time.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A model that hands each topic to a sub-agent, two in one response; each sub-agent makes one payment. */
function deskOf(kind: 'async' | 'generator', policy: { timeoutMs?: number } = {}) {
  const payments: string[] = []
  const outer = testModel((turn) => (turn === 0 ? { calls: ['a', 'b'].map((id) => ({ id, tool: 'delegate', input: { topic: id } })) } : { text: 'both done' }))
  const inner = testModel((turn, call) => {
    const topic = JSON.stringify(call.prompt[0]!.content).includes('topic a') ? 'a' : 'b'
    return turn === 0 ? { calls: [{ id: 'same-id', tool: 'pay', input: { topic } }] } : { text: `paid ${topic}` }
  })
  const pay = tool({ inputSchema: z.object({ topic: z.string() }), execute: async ({ topic }) => (payments.push(topic), `receipt ${topic}`) })
  const sub = async (topic: string) => {
    const run = currentRun()!
    return (await generateText({ model: run.model(inner), tools: run.tools({ pay }, { pay: { effectKey: (i: { topic: string }) => i.topic } }), prompt: `topic ${topic}`, stopWhen: stepCountIs(3) })).text
  }
  const inputSchema = z.object({ topic: z.string() })
  const delegate = kind === 'async'
    ? tool({ inputSchema, execute: async ({ topic }) => sub(topic) })
    : tool({ inputSchema, async *execute({ topic }) { yield 'working'; yield await sub(topic) } })
  const agent = defineAgent('desk', async (run) => {
    const { steps, text } = await generateText({ model: run.model(outer), tools: run.tools({ delegate }, { delegate: { composite: true, ...policy } }), prompt: 'go', stopWhen: stepCountIs(3) })
    return { text, results: steps[0]!.toolResults.map((r) => r.output) }
  })
  return { agent, payments, outer, inner }
}

describe('two sub-agents as tools, in parallel in one response (C32)', () => {
  for (const kind of ['async', 'generator'] as const) {
    it(`killed inside, as ${kind}: their inner steps replay in their own branches, the outer calls are not in doubt`, async () => {
      const { agent, payments, outer, inner } = deskOf(kind)
      const store = memoryStore()
      const dying = mortal(store)
      const died = dying.killAt(/"step-ended","step":\{"id":"0\/c:b\/1"/, 'after')
      void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
      await died
      const outcome = await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')
      expect(outcome).toEqual({ status: 'completed', result: { text: 'both done', results: ['paid a', 'paid b'] } })
      expect(payments.toSorted()).toEqual(['a', 'b'])
      expect(outer.requests).toHaveLength(2)
      expect(inner.requests.length).toBeLessThanOrEqual(5)
    })
  }
})

describe('a step with effects inside a step that is tried again after its time limit', () => {
  /** The first try of the step around it takes `ms` before it comes to the payment. */
  async function tried(ms: number, paying: number, options: Partial<RunnerOptions> = {}) {
    const clock = manualClock(1_000_000)
    const events: string[] = []
    let tries = 0
    let payments = 0
    const agent = defineAgent('a', (run) =>
      run.step('outer', { idempotent: true }, async () => {
        if (++tries === 1) await sleep(clock, ms)
        return run.step('pay', { input: 1 }, async () => (payments++, await sleep(clock, paying), `receipt ${payments}`)).catch((error: unknown) => (HoldfastError.isInstance(error) ? error.code : 'another'))
      }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, timeouts: { toolMs: 1_000 }, retry: { backoff: { baseMs: 1, jitter: 'none' } }, ...options, ...quick, onEvent: ({ type }) => events.push(type) })
    const outcome = await during(clock, runner.run(agent, 1, { runId: 'r' }))
    return { outcome, payments, events }
  }

  it('is not made twice: the next try waits for what the first one left on its way, and has its result', async () => {
    const { outcome, payments, events } = await tried(850, 700)
    expect(events).toContain('step-timeout')
    expect([outcome, payments]).toEqual([{ status: 'completed', result: 'receipt 1' }, 1])
  })

  it.each(['rerun', 'skip', 'refuse'] as const)('is told what that one was told, also that nobody knows, whatever becomes of doubts on a resume: %s', async (onIncompleteTool) => {
    const { outcome, payments } = await tried(850, 1_500, { onIncompleteTool })
    expect([outcome, payments]).toEqual([{ status: 'completed', result: 'OUTCOME_UNKNOWN' }, 1])
  })
})

describe('a step inside a step that is tried again, whose input is another one then', () => {
  it('is another step, and is not answered with what the first try was told', async () => {
    const scene = (idempotent: boolean) => {
      let tries = 0
      const agent = defineAgent('a', (run) => run.step('around', { idempotent: true }, async () => {
        const what = ++tries > 1 ? 'B' : 'A'
        const told = await run.step('inner', { input: what, idempotent }, () => `did ${what}`)
        if (tries === 1) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
        return told
      }))
      return createRunner({ agents: [agent], store: memoryStore(), retry: { backoff: { baseMs: 1 } }, ...quick }).run(agent, 1, { runId: 'r' })
    }
    expect(await scene(true)).toEqual({ status: 'completed', result: 'did B' })
    expect(await scene(false)).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['0/0'] }] })
  })
})

describe('a doubt inside a composite tool', () => {
  it('suspends the run, although the tool around it is open, and goes on inside after the decision', async () => {
    const { agent, payments } = deskOf('async')
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"name":"pay"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended' })
    const reasons = outcome.status === 'suspended' ? outcome.reasons : []
    for (const reason of reasons) if (reason.type === 'in-doubt') await runner.resolve('r', reason.step, { result: `receipt ${reason.step.includes('c:a') ? 'a' : 'b'}` })
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: { text: 'both done', results: ['paid a', 'paid b'] } })
    expect(payments.toSorted()).toEqual(['a', 'b'])
  })

  it('suspends the run also where an idempotent step is around it', async () => {
    let calls = 0
    const agent = defineAgent('a', (run) => run.step('outer', { idempotent: true }, () => {
      const pay = (): Promise<string> => run.step('pay', { key: 'k' }, () => { calls++; throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
      return pay().catch(pay)
    }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', tool: 'pay' }] })
    expect(calls).toBe(1)
  })

  it('does not count as the time of the tool around it (R10)', async () => {
    const clock = manualClock(1_000_000)
    const { agent } = deskOf('async', { timeoutMs: 1_000 })
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"name":"pay"/)
    void createRunner({ agents: [agent], store: dying.store, clock, ...quick }).run(agent, {}, { runId: 'r' })
    await during(clock, died)
    await clock.advance(3_600_000)
    const events: string[] = []
    const runner = createRunner({ agents: [agent], store, clock, ...quick, idleMs: 5_000, onEvent: ({ type }) => events.push(type) })
    expect(await during(clock, runner.resume('r'))).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }, { type: 'in-doubt' }] })
    expect(events).not.toContain('step-timeout')
  })

  it('a long Retry-After in one branch is not lost when an effect ends in another', async () => {
    const model = testModel(() => {
      throw new APICallError({ message: 'slow down', url: 'x', requestBodyValues: {}, statusCode: 429, responseHeaders: { 'retry-after': '600' } })
    })
    const agent = defineAgent('a', async (run) => Promise.all([
      run.branch('asks', () => generateText({ model: run.model(model), prompt: 'x' })),
      run.branch('ships', async () => {
        for (const i of [1, 2]) await run.step('ship', { input: i }, () => wait(3))
      }),
    ]))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'retry-after' }], resumeAt: expect.any(Number) })
  })

  it('one branch waits for a person, another goes on to its end before the run suspends (D15)', async () => {
    const done: number[] = []
    const store = memoryStore()
    const agent = defineAgent('a', async (run) => {
      await Promise.all([
        run.branch('doubtful', () => run.step('pay', () => (run.attempt === 1 ? new Promise(() => {}) : 'paid'))),
        run.branch('busy', async () => {
          for (let i = 0; i < 3; i++) await run.step('work', { input: i }, async () => (await wait(run.attempt === 1 ? 0 : 3 * quick.idleMs), done.push(i)))
        }),
      ])
      return 'done'
    })
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"work"/, 'after')
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    done.length = 0
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick, onIncompleteTool: 'refuse' })
    const first = await runner.resume('r')
    expect(first).toMatchObject({ status: 'suspended' })
    expect(done).toEqual([1, 2])
    for (const reason of first.status === 'suspended' ? first.reasons : []) if (reason.type === 'in-doubt') await runner.resolve('r', reason.step, 'rerun')
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(done).toEqual([1, 2])
  })
})

describe('a stream that breaks inside', () => {
  for (const around of ['an agent', 'a composite tool'] as const) {
    it(`${around} drives the handler again: the step around it does not hold that up`, async () => {
      let requests = 0
      const inner = testModel(() => ({ text: 'inner' }))
      const { doStream } = inner
      inner.doStream = async (call) => {
        const { stream } = await doStream(call)
        if (++requests > 1) return { stream }
        const reader = stream.getReader()
        let read = 0
        return {
          stream: new ReadableStream({
            async pull(controller) {
              if (++read > 4) return controller.error(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
              controller.enqueue((await reader.read()).value!)
            },
          }, { highWaterMark: 0 }),
        }
      }
      const child = defineAgent('child', async (run, _n: number) => streamText({ model: run.model(inner), prompt: 'x' }).text)
      const outer = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'ask', input: {} }] } : { text: 'done' }))
      const agent = defineAgent('a', async (run) => {
        if (around === 'an agent') return run.agent(child, 1)
        const ask = tool({ inputSchema: z.object({}), execute: async () => streamText({ model: run.model(inner), prompt: 'x' }).text })
        const { steps } = await generateText({ model: run.model(outer), tools: run.tools({ ask }, { ask: { composite: true } }), prompt: 'x', stopWhen: stepCountIs(3) })
        return steps[0]!.toolResults[0]!.output
      })
      const runner = createRunner({ agents: [agent, child], store: memoryStore(), ...quick, retry: { backoff: { baseMs: 1, jitter: 'none' } } })
      expect(await runner.run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: 'inner' })
      expect(requests).toBe(2)
    })
  }
})

it('a step that a broken stream has left behind is neither timed out nor tried again beside the drive that asks for it anew', async () => {
  const [started, broken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let calls = 0
  const model = streamingModel((request) => request === 1
    ? [...textParts('a'), { type: 'pause', until: started.promise.then(() => broken.resolve()) }, { type: 'reset' }]
    : [...textParts('a'), { type: 'pause', until: wait(250) }, ...endParts])
  const agent = defineAgent('a', (run) => Promise.all([
    run.branch('told', () => streamText({ model: run.model(model), prompt: 'x' }).text),
    run.branch('done', () => run.step('outer', { idempotent: true, timeoutMs: 100 }, () => {
      calls++
      return run.step('inner', { timeoutMs: 10_000 }, async () => {
        started.resolve()
        await broken.promise
        await wait(20)
        return 'inner'
      })
    })),
  ]))
  const cut: unknown[] = []
  const onEvent = (event: RunEvent) => { if (event.type === 'step-timeout') cut.push(event) }
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, retry: { backoff: { baseMs: 1, jitter: 'none' } }, onEvent })
  expect(await runner.run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: ['a', 'inner'] })
  expect([calls, cut]).toEqual([2, []])
})

describe('the code of a step', () => {
  it('has the context of its step in branches inside it', async () => {
    const keys: (string | undefined)[] = []
    const agent = defineAgent('a', async (run) => run.step('outer', async () => {
      keys.push(currentStep()?.step)
      await run.branch('b', async () => keys.push(currentStep()?.step))
    }))
    await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })
    expect(keys).toEqual(['0', '0'])
  })

  it('may not ask for steps when it is no longer waited for', async () => {
    const errors: unknown[] = []
    let inner = 0
    const agent = defineAgent('a', async (run) => {
      await run.read('slow', async () => {
        await wait(30)
        await run.step('inner', () => ++inner).catch((error: unknown) => errors.push(error))
      }).catch(() => {})
      await wait(40)
      return 'done'
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, retry: false, timeouts: { toolMs: 10 } })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed' })
    expect(inner).toBe(0)
    expect(errors).toEqual([expect.objectContaining({ code: 'BRANCH_ENDED' })])
  })

  it('may not open branches either: they would stand in the line of the try after it', async () => {
    const clock = manualClock(1_000_000)
    const errors: unknown[] = []
    const [second, first] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let tries = 0
    const agent = defineAgent('a', async (run) => run.read('flaky', async () => {
      if (++tries === 1) {
        await second.promise
        run.branch('x', () => new Promise(() => {})).catch((error: unknown) => errors.push(error)).finally(first.resolve)
        setImmediate(first.resolve)
        return 'too late'
      }
      second.resolve()
      await first.promise
      return run.branch('x', () => run.read('inner', () => 'read'))
    }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, ...quick, timeouts: { toolMs: 1_000 }, retry: { backoff: { baseMs: 1, jitter: 'none' } } })
    expect(await during(clock, runner.run(agent, 1, { runId: 'r' }))).toEqual({ status: 'completed', result: 'read' })
    expect(errors).toEqual([expect.objectContaining({ code: 'BRANCH_ENDED' })])
  })

  it('that is tried again has steps of its own, although the try before is still on its way', async () => {
    let tries = 0
    const inner: number[] = []
    const agent = defineAgent('a', async (run) => run.read('flaky', async () => {
      const n = ++tries
      if (n === 1) {
        await wait(25)
        throw new Error('too late')
      }
      await wait(20)
      return run.read('inner', () => inner.push(n))
    }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, timeouts: { toolMs: 15 }, retry: { maxAttempts: 2, backoff: { baseMs: 1, jitter: 'none' } } })
    await runner.run(agent, 1, { runId: 'r' }).catch(() => {})
    expect(tries).toBe(2)
  })

  it('of a child agent that fails is asked again where it failed, and what it had done replays', async () => {
    let up = false
    const reads: string[] = []
    const child = defineAgent('child', async (run, _n: number) => {
      await run.read('first', () => reads.push('first'))
      return run.read('second', () => {
        reads.push('second')
        if (!up) throw new Error('down')
        return 'fine'
      })
    })
    const agent = defineAgent('a', async (run) => run.agent(child, 1))
    const runner = createRunner({ agents: [agent, child], store: memoryStore(), ...quick, retry: false })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/down/)
    up = true
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'fine' })
    expect(reads).toEqual(['first', 'second', 'second'])
  })

  it('that hangs does not keep a failure beside it from its caller', async () => {
    const agent = defineAgent('a', async (run) => Promise.all([run.branch('x', () => run.step('hang', () => new Promise(() => {}))), Promise.reject(new Error('broken'))]))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, drainMs: 20 })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/broken/)
  })
})

describe('what is allowed, and probably not meant', () => {
  const effect = (done: string[]) => ({ send: tool({ inputSchema: z.object({}), execute: async () => done.push('sent') }) })

  it('a model that is not wrapped: the calls of wrapped tools are ordinary steps, with one warning (C39)', async () => {
    const done: string[] = []
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'send', input: {} }] } : { text: 'x' }))
    let failed = false
    const agent = defineAgent('a', async (run) => {
      await generateText({ model, tools: run.tools(effect(done)), prompt: 'x', stopWhen: stepCountIs(4) })
      if (!failed) {
        failed = true
        throw new Error('later')
      }
    })
    const warnings: string[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => e.type === 'warning' && warnings.push(e.code) })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(done).toEqual(['sent', 'sent'])
    expect(warnings).toEqual(['MODEL_NOT_WRAPPED'])
  })

  it('tools that are not wrapped, with a durable model: their calls are not recorded, with one warning', async () => {
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'send', input: {} }] } : { text: 'x' }))
    const agent = defineAgent('a', async (run) => {
      await generateText({ model: run.model(model), tools: effect([]), prompt: 'x', stopWhen: stepCountIs(4) })
    })
    const warnings: string[] = []
    await createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => e.type === 'warning' && warnings.push(e.code) }).run(agent, 1, { runId: 'r' })
    expect(warnings).toEqual(['TOOLS_NOT_WRAPPED'])
  })

  it('a model and tools that are durable already are not wrapped twice', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'send', input: {} }] } : { text: 'x' }))
    const tools = durableTools(effect([]))
    const durableModel = durable(model)
    const agent = defineAgent('a', async (run) => {
      expect(run.model(durableModel)).toBe(durableModel)
      expect(run.tools(tools).send).toBe(tools.send)
      expect(() => run.tools(tools, { send: { idempotent: true } })).toThrow(/durable already/)
      await generateText({ model: run.model(durableModel), tools: run.tools(tools), prompt: 'x', stopWhen: stepCountIs(4) })
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, 1, { runId: 'r' })
    expect((await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' ? [entry.step.id] : []))).toEqual(['0', '0/c:c', '1'])
  })

  it('a request that repeats one whose response led to effects warns', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'send', input: {} }] } : { text: 'x' }))
    const agent = defineAgent('a', async (run) => {
      for (let i = 0; i < 2; i++) await generateText({ model: run.model(model), tools: run.tools(effect([])), prompt: 'x', stopWhen: stepCountIs(3) })
    })
    const warnings: string[] = []
    await createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => e.type === 'warning' && warnings.push(e.code) }).run(agent, 1, { runId: 'r' })
    expect(warnings).toEqual(['REPEATED_REQUEST'])
  })
})
