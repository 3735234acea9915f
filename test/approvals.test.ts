/** Calls that a person has to agree to (ToolPolicy.approval; R10; D5-D9). */
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, durableTools, memoryStore, type ApprovalPolicy, type Outcome, type RunEvent, type Runner, type ToolPolicy } from '../src/index.ts'
import { sleep } from '../src/core/clock.ts'
import { manualClock } from '../src/core/manual-clock.ts'
import { later } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { type Approval, asked, type Order, questionIn, quick, refunding } from './support/refunding.ts'
import { during } from './support/time.ts'

describe('a call that needs approval (D5)', () => {
  it('is not made: the run waits, and the reason has what it would be called with and the ways out', async () => {
    const { made, question } = await asked()
    expect(made).toEqual([])
    expect(question).toMatchObject({ step: '0/c:c1', tool: 'refund', input: { json: { order: '7', amount: 50 } } })
    expect(question.message).toBe('tool "refund" (0/c:c1) waits for somebody to agree to it: holdfast approve r 0/c:c1 | holdfast deny r 0/c:c1')
  })

  it('is made once when somebody agrees, by the reason or by the step', async () => {
    for (const by of ['reason', 'step']) {
      const { runner, made, question } = await asked()
      expect(await runner.approve('r', by === 'reason' ? question : '0/c:c1', { by: 'ada', resume: true })).toMatchObject({ status: 'completed', result: { text: 'finished', told: [{ refunded: 50 }] } })
      expect(made).toEqual([{ order: '7', amount: 50 }])
    }
  })

  it('is not made when somebody does not: the model is told, with the reason, also on replay', async () => {
    const { runner, made } = await asked()
    const told = ['tool "refund" was denied: over the limit. It was not called']
    expect(await runner.deny('r', '0/c:c1', { reason: 'over the limit', resume: true })).toMatchObject({ status: 'completed', result: { text: 'finished', told } })
    expect(await runner.resume('r', { redo: '1' })).toMatchObject({ status: 'completed', result: { told } })
    expect(made).toEqual([])
  })

  it('is made with the arguments that were approved, as its schema makes them; what it is known by stays what was asked', async () => {
    const { runner, made, model } = await asked()
    expect(await runner.approve('r', '0/c:c1', { input: { order: '7', amount: 20, note: 'cut' }, resume: true })).toMatchObject({ status: 'completed', result: { told: [{ refunded: 20 }] } })
    expect(made).toEqual([{ order: '7', amount: 20 }])
    const requests = model.requests.length
    await runner.resume('r', { redo: '1' })
    expect(made).toHaveLength(1)
    expect(model.requests).toHaveLength(requests + 1)
  })

  it.each([
    ['zod', undefined, 'amount: Too big: expected number to be <=100'],
    ['a schema with a validator of its own', jsonSchema({ type: 'object' }, { validate: (value) => ((value as Order).amount <= 100 ? { success: true, value: value as Order } : { success: false, error: new Error('too much') }) }), 'too much'],
    ['a schema made when it is asked for', () => jsonSchema({ type: 'object' }, { validate: (value) => ((value as Order).amount <= 100 ? { success: true, value: value as Order } : { success: false, error: new Error('too much') }) }), 'too much'],
  ])('is not made with arguments that %s does not take: the model is told so', async (_, schema, what) => {
    const { agent, made } = refunding({ approval: true }, undefined, schema)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, {}, { runId: 'r' })
    expect(await runner.approve('r', '0/c:c1', { input: { order: '7', amount: 900 }, resume: true }))
      .toMatchObject({ status: 'completed', result: { told: [`tool "refund" was approved with arguments that it does not take: ${what}. It was not called`] } })
    expect(made).toEqual([])
  })

  it('is made with arguments as they are shown, where its schema makes something else of what the model asks for', async () => {
    for (const input of [undefined, { order: '7', amount: 5000 }, { order: '7', amount: 2000 }]) {
      const { agent, made } = refunding({ approval: true }, undefined, z.object({ order: z.string(), amount: z.number().max(100).transform((euros) => euros * 100) }))
      const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
      expect(questionIn(await runner.run(agent, {}, { runId: 'r' })).input).toEqual({ json: { order: '7', amount: 5000 } })
      await runner.approve('r', '0/c:c1', { ...(input && { input }), resume: true })
      expect(made).toEqual([input ?? { order: '7', amount: 5000 }])
    }
  })

  it('and waits for a decision about its effect by now is not to be approved: who tries is told of resolve()', async () => {
    const { runner } = await asked()
    await runner.approve('r', '0/c:c1', { resume: true })
    await runner.resume('r', { redo: '0' })
    for (const answer of [runner.approve('r', '0~1/c:c1'), runner.deny('r', '0~1/c:c1')]) {
      await expect(answer).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE', advice: 'It waits for a decision about its effect: resolve(), or holdfast resolve r 0~1/c:c1' })
    }
  })

  it('counts as denied when its time is over: the run is due then, and nobody has to come', async () => {
    const clock = manualClock(1_000_000)
    const { agent, made } = refunding({ approval: { expiresAfterMs: 60_000 } })
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, ...quick })
    const outcome = await during(clock, runner.run(agent, {}, { runId: 'r' }))
    const expiresAt = (outcome as { resumeAt: number }).resumeAt
    expect(questionIn(outcome).expiresAt).toBe(expiresAt)
    await clock.advance(expiresAt - clock.now() - 1)
    expect(await during(clock, runner.recover())).toEqual([])
    await clock.advance(1)
    await expect(runner.approve('r', '0/c:c1')).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE', message: expect.stringContaining('step "0/c:c1" of run "r" has expired: it counts as denied') })
    expect(await during(clock, runner.recover())).toMatchObject([{ outcome: { status: 'completed', result: { told: ['tool "refund" was denied: nobody approved it in time. It was not called'] } } }])
    expect(made).toEqual([])
  })

  it('that was approved in time is made however late the run goes on', async () => {
    const clock = manualClock(1_000_000)
    const { agent, made } = refunding({ approval: { expiresAfterMs: 60_000 } })
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, ...quick })
    await during(clock, runner.run(agent, {}, { runId: 'r' }))
    await runner.approve('r', '0/c:c1')
    await clock.advance(120_000)
    expect(await during(clock, runner.resume('r'))).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(1)
  })

  it('that was approved in time is made although its run, which was driven meanwhile, comes to it only then', async () => {
    const clock = manualClock(1_000_000)
    const delays: number[] = []
    const { agent, made } = refunding({ approval: { expiresAfterMs: 60_000 } }, undefined, undefined, () => sleep(clock, delays.shift() ?? 0))
    const runner = createRunner({ agents: [agent], store: memoryStore(), clock, ...quick })
    await during(clock, runner.run(agent, {}, { runId: 'r' }))
    delays.push(90_000)
    const resumed = runner.resume('r')
    await clock.advance(10_000)
    await runner.approve('r', '0/c:c1')
    expect(await during(clock, resumed, { stepMs: 1_000 })).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(1)
  })

  it('is streamed to its end after the answer', async () => {
    const { model, made } = refunding({})
    const refund = tool({ inputSchema: z.object({ order: z.string(), amount: z.number() }), execute: async (input) => (made.push(input), 'done') })
    const agent = defineAgent('streams', async (run, _input: object) =>
      streamText({ model: run.model(model), tools: run.tools({ refund }, { refund: { approval: true } }), prompt: 'p', stopWhen: stepCountIs(3) }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    questionIn(await runner.run(agent, {}, { runId: 'r' }) as Outcome)
    expect(await runner.approve('r', '0/c:c1', { resume: true })).toMatchObject({ status: 'completed', result: { text: 'finished' } })
    expect(made).toHaveLength(1)
  })
})

