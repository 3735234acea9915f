/** Limits count the run, not the attempt: steps and tokens (R16; C25). */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, defineAgent, HoldfastError, memoryStore, type Run, type RunEvent, type RunLimits, type RunnerOptions, type Store } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** A model that asks for `turns` look-ups, `width` at once, and then answers. Each request costs 12 tokens. */
function scene({ turns = 3, width = 1, effects = false, stream = false, store = memoryStore(), ...options }: Partial<RunnerOptions> & {
  turns?: number; width?: number; effects?: boolean; stream?: boolean; store?: Store
} = {}) {
  const looked: string[] = []
  const events: RunEvent[] = []
  const model = testModel((turn) => (turn < turns ? { calls: Array.from({ length: width }, (_, i) => ({ id: `${turn}${'abcdef'[i]}`, tool: 'look', input: { at: `${turn}${'abcdef'[i]}` } })) } : { text: 'done' }))
  const look = tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => (looked.push(at), `saw ${at}`) })
  const agent = defineAgent('a', async (run) => {
    const settings = { model: run.model(model), tools: run.tools({ look }, { look: effects ? { effectKey: (i: { at: string }) => i.at } : { readOnly: true } }), prompt: 'go', stopWhen: stepCountIs(20) }
    return stream ? await streamText({ ...settings, onError: () => {} }).text : (await generateText(settings)).text
  })
  const runner = createRunner({ agents: [agent], store, onEvent: (event) => events.push(event), ...quick, ...options })
  return { agent, runner, model, looked, events, store }
}

const failureOf = async (ending: Promise<unknown>): Promise<HoldfastError> => {
  const error: unknown = await ending.then((outcome) => expect.fail(`it ended with ${JSON.stringify(outcome)}`), (thrown: unknown) => thrown)
  if (!HoldfastError.isInstance(error)) throw error
  return error
}

