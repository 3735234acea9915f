/** What becomes of an approval where the run is killed, driven meanwhile, or failed (D7, D12, D15). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, memoryStore, type Runner, type Store } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { ASK, asked, questionIn, quick, refunding } from './support/refunding.ts'

describe('killed', () => {
  it.each([
    ['before the question is written', /"approval-asked"/, 'before'], ['right after it', /"approval-asked"/, 'after'], ['before the run is suspended', /"suspended"/, 'before'],
  ] as const)('%s: the question is asked once, and the call made once', async (_, entry, when) => {
    const { agent, made } = refunding({ approval: true })
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(entry, when)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    questionIn(await runner.resume('r'))
    await runner.approve('r', '0/c:c1', { resume: true })
    expect(made).toHaveLength(1)
    expect((await runner.history('r')).filter(({ entry: { type } }) => type === 'approval-asked')).toHaveLength(1)
  })

  it.each([
    ['before the answer is taken in', /"approval-decided"/, 'before'], ['right after it', /"approval-decided"/, 'after'], ['before the call is written ahead', /"step-started".*"kind":"tool"/, 'before'],
  ] as const)('%s: no wake-up is lost, and the call is made once (D12)', async (_, entry, when) => {
    const { agent, made, store, runner: first } = await asked()
    await first.approve('r', '0/c:c1')
    const dying = mortal(store)
    const died = dying.killAt(entry, when)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).resume('r').catch(() => {})
    await died
    expect(await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(1)
  })

  it('in the call: what was approved is in doubt like any other, with the arguments that were approved', async () => {
    const { agent, made, store, runner: first } = await asked({ approval: true, effectKey: ({ order }) => order })
    await first.approve('r', '0/c:c1', { input: { order: '8', amount: 3 } })
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"kind":"tool"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).resume('r').catch(() => {})
    await died
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c1', calls: [{ input: { json: { order: '8', amount: 3 } } }] }] })
    expect((await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-started' && entry.effect ? [entry.effect.key] : []))).toEqual(['8'])
    expect(await runner.resolve('r', '0/c:c1', 'rerun', { resume: true })).toMatchObject({ status: 'completed', result: { told: [{ refunded: 3 }] } })
    expect(made).toEqual([{ order: '8', amount: 3 }, { order: '8', amount: 3 }])
  })
})

it('what was approved with other arguments, and was killed in its effect, is in doubt also where the tool does not take those any more', async () => {
  const { store, runner: first } = await asked({ approval: true })
  await first.approve('r', '0/c:c1', { input: { order: '7', amount: 30 } })
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"kind":"tool"/)
  const { agent, made } = refunding({ approval: true })
  void createRunner({ agents: [agent], store: dying.store, ...quick }).resume('r').catch(() => {})
  await died
  const stricter = refunding({ approval: true }, undefined, z.object({ order: z.string(), amount: z.number().min(40) }))
  const runner = createRunner({ agents: [stricter.agent], store, clock: later(), ...quick })
  expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c1' }] })
  // Nobody has agreed to the arguments that it takes.
  expect(await runner.resolve('r', '0/c:c1', 'rerun', { resume: true })).toMatchObject({ status: 'completed', result: { told: [expect.stringMatching(/was approved with arguments that it does not take/)] } })
  expect([made, stricter.made]).toEqual([[{ order: '7', amount: 30 }], []])
})

describe('an answer that comes while the run is driven (D12)', () => {
  /** Answers right before the owner writes that the run is suspended. */
  function answering(store: Store, answer: () => Promise<unknown>): Store {
    let once = true
    return { ...store, append: async (runId, batch) => {
      if (once && batch.entries.some(({ body }) => body.includes('"suspended"'))) {
        once = false
        await answer()
      }
      return store.append(runId, batch)
    } }
  }

  it('is taken in instead of suspending: the call is made in the same attempt', async () => {
    const { agent, made } = refunding({ approval: true })
    const store = memoryStore()
    const other = createRunner({ agents: [], store })
    const runner = createRunner({ agents: [agent], store: answering(store, () => other.approve('r', '0/c:c1')), ...quick })
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(1)
    expect((await runner.history('r')).filter(({ entry }) => entry.type === 'attempt-started')).toHaveLength(1)
  })
})

describe('what goes on meanwhile (D15)', () => {
  it('are the other branches; the run waits when nothing can', async () => {
    const done: string[] = []
    const model = testModel((turn) => (turn === 0 ? ASK : { text: 'finished' }))
    const refund = tool({ inputSchema: z.object({ order: z.string(), amount: z.number() }), execute: async () => done.push('refund') })
    const agent = defineAgent('both', async (run, _input: object) => Promise.all([
      run.branch('a', () => generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: { approval: true } }), prompt: 'p', stopWhen: stepCountIs(3) })),
      run.branch('b', async () => {
        for (const name of ['one', 'two', 'three']) await run.step(name, async () => done.push(name))
      }),
    ]).then(() => 'ended'))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const { step } = questionIn(await runner.run(agent, {}, { runId: 'r' }))
    expect(done).toEqual(['one', 'two', 'three'])
    expect(await runner.approve('r', step, { resume: true })).toMatchObject({ status: 'completed', result: 'ended' })
    expect(done).toEqual(['one', 'two', 'three', 'refund'])
  })
})

