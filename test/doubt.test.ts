/** A step with effects that was started, and nobody knows whether it took effect (R6; C1-C5, C14, C20, C27, C28). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, memoryStore, type RunEvent, type RunnerOptions, type SuspendReason, type ToolPolicy } from '../src/index.ts'
import { writeMessage } from '../src/journal/message.ts'
import type { Store } from '../src/journal/store.ts'
import { later, mortal } from './support/crash.ts'
import { testModel, type Answer } from './support/model.ts'

interface Receipt {
  refunded: string
  found?: boolean
}

interface Refunds {
  readonly made: { key: string; order: string }[]
  /** Every call of the tool's code. */
  calls: number
  during: (n: number) => Promise<void> | void
}

/** An agent that refunds order 7 and tells what the tool said. `asks` changes what the model does. */
function refunding(policy: ToolPolicy<{ order: string }, Receipt> = {}, answer?: (turn: number) => Answer) {
  const refunds: Refunds = { made: [], calls: 0, during: () => {} }
  const model = testModel(answer ?? ((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'refund', input: { order: '7' } }] } : { text: 'finished' })))
  const refund = tool({
    inputSchema: z.object({ order: z.string() }),
    execute: async ({ order }): Promise<Receipt> => {
      refunds.calls++
      const { idempotencyKey } = currentStep()!
      refunds.made.push({ key: idempotencyKey, order })
      await refunds.during(refunds.calls)
      return { refunded: order }
    },
  })
  const agent = defineAgent('refunds', async (run, _input: object) => {
    const result = await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: policy }), prompt: 'refund order 7', stopWhen: stepCountIs(6) })
    const told = result.steps.flatMap((step) => step.content).flatMap((part) =>
      part.type === 'tool-result' ? [part.output] : part.type === 'tool-error' ? [String((part.error as Error).message)] : [])
    return { text: result.text, told }
  })
  return { refunds, model, agent }
}

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** Runs until the process dies right after the refund took effect; gives back what the next process starts with. */
async function killedAfterEffect(policy: ToolPolicy<{ order: string }, Receipt> = {}) {
  const scene = refunding(policy)
  const store = memoryStore()
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"kind":"tool"/)
  void createRunner({ agents: [scene.agent], store: dying.store, ...quick }).run(scene.agent, {}, { runId: 'r' })
  await died
  const runner = createRunner({ agents: [scene.agent], store, clock: later(), ...quick })
  return { ...scene, store, runner }
}

