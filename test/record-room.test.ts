/** What of a step takes room in its record besides its input and its result: its name, its key, where it stands, what a model was asked with (R14, E5). */
import { generateText, isStepCount, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, HoldfastError, memoryStore, type Run, type RunnerOptions, type Store } from '../src/index.ts'
import { failingOnce } from './support/failing-once.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 3, backoff: { baseMs: 1, jitter: 'none' } } } satisfies Partial<RunnerOptions>
const long = (bytes: number): string => 'k'.repeat(bytes)

/** A run of the handler until it fails, and what its runner makes of it then. */
async function driven(handler: (run: Run) => Promise<unknown>, options: Partial<RunnerOptions> = {}) {
  let drives = 0
  const agent = defineAgent('a', (run) => (drives++, handler(run)))
  const runner = createRunner({ agents: [agent], store: memoryStore(), maxStepBytes: 8_000, ...quick, ...options })
  const ended = await runner.run(agent, null, { runId: 'r' }).catch((error: unknown) => error)
  return { ended, runner, drives: () => drives, types: async () => (await runner.history('r')).map(({ entry }) => entry.type) }
}

const tooLarge = (message: RegExp): object => expect.objectContaining({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(message) })

describe('a step whose name, key or place leaves its record no room', () => {
  it.each<[string, (run: Run, work: () => number) => Promise<unknown>]>([
    ['key', (run, work) => run.step('save', { key: long(9_000) }, work)],
    ['name', (run, work) => run.step(`save ${long(9_000)}`, work)],
    // It stands in the id, and so does that of each branch around it.
    ['branch', (run, work) => run.branch(long(5_000), () => run.branch(long(4_000), () => run.step('save', work)))],
    // Its start would fit, and no end of it.
    ['key that leaves room for its start alone', (run, work) => run.step('save', { key: long(3_500) }, work)],
  ])('by its %s is VALUE_TOO_LARGE with step, size and limit: nothing of it runs, and nobody tries it again', async (_, ask) => {
    let ran = 0
    const { ended, runner, drives, types } = await driven((run) => ask(run, () => ++ran))
    expect(ended).toEqual(tooLarge(/^the record of step "save.*\(step .*\) without its input and its result takes \d{4,5} bytes as JSON, the limit is 5952\. .*maxStepBytes/))
    // What is too long is not told whole.
    expect((ended as Error).message.length).toBeLessThan(1_000)
    expect([ran, drives(), await types()]).toEqual([0, 1, expect.not.arrayContaining(['step-started', 'suspended'])])
    expect(await runner.recover()).toEqual([])
    await expect(runner.resume('r')).rejects.toEqual(tooLarge(/takes/))
    expect([ran, drives()]).toEqual([0, 2])
  })

  it('lets its run go on where the handler catches that, live and replayed', async () => {
    const fail = failingOnce()
    const { ended, runner } = await driven(async (run) => {
      const code = await run.step('save', { key: long(9_000) }, () => 1).catch((error: HoldfastError) => error.code)
      const after = await run.step('other', () => 'done')
      fail()
      return [code, after]
    })
    expect(ended).toMatchObject({ message: expect.stringMatching(/later/) })
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: ['VALUE_TOO_LARGE', 'done'] })
  })

  it.each<[string, (run: Run, work: () => number) => Promise<unknown>]>([
    ['read', (run, work) => run.read('look', { key: long(9_000) }, work)],
    ['idempotent step', (run, work) => run.step('look', { key: long(9_000), idempotent: true }, work)],
    ['child agent', (run, work) => run.agent(defineAgent('look', async () => work()), 1, { key: long(9_000) })],
  ])('is VALUE_TOO_LARGE as a %s too, which is not tried again', async (_, ask) => {
    let ran = 0
    const { ended, types } = await driven((run) => ask(run, () => ++ran))
    expect(ended).toEqual(tooLarge(/^the record of .* "look" \(step .*\) takes \d{4,5} bytes as JSON, the limit is 8000/))
    expect(ran).toBeLessThanOrEqual(1)
    expect(await types()).not.toContain('suspended')
  })

  it('is not asked about as a tool that needs approval: its model is told', async () => {
    let ran = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { to: 'ann' } }] } : { text: 'done' }))
    const { ended } = await driven(async (run) => {
      const pay = tool({ inputSchema: z.object({ to: z.string() }), execute: async () => ++ran })
      return (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: { approval: true, effectKey: () => long(9_000) } }), prompt: 'x', stopWhen: isStepCount(3) })).text
    })
    expect(ended).toEqual({ status: 'completed', result: 'done' })
    expect(JSON.stringify(model.requests[1]!.prompt)).toMatch(/the record of tool \\"pay\\" \(step 0\/c:c\) without its input and its result takes 9\d\d\d bytes/)
    expect(ran).toBe(0)
  })

  it('is not asked about either where its arguments are what is too large', async () => {
    let ran = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { n: 1 } }] } : { text: 'done' }))
    const { ended } = await driven(async (run) => {
      const pay = tool({ inputSchema: z.object({ n: z.number() }).transform(() => ({ text: long(7_900) })), execute: async () => ++ran })
      return (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: { approval: true } }), prompt: 'x', stopWhen: isStepCount(3) })).text
    })
    expect(ended).toEqual({ status: 'completed', result: 'done' })
    expect(JSON.stringify(model.requests[1]!.prompt)).toMatch(/the record of tool \\"pay\\" \(step 0\/c:c\) takes 8\d\d\d bytes as JSON, the limit is 8000/)
    expect(ran).toBe(0)
  })

  it('is VALUE_TOO_LARGE as a model request with more messages than its record can tell of: none of the calls that it asks for waits for ever', async () => {
    const model = testModel(() => ({ calls: [{ id: 'c', tool: 'act', input: {} }] }))
    const { ended, types } = await driven(async (run) => {
      const messages = Array.from({ length: 200 }, (_, i) => ({ role: i % 2 === 0 ? 'user' as const : 'assistant' as const, content: `message ${i}` }))
      const tools = run.tools({ act: tool({ inputSchema: z.object({}), execute: async () => 'ran' }) })
      return (await generateText({ model: run.model(model), tools, messages, stopWhen: isStepCount(3) })).text
    })
    expect(ended).toEqual(tooLarge(/the record of model request to test\/model \(step 0\) takes \d{4,5} bytes as JSON, the limit is 8000/))
    expect(model.requests).toHaveLength(1)
    expect(await types()).not.toContain('suspended')
  })

  it('is an error as a response that asks for thousands of calls: none of them runs', async () => {
    let ran = 0
    const model = testModel(() => ({ calls: Array.from({ length: 3_000 }, (_, i) => ({ id: `call_${i}`, tool: 'act', input: {} })) }))
    const { ended, types } = await driven(async (run) => {
      const tools = run.tools({ act: tool({ inputSchema: z.object({}), execute: async () => ++ran }) })
      return (await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) })).text
    })
    expect(ended).toEqual(tooLarge(/the record of model request to test\/model \(step 0\) takes \d{6} bytes as JSON, the limit is 8000/))
    expect([ran, model.requests.length, await types()]).toEqual([0, 1, expect.not.arrayContaining(['suspended'])])
  })
})

