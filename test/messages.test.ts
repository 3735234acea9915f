/** What is asked for wrongly is refused before anything of it runs, in words that say what was asked and how to ask for it. */
import { generateText, isStepCount, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, memoryStore, type Run, type RunEvent, type ToolPolicy } from '../src/index.ts'
import { testModel } from './support/model.ts'

type Execute = (input: unknown, options?: object) => Promise<unknown>

/** A hand-written loop around one tool: `calls` counts what its code did. */
function byHand(drive: (tools: { pay: Execute; ask: () => Promise<unknown> }, run: Run) => Promise<unknown>, policy: ToolPolicy = {}, during: (n: number) => unknown = (n) => `paid ${n}`) {
  const calls: string[] = []
  const events: RunEvent[] = []
  const model = testModel(() => ({ calls: [{ id: 'c1', tool: 'pay', input: { to: 'x' } }] }))
  const agent = defineAgent('a', async (run) => {
    const tools: ToolSet = { pay: tool({ inputSchema: z.object({ to: z.string() }), execute: async () => during(calls.push(currentStep()!.step)) }) }
    const { pay } = run.tools(tools, { pay: policy })
    const asked = run.model(model)
    return drive({ pay: pay!.execute as Execute, ask: async () => asked.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'pay' }] }] }) }, run)
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5, replayHoldMs: 20, onEvent: (event) => events.push(event) })
  const warnings = () => events.flatMap((event) => (event.type === 'warning' ? [event.code] : []))
  return { calls, warnings, runner, run: () => runner.run(agent, {}, { runId: 'r' }) }
}

describe('effectKey', () => {
  it.each([['undefined', undefined], ['an empty one', ''], ['number', 7], ['object', { order: 7 }], ['null', null]])('that gives %s is refused before the call starts', async (got, key) => {
    const { calls, run } = byHand(async ({ pay, ask }) => {
      await ask()
      return pay({ to: 'x' }, { toolCallId: 'c1' })
    }, { effectKey: () => key as string })
    await expect(run()).rejects.toMatchObject({ code: 'INVALID_POLICY', message: expect.stringContaining(`tools.pay.effectKey must return a text that is not empty, got ${got}. Make it of`) })
    expect(calls).toEqual([])
  })

  it('does not make two calls one that both completed, as its docs say', async () => {
    const keys: string[] = []
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'refund', input: { order: '7' } }] } : { text: 'done' }))
    const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: async () => keys.push(currentStep()!.idempotencyKey) })
    const agent = defineAgent('a', async (run) =>
      (await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: { effectKey: ({ order }) => order } }), prompt: 'refund', stopWhen: isStepCount(4) })).text)
    const outcome = await createRunner({ agents: [agent], store: memoryStore() }).run(agent, {}, { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(new Set(keys).size).toBe(2)
  })
})

describe('a tool that is called by hand', () => {
  it.each([['no options', undefined], ['options without an id', {}], ['an id that is no text', { toolCallId: 7 }]])('with %s is refused', async (_what, options) => {
    const { calls, run } = byHand(async ({ pay }) => pay({ to: 'x' }, options))
    await expect(run()).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/tool "pay" was called without the id of its call\. Call it as execute\(input, \{ toolCallId, messages \}\)/) })
    expect(calls).toEqual([])
  })
})

