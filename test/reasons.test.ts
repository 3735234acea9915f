/** Why a run waits, so that a person can find out what happened: which call, with what, under which key; what never started is told apart (R6, R10). */
import { generateText, isStepCount, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, currentStep, defineAgent, memoryStore, type Outcome, type Run, type RunEvent, type RunnerOptions, type SuspendReason } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

type Doubt = SuspendReason & { readonly type: 'in-doubt' | 'repeat' }
const reasonsOf = (outcome: Outcome): readonly Doubt[] => (outcome.status === 'suspended' ? (outcome.reasons as readonly Doubt[]) : [])
const told = (outcome: Outcome): Record<string, string> => Object.fromEntries(reasonsOf(outcome).map(({ step, message }) => [step, message]))

const reset = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/** Two lines of work that send mail, side by side; the process dies when `a` has been sent and is not recorded. After that `b` begins first, where it `overtakes`: it waits before `a` is asked for. */
async function twoMailers({ overtakes = false } = {}) {
  const sent: string[] = []
  const waits = Promise.withResolvers<void>()
  const agent = defineAgent('mailers', async (run) => {
    const line = (to: string): Promise<unknown> => run.branch(to, async () => {
      if (to === 'b') await run.read('first', () => 'read')
      const mail = tool({ inputSchema: z.object({ to: z.string() }), execute: async (input) => sent.push(`${input.to} ${currentStep()!.idempotencyKey}`) })
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: to, tool: 'mail', input: { to } }] } : { text: to }))
      return (await generateText({ model: run.model(model), tools: run.tools({ mail }), prompt: to, stopWhen: isStepCount(3) })).text
    })
    if (run.attempt === 1) return line('a')
    if (overtakes) return Promise.all([line('b'), run.read('pause', { key: 'p' }, () => waits.promise).then(() => line('a'))])
    return Promise.all([line('a'), line('b')])
  })
  const store = memoryStore()
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"kind":"tool"/)
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
  await died
  const events: RunEvent[] = []
  const onEvent = (event: RunEvent): void => {
    events.push(event)
    if (event.type === 'step-waiting') waits.resolve()
  }
  return { sent, events, runner: createRunner({ agents: [agent], store, clock: later(), ...quick, onEvent }) }
}

describe('a call that never started', () => {
  it('behind one that comes back by itself says what to settle first, and offers nothing itself', async () => {
    const { sent, runner } = await twoMailers()
    const outcome = await runner.resume('r')
    expect(told(outcome)).toEqual({
      'b:a#0/0/c:a': 'nobody knows whether tool "mail" (b:a#0/0/c:a) took effect. Settle it: holdfast resolve r b:a#0/0/c:a --rerun | --skip | --result JSON',
      'b:b#0/1/c:b': 'tool "mail" (b:b#0/1/c:b) was not started: it waits for the outcome of b:a#0/0/c:a, which nobody knows. Settle that first, this one then goes on by itself',
    })
    const [a, b] = reasonsOf(outcome)
    expect(a).toMatchObject({ choices: ['rerun', 'skip', 'result'], calls: [{ step: 'b:a#0/0/c:a', input: { json: { to: 'a' } }, idempotencyKey: sent[0]!.slice(2), startedAt: expect.any(Number) }] })
    expect(a).not.toHaveProperty('first')
    expect(b).toMatchObject({ first: ['b:a#0/0/c:a'], choices: [], calls: [{ step: 'b:b#0/1/c:b', input: { json: { to: 'b' } } }, { step: 'b:a#0/0/c:a' }] })
    expect(b!.calls![0]).not.toHaveProperty('startedAt')
  })

  it('says so also where that one is asked for after it: the reasons of a run are those of when it suspends', async () => {
    const { events, runner } = await twoMailers({ overtakes: true })
    const outcome = await runner.resume('r')
    expect(events.find(({ type }) => type === 'step-waiting')).toMatchObject({ step: 'b:b#0/1/c:b', reason: { choices: ['rerun', 'skip', 'result'] } })
    expect(reasonsOf(outcome).map(({ step, first, choices }) => [step, first, choices])).toEqual([
      ['b:b#0/1/c:b', ['b:a#0/0/c:a'], []],
      ['b:a#0/0/c:a', undefined, ['rerun', 'skip', 'result']],
    ])
  })

  it.each([['rerun', 'rerun' as const, 3], ['its result', { result: 1 }, 2]])('goes on by itself when that is settled by %s', async (_what, decision, sentInAll) => {
    const { sent, runner } = await twoMailers()
    await runner.resume('r')
    expect(await runner.resolve('r', 'b:a#0/0/c:a', decision, { resume: true })).toMatchObject({ status: 'completed', result: ['a', 'b'] })
    expect(sent.length).toBe(sentInAll)
    expect(sent.at(-1)).toMatch(/^b /)
  })

  it('is kept in the journal with its arguments; those of what was started are there already', async () => {
    const { runner } = await twoMailers()
    await runner.resume('r')
    const suspended = (await runner.history('r')).findLast(({ entry }) => entry.type === 'suspended')!.entry as { reasons: readonly Doubt[] }
    expect(suspended.reasons.map(({ calls }) => calls)).toEqual([[], [{ step: 'b:b#0/1/c:b', input: { json: { to: 'b' } } }]])
  })

  it('is masked like the rest, in events, outcomes and history', async () => {
    const { agent } = asksTwice()
    const events: RunEvent[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, redact: ['to'], onEvent: (event) => events.push(event) })
    const shown = JSON.stringify([await runner.run(agent, {}, { runId: 'r' }), events, await runner.history('r')])
    expect(shown).toContain('"to":"[redacted]"')
    expect(shown).not.toContain('Ada')
  })
})

