/** Limits of sizes: of a result, of all that is recorded of a step, of a run's journal (R14, E5). */
import { generateText, isStepCount, streamText, tool, type ToolSet } from 'ai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, HoldfastError, memoryStore, type Run, type RunnerOptions, type StampedEvent } from '../src/index.ts'
import { decide } from '../src/runner/resolve.ts'
import { failingOnce } from './support/failing-once.ts'
import { testModel } from './support/model.ts'
import { STORES, type Place } from './support/stores.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 3, backoff: { baseMs: 1, jitter: 'none' } } } satisfies Partial<RunnerOptions>
const big = (bytes: number): string => 'x'.repeat(bytes)

describe.each(STORES)('in a $kind store', ({ make }) => {
  let place: Place
  beforeEach(() => void (place = make()))
  afterEach(() => place.cleanup())

  const codeAndMessage = (error: unknown): unknown => (HoldfastError.isInstance(error) ? [error.code, error.message] : error)

  it('an input of a step with effects that is too large: VALUE_TOO_LARGE with step, size and limit, its code is not called, the run goes on', async () => {
    let calls = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const error = await run.step('act', { input: big(6_000) }, () => calls++).catch(codeAndMessage)
      const after = await run.step('other', () => 'done')
      fail()
      return [error, after]
    })
    const runner = createRunner({ agents: [agent], store: place.open(), maxStepBytes: 5_000, ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const says = expect.stringMatching(/the record of step "act" \(step 0\) takes 6\d\d\d bytes as JSON, the limit is 5000\. .*maxStepBytes/)
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: [['VALUE_TOO_LARGE', says], 'done'] })
    expect(calls).toBe(0)
    await runner.close()
  })

  it.each(['generateText', 'streamText'] as const)('arguments of a tool with effects that are too large: it is not called, the model of %s is told', async (mode) => {
    let calls = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'act', input: { n: 1 } }] } : { text: 'done' }))
    const agent = defineAgent('a', async (run: Run) => {
      // The response is small: a schema made the arguments large.
      const inputSchema = z.object({ n: z.number() }).transform(() => ({ text: big(6_000) }))
      const tools = run.tools({ act: tool({ inputSchema, execute: async () => `ran ${++calls}` }) })
      const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) }
      return mode === 'generateText' ? (await generateText(options)).text : await streamText(options).text
    })
    const runner = createRunner({ agents: [agent], store: place.open(), maxStepBytes: 5_000, ...quick })
    expect(await runner.run(agent, {}, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
    expect(JSON.stringify(model.requests[1]!.prompt)).toMatch(/tool \\"act\\" \(step 0\/c:c\) takes 6\d\d\d bytes as JSON, the limit is 5000/)
    expect(calls).toBe(0)
    await runner.close()
  })

  it.each(['generateText', 'streamText'] as const)('a response of %s that is too large: one request, none of its tools runs, the run fails with step, size and limit', async (mode) => {
    let calls = 0
    const model = testModel(() => ({ text: big(6_000), calls: [{ id: 'c', tool: 'act', input: {} }] }))
    const agent = defineAgent('a', async (run: Run) => {
      const tools: ToolSet = run.tools({ act: tool({ inputSchema: z.object({}), execute: async () => `ran ${++calls}` }) })
      const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3), onError: () => {} }
      return mode === 'generateText' ? (await generateText(options)).text : await streamText(options).text
    })
    const runner = createRunner({ agents: [agent], store: place.open(), maxStepBytes: 5_000, ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/model request to test\/model \(step 0\) takes 7\d\d\d bytes as JSON, the limit is 5000/)
    expect([calls, model.requests.length]).toEqual([0, 1])
    expect(await runner.usage('r')).toMatchObject({ outputTokens: 5 })
    await runner.close()
  })

  it('a result that fits by itself, and not with all else of its step: the effect is completed, its caller is told why the result is missing', async () => {
    let calls = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const error = await run.step('act', () => (calls++, big(4_950))).catch(codeAndMessage)
      fail()
      return error
    })
    const runner = createRunner({ agents: [agent], store: place.open(), maxResultBytes: 5_000, maxStepBytes: 5_000, ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const says = expect.stringMatching(/step "act" succeeded, but its result could not be stored: the record of step "act" \(step 0\) takes 5\d\d\d bytes/)
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: ['RESULT_NOT_STORED', says] })
    expect(calls).toBe(1)
    await runner.close()
  })

  it('an error that is too large keeps the beginning of its message, live and replayed', async () => {
    const seen: unknown[] = []
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      seen.push(await run.step('act', () => { throw Object.assign(new RangeError(`It failed: ${big(20_000)}`), { body: big(9_000) }) }).catch((e: Error) => [e.name, e.message.length, e.message.slice(0, 11)]))
      fail()
    })
    const runner = createRunner({ agents: [agent], store: place.open(), maxStepBytes: 10_000, ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([['RangeError', 1_022, 'It failed: '], ['RangeError', 1_022, 'It failed: ']])
    await runner.close()
  })

  it('an input of the run that is too large is refused before anything is stored', async () => {
    let handled = 0
    const agent = defineAgent('a', async () => ++handled)
    const runner = createRunner({ agents: [agent], store: place.open(), maxStepBytes: 5_000, ...quick })
    await expect(runner.run(agent, { text: big(6_000) }, { runId: 'r' })).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(/^input takes 60\d\d bytes as JSON, the limit is 5000\. .*maxStepBytes of createRunner/) })
    expect([handled, await runner.list()]).toEqual([0, []])
    await runner.close()
  })

  it('a journal that is too large ends its run as a limit does: all of it replays under a higher one', async () => {
    const calls: number[] = []
    const events: StampedEvent[] = []
    const agent = defineAgent('a', async (run) => {
      for (let i = 0; i < 10; i++) await run.step('page', () => (calls.push(i), big(1_000))).catch(() => {}) // a limit ends it whatever it makes of errors
      return 'done'
    })
    const options = { agents: [agent], limits: { maxJournalBytes: 5_000 }, ...quick, onEvent: (event: StampedEvent) => events.push(event) }
    const runner = createRunner({ ...options, store: place.open() })
    const failed = { code: 'LIMIT_REACHED', message: expect.stringMatching(/the journal of run "r" has \d{4} of 5000 bytes \(limits\.maxJournalBytes\): step "page" did not start\. .*resume\("r", \{ limits: \{ maxJournalBytes: 1\d{4} \} \}\)/) }
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject(failed)
    expect(events.find(({ type }) => type === 'limit-reached')).toMatchObject({ limit: 'maxJournalBytes', max: 5_000 })
    const first = calls.length
    expect(first).toBeGreaterThan(1)
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
    await runner.close()

    const again = createRunner({ ...options, store: place.open() })
    await expect(again.resume('r', { limits: { maxJournalBytes: 9_000 } })).rejects.toMatchObject({ code: 'LIMIT_REACHED', message: expect.stringMatching(/ of 9000 bytes/) })
    expect(await again.resume('r', { limits: { maxJournalBytes: Infinity } })).toEqual({ status: 'completed', result: 'done' })
    expect(calls).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    await again.close()
  })
})

