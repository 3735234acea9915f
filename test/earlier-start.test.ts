/** What comes late of one start of a step with effects says nothing of the next one, which may have taken effect (R6). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Outcome, type Reconciled, type Run, type Runner, type Store } from '../src/index.ts'
import { manualClock } from '../src/testing/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { during } from './support/time.ts'
import { waitingIn } from './support/waiting.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

const notFound = (): Error => Object.assign(new Error('no such order'), { statusCode: 404 })

/** A payment whose first call is left by its caller, and whose second, which somebody let run, is left in doubt. */
async function startedTwice() {
  const calls: PromiseWithResolvers<string>[] = []
  let stop = (): void => {}
  const agent = defineAgent('a', (run) => run.step('pay', { key: 'ada', input: 7 }, () => {
    const call = Promise.withResolvers<string>()
    calls.push(call)
    stop()
    return call.promise
  }))
  const store = memoryStore()
  const runner = createRunner({ agents: [agent], store, ...quick })
  const stopped = async (drive: (signal: AbortSignal) => Promise<Outcome>): Promise<void> => {
    const controller = new AbortController()
    stop = () => controller.abort(new Error('user left'))
    await expect(drive(controller.signal)).rejects.toThrow('user left')
  }
  await stopped((signal) => runner.run(agent, 1, { runId: 'r', signal }))
  expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
  await runner.resolve('r', STEP, 'rerun')
  await stopped((signal) => runner.resume('r', { signal }))
  const told = async (): Promise<void> => void (await expect.poll(async () => (await store.get('r'))!.inboxSeq).toBe(2))
  return { calls, runner, told }
}

const STEP = 's:pay:ada#0'

const asks = async (runner: Runner): Promise<void> => void expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: [STEP] }] })

describe('a payment that was started twice, and is in doubt', () => {
  it('is not made a third time because the first call comes to nothing', async () => {
    const { calls, runner, told } = await startedTwice()
    calls[0]!.reject(notFound())
    await told()
    for (let i = 0; i < 2; i++) await asks(runner)
    expect(calls).toHaveLength(2)
  })

  it('can be decided about although the end of the first call has not been read yet', async () => {
    const { calls, runner, told } = await startedTwice()
    calls[0]!.reject(notFound())
    await told()
    expect(await runner.resolve('r', STEP, { result: 'by hand' }, { resume: true })).toEqual({ status: 'completed', result: 'by hand' })
    expect(calls).toHaveLength(2)
  })

  it('is answered with the receipt of the first call, which asked for the same', async () => {
    const { calls, runner, told } = await startedTwice()
    calls[0]!.resolve('receipt')
    await told()
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'receipt' })
    expect(calls).toHaveLength(2)
  })
})

