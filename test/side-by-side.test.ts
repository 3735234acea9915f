/** What runs side by side, through the runner (R1, R4; C5, C15, C16, C33). */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** Fails the first attempt after everything it did, so that the second one replays. */
function failingOnce() {
  let failed = false
  return () => {
    if (failed) return
    failed = true
    throw new Error('later')
  }
}

const ask = (run: Run, model: ReturnType<typeof testModel>, prompt: string, system?: string): Promise<string> =>
  generateText({ model: run.model(model), prompt, ...(system !== undefined && { instructions: system }) }).then((r) => r.text)

describe('what runs side by side (C16)', () => {
  it('two loops in branches replay wholly', async () => {
    const model = testModel((turn, call) => (turn === 0 ? { calls: [{ id: 'same', tool: 'look', input: { who: JSON.stringify(call.prompt[0]!.content) } }] } : { text: JSON.stringify(call.prompt[0]!.content) }))
    let looks = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ look: tool({ inputSchema: z.object({ who: z.string() }), execute: async ({ who }) => `${who} ${++looks}` }) })
      const out = await Promise.all(['ann', 'bob'].map((who) => run.branch(who, async () => {
        const { text, steps } = await generateText({ model: run.model(model), tools, prompt: who, stopWhen: stepCountIs(4) })
        return [text, steps[0]!.toolResults[0]!.output]
      })))
      fail()
      return out
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const outcome = await runner.resume('r')
    expect(JSON.stringify(outcome)).toMatch(/ann.*ann.*bob.*bob/s)
    expect(model.requests).toHaveLength(4)
    expect(looks).toBe(2)
  })

  it('two loops with tools in one branch are refused at the second claim, and what the first did is kept (C16b)', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'x' }))
    const agent = defineAgent('a', async (run, _customers: string[]) => {
      const loop = (customer: string) => generateText({
        model: run.model(model), prompt: 'what is owed?', stopWhen: stepCountIs(3),
        tools: run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => customer }) }),
      })
      return (await Promise.all(_customers.map(loop))).map((r) => r.text)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, ['ann', 'bob'], { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', advice: expect.stringMatching(/currentRun\(\)\.branch\(key, fn\)/) })
  })

  it('where the first of them is on its way already, its answer is recorded, and replays when the code was mended (C16b)', async () => {
    const gate = Promise.withResolvers<void>()
    const model = testModel(async (turn, call) => {
      if (turn === 0) await gate.promise
      return turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: JSON.stringify(call.prompt.at(-1)) }
    })
    const loop = (run: Run, customer: string) => generateText({
      model: run.model(model), prompt: 'what is owed?', stopWhen: stepCountIs(3),
      tools: run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => customer }) }),
    }).then((r) => r.text)
    let mended = false
    const agent = defineAgent('a', async (run) => {
      const ann = loop(run, 'ann')
      if (mended) return [await ann, await run.branch('bob', () => loop(run, 'bob'))]
      while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
      const bob = loop(run, 'bob')
      gate.resolve()
      return Promise.all([ann, bob])
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
    expect(model.requests).toHaveLength(1)
    const ended = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' ? [[entry.step.id, entry.outcome.type]] : []))
    expect(ended).toEqual([['0', 'value']])
    mended = true
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [expect.stringMatching(/ann/), expect.stringMatching(/bob/)] })
    expect(model.requests).toHaveLength(4)
  })

  it('steps of one name without key or input are refused when they overlap; with a key they are right (C16d)', async () => {
    const wait = (i: number) => new Promise((resolve) => setTimeout(resolve, 3 - i))
    const fail = failingOnce()
    const without = defineAgent('without', async (run) => Promise.all([1, 2].map(async (i) => run.step('charge', async () => (await wait(i), i)))))
    const charged: number[] = []
    const withKey = defineAgent('with', async (run) => {
      const out = await Promise.all([1, 2].map(async (i) => {
        await wait(Math.random() * 3)
        return run.step('charge', { key: i }, async () => (charged.push(i), `charge ${i}`))
      }))
      fail()
      return out
    })
    const runner = createRunner({ agents: [without, withKey], store: memoryStore(), ...quick })
    await expect(runner.run(without, {}, { runId: 'a' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
    await expect(runner.run(withKey, {}, { runId: 'b' })).rejects.toThrow(/later/)
    expect(await runner.resume('b')).toMatchObject({ result: ['charge 1', 'charge 2'] })
    expect(charged.toSorted()).toEqual([1, 2])
  })

  describe('steps of one name that say nothing of what they ask for (C16d)', () => {
    const charged: number[] = []
    const load = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    const charge = (run: Run, i: number) => run.step('charge', () => charged.push(i))
    const drive = (handler: (run: Run) => Promise<unknown>) => {
      charged.length = 0
      const agent = defineAgent('a', handler)
      return createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })
    }

    it('are refused where other code asks for the second one, although the first has ended: the loads may end in another order on resume', async () => {
      const ended = Promise.withResolvers<void>()
      await expect(drive((run) => Promise.all([1, 2].map(async (i) => {
        if (i === 2) await ended.promise
        await load(1)
        await charge(run, i)
        ended.resolve()
      })))).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', message: expect.stringMatching(/step "charge" was asked for before \(0\), by other code of its branch.*give it its `input`/) })
      expect(charged).toEqual([1])
    })

    it('are refused where other code is woken by the event loop right after the first was handed out', async () => {
      let isOver = false
      await expect(drive((run) => Promise.all([
        (async () => {
          while (!isOver) await new Promise(setImmediate)
          await charge(run, 2)
        })(),
        (async () => {
          await charge(run, 1)
          isOver = true
        })(),
      ]))).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
      expect(charged).toEqual([1])
    })

    it('are refused behind a function that looks something up by itself before it asks', async () => {
      const order = async (run: Run, i: number) => (await load(1), charge(run, i))
      await expect(drive(async (run) => [await order(run, 1), await order(run, 2)])).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
      expect(charged).toEqual([1])
    })

    it.each<[string, (run: Run) => Promise<unknown>]>([
      ['follow one another', async (run) => { for (const i of [1, 2, 3]) await charge(run, i) }],
      ['follow one another with something in between', async (run) => {
        for (const i of [1, 2, 3]) {
          await load(1).then(() => run.step(`look ${i}`, () => i))
          await charge(run, i)
        }
      }],
      ['stand in a function that asks for two of them', async (run) => {
        const both = async (i: number) => [await run.step('look', () => i), await charge(run, i)]
        for (const i of [1, 2, 3]) await both(i)
      }],
      ['stand in a function that reads before, and awaits what needs nobody else', async (run) => {
        const read = async (i: number) => {
          await z.number().parseAsync(i)
          await run.read('order', { input: i }, () => i)
          await charge(run, i)
        }
        for (const i of [1, 2, 3]) await read(i)
      }],
      ['are asked for in a chain of promises', (run) => [1, 2, 3].reduce((before, i) => before.then(() => run.step('look', () => i)).then(() => charge(run, i)), Promise.resolve(0))],
      ['are asked for behind a loop of the model, which may ask itself', async (run) => {
        const turn = async (i: number) => {
          const model = testModel((n) => (n === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'done' }))
          const look = tool({ inputSchema: z.object({}), execute: async () => i })
          const prepareStep = async () => (await run.read('memory', () => i), {})
          await generateText({ model: run.model(model), tools: run.tools({ look }), prompt: `turn ${i}`, stopWhen: stepCountIs(3), prepareStep })
          await charge(run, i)
        }
        for (const i of [1, 2, 3]) await turn(i)
      }],
      ['stand in a function that asks at once', async (run) => { for (const i of [1, 2, 3]) await (async () => charge(run, i))() }],
      ['stand in branches', (run) => Promise.all([1, 2, 3].map((i) => run.branch(String(i), async () => (await load(4 - i), charge(run, i)))))],
      ['are asked for by a generator that is read in a branch', (run) => run.branch('b', async function* () {
        for (const i of [1, 2, 3]) {
          await load(1)
          yield await charge(run, i)
        }
      }).then(async (parts) => { for await (const part of parts) void part })],
      ['are asked for by a tool that tells its progress', (run) => {
        const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'all', input: {} }] } : { text: 'done' }))
        const all = tool({ inputSchema: z.object({}), execute: async function* () {
          for (const i of [1, 2, 3]) {
            await load(1)
            yield await charge(run, i)
          }
        } })
        return generateText({ model: run.model(model), tools: run.tools({ all }), prompt: 'p', stopWhen: stepCountIs(3) }).then(({ text }) => text)
      }],
      ['are asked for from a callback that was set up before', async (run) => {
        const waiting: (() => void)[] = []
        const turn = () => new Promise<void>((resolve) => waiting.push(resolve))
        const next = setInterval(() => waiting.shift()?.(), 1)
        for (const i of [1, 2, 3]) {
          await turn()
          await charge(run, i)
        }
        clearInterval(next)
      }],
    ])('are right where they %s', async (_, handler) => {
      expect(await drive(handler)).toMatchObject({ status: 'completed' })
      expect(charged.toSorted()).toEqual([1, 2, 3])
    })
  })

  describe('what cannot be told apart', () => {
    /** Asks for two steps that cannot be: the second one is refused. */
    async function asked(run: Run): Promise<void> {
      const ended = Promise.withResolvers<void>()
      await Promise.all([1, 2].map(async (i) => {
        if (i === 2) await ended.promise
        await new Promise(setImmediate)
        await run.step('audit', () => {})
        ended.resolve()
      }))
    }
    const model = () => testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'push', input: {} }] } : { text: 'done' }))
    const inputSchema = z.object({})

    it.each<[string, (run: Run) => Promise<unknown>]>([
      ['code that catches all errors', (run) => asked(run).catch(() => 'caught')],
      ['a callback of the loop', async (run) => {
        const result = streamText({ model: run.model(model()), tools: run.tools({ push: tool({ inputSchema, execute: () => 'pushed' }) }), prompt: 'x', stopWhen: stepCountIs(3), onStepEnd: () => asked(run) })
        await result.consumeStream()
        return result.text
      }],
      ['a tool, whose error the model is told', async (run) => {
        const tools = run.tools({ push: tool({ inputSchema, execute: () => asked(run) }) }, { push: { composite: true } })
        return (await generateText({ model: run.model(model()), tools, prompt: 'x', stopWhen: stepCountIs(3) })).text
      }],
    ])('ends the run, and is not lost in %s', async (_, handler) => {
      const runner = createRunner({ agents: [defineAgent('a', handler)], store: memoryStore(), ...quick })
      await expect(runner.run('a', 1, { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
      expect(await runner.get('r')).toMatchObject({ status: 'failed' })
    })

    it('has told no model so: when the code was mended, the tool goes on', async () => {
      let isMended = false
      const made: unknown[] = []
      const loop = model()
      const push = async (run: Run): Promise<string> => (isMended ? (await run.step('audit', { input: 2 }, () => made.push(2)), 'pushed') : (await asked(run), 'never'))
      const agent = defineAgent('a', async (run) => {
        const tools = run.tools({ push: tool({ inputSchema, execute: () => push(run) }) }, { push: { composite: true } })
        return (await generateText({ model: run.model(loop), tools, prompt: 'x', stopWhen: stepCountIs(3) })).steps[0]!.toolResults[0]!.output
      })
      const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
      await expect(runner.run('a', 1, { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
      isMended = true
      const outcome = await runner.resume('r')
      const step = '0/c:c/0~1'
      expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'audit', step }] })
      expect(await runner.resolve('r', step, 'rerun', { resume: true })).toEqual({ status: 'completed', result: 'pushed' })
      expect(made).toEqual([2])
    })
  })

  describe('a key that two lines of work use', () => {
    const load = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    const USES: Record<string, (run: Run, charge: () => number) => Promise<unknown>> = {
      'of a branch': (run, charge) => run.branch('work', () => run.step('charge', charge)),
      'of a step': (run, charge) => run.step('charge', { key: 'k' }, charge),
    }
    const drive = (handler: (run: Run) => Promise<unknown>) => createRunner({ agents: [defineAgent('a', handler)], store: memoryStore(), ...quick }).run('a', 1, { runId: 'r' })

    it.each(Object.entries(USES))('%s is refused to the second one, also where the first has ended: they may come in another order on resume', async (_, use) => {
      const charged: number[] = []
      const ended = Promise.withResolvers<void>()
      await expect(drive((run) => Promise.all([1, 2].map(async (i) => {
        if (i === 2) await ended.promise
        await load(1)
        await use(run, () => charged.push(i))
        ended.resolve()
      })))).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', message: expect.stringMatching(/the key "(work|k)" of .* was used before \(.*\), by other code of its branch/) })
      expect(charged).toEqual([1])
    })

    it.each(Object.entries(USES))('%s may be used again by code that goes on from there', async (_, use) => {
      const charged: number[] = []
      const once = async (run: Run, i: number) => (await Promise.resolve(), use(run, () => charged.push(i)))
      const twice = async (run: Run) => {
        for (const i of [1, 2]) await once(run, i)
        for (const i of [3, 4]) {
          await use(run, () => charged.push(i))
          await load(1)
        }
      }
      expect(await drive(twice)).toMatchObject({ status: 'completed' })
      expect(charged).toEqual([1, 2, 3, 4])
    })
  })

  it('a race has the same winner on replay (C16c)', async () => {
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    let slowFirst = true
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const winner = await Promise.race([
        run.read('left', async () => (await wait(slowFirst ? 15 : 0), 'left')),
        run.read('right', async () => (await wait(slowFirst ? 0 : 15), 'right')),
      ])
      const used = await run.step('use', { input: winner }, () => `used ${winner}`)
      await wait(20)
      fail()
      return used
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    slowFirst = false
    expect(await runner.resume('r')).toMatchObject({ result: 'used right' })
  })

  it('a branch that has ended gives up nothing that was asked for in it: it is made, with all that is inside of it, and waited for (B10)', async () => {
    const made: string[] = []
    const store = memoryStore()
    const sub = defineAgent('sub', async (run) => {
      await run.read('look', async () => {})
      return run.step('charge', { input: 7 }, () => made.push('charged'))
    })
    const agent = defineAgent('a', async (run) => {
      await run.branch('late', async () => {
        void run.step('order', { input: 7 }, () => made.push('ordered'))
        void run.agent(sub, {})
      })
      return run.branch('late', async () => 'next')
    })
    const runner = createRunner({ agents: [agent], store, ...quick })
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'next' })
    expect(made.toSorted()).toEqual(['charged', 'ordered'])
  })

  it('a doubt in a branch that has ended is asked about until it is settled', async () => {
    const store = memoryStore()
    const dying = mortal(store)
    const made: string[] = []
    const agent = defineAgent('a', async (run) => {
      const winner = await run.branch('race', () => Promise.race([
        run.step('slow', { input: 1 }, () => (made.push('slow'), new Promise<never>(() => {}))),
        run.read('quick', async () => 'quick'),
      ]))
      // Its start is news for all that waits.
      await run.step('next', { input: winner }, () => made.push('next'))
      return winner
    })
    const died = dying.killAt(/"step-started".*"name":"next"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await died
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    const step = 'b:race#0/0'
    for (let time = 0; time < 2; time++) {
      expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step }] })
      expect(made).toEqual(['slow', 'next'])
    }
    await runner.resolve('r', step, 'skip')
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'quick' })
  })

  it('parallel tools that finish in reverse order get their own results, and fewer at a time do not deadlock (C5, C33)', async () => {
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    const model = testModel((turn) => (turn === 0 ? { calls: [1, 2, 3].map((n) => ({ id: `c${n}`, tool: 'get', input: { n } })) } : { text: 'x' }))
    let concurrency: number | undefined
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ get: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => (await wait(20 - n * 5), `got ${n}`) }) })
      const { steps } = await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: stepCountIs(3), ...(concurrency && { toolCallConcurrency: concurrency }) })
      fail()
      return steps[0]!.toolResults.map((r) => [r.input, r.output])
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    concurrency = 1
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'completed', result: expect.arrayContaining([1, 2, 3].map((n) => [{ n }, `got ${n}`])) })
    expect(model.requests).toHaveLength(2)
  })

  it('an agent inside a tool replays as a whole, and its second use finds its own steps (C15)', async () => {
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: 'same', tool: 'research', input: { topic: turn } }] } : { text: 'x' }))
    const inner = testModel((_t, call) => ({ text: JSON.stringify(call.prompt.at(-1)!.content) }))
    const researcher = defineAgent('researcher', async (run, topic: number) => ask(run, inner, `topic ${topic}`))
    const fail = failingOnce()
    let entered = 0
    const agent = defineAgent('a', async (run) => {
      const research = tool({ inputSchema: z.object({ topic: z.number() }), execute: async ({ topic }) => (entered++, run.agent(researcher, topic)) })
      const { steps } = await generateText({ model: run.model(model), tools: run.tools({ research }, { research: { composite: true } }), prompt: 'x', stopWhen: stepCountIs(4) })
      fail()
      return steps.flatMap((s) => s.toolResults.map((r) => r.output))
    })
    const runner = createRunner({ agents: [agent, researcher], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const outcome = await runner.resume('r')
    expect(JSON.stringify(outcome)).toMatch(/topic 0.*topic 1/)
    expect([inner.requests.length, entered]).toEqual([2, 2])
  })
})
