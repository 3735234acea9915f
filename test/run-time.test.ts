/** The time of a run counts over its attempts and stands still in between; a deadline does not stand still (R11, R16; A10, B3, C25). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sleep } from '../src/core/clock.ts'
import { createRunner, currentRun, currentStep, defineAgent, HoldfastError, memoryStore, type Agent, type RunEvent, type RunLimits, type RunnerOptions, type Store } from '../src/index.ts'
import { manualClock, type ManualClock } from '../src/testing/index.ts'
import { mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const START = Date.UTC(2026, 10, 29, 12)
const HOUR = 3_600_000

type Ending = { readonly outcome: unknown } | { readonly error: HoldfastError }

/** Lets all go on that can at this time, and then moves the clock, in small steps: what a timer sets going happens at the time of the timer. */
async function pass(clock: ManualClock, ms: number, until: () => boolean = () => false): Promise<void> {
  for (let passed = 0; ; passed += 100) {
    for (let i = 0; i < 30 && !until(); i++) await clock.idle()
    if (passed >= ms || until()) return
    await clock.advance(100)
  }
}

/** How the call ends, and when, in ms since the beginning. */
async function ending(clock: ManualClock, call: Promise<unknown>): Promise<Ending & { readonly at: number }> {
  let ended: Ending | undefined
  void call.then((outcome) => (ended = { outcome }), (error: HoldfastError) => (ended = { error }))
  await pass(clock, 120_000, () => ended !== undefined)
  return ended ? { ...(ended as Ending), at: clock.now() - START } : expect.fail('it does not end')
}

/** A process that is killed where `entry` would be written, or after `ms`. */
async function killed(clock: ManualClock, store: Store, agent: Agent<unknown, unknown>, { ms, entry, limits }: { ms: number; entry?: RegExp; limits?: RunLimits }): Promise<void> {
  const dying = mortal(store)
  let isDead = false
  if (entry) void dying.killAt(entry).then(() => (isDead = true))
  createRunner({ agents: [agent], store: dying.store, clock, idleMs: 5 }).run(agent, {}, { runId: 'r', ...(limits && { limits }) }).catch(() => {})
  await pass(clock, ms, () => isDead)
  dying.kill()
  await clock.advance(HOUR)
}

function scene(handler: Agent<unknown, unknown>['handler'], options: Partial<RunnerOptions> = {}) {
  const clock = manualClock(START)
  const store = memoryStore()
  const events: RunEvent[] = []
  const agent = defineAgent('a', handler)
  const runner = createRunner({ agents: [agent], store, clock, idleMs: 5, replayHoldMs: 20, drainMs: 50, onEvent: (event) => events.push(event), ...options })
  return {
    clock, store, agent, runner, events,
    run: (limits?: RunLimits) => ending(clock, runner.run(agent, {}, { runId: 'r', ...(limits && { limits }) })),
    resume: (limits?: RunLimits) => ending(clock, runner.resume('r', limits && { limits })),
    limits: () => events.flatMap((event) => (event.type === 'limit-reached' ? [event] : [])),
  }
}