it('files that a request fetched are not kept where they make its record too large, and it says so', async () => {
  const events: StampedEvent[] = []
  const model = testModel(() => ({ text: 'seen' }))
  let fetched = 0
  const agent = defineAgent('a', async (run: Run) => {
    const content = ['a', 'b'].map((name) => ({ type: 'file' as const, data: new URL(`https://files.test/${name}`), mediaType: 'image/png' }))
    const download = async () => (fetched++, { data: new Uint8Array(3_000), mediaType: 'image/png' })
    return (await generateText({ model: run.model(model, { download }), messages: [{ role: 'user', content }] })).text
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), maxResultBytes: 5_000, maxStepBytes: 6_000, ...quick, onEvent: (event) => events.push(event) })
  expect(await runner.run(agent, {}, { runId: 'r' })).toEqual({ status: 'completed', result: 'seen' })
  expect([fetched, model.requests.length]).toEqual([2, 1])
  expect(events.filter(({ type }) => type === 'warning')).toEqual([expect.objectContaining({ code: 'FILE_NOT_KEPT', message: expect.stringMatching(/takes 9\d\d\d bytes as JSON, the limit is 6000.*2 files/) })])
  await runner.close()
})

it('a result of the run that is too large fails it, what was done is kept', async () => {
  let calls = 0
  const agent = defineAgent('a', async (run) => {
    await run.step('act', () => ++calls)
    return big(6_000)
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), maxStepBytes: 5_000, ...quick })
  for (let i = 0; i < 2; i++) await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(/^result takes 60\d\d bytes/) })
  expect(calls).toBe(1)
})

