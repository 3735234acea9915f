/** A deploy changes a tool's schema so that a recorded call does not validate any more: the model is told so, and asks again in other words (R5). */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Store } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }
const before = z.object({ order: z.string() })
const after = z.object({ order: z.string(), reason: z.string() })

function scene() {
  const made: string[] = []
  const store = memoryStore()
  const runnerOf = (inputSchema: typeof before, on: Store = store, isStreamed = false) => {
    const model = testModel((turn, { prompt }) => {
      if (turn === 0) return { calls: [{ id: 'c0', tool: 'refund', input: { order: '7' } }] }
      return JSON.stringify(prompt.at(-1)).includes('Invalid input') ? { calls: [{ id: `c${turn}`, tool: 'refund', input: { order: '7', reason: 'damaged' } }] } : { text: 'refunded' }
    })
    const refund = tool({ inputSchema, execute: async ({ order }) => (made.push(order), `receipt of ${order}`) })
    const agent = defineAgent('a', async (run) => {
      const options = { model: run.model(model), tools: run.tools({ refund }), prompt: 'Refund it.', stopWhen: stepCountIs(4) }
      return isStreamed ? streamText(options).text : (await generateText(options)).text
    })
    return createRunner({ agents: [agent], store: on, clock: later(on === store ? 7_200_000 : 0), ...quick })
  }
  const killedAt = async (entry: RegExp, when?: 'before' | 'after'): Promise<void> => {
    const dying = mortal(store)
    const died = dying.killAt(entry, when)
    void runnerOf(before, dying.store).run('a', 1, { runId: 'r' })
    await died
  }
  return { made, runnerOf, killedAt, store }
}

it.each<[string, RegExp, 'before' | 'after', 'repeat' | 'in-doubt', boolean?]>([
  ['done, killed behind it', /"step-ended".*"kind":"tool"/, 'after', 'repeat'],
  ['done, killed behind it, in a stream by now', /"step-ended".*"kind":"tool"/, 'after', 'repeat', true],
  ['done, killed behind the next request', /"step-ended".*"slot":1/, 'after', 'repeat'],
  ['in doubt', /"step-ended".*"kind":"tool"/, 'before', 'in-doubt'],
])('a refund whose recorded call does not validate by now is asked about, as the model words it now: %s', async (_, entry, when, type, isStreamed) => {
  const { made, runnerOf, killedAt, store } = scene()
  await killedAt(entry, when)
  expect(await runnerOf(after, store, isStreamed).resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type, step: expect.stringContaining('/c:c1'), effects: ['0/c:c0'], choices: expect.arrayContaining(['rerun', 'skip', 'result']) }] })
  expect(made).toEqual(['7'])
})
