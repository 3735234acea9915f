/** What a run that failed asks for anew, and what it keeps (R4, R7; C12, C13, C38). */
import { generateText, stepCountIs, tool } from 'ai'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Agent, type Run, type RunnerOptions } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { waitingIn } from './support/waiting.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** What was done, by what. */
const done: string[] = []
let isMended = false
beforeEach(() => {
  done.length = 0
  isMended = false
})

/** Fails as long as nothing is mended, with this. */
const broken = (what: string, thrown: unknown = new Error(`${what} is closed`)) => (): string => {
  done.push(what)
  if (!isMended) throw thrown
  return `${what} done`
}

/** The run fails, is mended, and is driven again once: how that ends, and what it did. */
async function drivenAgain(agent: Agent<unknown, unknown>, options: Partial<RunnerOptions> = {}, again: Partial<RunnerOptions> = {}): Promise<{ readonly error: { message: string }; readonly outcome: unknown; readonly did: readonly string[] }> {
  const store = memoryStore()
  const error: unknown = await createRunner({ agents: [agent], store, ...quick, ...options }).run(agent, 1, { runId: 'r' }).catch((thrown: unknown) => thrown)
  isMended = true
  const before = done.length
  const outcome: unknown = await createRunner({ agents: [agent], store, ...quick, ...options, ...again }).resume('r').catch((thrown: unknown) => thrown)
  return { error: error as Error, outcome, did: done.slice(before) }
}

const ITEMS = [1, 2, 3, 4, 5]
const isBad = (item: number): boolean => item === 2 || item === 4

type Line = (run: Run, item: number) => Promise<unknown>
const act = (item: number) => (): string => {
  done.push(`pay ${item}`)
  if (isBad(item) && !isMended) throw new Error(`no account ${item}`)
  return `paid ${item}`
}
const child = defineAgent('child', async (run: Run, item: number) => run.step('pay', { input: item }, act(item)))
const model = (item: number) => testModel(() => ({ text: String(act(item)()) }))

const LINES: readonly [string, Line][] = [
  ['a branch with an effect that has a key', (run, item) => run.branch(`item ${item}`, () => run.step('pay', { key: item }, act(item)))],
  ['a branch with an effect that has an input', (run, item) => run.branch(`item ${item}`, () => run.step('pay', { input: item }, act(item)))],
  ['a branch with a model request', (run, item) => run.branch(`item ${item}`, async () => (await generateText({ model: run.model(model(item)), prompt: `item ${item}`, maxRetries: 0 })).text)],
  ['an agent', (run, item) => run.agent(child, item, { key: item })],
]

const POOLS: readonly [string, number][] = [['one after the other', 1], ['two at a time', 2], ['all at once', 5]]

async function inPool(size: number, work: (item: number) => Promise<unknown>): Promise<unknown[]> {
  const errors: unknown[] = []
  let next = 0
  await Promise.all(Array.from({ length: size }, async () => {
    while (next < ITEMS.length) await work(ITEMS[next++]!).catch((error: unknown) => errors.push(error))
  }))
  return errors
}

describe.each(LINES)('a batch, each item in %s', (_, line) => {
  it.each(POOLS.flatMap(([how, size]) => [[how, 'the first error', size, (errors: unknown[]) => errors[0]], [how, 'all of them', size, (errors: unknown[]) => new AggregateError(errors)], [how, 'their number', size, (errors: unknown[]) => new Error(`${errors.length} failed`)]] as const))(
    'of which two fail, %s, and the run with %s: only those are asked for anew, and nobody is asked', async (__, ___, size, thrown) => {
      const { outcome, did } = await drivenAgain(defineAgent('a', async (run) => {
        const errors = await inPool(size, (item) => line(run, item))
        if (errors.length > 0) throw thrown(errors)
        return 'all done'
      }))
      expect(outcome).toEqual({ status: 'completed', result: 'all done' })
      expect(did.toSorted()).toEqual(['pay 2', 'pay 4'])
    })
})

it('an item that fails again and again makes nobody be asked about those that came after it', async () => {
  const store = memoryStore()
  const agent = defineAgent('a', async (run) => {
    const errors = await inPool(1, (item) => LINES[0]![1](run, item))
    if (errors.length > 0) throw errors[0]
  })
  const runner = createRunner({ agents: [agent], store, ...quick })
  await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/no account 2/)
  for (let i = 0; i < 3; i++) await expect(runner.resume('r')).rejects.toThrow(/no account 2/)
  expect(done.filter((each) => !/[24]/.test(each))).toEqual(['pay 1', 'pay 3', 'pay 5'])
})

