/** What cannot be told apart is refused when it first happens live (R1; C16d). */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Agent, type Run, type RunnerOptions, type Store } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

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
    })))).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', message: expect.stringMatching(/step "charge" was asked for before \(0\), by other code of its branch.*Give each a `key` of its own, or each line of work a branch.*Where they come in the same order each time, their `input` is enough/) })
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

  it.each(Object.entries(USES))('%s is refused to the second one, also where the first has ended: they may come in another order on resume', async (what, use) => {
    const charged: number[] = []
    const ended = Promise.withResolvers<void>()
    await expect(drive((run) => Promise.all([1, 2].map(async (i) => {
      if (i === 2) await ended.promise
      await load(1)
      await use(run, () => charged.push(i))
      ended.resolve()
    })))).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', message: expect.stringMatching(/the key "(work|k)" of .* was used before \(.*\), by other code of its branch/), advice: expect.stringMatching(what.includes('branch') ? /^Give each line of work a key of its own$/ : /^Give each a key of its own, or each line of work a branch/) })
    expect(charged).toEqual([1])
  })

  it('may be used again behind all that used it, whoever did: two rounds of a pool over the same customers', async () => {
    const charged: string[] = []
    /** Two at a time; the slower one of each round ends last. */
    const round = async (run: Run, name: string): Promise<void> => {
      const left = ['ada', 'bob', 'cy']
      const others = Promise.withResolvers<void>()
      const worker = async (): Promise<void> => {
        for (let who = left.shift(); who; who = left.shift()) {
          await run.branch(who, async () => {
            if (who === 'ada') await others.promise
            await run.step(name, { key: 'k' }, () => charged.push(`${name} ${who}`))
          })
          if (who === 'cy') others.resolve()
        }
      }
      await Promise.all([worker(), worker()])
    }
    expect(await drive(async (run) => {
      await round(run, 'order')
      await round(run, 'charge')
    })).toMatchObject({ status: 'completed' })
    expect(charged.toSorted()).toEqual(['charge ada', 'charge bob', 'charge cy', 'order ada', 'order bob', 'order cy'])
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

it('a step that says nothing of what it asks is not answered with that of another line of work, which had come first before the kill', async () => {
  const mailed: string[] = []
  const store = memoryStore()
  const dying = mortal(store)
  let isSecond = false
  const slow = Promise.withResolvers<void>()
  const agent = defineAgent('a', (run) => Promise.all(['eu', 'us'].map(async (region) => {
    await run.branch(region, async () => {
      if (region === (isSecond ? 'eu' : 'us')) await slow.promise
      await run.read('look', { input: region }, () => region)
    })
    return run.step('mail', () => (mailed.push(region), `mailed to ${region}`))
  })))
  const died = dying.killAt(/"step-ended".*"name":"mail"/, 'after')
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
  await died
  expect(mailed).toEqual(['eu'])
  isSecond = true
  const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
  expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'mail', effects: ['0'] }] })
  expect(mailed).toEqual(['eu'])
})

it('nor where that has seen the other one ask, and waits for something of its own since', async () => {
  const mailed: string[] = []
  let slow = 'us'
  const agent = defineAgent('a', (run) => Promise.all(['eu', 'us'].map(async (region) => {
    await run.read('look', { input: region }, () => region)
    await (region === slow ? new Promise(() => {}) : aMoment())
    return run.step('mail', () => (mailed.push(region), `mailed to ${region}`))
  })))
  const store = await killedAfter('mail', agent)
  slow = 'eu'
  expect(await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'mail', effects: ['2'] }] })
  expect(mailed).toEqual(['eu'])
})

describe('a step that says nothing of what it asks is the same one', () => {
  const mail = async (run: Run) => [await run.step('mail', () => void mailed.push('mail')), await run.step('log', () => void mailed.push('log'))]
  const mailed: string[] = []
  const goesOn = async (handler: (run: Run) => Promise<unknown>, change: () => void) => {
    mailed.length = 0
    const agent = defineAgent('a', handler)
    const store = await killedAfter('mail', agent)
    change()
    expect(await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')).toMatchObject({ status: 'completed' })
    expect(mailed).toEqual(['mail', 'log'])
  }

  it.each([[3, 2], [3, 1], [1, 3], [2, 3]])('behind a pool of branches %i wide, and %i wide on resume', async (before, now) => {
    let width = before
    await goesOn(async (run) => {
      const left = [1, 2, 3, 4]
      const worker = async () => {
        for (let each = left.shift(); each !== undefined; each = left.shift()) await run.branch(String(each), () => run.step('load', () => 1))
      }
      await Promise.all(Array.from({ length: width }, worker))
      return mail(run)
    }, () => (width = now))
  })

  it('behind a step with a key that the code has asked for since it was changed', async () => {
    let isChanged = false
    await goesOn(async (run) => {
      await run.read('look', () => 1)
      if (isChanged) await run.step('check', { key: 'new' }, () => 1)
      await aMoment()
      return mail(run)
    }, () => (isChanged = true))
  })

  it('behind what was asked for side by side and comes in another order now', async () => {
    let order = ['a', 'b', 'c']
    await goesOn(async (run) => {
      await Promise.all(order.map((key) => run.step('load', { key }, () => key)))
      return mail(run)
    }, () => (order = ['c', 'a', 'b']))
  })
})

const aMoment = () => new Promise((resolve) => setTimeout(resolve, 5))

/** Its run is killed as soon as the step is recorded: what the store has then. */
async function killedAfter(step: string, agent: Agent<unknown, unknown>): Promise<Store> {
  const store = memoryStore()
  const dying = mortal(store)
  const died = dying.killAt(new RegExp(`"step-ended".*"name":"${step}"`), 'after')
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
  await died
  return store
}