/** The model asks again after its payment was reset. */
function asksTwice() {
  const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'pay', input: { to: `Ada ${turn}` } }] } : { text: 'done' }))
  const pay = tool({ inputSchema: z.object({ to: z.string() }), execute: async (): Promise<string> => { throw reset() } })
  return { agent: defineAgent('a', async (run) => (await generateText({ model: run.model(model), tools: run.tools({ pay }), prompt: 'pay', stopWhen: isStepCount(4) })).text) }
}

describe('a call that is asked for while an earlier one is in doubt', () => {
  it('says that it was not started, and has the arguments of both', async () => {
    const { agent } = asksTwice()
    const [reason] = reasonsOf(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' }))
    expect(reason!.message).toBe('tool "pay" (1/c:c1) was not started: nobody knows whether tool "pay" (0/c:c0) took effect. Settle it: holdfast resolve r 1/c:c1 --rerun | --skip | --result JSON. Its arguments are others: where that makes it another effect, the tool should say so with effectKey')
    expect(reason).not.toHaveProperty('first')
    expect(reason!.calls).toMatchObject([{ step: '1/c:c1', input: { json: { to: 'Ada 1' } } }, { step: '0/c:c0', input: { json: { to: 'Ada 0' } }, startedAt: expect.any(Number) }])
  })
})

describe('a call that was killed beside another one, and is held because of that', () => {
  it('was started, and is not said not to have been', async () => {
    let begun = 0
    const both = Promise.withResolvers<void>()
    const model = testModel((turn) => (turn === 0 ? { calls: ['7', '8'].map((order) => ({ id: order, tool: 'refund', input: { order } })) } : { text: 'done' }))
    const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: () => {
      if (++begun === 2) both.resolve()
      return new Promise<string>(() => {})
    } })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), tools: run.tools({ refund }), prompt: 'x', stopWhen: isStepCount(3) })).text)
    const store = memoryStore()
    const dying = mortal(store)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await both.promise
    dying.kill()
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    await runner.resolve('r', '0/c:7', 'skip')
    const [reason] = reasonsOf(await runner.resume('r', { onIncompleteTool: 'rerun' }))
    expect(reason).toMatchObject({ step: '0/c:8', message: expect.stringMatching(/^tool "refund" \(0\/c:8\) was started and is in doubt itself, and was not started again: nobody knows whether tool "refund" \(0\/c:7\) took effect/) })
  })
})