describe('the active time of a run', () => {
  /** Works for 4 s in each attempt, and asks to be stopped after it. */
  const shift = () => {
    const control = { stop: new AbortController() }
    const made = scene(async (run) => {
      for (let n = 1; n <= 9; n++) {
        await run.step(`shift ${n}`, { idempotent: true }, () => sleep(made.clock, 4_000))
        if (n === run.attempt) control.stop.abort(new Error('that is all for now'))
        await run.read(`pause ${n}`, () => n)
      }
    })
    const attempt = async (call: (signal: AbortSignal) => Promise<unknown>) => {
      control.stop = new AbortController()
      return ending(made.clock, call(control.stop.signal))
    }
    return { ...made, attempt }
  }

  it('adds up over its attempts; while it is suspended, it stands still', async () => {
    const { runner, agent, clock, attempt, limits } = shift()
    await attempt((signal) => runner.run(agent, {}, { runId: 'r', signal, limits: { runMs: 10_000 } }))
    expect(await runner.usage('r')).toMatchObject({ attempts: 1, activeMs: 4_000, steps: { step: 1 } })
    await clock.advance(HOUR)
    await attempt((signal) => runner.resume('r', { signal }))
    expect(await runner.usage('r')).toMatchObject({ attempts: 2, activeMs: 8_000, steps: { step: 2 } })
    await clock.advance(HOUR)
    const before = clock.now()
    const third = await attempt((signal) => runner.resume('r', { signal }))
    expect(third).toMatchObject({ error: { code: 'RUN_TIMEOUT', runId: 'r', message: expect.stringMatching(/was active for 10000 of 10000 ms .*limits: \{ runMs: 20000 \}/) } })
    expect(clock.now() - before).toBeLessThan(2_300)
    expect(limits()).toEqual([expect.objectContaining({ limit: 'runMs', used: 10_000, max: 10_000 })])
    expect(await runner.usage('r')).toMatchObject({ attempts: 3, activeMs: 10_000 })
  })

  it('that is used up stands against what is new, not against replay; more can be given', async () => {
    const { runner, agent, attempt } = shift()
    await attempt((signal) => runner.run(agent, {}, { runId: 'r', signal }))
    for (let i = 0; i < 3; i++) {
      expect(await attempt((signal) => runner.resume('r', { signal, limits: { runMs: 4_000 } }))).toMatchObject({ error: { code: 'RUN_TIMEOUT', usage: { activeMs: 4_000, steps: { step: 1 } } } })
    }
    await attempt((signal) => runner.resume('r', { signal, limits: { runMs: 60_000 } }))
    expect(await runner.usage('r')).toMatchObject({ attempts: 5, steps: { step: 5 }, activeMs: 20_000 })
  })

  it('that is used up lets a run complete whose steps are all recorded', async () => {
    const { clock, store, agent, runner } = scene(async (run) => run.step('work', { idempotent: true }, async () => (await sleep(clock, 1_000), 'done')))
    await killed(clock, store, agent, { ms: 1_000, entry: /"run-ended"/, limits: { runMs: 1_001 } })
    expect(await ending(clock, runner.resume('r', { limits: { runMs: 500 } }))).toMatchObject({ outcome: { status: 'completed', result: 'done' } })
  })

  it('that is used up lets a replay take its time as long as it gets on', async () => {
    const { clock, store, agent, runner } = scene(async (run) => {
      for (let n = 1; n <= 4; n++) {
        await run.step(`work ${n}`, { idempotent: true }, () => n)
        await sleep(clock, 3_000)
      }
      return 'done'
    })
    await killed(clock, store, agent, { ms: 20_000, entry: /"run-ended"/ })
    expect(await ending(clock, runner.resume('r', { limits: { runMs: 1_000 } }))).toMatchObject({ outcome: { status: 'completed', result: 'done' } })
  })

  it('that is used up lets what was done inside a composite tool replay', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'outer', input: {} }] } : { text: 'done' }))
    const outer = tool({ inputSchema: z.object({}), execute: async () => {
      await currentRun()!.step('one', () => sleep(clock, 2_000))
      return currentRun()!.step('two', () => sleep(clock, 2_000))
    } })
    const { clock, store, agent, resume, runner, events } = scene(async (run) =>
      (await generateText({ model: run.model(model), tools: run.tools({ outer }, { outer: { composite: true } }), prompt: 'go', stopWhen: stepCountIs(3) })).text)
    await killed(clock, store, agent, { ms: 3_000, entry: /"step-started".*"two"/ })
    for (const limits of [{ runMs: 2_000 }, { runMs: 60_000, deadline: START + 10_000 }]) {
      events.length = 0
      expect(await resume(limits)).toMatchObject({ error: { code: 'RUN_TIMEOUT', step: '0/c:x/1' } })
      expect(events.filter(({ type }) => type === 'step-replayed')).toMatchObject([{ step: '0' }, { step: '0/c:x/0' }])
    }
    await resume({ deadline: Infinity })
    expect(await runner.get('r')).toMatchObject({ status: 'completed' })
  })

  it('of an attempt that was killed counts until its last record', async () => {
    const { clock, store, agent, runner } = scene(async (run) => {
      await run.step('one', { idempotent: true }, () => sleep(clock, 3_000))
      await run.read('two', () => sleep(clock, 50_000))
    })
    await killed(clock, store, agent, { ms: 20_000 })
    expect(await runner.usage('r')).toMatchObject({ attempts: 1, activeMs: 3_000 })
    const { error } = (await ending(clock, runner.resume('r', { limits: { runMs: 13_000 } }))) as { error: HoldfastError }
    expect(error).toMatchObject({ code: 'RUN_TIMEOUT', usage: { attempts: 2, activeMs: 13_000 } })
  })

  it('does not run while an attempt only waits for somebody', async () => {
    const { store, clock, runner, agent, resume } = scene(async (run) => run.step('pay', () => sleep(clock, 10)), { timeouts: { runMs: 5_000 } })
    await killed(clock, store, agent, { ms: 1_000, entry: /"step-ended"/ })
    const { activeMs } = await runner.usage('r')
    for (let i = 0; i < 5; i++) expect(await resume()).toMatchObject({ outcome: { status: 'suspended' } })
    expect(await runner.usage('r')).toMatchObject({ attempts: 6, activeMs })
  })

  it('ends a handler that hangs while nothing new is done', async () => {
    const { run, resume, clock } = scene(async (run) => {
      await run.read('first', () => 1)
      if (run.attempt > 1) await new Promise(() => {})
      await run.step('work', { idempotent: true }, () => sleep(clock, 3_000))
    }, { timeouts: { runMs: 2_000 } })
    expect(await run()).toMatchObject({ error: { code: 'RUN_TIMEOUT' }, at: 2_000 })
    expect(await resume()).toMatchObject({ error: { code: 'RUN_TIMEOUT' } })
    expect(await resume({ runMs: 20_000 })).toMatchObject({ error: { code: 'RUN_TIMEOUT' } })
  })

  it('that ends while an effect is written ahead leaves nothing in doubt: its code was not called', async () => {
    const called: string[] = []
    let skew = 0
    const { clock, store, agent } = scene(async (run) => run.step('pay', () => called.push('pay')))
    // A store that blocks the process: the time passes, and no timer fires.
    const slow: Store = { ...store, append: async (runId, batch) => {
      if (skew === 0 && batch.entries.some(({ body }) => body.includes('"step-started"'))) skew = 5_000
      return store.append(runId, batch)
    } }
    const runner = createRunner({ agents: [agent], store: slow, clock: { ...clock, now: () => clock.now() + skew }, idleMs: 5 })
    expect(await ending(clock, runner.run(agent, {}, { runId: 'r', limits: { runMs: 4_000 } }))).toMatchObject({ error: { code: 'RUN_TIMEOUT', usage: { steps: { step: 0 } } } })
    expect(called).toEqual([])
    expect(await ending(clock, runner.resume('r', { limits: { runMs: 60_000 } }))).toMatchObject({ outcome: { status: 'completed', result: 1 } })
  })

  it.each(['caller gives up', 'time is over'])('leaves nothing in doubt where its %s right before the code of a step is called', async (how) => {
    let [paid, lost] = [0, 0]
    const stop = new AbortController()
    const inner = manualClock(START)
    const store = memoryStore()
    const agent = defineAgent('a', (run) => run.step('pay', () => ++paid))
    const onEvent = ({ type }: RunEvent): void => {
      if (type !== 'step-started') return
      if (how === 'time is over') lost = 5_000
      else stop.abort(new Error('user left'))
    }
    const runner = createRunner({ agents: [agent], store, clock: { ...inner, now: () => inner.now() + lost }, idleMs: 5, timeouts: { runMs: 4_000 }, onEvent })
    expect(await ending(inner, runner.run(agent, 1, { runId: 'r', signal: stop.signal }))).toMatchObject({ error: {} })
    expect(paid).toBe(0)
    const later = manualClock(START + HOUR)
    const { outcome } = (await ending(later, createRunner({ agents: [agent], store, clock: later, idleMs: 5 }).resume('r', { limits: { runMs: 60_000 } }))) as { outcome: unknown }
    expect(outcome).toEqual({ status: 'completed', result: 1 })
  })

  it.each([0, 1, 2, 3, 4, 5, 6])('that is over decides nothing about what it cuts, where the clock is put back a little when it was looked at %s times', async (looks) => {
    const inner = manualClock(START)
    let looked = 0
    const clock = { ...inner, now: () => (inner.now() < START + 1_000 || looked++ < looks ? inner.now() : inner.now() - 3) }
    const paid = Promise.withResolvers<string>()
    const agent = defineAgent('a', (run) => run.step('pay', () => paid.promise))
    const causes: string[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, idleMs: 5, drainMs: 50, timeouts: { runMs: 1_000 }, onEvent: (event) => event.type === 'step-in-doubt' && causes.push(event.cause) })
    expect(await ending(inner, runner.run(agent, 1, { runId: 'r' }))).toMatchObject({ error: { code: 'RUN_TIMEOUT' } })
    expect(causes).toEqual(['timeout'])
    paid.resolve('receipt')
    await inner.advance(1_000)
    expect(await ending(inner, runner.resume('r', { limits: { runMs: 60_000 } }))).toMatchObject({ outcome: { status: 'completed', result: 'receipt' } })
  })

  it('decides nothing about what it cuts: an effect is in doubt, a read is open', async () => {
    const { run, runner, clock, resume } = scene(async (run) => Promise.all([
      run.branch('a', () => run.step('pay', () => new Promise(() => {}))), run.branch('b', () => run.read('look', () => sleep(clock, 9_000))),
    ]))
    expect(await run({ runMs: 2_000 })).toMatchObject({ error: { code: 'RUN_TIMEOUT' } })
    const types = (await runner.history('r')).map(({ entry }) => entry.type)
    expect(types).toEqual(['run-created', 'attempt-started', 'step-started', 'run-ended', 'attempt-ended'])
    expect(await resume({ runMs: 60_000 })).toMatchObject({ outcome: { status: 'suspended', reasons: [{ type: 'in-doubt' }] } })
  })
})