it('an error that fits with nothing else in its record keeps its beginning, and the step its end', async () => {
  let ran = 0
  const { ended, runner, types } = await driven((run) => run.step('act', () => (ran++, Promise.reject(Object.assign(new RangeError(`It failed: ${long(5_000)}`), { code: 'E_ACT' })))), { maxStepBytes: 4_096 })
  expect(ended).toMatchObject({ code: 'RUN_FAILED', cause: { name: 'RangeError', message: expect.stringMatching(/^It failed: k+\.\.\. \(5011 characters\)$/) } })
  expect(await types()).toEqual(expect.arrayContaining(['step-started', 'step-ended', 'run-ended']))
  expect(ran).toBe(1)
  await runner.close()
})

it('the beginning of an error is measured in bytes: of other alphabets it is shorter', async () => {
  const { ended, types } = await driven((run) => run.step('act', () => Promise.reject(new Error('\u0001'.repeat(15_000)))), { maxStepBytes: 4_096 })
  expect(ended).toMatchObject({ cause: { message: `${'\u0001'.repeat(166)}... (15000 characters)` } })
  expect(await types()).toContain('step-ended')
})

it('the beginning of an error does not end inside of a secret', async () => {
  const secret = 'sk-live-0123456789abcdef'
  for (let at = 970; at <= 1_000; at += 5) {
    const { ended, runner } = await driven((run) => run.step('act', () => Promise.reject(new Error(`${long(at)}${secret}${long(20_000)}`))), { secrets: { KEY: secret } })
    expect(ended).toMatchObject({ code: 'RUN_FAILED' })
    expect(JSON.stringify(await runner.history('r'))).not.toContain(secret.slice(0, 4))
    await runner.close()
  }
})