describe('a call that was killed, and whose schema makes something else of its arguments since', () => {
  it('is the same call still: nobody is told that its arguments are others', async () => {
    const order = z.object({ order: z.string() })
    let inputSchema: z.ZodType<unknown> = order
    const begun = Promise.withResolvers<void>()
    const agent = defineAgent('a', async (run) => {
      const refund = tool({ inputSchema, execute: () => {
        begun.resolve()
        return new Promise<string>(() => {})
      } })
      const model = run.model(testModel(() => ({ calls: [{ id: 'c', tool: 'refund', input: { order: '7' } }] })))
      return (await generateText({ model, tools: run.tools({ refund }), prompt: 'x', stopWhen: isStepCount(3) })).text
    })
    const store = memoryStore()
    const dying = mortal(store)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await begun.promise
    dying.kill()
    inputSchema = order.transform((given) => ({ ...given, currency: 'EUR' }))
    const [reason] = reasonsOf(await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r'))
    expect(reason).toMatchObject({ step: '0/c:c', effects: ['0/c:c'] })
    expect(reason!.message).not.toContain('effectKey')
  })
})

describe('a call whose result a person gave, before it was started', () => {
  it('has no idempotency key, and no time at which it was started', async () => {
    const orders: string[] = ['ann', 'bob']
    const agent = defineAgent('a', async (run) => {
      for (const customer of orders) await run.step('charge', { input: customer }, () => 'receipt')
      throw new Error('not ready')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const go = () => runner.run(agent, {}, { runId: 'r' }).then(reasonsOf, () => [])
    await go()
    orders.reverse()
    for (let i = 0; i < 2; i++) await runner.resolve('r', (await go())[0]!, { result: 'found it' })
    await go()
    orders.reverse()
    const [reason] = await go()
    expect(reason!.calls).toEqual([
      { step: '0~2', input: { json: 'ann' } },
      { step: '0', input: { json: 'ann' }, idempotencyKey: expect.stringMatching(/^hf_/), startedAt: expect.any(Number) },
      { step: '1~1' },
      { step: '0~1' },
    ])
    expect(reason!.message).toMatch(/--reuse \(what 0 gave\)|any of them may be its own/)
  })
})

describe('a result that was not stored', () => {
  const scene = () => {
    let calls = 0
    const agent = defineAgent('a', async (run: Run) => run.step('charge', () => (calls++, run.attempt === 1 ? () => 1 : calls)))
    return { agent, runner: createRunner({ agents: [agent], store: memoryStore(), ...quick }), calls: () => calls }
  }

  it('is not offered to be reused, nor taken for one', async () => {
    const { agent, runner, calls } = scene()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' })
    const [reason] = reasonsOf(await runner.resume('r'))
    expect(reason).toMatchObject({ type: 'repeat', choices: ['rerun', 'skip', 'result'] })
    expect(reason!.message).not.toContain('--reuse')
    await expect(runner.resolve('r', reason!.step, 'reuse')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', message: expect.stringContaining('none is stored') })
    expect(await runner.resolve('r', reason!.step, { result: 'by hand' }, { resume: true })).toMatchObject({ status: 'completed', result: 'by hand' })
    expect(calls()).toBe(1)
  })
})

describe('a tool that is in doubt with steps of its own inside', () => {
  it.each([['says what such a tool should say', {}, true], ['is not in doubt when it does', { composite: true }, false]])('%s', async (_what, policy, isHinted) => {
    const agent = defineAgent('outer', async (run) => {
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'research', input: {} }] } : { text: 'done' }))
      const research = tool({ inputSchema: z.object({}), execute: async () => currentRun()!.step('send', () => 1) })
      return (await generateText({ model: run.model(model), tools: run.tools({ research }, { research: policy }), prompt: 'x', stopWhen: isStepCount(3) })).text
    })
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"kind":"tool"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    const outcome = await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')
    if (isHinted) expect(reasonsOf(outcome)).toMatchObject([{ step: '0/c:c', hasInside: true, message: expect.stringMatching(/It has steps of its own inside: .*\{ composite: true \}$/) }])
    else expect(outcome).toMatchObject({ status: 'completed' })
  })
})
