/** A store that refuses a record: what goes on with a warning, and what may not (R2, R3; C17). */
import { generateText, isStepCount, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunEvent, type RunnerOptions, type ToolPolicy } from '../../src/index.ts'
import { sleep } from '../../src/core/clock.ts'
import { manualClock } from '../../src/testing/index.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel } from '../support/model.ts'
import { refusing } from '../support/refusing-store.ts'
import { during } from '../support/time.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

function scene(refuse: RegExp, handler: (run: Run) => Promise<unknown>, options: Partial<RunnerOptions> = {}) {
  const state = refusing(memoryStore(), refuse)
  const events: RunEvent[] = []
  const agent = defineAgent('a', handler)
  const runner = createRunner({ agents: [agent], store: state.store, ...quick, ...options, onEvent: (e) => events.push(e) })
  const summaries = () => events.flatMap((e) => (e.type === 'attempt-ended' ? [e.summary] : []))
  return { state, events, agent, runner, summaries, warnings: () => events.flatMap((e) => (e.type === 'warning' ? [e.code] : [])) }
}

describe('a record that the store refuses (C17)', () => {
  it('of a step without effects: a warning, live on resume, the steps after it replay, and the summary names it', async () => {
    const reads: string[] = []
    const fail = failingOnce()
    const { state, runner, agent, warnings, summaries } = scene(/"step-ended".*"name":"two"/, async (run) => {
      for (const name of ['one', 'two']) await run.read(name, () => reads.push(name))
      await run.read('three', { input: 3 }, () => reads.push('three'))
      const paid = await run.step('pay', { input: 'order 7' }, () => reads.push('pay'))
      fail()
      return paid
    })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(warnings()).toEqual(['NOT_RECORDED'])
    state.refuse = undefined
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(reads).toEqual(['one', 'two', 'three', 'pay', 'two'])
    expect(summaries()).toEqual([
      { replayed: {}, recorded: { read: 2, step: 1 }, unrecorded: ['1'] },
      { replayed: { read: 2, step: 1 }, recorded: { read: 1 }, unrecorded: [] },
    ])
  })

  it('of a step that holds others: what was asked for behind it did not overlap it, so a loop that asks for something else diverges, and its effects are asked about', async () => {
    const mailed: unknown[] = []
    const fail = failingOnce()
    let day = 'Monday'
    const model = testModel((turn, { prompt }) => (turn === 0 ? { calls: [{ id: 'c', tool: 'mail', input: { to: `a reader of ${JSON.stringify(prompt).includes('Monday') ? 'Monday' : 'Tuesday'}` } }] } : { text: 'mailed' }))
    const { state, runner, agent, warnings } = scene(/"step-ended".*"name":"load"/, async (run) => {
      await run.step('load', { idempotent: true }, () => run.read('inside', () => 1))
      const tools: ToolSet = run.tools({ mail: tool({ inputSchema: z.object({ to: z.string() }), execute: async (input) => mailed.push(input) }) })
      await generateText({ model: run.model(model), tools, prompt: `It is ${day}`, stopWhen: isStepCount(3) })
      fail()
    })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(warnings()).toEqual(['NOT_RECORDED'])
    state.refuse = undefined
    day = 'Tuesday'
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'mail' }] })
    expect(mailed).toHaveLength(1)
  })

  it.each<[string, (inner: Promise<string>) => Promise<unknown>]>([
    ['timed out', (inner) => inner],
    ['threw', () => Promise.reject(new Error('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }))],
  ])('of a try that %s: it is not even written where the next one has its record (C20)', async (_, firstTry) => {
    const clock = manualClock(1_000_000)
    const first = Promise.withResolvers<string>()
    let tries = 0
    const { state, runner, agent, warnings, summaries } = scene(/"step-ended".*"the first"/, (run) => run.read('outer', { timeoutMs: 1_000, retry: { backoff: { baseMs: 1, jitter: 'none' } } }, async () => {
      const isFirst = ++tries === 1
      const inner = run.read('inner', { timeoutMs: 60_000 }, () => (isFirst ? first.promise : 'the second'))
      if (isFirst) await firstTry(inner)
      const told = await inner
      first.resolve('the first')
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
      return told
    }), { clock })
    expect(await during(clock, runner.run(agent, {}, { runId: 'r' }))).toEqual({ status: 'completed', result: 'the second' })
    expect([tries, state.refused, warnings(), summaries()]).toEqual([2, 0, [], [{ replayed: {}, recorded: { read: 2 }, unrecorded: [] }]])
  })

  it('of an idempotent tool: its result is used, it runs again on resume with the same arguments', async () => {
    let looks = 0
    const fail = failingOnce()
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'seen' }))
    const { state, runner, agent, warnings, summaries } = scene(/"step-ended".*"kind":"tool"/, async (run) => {
      const tools = run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => (looks++, 'same') }) }, { look: { readOnly: true } })
      const { text } = await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) })
      fail()
      return text
    })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    state.refuse = undefined
    expect(await runner.resume('r')).toMatchObject({ result: 'seen' })
    expect([looks, model.requests.length]).toEqual([2, 2])
    expect(warnings()).toEqual(['NOT_RECORDED'])
    expect(summaries()[0]!.unrecorded).toEqual(['0/c:c'])
    expect(summaries()[1]).toEqual({ replayed: { model: 2 }, recorded: { tool: 1 }, unrecorded: [] })
  })

  it.each(['generateText', 'streamText'] as const)('of a model response, with %s: what is idempotent runs, none of its tools with effects does, and the run waits for the store', async (mode) => {
    const done: string[] = []
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'a', tool: 'look', input: {} }, { id: 'b', tool: 'pay', input: {} }] } : { text: 'paid' }))
    const policies: Readonly<Record<string, ToolPolicy<never, unknown>>> = { look: { readOnly: true } }
    const { state, runner, agent, warnings } = scene(/"step-ended".*"kind":"model"/, async (run) => {
      const note = (name: string) => tool({ inputSchema: z.object({}), execute: async () => (done.push(name), name) })
      const tools: ToolSet = run.tools({ look: note('look'), pay: note('pay') }, policies)
      const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) }
      return mode === 'generateText' ? (await generateText(options)).text : streamText(options).text
    })
    const outcome = await runner.run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'not-recorded', step: '0/c:b' }] })
    expect(done).toEqual(['look'])
    expect(warnings()).toEqual(['NOT_RECORDED'])
    state.refuse = undefined
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'paid' })
    expect(done.filter((name) => name === 'pay')).toEqual(['pay'])
  })

  it('of a response without effects behind it: a text is used, with a warning, and asked for again on resume', async () => {
    const fail = failingOnce()
    const model = testModel(() => ({ text: 'x' }))
    const { state, runner, agent, warnings, summaries } = scene(/"step-ended".*"kind":"model"/, async (run) => {
      const { text } = await generateText({ model: run.model(model), prompt: 'x' })
      fail()
      return text
    })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(summaries()[0]!.unrecorded).toEqual(['0'])
    state.refuse = undefined
    expect(await runner.resume('r')).toMatchObject({ result: 'x' })
    expect(model.requests).toHaveLength(2)
    expect(warnings()).toEqual(['NOT_RECORDED'])
  })

  it('before a step with effects: its code is not called, the run waits and goes on when the store takes it', async () => {
    let paid = 0
    const { state, runner, agent } = scene(/"step-started"/, async (run) => run.step('pay', () => ++paid))
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'not-recorded', step: '0', message: expect.stringMatching(/"pay" was not started: no space left/) }] })
    expect(paid).toBe(0)
    state.refuse = undefined
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 1 })
  })

  it('after a step with effects: its result is not used, and is told by the inbox: on resume nobody is asked', async () => {
    let paid = 0
    const { state, runner, agent } = scene(/"step-ended"/, async (run) => run.step('pay', () => ++paid))
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'not-recorded', step: '0', message: expect.stringMatching(/"pay" ended, but the store refused its record/) }] })
    state.refuse = undefined
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 1 })
    expect(paid).toBe(1)
  })

  it('after a step with effects, where the inbox refuses it too: its result is not used, and on resume it is in doubt, not repeated', async () => {
    let paid = 0
    const clock = manualClock(1_000_000)
    const { state, runner, agent } = scene(/"step-ended"/, async (run) => run.step('pay', () => ++paid), { clock })
    const send = state.store.send
    state.store.send = () => Promise.reject(new Error('no space left'))
    expect(await during(clock, runner.run(agent, {}, { runId: 'r' }))).toMatchObject({ status: 'suspended', reasons: [{ type: 'not-recorded', step: '0', message: expect.stringMatching(/"pay" ended, but the store refused its record/) }] })
    state.refuse = undefined
    state.store.send = send
    expect(await during(clock, runner.resume('r'))).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0' }] })
    expect(await during(clock, runner.resolve('r', '0', { result: 1 }, { resume: true }))).toEqual({ status: 'completed', result: 1 })
    expect(paid).toBe(1)
  })

  it('of a late result is sent again', async () => {
    const clock = manualClock(1_000_000)
    let paid = 0
    const { state, runner, agent } = scene(/^$/, (run) => {
      const pay = (): Promise<string> => run.step('pay', { key: 'k', timeoutMs: 100 }, () => (paid++, sleep(clock, 1_000).then(() => 'receipt')))
      return pay().catch(pay)
    }, { clock })
    const send = state.store.send
    state.store.send = () => {
      state.store.send = send
      return Promise.reject(new Error('no space left'))
    }
    expect(await during(clock, runner.run(agent, {}, { runId: 'r' }))).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    for (let passed = 0; passed < 3; passed++) await clock.advance(1_000)
    expect(await during(clock, runner.resume('r'))).toEqual({ status: 'completed', result: 'receipt' })
    expect(paid).toBe(1)
  })

  it('of a late result that comes while the run is driven: it is told by the inbox, and nobody is asked', async () => {
    const clock = manualClock(1_000_000)
    let paid = 0
    const { state, runner, agent, warnings } = scene(/"settled"/, (run) => {
      const pay = (): Promise<string> => run.step('pay', { key: 'k', timeoutMs: 100 }, () => (paid++, sleep(clock, 1_000).then(() => 'receipt')))
      return pay().catch(() => run.read('wait', () => sleep(clock, 5_000)).then(() => {
        state.refuse = undefined
        return pay()
      }))
    }, { clock })
    expect(await during(clock, runner.run(agent, {}, { runId: 'r' }))).toEqual({ status: 'completed', result: 'receipt' })
    expect([paid, state.refused, warnings()]).toEqual([1, 1, ['NOT_RECORDED']])
  })

  it('of a warning or a configuration change: the run goes on', async () => {
    const settings = { system: 'be kind' }
    const fail = failingOnce()
    const model = testModel(() => ({ text: 'x' }))
    const { state, runner, agent } = scene(/^$/, async (run) => {
      const { text } = await generateText({ model: run.model(model), instructions: settings.system, prompt: 'x' })
      fail()
      return text
    })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    settings.system = 'be brief'
    state.refuse = /"config-changed"/
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'x' })
    expect(model.requests).toHaveLength(1)
  })

  it('of a divergence: nothing with effects starts after it, and nothing that follows from it is recorded', async () => {
    let prompt = 'one'
    let paid = 0
    const fail = failingOnce()
    const model = testModel(() => ({ text: 'x' }))
    const { state, runner, agent } = scene(/^$/, async (run) => {
      await generateText({ model: run.model(model), prompt })
      fail()
      await run.step('pay', () => ++paid)
    })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    prompt = 'two'
    state.refuse = /"superseded"/
    const before = await runner.history('r')
    await expect(runner.resume('r')).rejects.toThrow(/no space/)
    expect([paid, (await runner.history('r')).slice(before.length).map(({ entry }) => entry.type)]).toEqual([0, ['attempt-started']])
    state.refuse = undefined
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(paid).toBe(1)
  })
})
