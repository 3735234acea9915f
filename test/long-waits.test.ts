/** Waits that are longer than what is waited in the process, or than the run has time (R10, R11; A10). */
import { generateText, streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import { classifyError, createRunner, defineAgent, memoryStore, type Agent, type CallOptions, type RunEvent, type RunnerOptions, type Store } from '../src/index.ts'
import { sleep } from '../src/core/clock.ts'
import { writeMessage } from '../src/journal/message.ts'
import { manualClock } from '../src/testing/index.ts'
import { testModel } from './support/model.ts'
import { endParts, streamingModel, textParts, type Piece } from './support/streaming.ts'
import { during, failureOf } from './support/time.ts'

const START = Date.UTC(2026, 10, 29, 12)
const HOUR = 3_600_000

const slowDown = (seconds: number) => Object.assign(new Error('slow down'), { statusCode: 429, responseHeaders: { 'retry-after': String(seconds) } })

function scene(handler: Agent<unknown, unknown>['handler'], options: Partial<RunnerOptions> = {}) {
  const clock = manualClock(START)
  const store = memoryStore()
  const events: RunEvent[] = []
  const agent = defineAgent('a', handler)
  const runner = createRunner({ agents: [agent], store, clock, idleMs: 5, replayHoldMs: 20, drainMs: 50, onEvent: (event) => events.push(event), ...options })
  const call = (more: CallOptions = {}) => runner.run(agent, {}, { runId: 'r', ...more })
  return {
    clock, store, runner, agent, events,
    run: (more?: CallOptions) => during(clock, call(more)),
    failure: (more?: CallOptions) => failureOf(clock, call(more)),
    resume: (more?: CallOptions) => during(clock, runner.resume('r', more)),
  }
}

const LOOPS = ['generateText', 'streamText'] as const

/** Asks a model that is told to wait the first time. */
function asking(loop: (typeof LOOPS)[number], seconds: number, retry?: RunnerOptions['retry']) {
  const asked: number[] = []
  const clock = { now: () => 0 }
  const model = testModel(() => {
    asked.push(clock.now())
    if (asked.length === 1) throw slowDown(seconds)
    return { text: 'fine' }
  })
  const handler: Agent<unknown, unknown>['handler'] = async (run) => {
    const request = { model: run.model(model, retry === undefined ? {} : { retry }), prompt: 'x', maxRetries: 0 } as const
    return loop === 'generateText' ? (await generateText(request)).text : streamText(request).text
  }
  return { asked, handler, clock }
}

describe.each(LOOPS)('a hint longer than what is waited in the process, in %s', (loop) => {
  it('suspends a run with a store until then, and no earlier is it asked again (A10)', async () => {
    const { asked, handler, clock: told } = asking(loop, 3_600)
    const { clock, run, resume } = scene(handler)
    told.now = clock.now
    expect(await run()).toMatchObject({ status: 'suspended', resumeAt: START + HOUR, reasons: [{ type: 'retry-after', step: '0', tries: 1 }] })
    await clock.advance(HOUR / 2)
    expect(await resume()).toMatchObject({ status: 'suspended', resumeAt: START + HOUR })
    await clock.advance(HOUR / 2)
    expect(await resume()).toEqual({ status: 'completed', result: 'fine' })
    expect(asked).toHaveLength(2)
    expect(asked[1]).toBeGreaterThanOrEqual(START + HOUR)
  })

  it('fails a run that is resumed with a deadline before then', async () => {
    const { asked, handler } = asking(loop, 3_600)
    const { clock, run, runner } = scene(handler)
    await run()
    expect(await failureOf(clock, runner.resume('r', { limits: { deadline: START + HOUR / 2 } }))).toMatchObject({ code: 'RUN_TIMEOUT' })
    expect(asked).toHaveLength(1)
  })

  it('fails a run that no store keeps, with the time and the hint in the error', async () => {
    const { asked, handler } = asking(loop, 3_600)
    const clock = manualClock(START)
    const agent = defineAgent('a', handler)
    const error = await failureOf(clock, createRunner({ agents: [agent], retry: {}, clock }).run(agent, {}))
    expect(error).toMatchObject({
      code: 'STEP_FAILED', advice: expect.stringContaining('2026-11-29T13:00:00.000Z'), message: expect.stringContaining('It may be tried again at 2026-11-29T13:00:00.000Z'),
    })
    expect(classifyError((error as Error).cause)).toMatchObject({ category: 'rate_limit', retryAfterMs: HOUR })
    expect(asked).toHaveLength(1)
  })

  it('fails the step where the policy says so, and the run may go on without it', async () => {
    const { asked, handler } = asking(loop, 3_600)
    const { run } = scene(async (run, input) => Promise.resolve(handler(run, input)).catch((error: unknown) => `without: ${(error as { code: string }).code}`), { retry: { onLongWait: 'fail' } })
    expect(await run()).toEqual({ status: 'completed', result: 'without: STEP_FAILED' })
    expect(asked).toHaveLength(1)
  })

  it('is waited for in the process where the model may wait longer', async () => {
    const { asked, handler } = asking(loop, 90, { inlineWaitMs: 100_000 })
    const { run } = scene(handler)
    expect(await run()).toEqual({ status: 'completed', result: 'fine' })
    expect(asked).toHaveLength(2)
  })
})

describe.each(LOOPS)('a hint longer than the active time that a run has left, in %s', (loop) => {
  it('suspends the run until then: its time stands still (A10)', async () => {
    const { asked, handler } = asking(loop, 30)
    const { clock, run, resume, runner } = scene(handler)
    expect(await run({ limits: { runMs: 10_000 } })).toMatchObject({ status: 'suspended', resumeAt: START + 30_000, reasons: [{ type: 'retry-after' }] })
    // Too early: it waits on, also where nothing new was done yet.
    expect(await resume()).toMatchObject({ status: 'suspended', resumeAt: START + 30_000 })
    await clock.advance(30_000)
    expect(await resume()).toEqual({ status: 'completed', result: 'fine' })
    expect(asked).toHaveLength(2)
    expect((await runner.usage('r')).activeMs).toBeLessThan(10_000)
  })

  it('fails the step where nothing may suspend: by policy, and without a store', async () => {
    const { handler } = asking(loop, 30)
    const { failure } = scene(handler, { retry: { onLongWait: 'fail' } })
    expect(await failure({ limits: { runMs: 10_000 } })).toMatchObject({ code: 'STEP_FAILED' })
    const clock = manualClock(START)
    const agent = defineAgent('a', asking(loop, 30).handler)
    expect(await failureOf(clock, createRunner({ agents: [agent], clock, timeouts: { runMs: 10_000 } }).run(agent, {}))).toMatchObject({ code: 'STEP_FAILED' })
  })

  it('fails the step where it lies behind the deadline, which does not stand still', async () => {
    const { handler } = asking(loop, 30)
    const { run } = scene(async (run, input) => Promise.resolve(handler(run, input)).catch((error: unknown) => `without: ${(error as Error).message}`))
    expect(await run({ limits: { runMs: 10_000, deadline: START + 20_000 } })).toEqual({
      status: 'completed', result: expect.stringContaining('failed after 1 try: slow down. It may be tried again at 2026-11-29T12:00:30.000Z, when the time of the run is over'),
    })
  })
})

describe('a stream that breaks after parts of it, with a long hint', () => {
  const broken = (seconds: number) => (n: number): readonly Piece[] => (n === 1 ? [...textParts('He', 'l'), { type: 'error', error: slowDown(seconds) }] : [...textParts('Hel', 'lo'), ...endParts])
  const streams = (seconds: number) => {
    const model = streamingModel(broken(seconds))
    const handler: Agent<unknown, unknown>['handler'] = async (run) => streamText({ model: run.model(model), prompt: 'x', onError: () => {} }).text
    return { model, handler }
  }

  it('suspends the run until then, and no text is joined', async () => {
    const { model, handler } = streams(3_600)
    const { run, resume, clock, events } = scene(handler)
    expect(await run()).toMatchObject({ status: 'suspended', resumeAt: START + HOUR, reasons: [{ type: 'retry-after', step: '0', tries: 1, message: expect.stringContaining('2026-11-29T13:00:00.000Z') }] })
    expect(events.map(({ type }) => type)).toEqual(['run-started', 'step-started', 'step-reset', 'attempt-ended', 'run-suspended'])
    expect(await resume()).toMatchObject({ status: 'suspended' })
    await clock.advance(HOUR)
    expect(await resume()).toEqual({ status: 'completed', result: 'Hello' })
    expect(model.requests).toHaveLength(2)
  })

  it('suspends it too where the hint is longer than the active time that is left', async () => {
    const { handler } = streams(30)
    const { run, resume, clock } = scene(handler)
    expect(await run({ limits: { runMs: 10_000 } })).toMatchObject({ status: 'suspended', resumeAt: START + 30_000 })
    await clock.advance(30_000)
    expect(await resume()).toEqual({ status: 'completed', result: 'Hello' })
  })

  it('fails where nothing suspends, and where it lies behind the deadline; never is the partial text a success', async () => {
    for (const [options, call, code] of [[{ retry: { onLongWait: 'fail' } }, {}, 'STEP_FAILED'], [{}, { limits: { deadline: START + HOUR / 2 } }, 'RUN_TIMEOUT']] as const) {
      const { model, handler } = streams(3_600)
      const { failure } = scene(handler, options)
      expect(await failure(call)).toMatchObject({ code })
      expect(model.requests).toHaveLength(1)
    }
    const clock = manualClock(START)
    const agent = defineAgent('a', streams(3_600).handler)
    expect(await failureOf(clock, createRunner({ agents: [agent], clock, retry: {} }).run(agent, {}))).toMatchObject({ code: 'STEP_FAILED', message: expect.stringContaining('13:00:00') })
  })

  it('lets what runs beside it end first', async () => {
    const paying = Promise.withResolvers<void>()
    const model = streamingModel((n) => [{ type: 'pause', until: paying.promise }, ...broken(3_600)(n)])
    const made: ReturnType<typeof scene> = scene(async (run) => Promise.all([
      run.branch('a', async () => streamText({ model: run.model(model), prompt: 'x', onError: () => {} }).text),
      run.branch('b', () => run.step('pay', async () => (paying.resolve(), await sleep(made.clock, 700), 'paid'))),
    ]))
    expect(await made.run()).toMatchObject({ status: 'suspended' })
    const types = (await made.runner.history('r')).map(({ entry }) => entry.type)
    expect(types.slice(-3)).toEqual(['step-ended', 'suspended', 'attempt-ended'])
    await made.clock.advance(HOUR)
    expect(await made.resume()).toEqual({ status: 'completed', result: ['Hello', 'paid'] })
    expect(made.events.filter((event) => event.type === 'step-in-doubt')).toEqual([])
  })
})

describe('a message that comes in while the run suspends for a wait', () => {
  it.each(LOOPS)('drives it again, and it is asked no earlier for that, in %s', async (loop) => {
    const { asked, handler } = asking(loop, 3_600)
    const { clock, store, agent } = scene(handler)
    let sent = false
    const busy: Store = {
      ...store,
      append: async (runId, batch) => {
        if (!sent && batch.entries.some(({ body }) => body.includes('"suspended"'))) {
          sent = true
          await store.send(runId, { question: null, body: writeMessage(runId, { type: 'late-result', step: 'nobody', settlement: { type: 'not-done' } }), now: clock.now() })
        }
        return store.append(runId, batch)
      },
    }
    const outcome = await during(clock, createRunner({ agents: [agent], store: busy, clock, idleMs: 5 }).run(agent, {}, { runId: 'r' }))
    expect(sent).toBe(true)
    expect(outcome).toMatchObject({ status: 'suspended', resumeAt: START + HOUR })
    expect(asked).toHaveLength(1)
  })
})