describe('maxSteps', () => {
  it.each([
    ['generateText', false, false], ['generateText whose tools have effects', false, true], ['streamText', true, false],
  ])('ends a run of %s before the step that would be one too many: the loop cannot swallow it', async (_what, stream, effects) => {
    const { agent, runner, model, looked, events } = scene({ stream, effects })
    const error = await failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 5 } }))
    expect(error).toMatchObject({ code: 'LIMIT_REACHED', runId: 'r', step: '2/c:2a', usage: { attempts: 1, steps: { model: 3, tool: 2 }, inputTokens: 21, outputTokens: 15 } })
    expect(error.message).toBe(
      'run "r" has used 5 of 5 steps (limits.maxSteps): tool "look" did not start. What was done is kept: it goes on under a higher limit, as with resume("r", { limits: { maxSteps: 10 } })',
    )
    expect([model.requests.length, looked]).toEqual([3, ['0a', '1a']])
    expect(events.filter(({ type }) => type === 'limit-reached')).toEqual([expect.objectContaining({ limit: 'maxSteps', used: 5, max: 5, step: '2/c:2a' })])
    expect(events.at(-1)).toMatchObject({ type: 'run-failed', error: { code: 'LIMIT_REACHED' } })
    expect(await runner.get('r')).toMatchObject({ status: 'failed', owner: null })
  })

  it.each([['effects', true], ['reads', false]])('lets the calls of one response run that fit, and counts what ran: %s', async (_what, effects) => {
    const { agent, runner, looked, events } = scene({ turns: 1, width: 4, effects })
    const error = await failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 3 } }))
    expect(error.message).toMatch(/^run "r" has used 3 of 3 steps/)
    expect([error.usage?.steps, looked]).toEqual([expect.objectContaining({ model: 1, tool: 2 }), ['0a', '0b']])
    expect(events.flatMap((e) => (e.type === 'limit-reached' ? [e.type] : e.type === 'step-started' && e.kind === 'tool' ? [e.step] : []))).toEqual(['0/c:0a', '0/c:0b', 'limit-reached'])
    expect((await runner.history('r')).filter(({ entry }) => entry.type === 'settled')).toEqual([])
    expect(await runner.resume('r', { limits: { maxSteps: 6 } })).toMatchObject({ status: 'completed', result: 'done' })
    expect(looked).toEqual(['0a', '0b', '0c', '0d'])
  })

  it('that is reached exactly at the end lets the run complete', async () => {
    const { agent, runner } = scene()
    expect(await runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 7 } })).toMatchObject({ status: 'completed', result: 'done' })
  })

  it('is not reached anew by a resume, replays under a spent budget, and goes on under a higher one without repeating anything', async () => {
    const { agent, runner, model, looked, events } = scene({ effects: true })
    await failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 5 } }))
    for (let i = 0; i < 3; i++) expect(await failureOf(runner.resume('r'))).toMatchObject({ code: 'LIMIT_REACHED', usage: { attempts: i + 2, steps: { model: 3, tool: 2 } } })
    expect([model.requests.length, looked]).toEqual([3, ['0a', '1a']])
    expect(events.filter(({ type }) => type === 'replay-diverged' || type === 'step-in-doubt')).toEqual([])
    expect(await failureOf(runner.resume('r', { limits: { maxSteps: 6 } }))).toMatchObject({ step: '3', usage: { steps: { model: 3, tool: 3 } } })
    expect(await runner.resume('r', { limits: { maxSteps: Infinity } })).toMatchObject({ status: 'completed', result: 'done' })
    expect([model.requests.length, looked]).toEqual([4, ['0a', '1a', '2a']])
    expect(await runner.usage('r')).toMatchObject({ attempts: 6, steps: { model: 4, tool: 3, step: 0, read: 0, agent: 0 }, inputTokens: 28, outputTokens: 20 })
  })

  it('lets of tools that start at once only as many start as there are left, and keeps what they did', async () => {
    const { agent, runner, looked } = scene({ width: 5 })
    await failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 3 } }))
    expect(looked).toEqual(['0a', '0b'])
    await failureOf(runner.resume('r', { limits: { maxSteps: 4 } }))
    expect(looked).toEqual(['0a', '0b', '0c'])
  })

  it('is kept with the run that it was given to: a process that dies takes it to nobody', async () => {
    const { agent, store, looked } = scene()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended","step":\{"id":"1"/, 'after')
    void createRunner({ agents: [agent], store: dying.store, limits: { maxSteps: 100 }, ...quick }).run(agent, {}, { runId: 'r', limits: { maxSteps: 4 } })
    await died
    const next = createRunner({ agents: [agent], store, limits: { maxSteps: 100 }, clock: later(), ...quick })
    expect(await failureOf(next.resume('r'))).toMatchObject({ code: 'LIMIT_REACHED', usage: { attempts: 2, steps: { model: 2, tool: 2 } } })
    expect(looked).toEqual(['0a', '1a'])
  })

  it('comes from the runner where no call says anything', async () => {
    const { agent, runner } = scene({ limits: { maxSteps: 2 } })
    expect(await failureOf(runner.run(agent, {}, { runId: 'r' }))).toMatchObject({ code: 'LIMIT_REACHED', usage: { steps: { model: 1, tool: 1 } } })
    expect(await failureOf(runner.result('r'))).toMatchObject({ code: 'LIMIT_REACHED', usage: { steps: { model: 1, tool: 1 } } })
  })

  it('holds also where the runner has neither store nor policies', async () => {
    const { agent, looked } = scene()
    const plain = createRunner({ agents: [agent] })
    expect(await failureOf(plain.run(agent, {}, { limits: { maxSteps: 2 } }))).toMatchObject({ code: 'LIMIT_REACHED' })
    expect(looked).toEqual(['0a'])
    expect(await failureOf(createRunner({ agents: [agent], limits: { maxSteps: 1 } }).run(agent, {}))).toMatchObject({ code: 'LIMIT_REACHED' })
  })

  it('counts steps with and without effects, not reads and agents', async () => {
    const child = defineAgent('child', async () => 1)
    const agent = defineAgent('a', async (run) => {
      await run.read('look', () => 1)
      await run.agent(child, {})
      await run.step('one', () => 1)
      await run.step('two', { idempotent: true }, () => 2)
      await run.read('again', () => 1)
      await run.step('three', () => 3)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    expect(await failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 2 } }))).toMatchObject({ step: '4', usage: { steps: { step: 2, read: 2, agent: 1 } } })
  })

  it('counts what was superseded too: it was paid for', async () => {
    let wrong = true
    const agent = defineAgent('a', async (run) => {
      await run.step('one', { idempotent: true }, () => 1)
      if (wrong) await run.step('two', { idempotent: true }, () => Promise.reject(new Error('no')))
      await run.step('three', { idempotent: true }, () => 3)
      await run.step('four', { idempotent: true }, () => 4)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), retry: false, ...quick })
    await failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 3 } }))
    wrong = false
    expect(await failureOf(runner.resume('r'))).toMatchObject({ code: 'LIMIT_REACHED', message: expect.stringContaining('3 of 3'), usage: { steps: { step: 3 } } })
  })

  it('counts a step that was tried several times once', async () => {
    let n = 0
    const agent = defineAgent('a', async (run) => run.read('flaky', async () => run.step('in', { idempotent: true }, () => (++n < 3 ? Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' })) : n))))
    const runner = createRunner({ agents: [agent], store: memoryStore(), retry: { backoff: { baseMs: 0, maxMs: 0 } }, ...quick })
    expect(await runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 1 } })).toMatchObject({ status: 'completed', result: 3 })
  })

  it('lets what was done inside a composite tool replay before it ends the run', async () => {
    const pays: number[] = []
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'outer', input: {} }] } : { text: 'done' }))
    const pay = (run: Run, n: number) => run.step(`pay ${n}`, () => pays.push(n))
    const outer = tool({ inputSchema: z.object({}), execute: async () => (await pay(currentRun()!, 1), await pay(currentRun()!, 2), await pay(currentRun()!, 3)) })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), tools: run.tools({ outer }, { outer: { composite: true } }), prompt: 'go', stopWhen: stepCountIs(3) })).text)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const limited = (maxSteps: number) => failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxSteps } }))
    expect(await limited(3)).toMatchObject({ step: '0/c:x/1', usage: { steps: { model: 1, step: 1 } } })
    expect(await limited(2)).toMatchObject({ step: '0/c:x/1', usage: { steps: { model: 1, step: 1 } } })
    expect(await limited(3)).toMatchObject({ step: '0/c:x/2', usage: { steps: { model: 1, step: 2 } } })
    expect(await runner.resume('r', { limits: { maxSteps: 9 } })).toMatchObject({ result: 'done' })
    expect(pays).toEqual([1, 2, 3])
  })

  it('counts also steps that the journal cannot have: a loop of them comes to an end', async () => {
    const model = testModel(() => ({ text: 'more' }))
    const agent = defineAgent('a', async (run) => {
      for (;;) await run.model(model).doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }], providerOptions: { test: { no: (() => 1) as never } } })
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    expect(await failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxSteps: 4 } }))).toMatchObject({ code: 'LIMIT_REACHED' })
    expect(model.requests).toHaveLength(4)
    expect(await failureOf(runner.resume('r', { limits: { maxSteps: Infinity, maxTokens: 30 } }))).toMatchObject({ code: 'LIMIT_REACHED' })
    expect(model.requests).toHaveLength(7)
  })
})