describe('a record that a store can never take', () => {
  const small = (refuse: RegExp): Store => {
    const store = memoryStore()
    return { ...store, append: async (runId, batch) => {
      if (batch.entries.some(({ body }) => refuse.test(body))) throw new HoldfastError('VALUE_TOO_LARGE', 'an item has at most 400 KB')
      return store.append(runId, batch)
    } }
  }

  it('of the start of a step is an error of the step: nothing ran, and its run does not wait', async () => {
    let ran = 0
    const { ended, types } = await driven((run) => run.step('act', () => ++ran), { store: small(/^\{"type":"step-started"/) })
    expect(ended).toEqual(tooLarge(/an item has at most 400 KB/))
    expect([ran, await types()]).toEqual([0, expect.not.arrayContaining(['suspended'])])
  })

  it('of its end leaves an effect that ran in doubt: somebody is asked, and nothing is tried again by itself', async () => {
    let ran = 0
    const { ended, runner, drives } = await driven((run) => run.step('act', () => ++ran), { store: small(/^\{"type":"step-ended"/) })
    expect(ended).toEqual({ status: 'suspended', reasons: [expect.objectContaining({ type: 'not-recorded' })] })
    expect(await runner.recover()).toEqual([])
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(outcome).not.toHaveProperty('resumeAt')
    // What somebody says of it cannot be written down either: that is an error, and no wait.
    await runner.resolve('r', '0', { result: 7 })
    await expect(runner.resume('r')).rejects.toEqual(tooLarge(/an item has at most 400 KB/))
    expect([ran, drives(), await runner.recover()]).toEqual([1, 3, []])
  })
})

describe('what is told of a run to people', () => {
  const slow = (): Error => Object.assign(new Error(`slow down: ${long(200_000)}`), { statusCode: 429, isRetryable: true, responseHeaders: { 'retry-after': '3600' } })

  it.each<[string, (run: Run) => Promise<unknown>, Partial<RunnerOptions>]>([
    ['why a step waits', (run) => run.read('ask', () => Promise.reject(slow())), {}],
    ['why it may be in doubt', (run) => run.step('act', { afterError: () => { throw slow() } }, () => Promise.reject(new Error('no'))), {}],
  ])('has the beginning of a long message, once: %s', async (_, handler, options) => {
    const { runner } = await driven(handler, { maxStepBytes: 500_000, ...options })
    const told = (await runner.history('r')).filter(({ entry }) => entry.type === 'retry-after' || entry.type === 'suspended' || entry.type === 'warning')
    expect(told.length).toBeGreaterThan(0)
    for (const { entry } of told) {
      expect(JSON.stringify(entry)).toMatch(/k\.\.\. \(200\d\d\d characters\)/)
      expect(JSON.stringify(entry).length).toBeLessThan(70_000)
    }
  })

  it('has the beginning of the reason for which its caller stopped it', async () => {
    const stop = new AbortController()
    const agent = defineAgent('a', (run) => run.read('wait', () => (stop.abort(new Error(`enough: ${long(200_000)}`)), new Promise(() => {}))))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, null, { runId: 'r', signal: stop.signal })).rejects.toThrow(/enough/)
    const [suspended] = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'suspended' ? [entry] : []))
    expect(suspended!.reasons).toEqual([{ type: 'aborted', message: expect.stringMatching(/^the attempt was stopped: enough: k+\.\.\. \(200033 characters\)$/) }])
    expect(JSON.stringify(suspended).length).toBeLessThan(70_000)
  })

  it('has the arguments of as many calls that wait as a record of a step may hold, and names the others', async () => {
    const stop = new AbortController()
    const model = testModel((turn) => (turn === 0 ? { calls: Array.from({ length: 5 }, (_, i) => ({ id: `c${i}`, tool: 'act', input: { n: i } })) } : { text: 'done' }))
    const agent = defineAgent('a', async (run) => {
      const inputSchema = z.object({ n: z.number() }).transform(({ n }) => ({ n, text: long(3_000) }))
      const act = tool({ inputSchema, execute: () => (stop.abort(new Error('killed')), new Promise(() => {})) })
      return (await generateText({ model: run.model(model), tools: run.tools({ act }, { act: { effectKey: () => 'one' } }), prompt: 'x', stopWhen: isStepCount(3) })).text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), maxStepBytes: 8_000, ...quick })
    await expect(runner.run(agent, null, { runId: 'r', signal: stop.signal })).rejects.toThrow(/killed/)
    const ended = await runner.resume('r')
    expect(ended).toMatchObject({ status: 'suspended' })
    const { reasons } = ended as { reasons: readonly { readonly calls?: readonly { readonly step: string; readonly input?: unknown }[] }[] }
    const inputs = (all: typeof reasons): number => all.flatMap(({ calls = [] }) => calls).filter(({ input }) => input !== undefined).length
    expect([reasons.length, inputs(reasons)]).toEqual([5, 9])
    const suspended = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'suspended' ? [entry] : [])).at(-1)
    expect(suspended!.reasons).toHaveLength(5)
    expect(inputs(suspended!.reasons as typeof reasons)).toBe(2)
    await runner.close()
  })
})

