/** The code of a model request and of a step, and what it may ask for (R1). */
import { generateText, stepCountIs, tool, wrapLanguageModel } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, currentStep, defineAgent, durable, memoryStore, type Run } from '../src/index.ts'
import { failingOnce } from './support/failing-once.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

type Transform = NonNullable<Parameters<typeof wrapLanguageModel>[0]['middleware']> extends infer M ? (M extends readonly unknown[] ? never : M) : never

const middleware = (ask: () => Promise<unknown>): Transform => ({ specificationVersion: 'v4', transformParams: async ({ params }) => (await ask(), params) })

describe('middleware that asks for steps', () => {
  const small = testModel(() => ({ text: 'short' }))
  let n = 0
  const asks: [string, () => Promise<unknown>][] = [
    ['a read', () => currentRun()!.read('docs', { input: n++ % 2 }, () => 'doc')],
    ['a step in a branch', () => currentRun()!.branch('b', () => currentRun()!.step('note', () => 1))],
    ['a durable model', () => generateText({ model: durable(small), prompt: 'shorten' })],
  ]

  it.each(asks)('inside of a durable model is refused when it first does, with what to do: %s', async (_, ask) => {
    for (const via of ['doGenerate', 'doStream'] as const) {
      const model = durable(wrapLanguageModel({ model: testModel(() => ({ text: 'done' })), middleware: middleware(ask) }), { retry: false })
      const agent = defineAgent('a', async () => {
        if (via === 'doGenerate') return (await generateText({ model, prompt: 'p' })).text
        for await (const part of (await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'p' }] }] })).stream) void part
      })
      await expect(createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' }))
        .rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', message: expect.stringMatching(/by the code of model request 0.*wrapLanguageModel\(\{ model: durable\(model\), middleware \}\)/) })
    }
  })

  it.each(asks)('around a durable model replays: %s', async (_, ask) => {
    const big = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'refund', input: {} }] } : { text: 'done' }))
    let refunds = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run: Run) => {
      const model = wrapLanguageModel({ model: run.model(big), middleware: middleware(ask) })
      const refund = tool({ inputSchema: z.object({}), execute: async () => ++refunds })
      const { text } = await generateText({ model, tools: run.tools({ refund }), prompt: 'p', stopWhen: stepCountIs(3) })
      fail()
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    const requests = big.requests.length
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'done' })
    expect([refunds, big.requests.length]).toEqual([1, requests])
  })
})

describe('currentStep()', () => {
  it('is that of the code while it runs, and of nobody once it has ended: what it left in a queue has no key of its own', async () => {
    const seen: unknown[] = []
    const later = Promise.withResolvers<void>()
    let left: Promise<void> | undefined
    const agent = defineAgent('a', async (run) => {
      await run.step('first', () => {
        seen.push(currentStep()?.step)
        left = later.promise.then(() => void seen.push(currentStep()))
      })
      await run.step('second', { input: 2 }, async () => {
        later.resolve()
        await left
        seen.push(currentStep()?.step)
      })
    })
    await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })
    expect(seen).toEqual(['0', undefined, '1'])
  })

  it('can be asked whether it is still waited for, also after it was cut', async () => {
    const seen: unknown[] = []
    const cut = Promise.withResolvers<void>()
    const agent = defineAgent('a', async (run) => {
      await run.step('slow', { timeoutMs: 5 }, async () => {
        currentStep()!.signal.addEventListener('abort', () => cut.resolve())
        await cut.promise
        seen.push(currentStep()?.signal.aborted)
      }).catch(() => {})
      await cut.promise
    })
    await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })
    expect(seen).toEqual([true])
  })
})

describe('the idempotency key of an idempotent step with a key', () => {
  it('stays the same when what stands before it diverges; with another input it is another one', async () => {
    const keys: string[] = []
    let [outside, order] = [1, 7]
    const agent = defineAgent('a', async (run) => {
      await run.read('look', { input: outside }, () => outside)
      await run.step('push', { key: 'order', idempotent: true, input: { order } }, () => void keys.push(currentStep()!.idempotencyKey))
      throw new Error('later')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    for ([outside, order] of [[1, 7], [2, 7], [3, 8]] as const) await runner.run(agent, 1, { runId: 'r' }).catch(() => {})
    expect(keys).toHaveLength(3)
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
  })
})