describe('a payment that took effect after all, when the one that somebody let run in its place was refused', () => {
  const refused = (): Error => Object.assign(new Error('card busy'), { statusCode: 409 })

  /** What the run gives, when the end of the first call has come and the second was refused. `ask` is how the agent pays. */
  async function given(ask: (run: Run, pay: () => Promise<string>) => Promise<unknown>, drivenAgain = false, warnings: string[] = []) {
    const calls: PromiseWithResolvers<string>[] = []
    const isCalled = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const agent = defineAgent('a', (run) => ask(run, () => {
      const call = Promise.withResolvers<string>()
      isCalled[calls.push(call) - 1]?.resolve()
      return calls.length < 3 ? call.promise : Promise.resolve('receipt of the third')
    }))
    const store = memoryStore()
    const runner = createRunner({ agents: [agent], store, ...quick, onEvent: (event) => event.type === 'warning' && warnings.push(event.message) })
    const controller = new AbortController()
    const first = runner.run(agent, 1, { runId: 'r', signal: controller.signal })
    await isCalled[0]!.promise
    controller.abort(new Error('user left'))
    await expect(first).rejects.toThrow('user left')
    await runner.resolve('r', waitingIn(await runner.resume('r')), 'rerun')
    const again = runner.resume('r')
    await isCalled[1]!.promise
    calls[0]!.resolve('receipt of the first')
    await expect.poll(async () => (await store.get('r'))!.inboxSeq).toBe(2)
    calls[1]!.reject(refused())
    if (drivenAgain) await expect(again).rejects.toThrow('card busy')
    return { outcome: await (drivenAgain ? runner.resume('r') : again), calls: calls.length }
  }

  const asked = (run: Run, pay: () => Promise<string>): Promise<string> => run.step('pay', { key: 'ada', input: 7 }, pay)

  it.each(['rerun', 'policy'] as const)('is not made a second time, by a decision or its policy, where it has told meanwhile: %s', async (how) => {
    const calls: PromiseWithResolvers<string>[] = []
    const [isCalled, isRead, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const agent = defineAgent('a', async (run) => {
      if (run.attempt > 1) await run.branch('b', () => run.read('price', () => (isRead.resolve(), goOn.promise.then(() => 80))))
      return run.step('pay', { key: 'ada', input: 7 }, () => {
        const call = Promise.withResolvers<string>()
        calls.push(call)
        isCalled.resolve()
        return calls.length < 2 ? call.promise : Promise.resolve('receipt of the second')
      })
    })
    const store = memoryStore()
    const runner = createRunner({ agents: [agent], store, ...quick, ...(how === 'policy' && { onIncompleteTool: 'rerun' as const }) })
    const controller = new AbortController()
    const first = runner.run(agent, 1, { runId: 'r', signal: controller.signal })
    await isCalled.promise
    controller.abort(new Error('user left'))
    await expect(first).rejects.toThrow('user left')
    if (how === 'rerun') await runner.resolve('r', STEP, 'rerun')
    const again = runner.resume('r')
    await isRead.promise
    calls[0]!.resolve('receipt of the first')
    await expect.poll(async () => (await store.get('r'))!.inboxSeq).toBe(how === 'rerun' ? 2 : 1)
    goOn.resolve()
    expect(await again).toEqual({ status: 'completed', result: 'receipt of the first' })
    expect(calls).toHaveLength(1)
  })

  it('is not made a third time by a handler that asks again', async () => {
    expect(await given((run, pay) => asked(run, pay).catch(() => asked(run, pay)))).toEqual({ outcome: { status: 'completed', result: 'receipt of the first' }, calls: 2 })
  })

  it('is named where nobody asks again: the run would end with the refusal alone', async () => {
    const warnings: string[] = []
    const ended = await given((run, pay) => asked(run, pay).catch(() => 'the customer was told: refused'), false, warnings)
    expect(ended).toEqual({ outcome: { status: 'completed', result: 'the customer was told: refused' }, calls: 2 })
    expect(warnings).toEqual([expect.stringMatching(/^the run ended without what it had started before: step "pay" \(s:pay:ada#0\), which was done$/)])
  })

  it('is not made a third time where that failed the run, which is driven again', async () => {
    expect(await given(asked, true)).toEqual({ outcome: { status: 'completed', result: 'receipt of the first' }, calls: 2 })
  })

  it('is not made a third time by a model that asks under another id', async () => {
    const model = testModel((turn) => (turn < 3 ? { calls: [{ id: `c${turn}`, tool: 'pay', input: {} }] } : { text: 'done' }))
    const pays = async (run: Run, pay: () => Promise<string>): Promise<unknown> => {
      const tools = run.tools({ pay: tool({ inputSchema: z.object({}), execute: pay }) })
      const { steps } = await generateText({ model: run.model(model), tools, prompt: 'Pay', stopWhen: stepCountIs(5) })
      return steps.flatMap((step) => step.toolResults.map(({ output }) => output))
    }
    // It gives up its first call by itself, and asks again.
    const calls: PromiseWithResolvers<string>[] = []
    const isCalled = Promise.withResolvers<void>()
    const clock = manualClock(1_000_000)
    const agent = defineAgent('a', (run) => pays(run, () => {
      const call = Promise.withResolvers<string>()
      if (calls.push(call) === 2) isCalled.resolve()
      return calls.length < 3 ? call.promise : Promise.resolve('receipt of the third')
    }))
    const store = memoryStore()
    const runner = createRunner({ agents: [agent], store, ...quick, clock, timeouts: { toolMs: 1_000 } })
    await during(clock, runner.run(agent, 1, { runId: 'r' }))
    await runner.resolve('r', '1/c:c1', 'rerun')
    const again = runner.resume('r')
    await isCalled.promise
    calls[0]!.resolve('receipt of the first')
    await expect.poll(async () => (await store.get('r'))!.inboxSeq).toBe(2)
    calls[1]!.reject(refused())
    expect(await during(clock, again)).toEqual({ status: 'completed', result: ['receipt of the first'] })
    expect(calls).toHaveLength(2)
  })
})

it('what a process was told of a payment says nothing of the next start of it, which another process has made since', async () => {
  const store = memoryStore()
  const paid: string[] = []
  let asked = 0
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: {} }] } : { text: 'done' }))
  const agent = defineAgent('a', async (run) => {
    const pay = tool({ inputSchema: z.object({}), execute: async () => `receipt ${paid.push('paid')}` })
    const reconcile = async (): Promise<Reconciled<string>> => (asked++, paid.length === 0 ? { status: 'not-done' } : { status: 'completed', output: 'receipt 1' })
    const tools = run.tools({ pay }, { pay: { reconcile, settleAfterMs: 0 } })
    return (await generateText({ model: run.model(model), tools, prompt: 'Pay', stopWhen: stepCountIs(3) })).steps[0]!.toolResults[0]?.output
  })
  const runnerOf = (over: Store, hours: number): Runner => createRunner({ agents: [agent], store: over, clock: later(hours * 3_600_000), ...quick })
  const killed = async (entry: RegExp, when: 'before' | 'after', hours: number): Promise<void> => {
    const dying = mortal(store)
    const died = dying.killAt(entry, when)
    void runnerOf(dying.store, hours).run(agent, 1, { runId: 'r' })
    await died
  }
  await killed(/"step-started".*"name":"pay"/, 'after', 0)
  expect(paid).toEqual([])
  // It stands still when it has been told, until another one has paid, and was killed.
  const late = new Proxy(store, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        if (property === 'append' && (args[1] as { entries: { body: string }[] }).entries.some(({ body }) => body.includes('"settled"'))) await killed(/"step-ended".*"name":"pay"/, 'before', 2)
        return (value as (...a: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  await expect(runnerOf(late, 1).resume('r')).rejects.toMatchObject({ code: 'LEASE_LOST' })
  await expect.poll(async () => (await store.get('r'))!.inboxSeq).toBe(1)
  expect([paid, asked]).toEqual([['paid'], 2])
  expect(await runnerOf(store, 3).resume('r')).toEqual({ status: 'completed', result: 'receipt 1' })
  expect([paid, asked]).toEqual([['paid'], 3])
})
