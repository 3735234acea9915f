/** Objects that the user's code holds as well as we do: what it changes in them changes nothing of what was recorded, asked or is given again. */
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { streamText } from 'ai'
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type RunnerOptions } from '../src/index.ts'
import { testModel, type TestModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 3, backoff: { baseMs: 1, maxMs: 2, jitter: 'none' } } } satisfies Partial<RunnerOptions>
const reset = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/** A model that answers with a text, and whose request of this number breaks after the beginning of one. */
function breakingAt(request: number): TestModel {
  const model = testModel(() => ({ text: 'Dear customer' }))
  const whole = model.doStream.bind(model)
  const beginning: LanguageModelV4StreamPart[] = [{ type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: 'Dear' }]
  model.doStream = async (call) => {
    if (model.requests.length + 1 !== request) return whole(call)
    model.requests.push(call)
    const parts = [...beginning]
    return { stream: new ReadableStream({ pull: (to) => (parts.length > 0 ? to.enqueue(parts.shift()!) : to.error(reset())) }, { highWaterMark: 0 }) }
  }
  return model
}

describe('the input of a run', () => {
  it('is as it was recorded each time the handler is driven, also where it took things off it the time before', async () => {
    const refunded: string[] = []
    const model = breakingAt(2)
    const agent = defineAgent('a', async (run, { orders }: { orders: string[] }) => {
      for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
        await streamText({ model: run.model(model), prompt: `Write to the customer of order ${order}` }).text
        await run.step('refund', { key: order }, () => void refunded.push(order!))
      }
      return refunded.length
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    expect(await runner.run(agent, { orders: ['A', 'B', 'C'] }, { runId: 'r' })).toEqual({ status: 'completed', result: 3 })
    expect(refunded).toEqual(['A', 'B', 'C'])
  })

  it('is taken when the run is asked for, with its options: the caller may use the objects for the next one at once', async () => {
    const agent = defineAgent('a', async (_run, { order }: { order: string }) => order)
    const runner = createRunner({ agents: [agent], store: memoryStore() })
    const input = { order: '' }
    const limits = { maxSteps: 0 }
    const outcomes = ['A', 'B', 'C'].map((order, i) => {
      input.order = order
      limits.maxSteps = i + 1
      return runner.run(agent, input, { runId: order, limits })
    })
    expect(await Promise.all(outcomes)).toEqual(['A', 'B', 'C'].map((result) => ({ status: 'completed', result })))
    const started = (await Promise.all(['A', 'B', 'C'].map((runId) => runner.history(runId)))).map((entries) => entries.find(({ entry }) => entry.type === 'attempt-started')!.entry)
    expect(started).toMatchObject([1, 2, 3].map((maxSteps) => ({ limits: { maxSteps } })))
  })

  it('is compared with the recorded one whatever its size: a lower limit does not refuse a run that exists', async () => {
    const agent = defineAgent('a', async (_run, text: string) => text.length)
    const store = memoryStore()
    const text = 'x'.repeat(1_000)
    await createRunner({ agents: [agent], store }).run(agent, text, { runId: 'r' })
    const runner = createRunner({ agents: [agent], store, maxStepBytes: 100 })
    expect(await runner.run(agent, text, { runId: 'r' })).toEqual({ status: 'completed', result: 1_000 })
    await expect(runner.run(agent, text, { runId: 'other' })).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE' })
    expect(await store.get('other')).toBeUndefined()
  })
})
