/** Effects whose place in the program changed, or that are asked for anew: what is known of them stands (R5, R6). */
import { describe, expect, it } from 'vitest'
import { createRunner, currentStep, defineAgent, memoryStore, type Run, type RunnerOptions } from '../src/index.ts'
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import { later, mortal } from './support/crash.ts'
import { failingOnce } from './support/failing-once.ts'
import { testModel } from './support/model.ts'
import { waitingIn } from './support/waiting.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

function scene(handler: (run: Run) => Promise<unknown>, options: Partial<RunnerOptions> = {}) {
  const agent = defineAgent('a', handler)
  return { agent, runner: createRunner({ agents: [agent], store: memoryStore(), ...quick, ...options }) }
}

describe('the very same call at another place', () => {
  it('is not made again without a question, where the key of its branch changed', async () => {
    let key = 'eu'
    let paid = 0
    const fail = failingOnce()
    const { agent, runner } = scene(async (run) => run.branch(key, async () => {
      const receipt = await run.step('pay', { input: { order: 7 } }, () => ++paid)
      fail()
      return receipt
    }))
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    key = 'europe'
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['b:eu#0/0'] }] })
    expect(await runner.resolve('r', 'b:europe#0/0', 'reuse', { resume: true })).toEqual({ status: 'completed', result: 1 })
    expect(paid).toBe(1)
  })

  it('is given what that gave once, also where the old place is another step now: it is used up', async () => {
    let isMoved = false
    let paid = 0
    const fail = failingOnce()
    const warned: string[] = []
    const { agent, runner } = scene(async (run) => {
      const pay = () => run.step('pay', { input: { order: 7 } }, () => ++paid)
      const receipt = isMoved ? await run.branch('payment', pay) : await pay()
      await run.step('mail', () => fail())
      return [receipt, isMoved && (await run.branch('again', pay))]
    }, { onEvent: (event) => { if (event.type === 'warning') warned.push(event.code) } })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    isMoved = true
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['0'] }] })
    expect(await runner.resolve('r', 'b:payment#0/0', 'reuse', { resume: true })).toEqual({ status: 'completed', result: [1, 2] })
    expect(warned).toEqual([])
  })

  it('is given what that gave once, also where two are asked about at the same time', async () => {
    let orders = ['a']
    let key = ''
    const charged: string[] = []
    const fail = failingOnce()
    const { agent, runner } = scene(async (run) => {
      const receipts = await Promise.all(orders.map((order) => run.branch(`${key}${order}`, () => run.step('charge', () => (charged.push(order), `receipt of ${order}`)))))
      fail()
      return receipts
    })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    orders = ['a', 'b']
    key = 'order-'
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ effects: ['b:a#0/0'] }, { effects: ['b:a#0/0'] }] })
    await runner.resolve('r', 'b:order-a#0/0', 'reuse')
    await expect(runner.resolve('r', 'b:order-b#0/0', 'reuse')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', message: expect.stringContaining('is given to step "b:order-a#0/0" already') })
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: ['receipt of a', 'receipt of b'] })
    expect(charged).toEqual(['a', 'b'])
  })

  it('can be given where the call stands by now, although it was to be given at a place that is asked for no more', async () => {
    const charged: string[] = []
    const fail = failingOnce()
    let [place, isMoved] = ['', false]
    const { agent, runner } = scene(async (run) => {
      const charge = (): Promise<string> => run.step('charge', { input: 7, ...(isMoved && { key: 7 }) }, () => (charged.push('7'), 'receipt'))
      const told = place === '' ? await charge() : await run.branch(place, charge)
      fail()
      return told
    })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    isMoved = true
    await runner.resolve('r', waitingIn(await runner.resume('r')), 'reuse')
    place = 'eu'
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat' }] })
    expect(await runner.resolve('r', waitingIn(outcome), 'reuse', { resume: true })).toEqual({ status: 'completed', result: 'receipt' })
    expect(charged).toEqual(['7'])
  })

  it('goes on without one, where the other is asked for in its own place', async () => {
    const paid: string[] = []
    const fail = failingOnce()
    const { agent, runner } = scene(async (run) => {
      const pay = (key: string) => run.branch(key, async () => {
        if (key === 'second') await new Promise((resolve) => setTimeout(resolve, 1))
        if (key === 'first') fail()
        return run.step('pay', { input: { order: 7 } }, () => paid.push(key))
      })
      return Promise.allSettled([pay('first'), pay('second')]).then(([first]) => (first!.status === 'rejected' ? Promise.reject(first!.reason as Error) : 'both'))
    })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    expect(paid).toEqual(['second'])
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'both' })
    expect(paid).toEqual(['second', 'first'])
  })
})

describe('the idempotency key', () => {
  it('of a step that failed the run is the same when it is driven again: what it did before it failed is known by it', async () => {
    const keys: string[] = []
    const { agent, runner } = scene(async (run) => run.step('pay', { input: 1 }, () => {
      keys.push(currentStep()!.idempotencyKey)
      if (keys.length === 1) throw new Error('the receipt is incomplete')
      return 'paid'
    }))
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/receipt/)
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'paid' })
    expect(new Set(keys).size).toBe(1)
    expect(keys.length).toBe(2)
  })
})