describe('what somebody gives for a step that waits', () => {
  const lost = (): never => { throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }) }

  it.each<[Partial<RunnerOptions>, RegExp]>([
    [{ maxResultBytes: 5_000 }, /^result takes 60\d\d bytes as JSON, the limit is 5000\. .*maxResultBytes/],
    [{ maxStepBytes: 5_000 }, /^result takes 60\d\d bytes as JSON, the limit is 2952\. .*maxStepBytes/],
  ])('as its result is refused where it is given, and used up is nothing (%j)', async (options, says) => {
    const agent = defineAgent('a', (run) => run.step('pay', lost))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...options, ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    await expect(runner.resolve('r', '0', { result: big(6_000) })).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(says) })
    expect(await runner.resolve('r', '0', { result: big(2_900) }, { resume: true })).toEqual({ status: 'completed', result: big(2_900) })
  })

  it('is as large as what a runner takes that says nothing, where there is the store alone', async () => {
    const agent = defineAgent('a', (run) => run.step('pay', lost))
    const store = memoryStore()
    await expect(createRunner({ agents: [agent], store, ...quick }).run(agent, 1, { runId: 'r' })).rejects.toThrow()
    await expect(decide(store, 'r', '0', { result: big(5_000_000) }, { now: 0 })).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(/the limit is 4194304/) })
    await decide(store, 'r', '0', { result: big(3_000_000) }, { now: 0 })
  })

  it('as its arguments is refused too', async () => {
    const pay = tool({ inputSchema: z.object({ note: z.string() }), execute: ({ note }) => note.length })
    const agent = defineAgent('a', async (run) => {
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { note: '' } }] } : { text: 'done' }))
      return (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: { approval: true } }), prompt: 'go', stopWhen: isStepCount(3) })).text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), maxStepBytes: 5_000, ...quick })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'approval' }] })
    await expect(runner.approve('r', '0/c:c', { input: { note: big(6_000) } })).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(/^input takes 60\d\d bytes as JSON, the limit is 2952\. .*maxStepBytes/) })
    expect(await runner.approve('r', '0/c:c', { input: { note: big(2_900) }, resume: true })).toMatchObject({ status: 'completed' })
  })

  it('says one thing only', async () => {
    const agent = defineAgent('a', (run) => run.step('pay', lost))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow()
    await expect(runner.resolve('r', '0', { result: 1, rerun: true } as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/got \{ result, rerun \}/) })
  })
})

it.each<[object, RegExp]>([
  [{ maxStepBytes: 0 }, /maxStepBytes must be an integer >= 4096, got 0/],
  [{ maxStepBytes: 5 }, /maxStepBytes must be an integer >= 4096, got 5\. It counts bytes/],
  [{ maxStepBytes: 1.5 }, /maxStepBytes must be an integer/],
  [{ maxResultBytes: '4 MB' }, /maxResultBytes must be a number/],
  [{ limits: { maxJournalBytes: 0 } }, /limits\.maxJournalBytes must be an integer >= 1, got 0/],
])('%j is refused', (options, message) => {
  expect(() => createRunner({ agents: [], ...options })).toThrow(message)
})