describe('killed between the effect and its record (C1)', () => {
  it('waits, names the call and the ways out, and has called nothing', async () => {
    const { runner, refunds, model } = await killedAfterEffect()
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c1', tool: 'refund', effects: ['0/c:c1'] }] })
    expect(outcome.status === 'suspended' && outcome.reasons[0]!.message).toMatch(/holdfast resolve r 0\/c:c1 --rerun \| --skip \| --result/)
    expect(refunds.calls).toBe(1)
    expect(model.requests).toHaveLength(1)
  })

  it('is settled by a result from outside, without a second call', async () => {
    const { runner, refunds } = await killedAfterEffect()
    await runner.resume('r')
    const outcome = await runner.resolve('r', '0/c:c1', { result: { refunded: '7' } }, { resume: true })
    expect(outcome).toMatchObject({ status: 'completed', result: { text: 'finished', told: [{ refunded: '7' }] } })
    expect(refunds.calls).toBe(1)
  })

  it('can be resolved before anybody has resumed it', async () => {
    const { runner, refunds } = await killedAfterEffect()
    const outcome = await runner.resolve('r', '0/c:c1', { result: { refunded: '7' } }, { resume: true })
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(refunds.calls).toBe(1)
  })

  it('runs again after the decision rerun, with the same idempotency key', async () => {
    const { runner, refunds } = await killedAfterEffect()
    await runner.resume('r')
    expect(await runner.resolve('r', '0/c:c1', 'rerun', { resume: true })).toMatchObject({ status: 'completed' })
    expect(refunds.made).toHaveLength(2)
    expect(new Set(refunds.made.map(({ key }) => key)).size).toBe(1)
  })

  it('tells the model that the outcome is unknown after the decision skip', async () => {
    const { runner, refunds } = await killedAfterEffect()
    await runner.resume('r')
    const outcome = await runner.resolve('r', '0/c:c1', 'skip', { resume: true })
    expect(outcome).toMatchObject({ status: 'completed', result: { told: [expect.stringMatching(/outcome is unknown/)] } })
    expect(refunds.calls).toBe(1)
  })

  it('does not suspend over a late result that comes at that very moment (R9)', async () => {
    const { agent, refunds, store } = await killedAfterEffect()
    const settlement = { type: 'completed', outcome: { type: 'value', value: { json: { refunded: '7', found: true } } } } as const
    let sent = false
    const interfering: Store = {
      ...store,
      append: async (runId, batch) => {
        if (!sent && batch.entries.some(({ body }) => body.includes('"type":"suspended"'))) {
          sent = true
          await store.send('r', { question: null, body: writeMessage('r', { type: 'late-result', step: '0/c:c1', settlement }), now: batch.now })
        }
        return store.append(runId, batch)
      },
    }
    const settled: RunEvent[] = []
    const runner = createRunner({ agents: [agent], store: interfering, clock: later(), ...quick, onEvent: (event) => event.type === 'doubt-settled' && settled.push(event) })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: { told: [{ refunded: '7', found: true }] } })
    expect(refunds.calls).toBe(1)
    expect(settled).toEqual([expect.objectContaining({ step: '0/c:c1', by: 'late-result', as: 'completed' })])
  })

  it('takes one decision only', async () => {
    const { runner } = await killedAfterEffect()
    await runner.resume('r')
    await runner.resolve('r', '0/c:c1', 'skip')
    await expect(runner.resolve('r', '0/c:c1', 'rerun')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE' })
  })

  it('refuses a decision about the call of another run, which looks the same', async () => {
    const { runner, refunds } = await killedAfterEffect()
    const outcome = await runner.resume('r')
    const [asked] = (outcome.status === 'suspended' ? outcome.reasons : []) as (SuspendReason & { type: 'in-doubt' })[]
    const theirs = { ...asked!, calls: [{ ...asked!.calls![0]!, idempotencyKey: 'hf_of_another_run' }] }
    await expect(runner.resolve('r', theirs, 'rerun')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', message: expect.stringContaining('is another call now than the one that was asked about') })
    await expect(runner.resolve('r', asked!, 'rerun', { resume: true })).resolves.toMatchObject({ status: 'completed' })
    expect(refunds.calls).toBe(2)
  })

  it('refuses a decision about a step that does not wait, naming those that do', async () => {
    const { runner } = await killedAfterEffect()
    await runner.resume('r')
    await expect(runner.resolve('r', '9', 'rerun')).rejects.toThrow(/What can be resolved: 0\/c:c1/)
    await expect(runner.resolve('r', '0/c:c1', 'reuse')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE' })
  })

  it('is settled by reconcile, which gets the input and the key of the call', async () => {
    const asked: unknown[] = []
    const { runner, refunds } = await killedAfterEffect({
      reconcile: async (call) => {
        asked.push(call)
        return { status: 'completed', output: { refunded: call.input.order, found: true } }
      },
    })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: { told: [{ refunded: '7', found: true }] } })
    expect(asked).toEqual([{ input: { order: '7' }, idempotencyKey: refunds.made[0]!.key, runId: 'r', step: '0/c:c1', toolName: 'refund' }])
    expect(refunds.calls).toBe(1)
  })

  it.each([undefined, null, 'completed', [], {}, { status: 'failed', id: 're_1' }, { status: 'pending' }, { status: 'completed' }])('stays in doubt when reconcile gives %j: only a clear answer settles it', async (answer) => {
    const warnings: string[] = []
    const scene = await killedAfterEffect({ reconcile: (async () => answer) as never })
    expect(await scene.runner.resume('r', { onEvent: (e) => e.type === 'warning' && warnings.push(e.message) })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(warnings).toEqual([expect.stringMatching(/must give \{ status: 'completed', output \} or \{ status: 'not-done' \}/)])
    expect(scene.refunds.calls).toBe(1)
  })

  it('believes "not done" only when enough time has passed since the lease of the one who started it', async () => {
    const { runner, refunds, agent, store } = await killedAfterEffect({ reconcile: async () => ({ status: 'not-done' }), settleAfterMs: 60_000 })
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', resumeAt: expect.any(Number) })
    expect(refunds.calls).toBe(1)
    const afterwards = createRunner({ agents: [agent], store, clock: later(3_600_000 + 61_000), ...quick })
    expect(await afterwards.resume('r')).toMatchObject({ status: 'completed' })
    expect(refunds.calls).toBe(2)
  })

  it('runs again by the policy rerun, and by the policy skip tells that nobody knows', async () => {
    const rerun = await killedAfterEffect({ onIncompleteTool: 'rerun' })
    expect(await rerun.runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(rerun.refunds.calls).toBe(2)
    const skip = await killedAfterEffect({ onIncompleteTool: 'skip' })
    expect(await skip.runner.resume('r')).toMatchObject({ status: 'completed', result: { told: [expect.stringMatching(/unknown/)] } })
    expect(skip.refunds.calls).toBe(1)
  })

  it('runs an idempotent tool again with the same key (C2)', async () => {
    const { runner, refunds } = await killedAfterEffect({ idempotent: true })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(refunds.made).toHaveLength(2)
    expect(refunds.made[0]!.key).toBe(refunds.made[1]!.key)
  })

  it.each([{ idempotent: true }, { readOnly: true }])('is known as soon as it has ended, where its tool is %o by then: nothing is left in doubt', async (policy) => {
    const { store } = await killedAfterEffect()
    const { agent, refunds } = refunding(policy)
    const warned: string[] = []
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick, onEvent: (event) => { if (event.type === 'warning') warned.push(event.code) } })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect([refunds.calls, warned]).toEqual([1, []])
  })
})