describe('several that failed side by side are all asked for anew', () => {
  const region = (run: Run, name: string): Promise<string> => run.branch(name, () => run.read('look', { input: name }, broken(name)))
  it.each<[string, (run: Run) => Promise<unknown>]>([
    ['by Promise.all', (run) => Promise.all(['eu', 'us', 'ap'].map((name) => region(run, name)))],
    ['by Promise.any', (run) => Promise.any(['eu', 'us', 'ap'].map((name) => region(run, name)))],
    ['without branches', (run) => Promise.all(['eu', 'us', 'ap'].map((name) => run.read('look', { input: name }, broken(name))))],
  ])('%s', async (_, ask) => {
    const { outcome, did } = await drivenAgain(defineAgent('a', ask))
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(did).toEqual(['eu', 'us', 'ap'])
  })

  it('but not a call of a model that is to be told of it', async () => {
    const isUs = Promise.withResolvers<void>()
    const { outcome, did } = await drivenAgain(defineAgent('a', (run) => Promise.all([
      run.branch('loop', async () => {
        const tools = run.tools({ look: tool({ inputSchema: z.object({}), execute: async (): Promise<string> => { isUs.resolve(); await new Promise((resolve) => setImmediate(resolve)); done.push('look'); throw new Error('nothing there') } }) })
        return (await generateText({ model: run.model(testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'none' }))), tools, prompt: 'look', stopWhen: stepCountIs(3) })).text
      }),
      run.branch('us', async () => (await isUs.promise, run.read('look', broken('us')))),
    ])))
    expect(outcome).toEqual({ status: 'completed', result: ['none', 'us done'] })
    expect(did).toEqual(['us'])
  })

  it('but not one that was caught, and behind which its line went on', async () => {
    const { outcome, did } = await drivenAgain(defineAgent('a', (run) => {
      const fallback = run.branch('fallback', async () => run.read('look', broken('eu')).catch(() => run.step('mail', () => (done.push('mail'), 'mailed'))))
      return Promise.all([fallback, run.branch('fails', async () => (await fallback, run.read('look', broken('us'))))])
    }))
    expect(outcome).toEqual({ status: 'completed', result: ['mailed', 'us done'] })
    expect(did).toEqual(['us'])
  })
})

describe('the failure that failed the run is asked for anew', () => {
  const wraps = (wrapped: (error: Error) => unknown) => defineAgent('a', async (run) => run.step('ship', broken('ship')).catch((error: Error) => { throw wrapped(error) }))
  it.each<[string, Agent<unknown, unknown>]>([
    ['as a text', defineAgent('a', (run) => run.step('ship', broken('ship', 'maintenance')))],
    ['as nothing at all', defineAgent('a', (run) => run.read('ship', broken('ship', undefined)))],
    ['as null, behind a clean-up', defineAgent('a', async (run) => run.read('ship', broken('ship', null)).catch(async (error) => { await run.read('look', () => 1); throw error }))],
    ['as the cause of another', wraps((cause) => new Error('order failed', { cause }))],
    ['kept by another under originalError', wraps((originalError) => Object.assign(new Error('order failed'), { originalError }))],
    ['kept in an object', wraps((error) => ({ status: 500, error }))],
  ])('where it comes %s', async (_, agent) => {
    const { outcome, did } = await drivenAgain(agent)
    expect(outcome).toEqual({ status: 'completed', result: 'ship done' })
    expect(did).toEqual(['ship'])
  })

  const inOtherWords = (error: Error): never => { throw new Error(`order failed: ${error.message}`) }
  it.each<[string, string, (run: Run) => Promise<unknown>]>([
    ['the handler', '0', (run) => run.step('ship', broken('ship')).catch(inOtherWords)],
    ['the handler, behind a clean-up', '0', (run) => run.step('ship', broken('ship')).catch(async (error: Error) => { await run.step('clean', () => 1); inOtherWords(error) })],
    ['a step that holds it', '0/0', (run) => run.step('order', { idempotent: true }, () => run.step('ship', broken('ship')).catch(inOtherWords))],
  ])('only where that can be known: of one in other words of %s it is said which failure answers again, and what to do', async (_, step, ask) => {
    const runner = createRunner({ agents: [defineAgent('a', ask)], store: memoryStore(), ...quick })
    const advice = expect.stringContaining(`throw an error that has it as its cause, or drive the run again with resume(id, { redo: "${step}" })`)
    await expect(runner.run('a', 1, { runId: 'r' })).rejects.toMatchObject({ advice })
    isMended = true
    await expect(runner.resume('r')).rejects.toMatchObject({ advice })
    expect(await runner.resume('r', { redo: step })).toEqual({ status: 'completed', result: 'ship done' })
  })

  it('not where somebody left it at that: it stands, and the error says that redo alone asks anew', async () => {
    const agent = defineAgent('a', (run) => run.step('ship', { input: 1 }, broken('ship', new TypeError('fetch failed'))).catch((error: Error) => { throw isMended ? new Error('not shipped') : error }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), retry: { maxAttempts: 1 }, ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    isMended = true
    await runner.resolve('r', waitingIn(await runner.resume('r')), 'skip')
    const advice = expect.stringContaining('What was decided about step 0~1 stands')
    await expect(runner.resume('r')).rejects.toMatchObject({ advice })
    await expect(runner.resume('r')).rejects.toMatchObject({ advice })
    await runner.resolve('r', waitingIn(await runner.resume('r', { redo: '0~1' })), 'rerun')
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'ship done' })
  })
})

