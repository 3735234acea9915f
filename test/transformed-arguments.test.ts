/** Arguments that a schema turns into what has no fingerprint: calls are told apart by what the model asked with (R8). */
import { tool } from 'ai'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore } from '../src/index.ts'
import { testModel } from './support/model.ts'

const inputSchema = z.object({ cents: z.number() }).transform(({ cents }) => ({ cents, euros: () => cents / 100 }))

/** Why a run waits whose conversation is another one after it was interrupted: its first call was made, the model now asks for a second. */
async function reasonAfter(first: number, second: number): Promise<string> {
  let attempts = 0
  const model = testModel(() => ({ calls: [{ id: `c${attempts}`, tool: 'pay', input: { cents: attempts === 1 ? first : second } }] }))
  const made: number[] = []
  const pay = tool({ inputSchema, execute: async ({ euros }) => made.push(euros()) })
  const agent = defineAgent('a', async (run) => {
    attempts++
    const { content } = await run.model(model).doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: `attempt ${attempts}` }] }] })
    const call = content.find((part) => part.type === 'tool-call')!
    await run.tools({ pay }).pay.execute!(inputSchema.parse(JSON.parse(call.input)), { toolCallId: call.toolCallId, messages: [], context: {} })
    throw new Error('interrupted')
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5, replayHoldMs: 20 })
  await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow('interrupted')
  const outcome = await runner.resume('r')
  expect([outcome.status, made]).toEqual(['suspended', [first / 100]])
  return outcome.status === 'suspended' ? outcome.reasons.map((reason) => reason.message).join() : ''
}

const OTHERS = 'Its arguments are others'

it('a call with others than the one that was made is told to be so', async () => {
  expect(await reasonAfter(100, 200)).toContain(OTHERS)
})

it('a call with the very same as the one that was made is not', async () => {
  const reason = await reasonAfter(100, 100)
  expect(reason).toContain('would repeat an effect that was made already')
  expect(reason).not.toContain(OTHERS)
})
