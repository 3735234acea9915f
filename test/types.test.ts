/** The public types: what a user writes compiles without annotations, and what would be wrong does not. */
import { generateText, streamText, tool } from 'ai'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, durableTools, type TextResult } from '../src/index.ts'
import { testModel } from './support/model.ts'

const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: async ({ order }) => ({ receipt: order.length }) })

describe('types', () => {
  it('policies know the input and output of their tool', () => {
    durableTools({ refund }, {
      refund: {
        effectKey: (input) => input.order,
        reconcile: async ({ input, idempotencyKey }) => ({ status: 'completed', output: { receipt: input.order.length + idempotencyKey.length } }),
      },
    })
    // @ts-expect-error a receipt of another shape
    durableTools({ refund }, { refund: { reconcile: async () => ({ status: 'completed', output: 'x' }) } })
    // @ts-expect-error a policy for a tool that is not there
    void (() => durableTools({ refund }, { refnd: {} }))
  })

  it('the outcome of an agent that returns a result of the AI SDK is what is recorded of it', async () => {
    const model = testModel(() => ({ text: 'x' }))
    const streams = defineAgent('s', async () => streamText({ model, prompt: 'x' }))
    const generates = defineAgent('g', async () => generateText({ model, prompt: 'x' }))
    const counts = defineAgent('c', async (_run, n: number) => n)
    const runner = createRunner({ agents: [streams, generates, counts] })
    const [one, two, three] = await Promise.all([runner.run(streams, undefined), runner.run(generates, undefined), runner.run(counts, 1, { runId: undefined })])
    if (one.status === 'completed') expectTypeOf(one.result).toEqualTypeOf<TextResult>()
    if (two.status === 'completed') expectTypeOf(two.result).toEqualTypeOf<TextResult>()
    if (three.status === 'completed') expectTypeOf(three.result).toEqualTypeOf<number>()
  })
})