describe('which calls need it', () => {
  const when = (said: unknown, calls: Order[] = []): ToolPolicy<Order, { refunded: number }> => ({ approval: { when: (input) => (calls.push(input), said as boolean) } })

  it('says a function of the arguments, at once or later', async () => {
    for (const policy of [when(false), when(Promise.resolve(false))]) {
      const { agent, made } = refunding(policy)
      expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed' })
      expect(made).toHaveLength(1)
    }
  })

  it('is asked once: its answer stands although it would say something else by now (D7)', async () => {
    const calls: Order[] = []
    const { agent, made } = refunding({ approval: { when: (input) => calls.push(input) === 1 } })
    const store = memoryStore()
    questionIn(await createRunner({ agents: [agent], store, ...quick }).run(agent, {}, { runId: 'r' }))
    const other = createRunner({ agents: [agent], store, ...quick })
    questionIn(await other.resume('r'))
    await other.approve('r', '0/c:c1', { resume: true })
    expect([calls, made]).toEqual([[{ order: '7', amount: 50 }], [{ order: '7', amount: 50 }]])
  })

  it.each([
    ['throws', () => { throw new Error('no such table') }, 'approval.when of tool "refund" failed: no such table: somebody is asked'],
    ['rejects', () => Promise.reject(new Error('no such table')), 'approval.when of tool "refund" failed: no such table: somebody is asked'],
    ['says neither', () => undefined as unknown as boolean, 'approval.when of tool "refund" must give true or false, got undefined: somebody is asked'],
    ['says a text', () => 'no' as unknown as boolean, 'approval.when of tool "refund" must give true or false, got string: somebody is asked'],
  ])('fails closed: somebody is asked, with a warning, where it %s', async (_, said, warning) => {
    const events: RunEvent[] = []
    const { made } = await asked({ approval: { when: said } satisfies ApprovalPolicy<Order> }, { onEvent: (event) => void events.push(event) })
    expect(made).toEqual([])
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning', code: 'APPROVAL_CONDITION_FAILED', message: warning }))
  })

  it.each([
    [{ approval: 'yes' }, 'tools.refund.approval must be an object, got "yes"'],
    [{ approval: { wen: () => true } }, 'tools.refund.approval.wen is not known'],
    [{ approval: { when: true } }, 'tools.refund.approval.when must be a function, got true'],
    [{ approval: { expiresAfterMs: 0 } }, 'tools.refund.approval.expiresAfterMs must be a number of ms > 0, got 0'],
  ])('is checked before anything runs: %j', (policy, message) => {
    expect(() => durableTools({ refund: tool({ inputSchema: z.object({}), execute: () => 1 }) }, { refund: policy as never })).toThrow(message)
  })
})

