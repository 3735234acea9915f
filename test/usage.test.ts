/** What a run has used, however often it was stopped, killed and resumed, and what its failure says of that (R16; A19, C18, C25). */
import { APICallError, generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, HoldfastError, memoryStore, usageOf, type Run, type RunEvent, type RunnerOptions } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 2, backoff: { baseMs: 0, maxMs: 0, jitter: 'none' } } } satisfies Partial<RunnerOptions>
const overloaded = () => new APICallError({ message: 'Overloaded', url: 'https://model.test', requestBodyValues: {}, statusCode: 529, isRetryable: true })

/** A model that asks for `turns` look-ups and then answers. `before` is told of each request. */
function desk(turns: number, before: (turn: number) => void = () => {}) {
  const looked: number[] = []
  const model = testModel((turn) => {
    before(turn)
    return turn < turns ? { calls: [{ id: `c${turn}`, tool: 'look', input: { at: turn } }] } : { text: 'done' }
  })
  const look = tool({ inputSchema: z.object({ at: z.number() }), execute: async ({ at }) => (looked.push(at), at) })
  const handler = async (run: Run) =>
    (await generateText({ model: run.model(model), tools: run.tools({ look }, { look: { effectKey: ({ at }) => String(at) } }), prompt: 'go', stopWhen: stepCountIs(turns + 2) })).text
  return { model, looked, handler }
}

describe('what a run has used', () => {
  it('is right after any number of kills and resumes: what is replayed adds nothing (C25)', async () => {
    const { handler, model, looked } = desk(5)
    const agent = defineAgent('a', handler)
    const store = memoryStore()
    for (let turn = 0; turn < 5; turn++) {
      const dying = mortal(store)
      const died = dying.killAt(new RegExp(`"step-ended","step":\\{"id":"${turn}/c:c${turn}"`), 'after')
      void createRunner({ agents: [agent], store: dying.store, clock: later(turn * 3_600_000), ...quick }).run(agent, {}, { runId: 'r' })
      await died
      const usage = usageOf(await createRunner({ agents: [agent], store, ...quick }).history('r'))
      expect(usage).toMatchObject({ attempts: turn + 1, steps: { model: turn + 1, tool: turn + 1 }, inputTokens: 7 * (turn + 1), outputTokens: 5 * (turn + 1) })
    }
    const runner = createRunner({ agents: [agent], store, clock: later(9 * 3_600_000), ...quick })
    await runner.resume('r')
    const usage = await runner.usage('r')
    expect(usage).toMatchObject({ attempts: 6, steps: { model: 6, tool: 5, step: 0, read: 0, agent: 0 }, inputTokens: 42, outputTokens: 30 })
    for (let i = 0; i < 3; i++) await runner.resume('r')
    expect(await runner.usage('r')).toEqual(usage)
    expect([model.requests.length, looked]).toEqual([6, [0, 1, 2, 3, 4]])
  })

  it('counts an effect that runs again by a decision twice, and one that was answered by a decision once', async () => {
    const agent = defineAgent('a', async (run) => [await run.step('pay', () => 1), await run.step('ship', () => 2)])
    const store = memoryStore()
    let n = 0
    const die = async (entry: RegExp) => {
      const dying = mortal(store)
      const died = dying.killAt(entry)
      void createRunner({ agents: [agent], store: dying.store, clock: later(++n * 3_600_000), ...quick }).run(agent, {}, { runId: 'r' })
      await died
      return createRunner({ agents: [agent], store, clock: later(++n * 3_600_000), ...quick })
    }
    const first = await die(/"step-ended".*"pay"/)
    await first.resolve('r', '0', 'rerun')
    const second = await die(/"step-ended".*"ship"/)
    expect(await second.usage('r')).toMatchObject({ steps: { step: 3 } })
    expect(await second.resolve('r', '1', { result: 7 }, { resume: true })).toMatchObject({ result: [1, 7] })
    expect(await second.usage('r')).toMatchObject({ steps: { step: 3 } })
  })

  it('of a run that does not exist is refused', async () => {
    await expect(createRunner({ agents: [], store: memoryStore() }).usage('r')).rejects.toMatchObject({ code: 'UNKNOWN_RUN' })
  })
})