/** The keys of the refunds that a model asks for, `asked` of them in each response; the first one has thrown, and was not done. */
async function keysOf(asked: readonly number[]): Promise<readonly string[]> {
  const keys: string[] = []
  const model = testModel((turn) => (turn < asked.length ? { calls: Array.from({ length: asked[turn]! }, (_, i) => ({ id: `c${turn}${i}`, tool: 'refund', input: { order: 7 } })) } : { text: 'done' }))
  const { agent, runner } = scene(async (run) => {
    const tools = run.tools({
      refund: tool({
        inputSchema: z.object({ order: z.number() }),
        execute: async () => {
          keys.push(currentStep()!.idempotencyKey)
          if (keys.length === 1) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
          return 'refunded'
        },
      }),
    }, { refund: { reconcile: async () => ({ status: 'not-done' }) } })
    return (await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: stepCountIs(5) })).text
  })
  expect(await runner.run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
  return keys
}

describe('the idempotency key of a call that asks once more for what was done', () => {
  it('is another one, also where the first was not done at first: it is another refund', async () => {
    const keys = await keysOf([1, 1, 1])
    expect(keys).toHaveLength(3)
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
  })
})

describe('two calls that ask at once for what was not done', () => {
  it('are two effects: one of them has the key of the first, and the other one of its own', async () => {
    const keys = await keysOf([1, 2])
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(2)
    expect(keys.slice(1)).toContain(keys[0])
  })
})

describe('two calls of one response that ask for the same, the first of which was killed in the middle', () => {
  it('have a key each, whichever of them starts first after that', async () => {
    const keys: string[] = []
    let order = ['c0', 'c1']
    const inputSchema = z.object({ order: z.number() })
    const refund = tool({ inputSchema, execute: async () => keys.push(currentStep()!.idempotencyKey) })
    const agent = defineAgent('a', async (run) => {
      const model = run.model(testModel(() => ({ calls: ['c0', 'c1'].map((id) => ({ id, tool: 'refund', input: { order: 7 } })) })))
      await generateText({ model, tools: { refund: tool({ inputSchema }) }, prompt: 'x' })
      const tools = run.tools({ refund }, { refund: { settleAfterMs: 0, reconcile: async () => ({ status: 'not-done' }) } })
      for (const toolCallId of order) await tools.refund.execute!({ order: 7 }, { toolCallId, messages: [], context: {} })
      return 'done'
    })
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"kind":"tool"/, 'before')
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    order = ['c1', 'c0']
    expect(await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r')).toEqual({ status: 'completed', result: 'done' })
    expect(keys).toHaveLength(3)
    expect(keys[1]).not.toBe(keys[0])
    expect(keys[2]).toBe(keys[0])
  })
})

describe('a doubt that an earlier attempt left behind', () => {
  const desk = () => {
    const calls: string[] = []
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'refund', input: { order: 7 } }] } : { text: 'done' }))
    const made = scene(async (run) => {
      const tools = run.tools({
        refund: tool({
          inputSchema: z.object({ order: z.number() }),
          execute: async () => {
            calls.push(currentStep()!.idempotencyKey)
            if (calls.length === 1) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
            return 'refunded'
          },
        }),
      })
      return (await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: stepCountIs(5) })).text
    })
    return { ...made, calls }
  }

  it('is settled as the caller says, when the run is resumed: run again under its key, or skipped', async () => {
    const again = desk()
    expect(await again.runner.run(again.agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(await again.runner.resume('r', { onIncompleteTool: 'rerun' })).toEqual({ status: 'completed', result: 'done' })
    expect([again.calls.length, new Set(again.calls).size]).toEqual([2, 1])
    const skipped = desk()
    await skipped.runner.run(skipped.agent, 1, { runId: 'r' })
    expect(await skipped.runner.resume('r', { onIncompleteTool: 'skip' })).toEqual({ status: 'completed', result: 'done' })
    expect(skipped.calls).toHaveLength(1)
  })
})

describe('a call that somebody let run at another place', () => {
  it.each<[string, boolean, boolean]>([['killed', true, false], ['killed, and let run there too', true, true], ['reset', false, false], ['reset, and let run there too', false, true]])(
    'is named where the code is as it was before, and asks again for the one in doubt: %s', async (_, isKilled, isLetRun) => {
      const store = memoryStore()
      const charged: string[] = []
      let is: 'before' | 'moved' | 'rolled back' = 'before'
      const charge = (run: Run) => run.step('charge', { input: 7 }, async () => {
        if (is === 'before' && isKilled) await new Promise(() => {})
        if (is === 'before') throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
        charged.push(is)
        return `receipt, ${is}`
      })
      const agent = defineAgent('a', async (run) => {
        if (is !== 'moved') return charge(run)
        await run.branch('b', () => charge(run))
        throw new Error('later')
      })
      const dying = mortal(store)
      const died = dying.killAt(/"step-started"/, 'after')
      const first = createRunner({ agents: [agent], store: isKilled ? dying.store : store, ...quick }).run(agent, 1, { runId: 'r' })
      await (isKilled ? died : expect(first).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' }))
      const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
      const waits = await runner.resume('r')
      if (waits.status !== 'suspended') throw new Error('it is in doubt')
      if (isLetRun) await runner.resolve('r', waits.reasons[0] as never, 'rerun')
      is = 'moved'
      const moved = await runner.resume('r')
      if (moved.status !== 'suspended') throw new Error('it is in doubt')
      await runner.resolve('r', moved.reasons[0] as never, 'rerun')
      await expect(runner.resume('r')).rejects.toThrow('later')
      is = 'rolled back'
      const back = await runner.resume('r')
      expect(back).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: expect.arrayContaining([expect.stringContaining('b:b#0/')]), choices: expect.arrayContaining(['reuse']) }] })
      if (back.status === 'suspended') await runner.resolve('r', back.reasons[0] as never, 'reuse')
      expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'receipt, moved' })
      expect(charged).toEqual(['moved'])
    })
})