describe('an answer stands, and so does a question, where the policy says nothing of it by then', () => {
  it.each<[string, (runner: Runner) => Promise<unknown>, Order[], unknown]>([
    ['a denial', (runner) => runner.deny('r', '0/c:c1', { reason: 'fraud' }), [], { status: 'completed', result: { told: ['tool "refund" was denied: fraud. It was not called'] } }],
    ['other arguments', (runner) => runner.approve('r', '0/c:c1', { input: { order: '7', amount: 10 } }), [{ order: '7', amount: 10 }], { status: 'completed' }],
    ['nothing yet', async () => {}, [], { status: 'suspended', reasons: [{ type: 'approval', step: '0/c:c1' }] }],
  ])('%s', async (_, say, calls, outcome) => {
    const { store, runner, made } = await asked()
    await say(runner)
    const other = refunding({})
    expect(await createRunner({ agents: [other.agent], store, ...quick }).resume('r')).toMatchObject(outcome as object)
    expect([...made, ...other.made]).toEqual(calls)
  })
})

describe('a call that its caller gives up while it waits', () => {
  it.each(['approval', 'doubt'])('ends with the reason, is not called later, and nobody can answer any more: %s', async (what) => {
    const made: unknown[] = []
    const stop = new AbortController()
    const told: unknown[] = []
    const go = Promise.withResolvers<void>()
    const refund = tool({ inputSchema: z.object({}), execute: async () => {
      made.push('refund')
      if (what === 'doubt') throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    } })
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ refund }, { refund: { approval: what === 'approval' } })
      const call = (toolCallId: string, abortSignal?: AbortSignal) => Promise.resolve(tools.refund.execute!({}, { toolCallId, messages: [], context: {}, ...(abortSignal && { abortSignal }) }))
      if (what === 'doubt') await call('c0').catch(() => {})
      await Promise.all([
        call('c1', stop.signal).catch((error: unknown) => told.push(error)),
        run.branch('b', () => run.read('slow', () => go.promise)),
      ])
      return 'went on'
    })
    const waiting = Promise.withResolvers<void>()
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: ({ type }) => { if (type === 'step-waiting') waiting.resolve() } })
    const outcome = runner.run(agent, 1, { runId: 'r' })
    await waiting.promise
    stop.abort(new Error('never mind'))
    go.resolve()
    expect(await outcome).toMatchObject({ status: 'completed', result: 'went on' })
    expect(told).toEqual([expect.objectContaining({ message: 'never mind' })])
    expect(made).toHaveLength(what === 'doubt' ? 1 : 0)
    if (what === 'approval') await expect(runner.approve('r', '0')).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
  })
})