describe('killed elsewhere', () => {
  it('before the write-ahead record: the tool was not called, and is called once (R2)', async () => {
    const { agent, refunds } = refunding()
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-started"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    expect(refunds.calls).toBe(0)
    expect(await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')).toMatchObject({ status: 'completed' })
    expect(refunds.calls).toBe(1)
  })

  it('after the result was recorded: replayed, called once overall (C3)', async () => {
    const { agent, refunds, model } = refunding()
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"kind":"tool"/, 'after')
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    expect(await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')).toMatchObject({ status: 'completed' })
    expect(refunds.calls).toBe(1)
    expect(model.requests).toHaveLength(2)
  })
})

describe('in doubt within an attempt', () => {
  const twice = (second: object) => (turn: number): Answer =>
    turn === 0 ? { calls: [{ id: 'c1', tool: 'refund', input: { order: '7' } }] } : turn === 1 ? { calls: [{ id: 'c2', tool: 'refund', input: second }] } : { text: 'finished' }

  it('a refund that times out is an observation, and a second one in other words does not start (C27)', async () => {
    const { agent, refunds } = refunding({ timeoutMs: 20 }, twice({ order: 'seven' }))
    refunds.during = () => new Promise(() => {})
    const outcome = await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '1/c:c2', effects: ['0/c:c1'] }] })
    expect(refunds.calls).toBe(1)
  })

  it('a person who lets the second call run gives it the key of the first, which may still land', async () => {
    const { agent, refunds } = refunding({ timeoutMs: 20 }, twice({ order: '7' }))
    refunds.during = (n) => (n === 1 ? new Promise(() => {}) : undefined)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, {}, { runId: 'r' })
    expect(await runner.resolve('r', '1/c:c2', 'rerun', { resume: true })).toMatchObject({ status: 'completed' })
    expect(refunds.made).toHaveLength(2)
    expect(refunds.made[0]!.key).toBe(refunds.made[1]!.key)
  })

  describe('two calls of one response, both in doubt, both asked for again', () => {
    const scene = () => {
      const asks = (ids: string[]) => ids.map((id, i) => ({ id, tool: 'refund', input: { order: i === 0 ? 'a' : 'b' } }))
      const { agent, refunds } = refunding({}, (turn) => (turn === 0 ? { calls: asks(['c1', 'c2']) } : turn === 1 ? { calls: asks(['c3', 'c4']) } : { text: 'finished' }))
      refunds.during = (n) => (n <= 2 ? Promise.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })) : undefined)
      return { agent, refunds, runner: createRunner({ agents: [agent], store: memoryStore(), ...quick }) }
    }

    it.each([['skip', 'skip'], ['result', { result: { refunded: 'a' } }], ['rerun', 'rerun']] as const)('a decision %s about one says nothing about the other', async (_what, decision) => {
      const { agent, refunds, runner } = scene()
      expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ step: '1/c:c3' }, { step: '1/c:c4' }] })
      const outcome = await runner.resolve('r', '1/c:c3', decision, { resume: true })
      expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ step: '1/c:c4', effects: expect.arrayContaining(['0/c:c2']) }] })
      expect(refunds.made.filter(({ order }) => order === 'b')).toHaveLength(1)
      expect(refunds.made.filter(({ order }) => order === 'a')).toHaveLength(decision === 'rerun' ? 2 : 1)
      expect(await runner.resolve('r', '1/c:c4', { result: { refunded: 'b' } }, { resume: true })).toMatchObject({ status: 'completed' })
    })
  })

  it('with effectKey a refund of another order starts', async () => {
    const { agent, refunds } = refunding({ timeoutMs: 20, effectKey: ({ order }) => order }, twice({ order: '8' }))
    refunds.during = (n) => (n === 1 ? new Promise(() => {}) : undefined)
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed' })
    expect(refunds.made.map(({ order }) => order)).toEqual(['7', '8'])
  })

  it('a thrown ECONNRESET is doubt, not failure, and is reconciled before the next start (C28)', async () => {
    const { agent, refunds } = refunding({ reconcile: async () => ({ status: 'completed', output: { refunded: 'found' } }) }, twice({ order: '7' }))
    refunds.during = () => Promise.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
    const outcome = await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'completed', result: { told: [expect.stringMatching(/unknown/), { refunded: 'found' }] } })
    expect(refunds.calls).toBe(1)
  })

  it('a late result settles the doubt, and the next call is answered with it (B1)', async () => {
    const { agent, refunds } = refunding({ timeoutMs: 20 }, twice({ order: '7' }))
    let land: () => void = () => {}
    refunds.during = (n) => (n === 1 ? new Promise((resolve) => (land = resolve)) : undefined)
    const events: string[] = []
    const runner = createRunner({
      agents: [agent], store: memoryStore(), ...quick, idleMs: 2_000,
      onEvent: (e) => {
        events.push(e.type)
        if (e.type === 'step-waiting') land()
      },
    })
    const outcome = await runner.run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'completed', result: { told: [expect.stringMatching(/unknown/), { refunded: '7' }] } })
    expect(refunds.calls).toBe(1)
    expect(events).toContain('doubt-settled')
  })

  it.each<[string, { key: string; input?: number }]>([['and input', { key: 'order 7', input: 7 }], ['alone', { key: 'order 7' }]])(
    'a step that the handler asks for again under the same key %s is answered with what somebody says came of the first', async (_, options) => {
      let calls = 0
      const agent = defineAgent('a', async (run) => {
        const refund = (): Promise<string> => run.step('refund', options, () => { calls++; throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
        return refund().catch(() => refund())
      })
      const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
      expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended' })
      await runner.resolve('r', 's:refund:order%207#0', { result: 'refunded' })
      expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'refunded' })
      expect(calls).toBe(1)
    })

  it('a late result answers the step itself, where its time limit has failed the run (B1)', async () => {
    const slow = Promise.withResolvers<string>()
    const made: string[] = []
    const settled: RunEvent[] = []
    const agent = defineAgent('a', (run) => run.step('charge', { input: 7, timeoutMs: 20 }, () => (made.push('charged'), slow.promise)))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (event) => event.type === 'doubt-settled' && settled.push(event) })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    slow.resolve('receipt 7')
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'receipt 7' })
    expect(settled).toMatchObject([{ by: 'late-result', as: 'completed' }])
    expect(made).toEqual(['charged'])
  })

  it('a late result that comes after the run was suspended waits in the inbox for who resumes it', async () => {
    const { agent, refunds } = refunding({ timeoutMs: 20 }, twice({ order: '7' }))
    let land: () => void = () => {}
    refunds.during = (n) => (n === 1 ? new Promise((resolve) => (land = resolve)) : undefined)
    const settled: RunEvent[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (event) => event.type === 'doubt-settled' && settled.push(event) })
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended' })
    land()
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: { told: [expect.any(String), { refunded: '7' }] } })
    expect(refunds.calls).toBe(1)
    expect(settled).toEqual([expect.objectContaining({ step: '0/c:c1', by: 'late-result', as: 'completed' })])
  })

  it('an error of the tool itself is an error for the model, and the run goes on (B7)', async () => {
    const { agent, refunds } = refunding()
    refunds.during = () => Promise.reject(new Error('no such order'))
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({
      status: 'completed', result: { told: ['no such order'] },
    })
  })
})