describe('what is inside of what failed is kept', () => {
  const inside = async (run: Run): Promise<string> => run.step('charge', { key: 'k' }, () => (done.push('charge'), 'receipt'))
  const large = 'x'.repeat(5_000)
  it.each<[string, (run: Run) => Promise<unknown>, Partial<RunnerOptions>?]>([
    ['an agent that throws', (run) => run.agent(defineAgent('child', async (inner) => [await inside(inner), broken('own')()]), 1)],
    ['an agent whose result is too large', (run) => run.agent(defineAgent('child', async (inner) => [await inside(inner), large]), 1), { maxResultBytes: 10_000 }],
    ['an agent whose result cannot be stored', (run) => run.agent(defineAgent('child', async (inner) => [await inside(inner), isMended ? 1 : () => 1]), 1)],
    ['an idempotent step that throws', (run) => run.step('order', { idempotent: true }, async () => [await inside(run), broken('own')()])],
    ['an idempotent step whose result is too large', (run) => run.step('order', { idempotent: true }, async () => [await inside(run), large]), { maxResultBytes: 10_000 }],
  ])('%s', async (_, ask, again = {}) => {
    const { outcome, did } = await drivenAgain(defineAgent('a', ask), { maxResultBytes: 1_000 }, again)
    expect(outcome).toMatchObject({ status: 'completed', result: ['receipt', expect.anything()] })
    expect(did.filter((each) => each !== 'own')).toEqual([])
  })

  it.each<[string, (run: Run) => Promise<unknown>]>([
    ['one step', (run) => run.step('order', { idempotent: true }, () => run.step('ship', broken('ship')))],
    ['one step in another', (run) => run.step('order', { idempotent: true }, () => run.step('part', { idempotent: true }, () => run.step('ship', broken('ship'))))],
    ['an agent in a step', (run) => run.step('order', { idempotent: true }, () => run.agent(defineAgent('child', (inner) => inner.step('ship', broken('ship'))), 1))],
  ])('and what failed %s is asked for anew, also where its process was killed behind that', async (_, ask) => {
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"run-ended"/)
    const agent = defineAgent('a', ask)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' }).catch(() => {})
    await died
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    isMended = true
    await expect(runner.resume('r')).rejects.toThrow('ship is closed')
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'ship done' })
    expect(done).toEqual(['ship', 'ship'])
  })

  it('also where something inside failed it, which alone is made again', async () => {
    const { outcome, did } = await drivenAgain(defineAgent('a', (run) => run.step('order', { idempotent: true }, async () => [await inside(run), await run.step('ship', broken('ship'))])))
    expect(outcome).toEqual({ status: 'completed', result: ['receipt', 'ship done'] })
    expect(did).toEqual(['ship'])
  })
})

describe('what followed the failure', () => {
  it('in a clean-up around a branch is not repeated without a decision (C38)', async () => {
    const { outcome } = await drivenAgain(defineAgent('a', async (run) => {
      try {
        return await run.branch('provision', () => run.step('create', broken('create')))
      } catch (error) {
        await run.step('remove', { key: 'it' }, () => (done.push('remove'), 1))
        throw error
      }
    }), {}, {})
    expect(outcome).toEqual({ status: 'completed', result: 'create done' })
    expect(done).toEqual(['create', 'remove', 'create'])
  })

  it('in other branches is not taken for what failed, though neither says what it asks: that is made, and those are asked about, each as itself', async () => {
    const store = memoryStore()
    const agent = defineAgent('a', async (run) => {
      const errors = await inPool(1, (item) => run.branch(`item ${item}`, () => run.step('pay', act(item))))
      if (errors.length > 0) throw errors[0]
      return 'all done'
    })
    const runner = createRunner({ agents: [agent], store, ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow('no account 2')
    isMended = true
    const asked: string[] = []
    let outcome = await runner.resume('r')
    while (outcome.status === 'suspended') {
      for (const reason of outcome.reasons) {
        if (reason.type !== 'repeat') throw new Error(reason.message)
        asked.push(`${reason.step} of ${reason.effects.join()}`)
        await runner.resolve('r', reason, 'reuse')
      }
      outcome = await runner.resume('r')
    }
    expect(outcome).toEqual({ status: 'completed', result: 'all done' })
    expect(asked).toEqual(['b:item%203#0/0~1 of b:item%203#0/0', 'b:item%205#0/0~1 of b:item%205#0/0'])
    expect(done.slice(5)).toEqual(['pay 2', 'pay 4'])
  })

  it('and says nothing of what it asks is not answered, also in a branch beside: it may be about the failure', async () => {
    const { outcome } = await drivenAgain(defineAgent('a', async (run) => {
      const failure: unknown = await run.branch('pay', () => run.step('pay', broken('pay'))).then(() => undefined, (error: unknown) => error)
      await run.branch('tell', () => run.step('mail', () => (done.push(failure ? 'mail: failed' : 'mail: paid'), 1)))
      if (failure) throw failure
    }))
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'mail' }] })
    expect(done).toEqual(['pay', 'mail: failed', 'pay'])
  })
})