describe('nobody can be asked (D6)', () => {
  const refund = (made: unknown[]) => tool({ inputSchema: z.object({ amount: z.number() }), execute: async (input) => made.push(input) })
  const call = { toolCallId: 'c1', messages: [], context: {} }

  it('outside of a run: it is not called, unless its condition says that it needs none', async () => {
    const made: unknown[] = []
    const tools = durableTools({ always: refund(made), large: refund(made) }, { always: { approval: true }, large: { approval: { when: ({ amount }) => amount > 10 } } })
    await expect(tools.always.execute!({ amount: 1 }, call)).rejects.toMatchObject({ code: 'OUTSIDE_RUN', message: expect.stringContaining('tool "always" needs approval') })
    await expect(tools.large.execute!({ amount: 11 }, call)).rejects.toMatchObject({ code: 'OUTSIDE_RUN' })
    expect(await tools.large.execute!({ amount: 1 }, call)).toBe(1)
    expect(made).toEqual([{ amount: 1 }])
  })

  it('inside of an effect: refused when it is first asked for, and nobody is asked in vain', async () => {
    const made: unknown[] = []
    const inner = testModel((turn) => (turn === 0 ? { calls: [{ id: 'i1', tool: 'refund', input: { amount: 1 } }] } : { text: 'inner done' }))
    const tools = durableTools({ refund: refund(made) }, { refund: { approval: true } })
    const team = tool({ inputSchema: z.object({}), execute: async () => {
      const { steps } = await generateText({ model: inner, tools, prompt: 'inner', stopWhen: stepCountIs(3) })
      return steps.flatMap((step) => step.content).flatMap((part) => (part.type === 'tool-error' ? [(part.error as Error).message] : []))
    } })
    const outer = testModel((turn) => (turn === 0 ? { calls: [{ id: 'o1', tool: 'team', input: {} }] } : { text: 'done' }))
    const agent = (composite: boolean) => defineAgent('team', async (run, _input: object) =>
      (await generateText({ model: run.model(outer), tools: run.tools({ team }, { team: { composite } }), prompt: 'outer', stopWhen: stepCountIs(3) })).steps[0]!.toolResults[0]!.output)
    const [whole, inside] = [agent(false), agent(true)]
    expect(await createRunner({ agents: [whole], store: memoryStore(), ...quick }).run(whole, {}, { runId: 'r' }))
      .toMatchObject({ status: 'completed', result: [expect.stringMatching(/^tool "refund" needs approval inside of step "0\/c:o1", which has effects of its own.*composite: true/)] })
    const runner = createRunner({ agents: [inside], store: memoryStore(), ...quick })
    const { step } = questionIn(await runner.run(inside, {}, { runId: 'r' }) as Outcome)
    expect(await runner.approve('r', step, { resume: true })).toMatchObject({ status: 'completed' })
    expect(made).toEqual([{ amount: 1 }])
  })
})