describe('what completed but cannot be stored (E1)', () => {
  it('is told to the model as a success without a result, and never run again', async () => {
    const { model, agent: _agent } = refunding()
    let calls = 0
    const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: async () => (calls++, { callback: () => {} }) })
    const agent = defineAgent('refunds', async (run, fail: { fail: boolean }) => {
      const result = await generateText({ model: run.model(model), tools: run.tools({ refund }), prompt: 'refund order 7', stopWhen: stepCountIs(6) })
      if (fail.fail && run.attempt === 1) throw new Error('later')
      return result.steps.flatMap((s) => s.content).flatMap((p) => (p.type === 'tool-error' ? [(p.error as Error).message] : []))
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, { fail: true }, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_FAILED' })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [expect.stringMatching(/tool "refund" succeeded, but its result could not be stored: .*callback is a function/)] })
    expect(calls).toBe(1)
  })
})

describe('a doubt that is looked at again and again', () => {
  it('is told once an attempt, however much goes on beside it', async () => {
    const store = memoryStore()
    const agent = defineAgent('a', (run) => Promise.all([
      run.branch('doubt', () => run.step('pay', { input: 1 }, () => 'paid')),
      run.branch('work', async () => {
        for (let i = 0; run.attempt > 1 && i < 5; i++) await run.step('ship', { input: i }, () => i)
      }),
    ]))
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"name":"pay"/, 'before')
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    const told: string[] = []
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick, onEvent: (event) => event.type === 'step-in-doubt' && told.push(event.name) })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended' })
    expect(told).toEqual(['pay'])
  })
})