it('an answer of a model that came late, and is too large for its record, settles its doubt without it', async () => {
  const late = Promise.withResolvers<{ text: string }>()
  const model = testModel(() => late.promise)
  const agent = defineAgent('a', async (run: Run) => {
    const tools: ToolSet = { search: { type: 'provider', isProviderExecuted: true, id: 'test.search', args: {}, inputSchema: z.object({}) } }
    const asked = generateText({ model: run.model(model, { timeoutMs: 20 }), tools, prompt: 'x', maxRetries: 0 }).then(({ text }) => text, (error: HoldfastError) => error.code)
    const code = await asked
    late.resolve({ text: long(9_000) })
    await new Promise((resolve) => setTimeout(resolve, 50))
    return code
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), maxStepBytes: 8_000, ...quick })
  expect(await runner.run(agent, null, { runId: 'r' })).toEqual({ status: 'completed', result: 'OUTCOME_UNKNOWN' })
  const settled = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'settled' ? [entry.settlement] : []))
  expect(settled).toEqual([{ type: 'completed', outcome: { type: 'unstored', error: expect.anything() } }])
  expect(JSON.stringify(settled)).toMatch(/model request to test\/model succeeded, but its result could not be stored: .* takes 9\d\d\d bytes as JSON, the limit is 8000/)
  await runner.close()
})

it('a call with effects that an unrecordable request asks for is an error, and no run waits for it and pays for the request again and again', async () => {
  let ran = 0
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'act', input: {} }] } : { text: 'done' }))
  const { ended, drives } = await driven(async (run) => {
    const tools = run.tools({ act: tool({ inputSchema: z.object({}), execute: async () => ++ran }) })
    return (await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3), providerOptions: { x: { f: (() => 1) as never } } })).text
  })
  expect(ended).toEqual({ status: 'completed', result: 'done' })
  expect(JSON.stringify(model.requests[1]!.prompt)).toMatch(/tool \\"act\\" was asked for by a model request that holds what has no fingerprint/)
  expect([ran, drives(), model.requests.length]).toEqual([0, 1, 2])
})