describe('maxTokens', () => {
  it('lets no model request start once they are used, over all attempts; tools still run', async () => {
    const { agent, runner, model, looked } = scene()
    const error = await failureOf(runner.run(agent, {}, { runId: 'r', limits: { maxTokens: 20 } }))
    expect(error).toMatchObject({ code: 'LIMIT_REACHED', step: '2', usage: { inputTokens: 14, outputTokens: 10 } })
    expect(error.message).toMatch(/has used 24 of 20 tokens \(limits\.maxTokens\): model request to test\/model did not start/)
    expect([model.requests.length, looked]).toEqual([2, ['0a', '1a']])
    expect(await failureOf(runner.resume('r', { limits: { maxTokens: 24 } }))).toMatchObject({ step: '2' })
    expect(model.requests).toHaveLength(2)
    expect(await runner.resume('r', { limits: { maxTokens: 37 } })).toMatchObject({ status: 'completed' })
    expect(await runner.usage('r')).toMatchObject({ inputTokens: 28, outputTokens: 20 })
  })
})

describe('limits that cannot be', () => {
  const { agent, runner } = scene()
  const wrong = (limits: unknown) => limits as RunLimits

  it.each<readonly [string, unknown, RegExp]>([
    ['none', { maxSteps: 0 }, /limits\.maxSteps must be an integer >= 1, got 0/],
    ['half a step', { maxSteps: 1.5 }, /limits\.maxSteps must be an integer >= 1, got 1\.5/],
    ['a text', { maxTokens: '9' }, /limits\.maxTokens must be an integer >= 1, got "9"/],
    ['no time', { runMs: 0 }, /limits\.runMs must be a number of ms > 0, got 0/],
    ['a date that is none', { deadline: new Date('soon') }, /limits\.deadline must be a Date or a time in ms since the epoch, got Invalid Date/],
    ['a time as a text', { deadline: '2026-11-29' }, /limits\.deadline must be a Date/],
    ['a key that does not exist', { maxStep: 3 }, /limits\.maxStep is not known.*maxSteps/],
    ['no object', 7, /limits must be an object, got 7/],
  ])('%s: refused with the path before anything runs', async (_what, limits, message) => {
    const refused = { code: 'INVALID_POLICY', message: expect.stringMatching(message) }
    await expect(runner.run(agent, {}, { runId: 'r', limits: wrong(limits) })).rejects.toMatchObject(refused)
    await expect(runner.resume('r', { limits: wrong(limits) })).rejects.toMatchObject(refused)
    expect(await runner.get('r')).toBeUndefined()
  })

  it('of a runner are refused when it is made; its time limits are its timeouts', () => {
    expect(() => scene({ limits: { maxSteps: -1 } })).toThrow(/limits\.maxSteps must be an integer >= 1, got -1/)
    expect(() => scene({ limits: wrong({ runMs: 5 }) as object })).toThrow(/limits\.runMs is not known/)
  })
})
