/** A deploy changes the schema of a tool and how its keys are made: what was recorded has no key of today (R5). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Store } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { waitingIn } from './support/waiting.ts'

type Input = Record<string, string>

interface Version {
  readonly schema: z.ZodType<Input>
  readonly effectKey?: (input: Input) => string
  readonly asked: object
}

const plain = z.object({ order: z.string() }) as unknown as z.ZodType<Input>
const optional = z.object({ order: z.string(), currency: z.string().optional() }) as unknown as z.ZodType<Input>
const withDefault = z.object({ order: z.string(), currency: z.string().default('EUR') }) as unknown as z.ZodType<Input>
const renamed = z.object({ orderId: z.string() }) as unknown as z.ZodType<Input>
const both = ({ order, currency }: Input): string => `${order}-${currency}`
const order = (input: Input): string => input['order']!
const asked = { order: '7' }

/** What the second version asks for, after the first one was killed in the call, or behind it. */
async function deployed(before: Version, after: Version, isDone: boolean) {
  const made: Input[] = []
  const store = memoryStore()
  const runnerOf = ({ schema, effectKey, asked: input }: Version, prompt: string, on: Store, now = 0) => createRunner({
    agents: [defineAgent('a', async (run) => {
      const refund = tool({ inputSchema: schema, execute: async (given) => (made.push(given), 'refunded') })
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: prompt, tool: 'refund', input }] } : { text: 'done' }))
      return (await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: effectKey ? { effectKey } : {} }), prompt, stopWhen: stepCountIs(3) })).text
    })], store: on, clock: later(now), idleMs: 5, replayHoldMs: 20,
  })
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"kind":"tool"/, isDone ? 'after' : 'before')
  void runnerOf(before, 'one', dying.store).run('a', 1, { runId: 'r' })
  await died
  return { made, outcome: await runnerOf(after, 'two', store, 3_600_000).resume('r') }
}

describe.each([['done', true], ['in doubt', false]] as const)('a refund that is %s', (_, isDone) => {
  it.each<[string, Version, Version]>([
    ['a default is added, and the key names it', { schema: plain, effectKey: order, asked }, { schema: withDefault, effectKey: both, asked }],
    ['a default is added, under the same key', { schema: optional, effectKey: both, asked }, { schema: withDefault, effectKey: both, asked }],
    ['a default is added, with a key that there was none of', { schema: plain, asked }, { schema: withDefault, effectKey: both, asked }],
    ['a field is renamed', { schema: plain, effectKey: order, asked }, { schema: renamed, effectKey: ({ orderId }) => `refund-${orderId}`, asked: { orderId: '7' } }],
    ['a field is renamed, with a key that there was none of', { schema: plain, asked }, { schema: renamed, effectKey: ({ orderId }) => orderId!, asked: { orderId: '7' } }],
    ['the key fails for the old arguments', { schema: plain, effectKey: order, asked }, { schema: withDefault, effectKey: (input) => order(input) + input['currency']!.toLowerCase(), asked }],
  ])('is not made again without a question: %s', async (_, before, after) => {
    const { made, outcome } = await deployed(before, after, isDone)
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: isDone ? 'repeat' : 'in-doubt', effects: ['0/c:one'] }] })
    expect(made).toHaveLength(1)
  })

  it.each<[string, Version, Version]>([
    ['by the key of today', { schema: plain, effectKey: order, asked }, { schema: withDefault, effectKey: (input) => `o-${order(input)}`, asked: { order: '8' } }],
    ['by keys that are made as they were, of something that it lacks', { schema: optional, effectKey: both, asked }, { schema: withDefault, effectKey: both, asked: { order: '8' } }],
  ])('holds up no other order: %s', async (_, before, after) => {
    const { made, outcome } = await deployed(before, after, isDone)
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(made.map((input) => input['order'])).toEqual(['7', '8'])
  })
})

it('what was done inside of a step that failed its run is asked about, also where its tool has another key since it was decided about', async () => {
  const made: Input[] = []
  const store = memoryStore()
  let isDown = true
  const runnerOf = (effectKey: (input: Input) => string) => createRunner({
    agents: [defineAgent('a', (run) => run.step('box', { key: 'x' }, async () => {
      const refund = tool({ inputSchema: plain, execute: async (given) => (made.push(given), 'refunded') })
      const model = testModel((turn) => {
        if (turn === 0) return { calls: [{ id: 'c', tool: 'refund', input: asked }] }
        if (isDown) throw new Error('bad request')
        return { text: 'done' }
      })
      return (await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: { effectKey } }), prompt: 'go', stopWhen: stepCountIs(3), maxRetries: 0 })).text
    }))], store, idleMs: 5, replayHoldMs: 20,
  })
  const [before, after] = [runnerOf(order), runnerOf((input) => `o-${order(input)}`)]
  await expect(before.run('a', 1, { runId: 'r' })).rejects.toMatchObject({ code: 'STEP_FAILED' })
  isDown = false
  await before.resolve('r', waitingIn(await before.resume('r')), 'reuse')
  for (let outcome = await after.resume('r'); outcome.status === 'suspended'; outcome = await after.resume('r')) {
    for (const reason of outcome.reasons) if ('tool' in reason) await after.resolve('r', reason.step, reason.tool === 'refund' ? 'reuse' : 'rerun')
  }
  expect(await store.get('r')).toMatchObject({ status: 'completed' })
  expect(made).toHaveLength(1)
})