describe('answers', () => {
  it('are asked for in one process and given in another, also where no agent is at hand; the question is asked once (D7)', async () => {
    const { agent, made } = refunding({ approval: true })
    const store = memoryStore()
    await createRunner({ agents: [agent], store, ...quick }).run(agent, {}, { runId: 'r' })
    await createRunner({ agents: [], store }).approve('r', '0/c:c1')
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(1)
    const types = (await runner.history('r')).map(({ entry }) => entry.type).filter((type) => type.startsWith('approval-'))
    expect(types).toEqual(['approval-asked', 'approval-decided'])
  })

  it('are matched to their calls: two that need it and a free one in one response (D8)', async () => {
    const { agent, made, looked, model } = refunding({ approval: true }, (turn) => turn === 0 ? { calls: [
      { id: 'c1', tool: 'refund', input: { order: '7', amount: 1 } }, { id: 'c2', tool: 'look', input: { order: '7' } }, { id: 'c3', tool: 'refund', input: { order: '8', amount: 2 } },
    ] } : { text: 'finished' })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const outcome = await runner.run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'approval', step: '0/c:c1' }, { type: 'approval', step: '0/c:c3' }] })
    await runner.deny('r', '0/c:c1', { reason: 'no' })
    expect(await runner.approve('r', '0/c:c3', { resume: true })).toMatchObject({ status: 'completed', result: { told: ['tool "refund" was denied: no. It was not called', 'found', { refunded: 2 }] } })
    expect([made, looked, model.requests.length]).toEqual([[{ order: '8', amount: 2 }], ['7'], 2])
  })

  it('are taken one at a time: what nobody has answered is waited for further, and not asked anew', async () => {
    const { agent, made } = refunding({ approval: true }, (turn) => turn === 0 ? { calls: [
      { id: 'c1', tool: 'refund', input: { order: '7', amount: 1 } }, { id: 'c2', tool: 'refund', input: { order: '8', amount: 2 } },
    ] } : { text: 'finished' })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, {}, { runId: 'r' })
    expect(await runner.approve('r', '0/c:c2', { resume: true })).toMatchObject({ status: 'suspended', reasons: [{ type: 'approval', step: '0/c:c1' }] })
    expect(made).toEqual([{ order: '8', amount: 2 }])
    await runner.approve('r', '0/c:c1', { resume: true })
    expect(made).toHaveLength(2)
  })

  it.each<[string, (runner: Runner, question: Approval) => Promise<unknown>, string]>([
    ['a second time', async (runner) => runner.deny('r', '0/c:c1'), 'step "0/c:c1" of run "r" was answered already'],
    ['of another step', async (runner) => runner.approve('r', '0/c:c9'), 'step "0/c:c9" of run "r" does not wait for approval. What waits for approval: 0/c:c1'],
    ['when the run went on', async (runner) => (await runner.resume('r'), runner.approve('r', '0/c:c1')), 'step "0/c:c1" of run "r" was answered already (approved)'],
  ])('are refused %s, without harm (D9)', async (_, again, message) => {
    const { runner, made, question } = await asked()
    await runner.approve('r', '0/c:c1')
    await expect(again(runner, question)).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE', message: expect.stringContaining(message) })
    await runner.resume('r')
    expect(made).toHaveLength(1)
  })

  it.each([
    ['no step', 7], ['no run', '0/c:c1'],
  ])('need a run and a step: %s', async (what, step) => {
    const { runner } = await asked()
    const code = what === 'no run' ? 'UNKNOWN_RUN' : 'INVALID_OPTIONS'
    await expect(runner.approve(what === 'no run' ? 'x' : 'r', step as string)).rejects.toMatchObject({ code })
  })

  it('that say an input and give none are refused: it would be made as it was asked for', async () => {
    const { runner } = await asked()
    await expect(runner.approve('r', '0/c:c1', { input: undefined })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('to a question that is another call by now are refused', async () => {
    const { runner, question } = await asked()
    await expect(runner.approve('r', { ...question, question: question.question + 1 })).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE', message: expect.stringContaining('is another call now than the one that was asked about') })
  })
})
