/** What a run writes follows its steps, not its history (R17). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore } from '../src/index.ts'
import { testModel } from './support/model.ts'

/** Bytes of the last record of a model step after so many turns that are all alike. */
async function lastRecordOf(turns: number): Promise<number> {
  const model = testModel((turn) => (turn < turns ? { calls: [{ id: `call-${String(turn).padStart(3, '0')}`, tool: 'look', input: { at: 'x'.repeat(100) } }] } : { text: 'done' }))
  const look = tool({ inputSchema: z.object({ at: z.string() }), execute: async () => 'y'.repeat(200) })
  const agent = defineAgent('a', async (run) =>
    (await generateText({ model: run.model(model), tools: run.tools({ look }, { look: { readOnly: true } }), prompt: 'go', stopWhen: stepCountIs(turns + 1) })).text)
  const store = memoryStore()
  const runner = createRunner({ agents: [agent], store })
  expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'done' })
  return (await store.read('r')).findLast(({ body }) => /"step-ended".*"kind":"model"/.test(body))!.body.length
}

describe('the record of a model step', () => {
  it('is as long after sixty turns as after ten', async () => {
    const [few, many] = [await lastRecordOf(10), await lastRecordOf(60)]
    expect(many).toBeLessThan(few * 1.1)
  })
})