describe('a call that a model asked for once', () => {
  const call = { toolCallId: 'c1' }

  it.each([
    ['after it has completed', async (pay: Execute) => [await pay({ to: 'x' }, call), await pay({ to: 'x' }, call)]],
    ['while it runs', async (pay: Execute) => {
      const [first, again] = [pay({ to: 'x' }, call), pay({ to: 'x' }, call)]
      again.catch(() => {})
      return [await first, await again]
    }],
    ['with other arguments', async (pay: Execute) => [await pay({ to: 'x' }, call), await pay({ to: 'y' }, call)]],
  ])('is not made a second time %s', async (_when, twice) => {
    const { calls, warnings, run } = byHand(async ({ pay, ask }) => {
      await ask()
      return twice(pay)
    })
    await expect(run()).rejects.toMatchObject({ code: 'REPEATED_CALL', message: expect.stringContaining('tool "pay" is executed again for call "c1", which step 0/c:c1 stands for. Use what its first execution gave') })
    expect([calls, warnings()]).toEqual([['0/c:c1'], []])
  })

  it('nor when the run is resumed', async () => {
    const { calls, run } = byHand(async ({ pay, ask }, current) => {
      await ask()
      const first = await pay({ to: 'x' }, call)
      if (current.attempt === 1) throw new Error('later')
      return [first, await pay({ to: 'x' }, call).catch((error: { code: string }) => error.code)]
    })
    await expect(run()).rejects.toThrow('later')
    expect(await run()).toMatchObject({ status: 'completed', result: ['paid 1', 'REPEATED_CALL'] })
    expect(calls).toEqual(['0/c:c1'])
  })

  it('may be tried again by hand when it has failed for certain', async () => {
    const { calls, warnings, run } = byHand(async ({ pay, ask }) => {
      await ask()
      return pay({ to: 'x' }, call).catch(() => pay({ to: 'x' }, call))
    }, {}, (n) => {
      if (n === 1) throw Object.assign(new Error('declined'), { status: 400 })
      return `paid ${n}`
    })
    expect(await run()).toMatchObject({ status: 'completed', result: 'paid 2' })
    expect([calls, warnings()]).toEqual([['0/c:c1', '1'], []])
  })

  it('waits when it is tried again by hand and nobody knows whether it took effect', async () => {
    const { calls, run } = byHand(async ({ pay, ask }) => {
      await ask()
      return pay({ to: 'x' }, call).catch(() => pay({ to: 'x' }, call))
    }, {}, () => {
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    })
    expect(await run()).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: ['0/c:c1'] }] })
    expect(calls).toEqual(['0/c:c1'])
  })

  it('may be made as often as one likes where the tool is idempotent', async () => {
    const { warnings, run } = byHand(async ({ pay, ask }) => {
      await ask()
      return [await pay({ to: 'x' }, call), await pay({ to: 'x' }, call)]
    }, { idempotent: true })
    expect(await run()).toMatchObject({ status: 'completed', result: ['paid 1', 'paid 2'] })
    expect(warnings()).toEqual([])
  })

  it('is another one when a newer response asks for the same id', async () => {
    const { calls, run } = byHand(async ({ pay, ask }) => {
      await ask()
      await pay({ to: 'x' }, call)
      await ask()
      return pay({ to: 'x' }, call)
    })
    expect(await run()).toMatchObject({ status: 'completed' })
    expect(calls).toEqual(['0/c:c1', '1/c:c1'])
  })
})

describe('two at once that cannot be told apart', () => {
  const child = defineAgent('child', async (run: Run) => run.read('page', async () => new Promise((resolve) => setImmediate(resolve))))
  const refusal = async (handler: (run: Run) => unknown): Promise<string> => {
    const agent = defineAgent('a', handler)
    return createRunner({ agents: [agent], store: memoryStore(), idleMs: 5 }).run(agent, {}, { runId: 'r' }).then(() => '', (error: Error) => error.message)
  }

  it.each<readonly [string, (run: Run) => unknown, RegExp]>([
    ['agents without a key', (run) => Promise.all([run.agent(child, 1), run.agent(child, 2)]), /: agent "child" is open already in this branch\. Give each of them a key of its own, `run\.agent\(child, input, \{ key \}\)`/],
    ['agents of one key', (run) => Promise.all([run.agent(child, 1, { key: 'eu' }), run.agent(child, 2, { key: 'eu' })]), /: agent "child" with key "eu" is open already/],
    ['steps of one key', (run) => Promise.all([run.step('pay', { key: 7 }, async () => 1), run.step('pay', { key: 7 }, async () => 2)]), /: step "pay" with key "7" is open already in this branch\. Give each of them a key of its own/],
  ])('%s are named as what they are', async (_what, handler, words) => {
    expect(await refusal(handler)).toMatch(words)
  })
})

describe('what cannot be read and is thrown', () => {
  const gone = new Proxy({}, { get: () => { throw new Error('gone') } })
  const failing = async (handler: (run: Run) => unknown) => {
    const agent = defineAgent('a', handler)
    const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5 })
    const error: unknown = await runner.run(agent, {}, { runId: 'r' }).catch((thrown: unknown) => thrown)
    return { error, row: await runner.get('r') }
  }

  it.each<readonly [string, (run: Run) => unknown, string, string]>([
    ['a step', (run) => run.step('pay', () => { throw gone }), 'STEP_FAILED', 'step "pay" threw a value that cannot be read'],
    ['a read', (run) => run.read('page', () => { throw gone }), 'STEP_FAILED', 'read "page" threw a value that cannot be read'],
    ['a handler', () => { throw gone }, 'RUN_FAILED', 'its handler threw a value that cannot be read'],
    ['a handler that throws an object without a prototype', () => { throw Object.create(null) }, 'RUN_FAILED', 'run "r" failed: [object Object]'],
  ])('by %s fails the run with a code, and leaves it to be driven again', async (_what, handler, code, message) => {
    const { error, row } = await failing(handler)
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) })
    expect(row).toMatchObject({ status: 'failed', owner: null })
  })
})