it.each<[string, (run: Run) => Promise<unknown>]>([
  ['in a branch', (run) => run.branch('b', () => run.step('charge', { input: 7 }, broken('charge')))],
  ['under a key', (run) => run.step('charge', { key: 'k', input: 7 }, broken('charge'))],
  ['without an input, in a branch', (run) => run.branch('b', () => run.step('charge', broken('charge')))],
])('what failed its run, and was then done by other code %s, is asked about by the code that it failed in', async (how, elsewhere) => {
  const store = memoryStore()
  const charge = how.startsWith('without') ? (run: Run) => run.step('charge', broken('charge')) : (run: Run) => run.step('charge', { input: 7 }, broken('charge'))
  const runs = (code: (run: Run) => Promise<unknown>) => createRunner({ agents: [defineAgent('a', code)], store, ...quick })
  await expect(runs(charge).run('a', 1, { runId: 'r' })).rejects.toThrow('charge is closed')
  isMended = true
  await expect(runs(async (run) => { await elsewhere(run); throw new Error('later') }).resume('r')).rejects.toThrow('later')
  expect(await runs(charge).resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'charge' }] })
  expect(done).toEqual(['charge', 'charge'])
})

describe('a payment that was made at another place, after one had failed here', () => {
  /** Workers in branches take an order each from one queue, one after the other. */
  async function workersOf(run: Run, workers: readonly string[], orders: readonly number[], pay: (order: number) => Promise<unknown>): Promise<void> {
    const queue = [...orders]
    const turns = workers.map(() => Promise.withResolvers<void>())
    turns[0]!.resolve()
    const results = await Promise.allSettled(workers.map((worker, i) => run.branch(worker, async () => {
      await turns[i]!.promise
      const order = queue.shift()
      if (order !== undefined) await pay(order).finally(() => turns[i + 1]?.resolve())
      turns[i + 1]?.resolve()
    })))
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} failed`)
  }

  it('is not made again where another worker has its order now, in the turn of what failed', async () => {
    let workers = ['w0', 'w1']
    const agent = defineAgent('a', (run) => workersOf(run, workers, [7, 9], (order) => run.step('pay', { input: { order } }, () => {
      done.push(`pay ${order}`)
      if (order === 9 && !isMended) throw new Error('card declined')
      return order
    })))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow('1 failed')
    isMended = true
    workers = ['w1', 'w0']
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['b:w0#0/0'] }] })
    expect(done.filter((what) => what === 'pay 7')).toHaveLength(1)
  })

  it('is not made again by the worker that had failed, where that is known only since', async () => {
    const store = memoryStore()
    let workers = ['w0', 'w1']
    const agent = defineAgent('a', (run) => workersOf(run, workers, [7], (order) => run.step('pay', { key: order, input: { order } }, broken(`pay ${order}`))))
    const killed = async (entry: RegExp): Promise<void> => {
      const dying = mortal(store)
      const died = dying.killAt(entry)
      void createRunner({ agents: [agent], store: dying.store, clock: later(workers[0] === 'w0' ? 0 : 3_600_000), ...quick }).run(agent, 1, { runId: 'r' })
      await died
    }
    await killed(/"run-ended"/)
    isMended = true
    workers = ['w1', 'w0']
    await killed(/"run-ended"/)
    expect(done).toEqual(['pay 7', 'pay 7'])
    workers = ['w0', 'w1']
    const runner = createRunner({ agents: [agent], store, clock: later(7_200_000), ...quick })
    await expect(runner.resume('r')).rejects.toThrow('1 failed')
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'pay' }] })
    expect(done).toEqual(['pay 7', 'pay 7'])
  })
})