describe('a run that failed with a denial', () => {
  it.each<[string, (error: unknown) => unknown]>([
    ['itself', (error) => error],
    ['as the cause of another error', (cause) => new Error('no refund', { cause })],
    ['in other words', () => new Error('no refund')],
  ])('%s keeps it when it is driven again: what somebody did not agree to is asked about again with redo alone, and the error says so', async (_, inWords) => {
    const model = testModel(() => ASK)
    const made: unknown[] = []
    const refund = tool({ inputSchema: z.object({ order: z.string(), amount: z.number() }), execute: async (input) => made.push(input) })
    const agent = defineAgent('strict', async (run, _input: object) => {
      const result = await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: { approval: true } }), prompt: 'p', stopWhen: stepCountIs(1) })
      for (const part of result.content) if (part.type === 'tool-error') throw inWords(part.error)
      return 'refunded'
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, {}, { runId: 'r' })
    const advice = expect.stringContaining('What was decided about step 0/c:c1 stands: if it is the reason, drive the run again with resume(id, { redo: "0/c:c1" }), which asks anew')
    await expect(runner.deny('r', '0/c:c1', { resume: true })).rejects.toMatchObject({ advice, message: advice })
    await expect(runner.resume('r')).rejects.toMatchObject({ advice, message: advice })
    expect(await runner.resume('r', { redo: '0/c:c1' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'approval' }] })
    expect(made).toEqual([])
    expect(await runner.approve('r', questionIn(await runner.resume('r')), { resume: true })).toMatchObject({ status: 'completed', result: 'refunded' })
  })
})

describe('a condition that is still thought about', () => {
  /** Its condition says what it is told to, when it is told to. */
  function thoughtful(composite?: { readonly timeoutMs: number }) {
    const [begun, said] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
    const made: unknown[] = []
    const refund = tool({ inputSchema: z.object({}), execute: async () => made.push('refund') })
    const when = () => {
      begun.resolve()
      return said.promise
    }
    const call = { toolCallId: 'c1', messages: [], context: {} }
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ refund }, { refund: { approval: { when } } })
      const ask = (): unknown => tools.refund.execute!({}, call)
      if (!composite) return ask()
      const { team } = run.tools({ team: tool({ inputSchema: z.object({}), execute: ask }) }, { team: { composite: true, ...composite } })
      await Promise.resolve(team.execute!({}, call)).catch(() => {})
      said.resolve(true)
      await said.promise
      return 'went on'
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    return { agent, runner, begun, said, made }
  }
  const questions = async (runner: Runner): Promise<number> => (await runner.history('r')).filter(({ entry }) => entry.type === 'approval-asked').length

  it('when what the call stands in is cut: nobody is asked, the call is not made, and the run goes on', async () => {
    const { agent, runner, made } = thoughtful({ timeoutMs: 20 })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'went on' })
    expect([made, await questions(runner)]).toEqual([[], 0])
  })

  it('when the attempt is stopped: nobody is asked about what it may say needs no answer', async () => {
    const { agent, runner, begun, said, made } = thoughtful()
    const stop = new AbortController()
    const outcome = runner.run(agent, 1, { runId: 'r', signal: stop.signal })
    await begun.promise
    stop.abort(new Error('enough'))
    await expect(outcome).rejects.toThrow('enough')
    said.resolve(false)
    expect([made, await questions(runner)]).toEqual([[], 0])
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(made).toEqual(['refund'])
  })
})

describe('a doubt of a call that nobody had to agree to when it was started', () => {
  /** Killed in its call, before anybody knows of its end; from then on it would need approval. */
  async function killed(policy: { onIncompleteTool?: 'rerun' } = {}) {
    let needed = false
    const { agent, made } = refunding({ approval: { when: () => needed }, ...policy })
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"kind":"tool"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    needed = true
    return { made, runner: createRunner({ agents: [agent], store, clock: later(), ...quick }) }
  }

  it('is asked about as a doubt, and its call is not asked about once more: whoever denied it would be told that it was not called', async () => {
    const { made, runner } = await killed()
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c1' }] })
    expect(await runner.resolve('r', '0/c:c1', 'rerun', { resume: true })).toMatchObject({ status: 'completed', result: { told: [{ refunded: 50 }] } })
    expect(made).toHaveLength(2)
  })

  it('is settled as its policy says', async () => {
    const { made, runner } = await killed({ onIncompleteTool: 'rerun' })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(2)
  })
})

it('a call that somebody lets run with the arguments of one in doubt is that one: somebody decides about it, and it has its key', async () => {
  const made: [number, string][] = []
  const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'refund', input: { order: 7 + turn } }] } : { text: 'done' }))
  const refund = tool({ inputSchema: z.object({ order: z.number() }), execute: async ({ order }) => {
    made.push([order, currentStep()!.idempotencyKey])
    return made.length === 1 ? new Promise<never>(() => {}) : `refunded ${order}`
  } })
  const agent = defineAgent('a', async (run) => (await generateText({
    model: run.model(model), tools: run.tools({ refund }, { refund: { timeoutMs: 20, approval: { when: ({ order }) => order === 8 } } }), prompt: 'x', stopWhen: stepCountIs(4),
  })).steps.flatMap((step) => step.toolResults.map(({ output }) => output as string)))
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '1/c:c1', effects: ['0/c:c0'] }] })
  questionIn(await runner.resolve('r', '1/c:c1', 'rerun', { resume: true }))
  // What was decided about order 8 says nothing of order 7.
  expect(await runner.approve('r', '1/c:c1', { input: { order: 7 }, resume: true })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '1/c:c1', effects: ['0/c:c0'] }] })
  expect(await runner.resolve('r', '1/c:c1', 'rerun', { resume: true })).toEqual({ status: 'completed', result: ['refunded 7'] })
  expect(made).toEqual([[7, made[0]![1]], [7, made[0]![1]]])
})