describe('a tool', () => {
  const looking = (timeoutMs: number, clock: () => ManualClock) => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'x', tool: 'look', input: {} }] } : { text: 'done' }))
    const aborted: number[] = []
    const look = tool({ inputSchema: z.object({}), execute: () => new Promise<string>(() => {
      currentStep()!.signal.addEventListener('abort', () => aborted.push(clock().now() - START))
    }) })
    const handler: Agent<unknown, unknown>['handler'] = async (run) => {
      await run.step('before', { idempotent: true }, () => sleep(clock(), 8_000))
      return (await generateText({ model: run.model(model), tools: run.tools({ look }, { look: { readOnly: true, timeoutMs, retry: false } }), prompt: 'go', stopWhen: stepCountIs(3) })).text
    }
    return { handler, aborted }
  }

  it('that may take 30 s has 2 s where the run has 2 s left (B3)', async () => {
    const { handler, aborted } = looking(30_000, () => made.clock)
    const made = scene(handler)
    expect(await made.run({ runMs: 10_000 })).toMatchObject({ error: { code: 'RUN_TIMEOUT' }, at: 10_000 })
    expect(aborted).toEqual([10_000])
  })

  it('has what the attempts before it left (B3)', async () => {
    const { handler, aborted } = looking(30_000, () => made.clock)
    const made = scene(handler)
    const stop = new AbortController()
    const first = ending(made.clock, made.runner.run(made.agent, {}, { runId: 'r', signal: stop.signal, limits: { runMs: 10_000 } }))
    await pass(made.clock, 9_000, () => made.events.some((event) => event.type === 'step-started' && event.name === 'look'))
    stop.abort(new Error('stop'))
    expect(await first).toMatchObject({ at: 8_000 })
    await made.clock.advance(HOUR)
    expect(await made.resume()).toMatchObject({ error: { code: 'RUN_TIMEOUT' } })
    expect(aborted).toEqual([8_000, HOUR + 10_000])
  })

  it('has its own 2 s where the run has more, and that ends no run', async () => {
    const { handler, aborted } = looking(2_000, () => made.clock)
    const made = scene(handler)
    expect(await made.run({ runMs: 60_000 })).toMatchObject({ outcome: { status: 'completed', result: 'done' } })
    expect(aborted).toEqual([10_000])
  })
})