describe('the error of a run whose retries are exhausted in step 5 (A19)', () => {
  it('says what was done and how to resume, live and when it is read later; the resume repeats nothing', async () => {
    let broken = true
    const { handler, model, looked } = desk(3, (turn) => {
      if (turn === 2 && broken) throw overloaded()
    })
    const events: RunEvent[] = []
    const agent = defineAgent('a', handler)
    const runner = createRunner({ agents: [agent], store: memoryStore(), onEvent: (event) => events.push(event), ...quick })
    const error: unknown = await runner.run(agent, {}, { runId: 'r' }).catch((thrown: unknown) => thrown)
    const says = {
      code: 'STEP_FAILED',
      runId: 'r',
      message: 'model request to test/model failed after 2 tries: Overloaded. What was done is kept: run() or resume() drives it again from there',
      advice: 'What was done is kept: run() or resume() drives it again from there',
      usage: { attempts: 1, steps: { model: 3, tool: 2 }, inputTokens: 14, outputTokens: 10 },
      cause: { message: 'Overloaded' },
    }
    expect(error).toMatchObject(says)
    expect(await runner.result('r').catch((thrown: unknown) => thrown)).toMatchObject(says)
    expect(events.at(-1)).toMatchObject({ type: 'run-failed', error: { runId: 'r', usage: { steps: { model: 3 } } } })
    broken = false
    expect(await runner.resume('r')).toMatchObject({ result: 'done' })
    expect(looked).toEqual([0, 1, 2])
    expect(model.requests).toHaveLength(2 + 2 + 2)
  })

  it('is RUN_FAILED with the same for an error of the handler, and for an error of another run', async () => {
    const store = memoryStore()
    const inner = defineAgent('inner', async (run) => run.read('x', () => Promise.reject(new HoldfastError('STEP_FAILED', 'no', { runId: 'other' }))))
    const plain = defineAgent('plain', async (run) => {
      await run.step('one', () => 1)
      throw new RangeError('too much')
    })
    const runner = createRunner({ agents: [inner, plain], store, ...quick })
    expect(await runner.run(plain, {}, { runId: 'p' }).catch((thrown: unknown) => thrown)).toMatchObject({
      code: 'RUN_FAILED', runId: 'p', usage: { steps: { step: 1 } }, cause: { name: 'RangeError' }, message: expect.stringMatching(/too much\. What was done is kept/),
    })
    expect(await runner.run(inner, {}, { runId: 'i' }).catch((thrown: unknown) => thrown)).toMatchObject({
      code: 'RUN_FAILED', runId: 'i', usage: { steps: { read: 1 } }, cause: { code: 'STEP_FAILED', runId: 'other' },
    })
  })
})

describe('ten deploys in a row, with progress each time (C18)', () => {
  it('use up neither the retry budget nor a limit', async () => {
    // Each request fails once, so that every attempt uses one of the two tries that a request has.
    const failed = new Set<string>()
    const requests: string[] = []
    const asked = (turn: number): void => {
      requests.push(String(turn))
      if (failed.has(String(turn))) return
      failed.add(String(turn))
      throw overloaded()
    }
    const { handler, looked } = desk(10, asked)
    const agent = defineAgent('a', handler)
    const options = { agents: [agent], store: memoryStore(), limits: { maxSteps: 21, maxTokens: 132 }, stallAfter: 2, ...quick }
    for (let deploy = 1; deploy <= 10; deploy++) {
      let closing: Promise<void> | undefined
      const runner = createRunner({
        ...options,
        onEvent: ({ type, ...event }) => {
          if (type === 'step-finished' && 'kind' in event && event.kind === 'tool') closing ??= runner.close()
        },
      })
      expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'draining' }] })
      await closing
    }
    const runner = createRunner(options)
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'done' })
    expect(looked).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(requests).toEqual(Array.from({ length: 11 }, (_, turn) => [String(turn), String(turn)]).flat())
    expect(await runner.usage('r')).toMatchObject({ attempts: 11, steps: { model: 11, tool: 10 }, inputTokens: 77, outputTokens: 55 })
  })
  it('leave a request that each of them interrupted all of its tries', async () => {
    let hangs = true
    let failures = 0
    const model = testModel(() => {
      if (hangs) return new Promise<never>(() => {})
      if (failures++ === 0) throw overloaded()
      return { text: 'done' }
    })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'go' })).text)
    const options = { agents: [agent], store: memoryStore(), limits: { maxSteps: 1 }, drainMs: 0, ...quick }
    for (let deploy = 1; deploy <= 10; deploy++) {
      let closing: Promise<void> | undefined
      const runner = createRunner({
        ...options,
        onEvent: ({ type }) => {
          if (type === 'step-started') closing ??= runner.close()
        },
      })
      expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended' })
      await closing
    }
    hangs = false
    expect(await createRunner(options).run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'done' })
    expect(model.requests).toHaveLength(12)
  })
})
