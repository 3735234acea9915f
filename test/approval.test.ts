/** Calls that were approved in the messages of a conversation (R1). */
import { generateText, stepCountIs, tool, type ModelMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore } from '../src/index.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

describe('calls approved in the messages', () => {
  it('run once each, although they share tool and arguments, and replay', async () => {
    const model = testModel(() => ({ text: 'done' }))
    const sent: string[] = []
    const messages: ModelMessage[] = [
      { role: 'user', content: 'send twice' },
      { role: 'assistant', content: ['a', 'b'].flatMap((id) => [
        { type: 'tool-call' as const, toolCallId: id, toolName: 'send', input: { to: 'ann' } },
        { type: 'tool-approval-request' as const, approvalId: `approval-${id}`, toolCallId: id },
      ]) },
      { role: 'tool', content: ['a', 'b'].map((id) => ({ type: 'tool-approval-response' as const, approvalId: `approval-${id}`, approved: true })) },
    ]
    let failed = false
    const warnings: string[] = []
    const agent = defineAgent('a', async (run) => {
      const send = tool({ inputSchema: z.object({ to: z.string() }), needsApproval: true, execute: async ({ to }) => sent.push(to) })
      const { text } = await generateText({ model: run.model(model), tools: run.tools({ send }), messages, stopWhen: stepCountIs(3) })
      if (!failed) {
        failed = true
        throw new Error('later')
      }
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => e.type === 'warning' && warnings.push(e.code) })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'done' })
    expect(sent).toEqual(['ann', 'ann'])
    expect(model.requests).toHaveLength(1)
    expect(warnings).toEqual([])
    const ids = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' && entry.step.kind === 'tool' ? [entry.step.id] : []))
    expect(ids.toSorted()).toEqual(['p:approval-a', 'p:approval-b'])
  })
})