describe('a deadline', () => {
  it.each([['a Date', new Date(START + 5_000)], ['ms since the epoch', START + 5_000]])('as %s ends the run then, whatever runs', async (_what, deadline) => {
    const { run, limits, clock } = scene(async (run) => run.step('work', { idempotent: true }, () => sleep(clock, 60_000)))
    const { error, at } = (await run({ deadline })) as { error: HoldfastError; at: number }
    expect(error).toMatchObject({ code: 'RUN_TIMEOUT', message: expect.stringMatching(/its deadline was 2026-11-29T12:00:05\.000Z \(limits\.deadline\)/) })
    expect(at).toBe(5_000)
    expect(limits()).toEqual([expect.objectContaining({ limit: 'deadline', max: START + 5_000 })])
  })

  it('does not stand still while the run is suspended, stands for the run, and can be moved', async () => {
    let n = 0
    const { resume, clock, agent, runner } = scene(async (run) => {
      await run.read('first', () => ++n)
      if (run.attempt === 1) await new Promise(() => {})
      return run.read('second', () => ++n)
    })
    const stop = new AbortController()
    const first = ending(clock, runner.run(agent, {}, { runId: 'r', signal: stop.signal, limits: { deadline: START + HOUR } }))
    await pass(clock, 200)
    stop.abort(new Error('stop'))
    await first
    await clock.advance(2 * HOUR)
    expect(await resume()).toMatchObject({ error: { code: 'RUN_TIMEOUT' } })
    expect(n).toBe(1)
    expect(await resume({ deadline: clock.now() + HOUR })).toMatchObject({ outcome: { status: 'completed', result: 2 } })
  })

  it('fails a run that would have to wait beyond it, with the reason, in place of suspending it until then (A10)', async () => {
    const busy = Object.assign(new Error('slow down'), { statusCode: 429, responseHeaders: { 'retry-after': '3600' } })
    const { run, runner } = scene(async (run) => run.read('ask', () => Promise.reject(busy)))
    const { error } = (await run({ deadline: START + 600_000 })) as { error: HoldfastError }
    expect(error).toMatchObject({ code: 'RUN_TIMEOUT', step: '0', cause: { message: 'slow down' } })
    expect(await runner.get('r')).toMatchObject({ status: 'failed', resumeAt: null })
  })

  it('that is far enough away lets it wait', async () => {
    const busy = Object.assign(new Error('slow down'), { statusCode: 429, responseHeaders: { 'retry-after': '3600' } })
    const { run } = scene(async (run) => run.read('ask', () => Promise.reject(busy)))
    expect(await run({ deadline: START + 2 * HOUR })).toMatchObject({ outcome: { status: 'suspended', resumeAt: START + HOUR } })
  })
})
