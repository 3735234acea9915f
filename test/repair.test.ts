/** Repair of tool calls that re-asks the model, and arguments that executed otherwise than asked (R1; C35). */
import { generateText, stepCountIs, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run } from '../src/index.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

/** A model that gives arguments that do not fit, and better ones when it is told so. */
const clumsy = () => testModel((_turn, call) => {
  const last = JSON.stringify(call.prompt.at(-1))
  const bad = /does not fit (\w+)/.exec(last)?.[1]
  if (bad) return { calls: [{ id: `fixed-${bad}`, tool: 'get', input: { n: bad === 'a' ? 1 : 2 } }] }
  return call.prompt.some((m) => m.role === 'tool')
    ? { text: 'done' }
    : { calls: ['a', 'b'].map((id) => ({ id, tool: 'get', input: { n: 'not a number' } })) }
})

for (const mode of ['generateText', 'streamText'] as const) {
  describe(`a repair that re-asks the model with its tools, in ${mode}`, () => {
    it('two at once are not refused, and replay', async () => {
      const model = clumsy()
      const got: number[] = []
      let failed = false
      const agent = defineAgent('a', async (run: Run) => {
        const tools: ToolSet = run.tools({ get: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => (got.push(n), n * 10) }) })
        const reAskTools: ToolSet = { get: tool({ inputSchema: z.object({ n: z.number() }) }) }
        const options = {
          model: run.model(model), tools, prompt: 'x', stopWhen: stepCountIs(3),
          experimental_repairToolCall: async ({ toolCall, messages }: { toolCall: { toolCallId: string; toolName: string; input: string }; messages: import('ai').ModelMessage[] }) => {
            const { toolCalls } = await generateText({
              model: run.model(model), tools: reAskTools,
              messages: [
                ...messages,
                { role: 'assistant', content: [{ type: 'tool-call', toolCallId: toolCall.toolCallId, toolName: 'get', input: {} }] },
                { role: 'tool', content: [{ type: 'tool-result', toolCallId: toolCall.toolCallId, toolName: 'get', output: { type: 'text', value: `does not fit ${toolCall.toolCallId}` } }] },
              ],
            })
            return { type: 'tool-call' as const, toolCallId: toolCall.toolCallId, toolName: 'get', input: JSON.stringify(toolCalls[0]!.input) }
          },
        }
        const steps = mode === 'generateText' ? (await generateText(options)).steps : await streamText(options).steps
        if (!failed) {
          failed = true
          throw new Error('later')
        }
        return steps.flatMap((s) => s.toolResults.map((r) => r.output))
      })
      const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
      await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
      const requests = model.requests.length
      expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [10, 20] })
      expect(got.toSorted()).toEqual([1, 2])
      expect(requests).toBe(4)
      expect(model.requests).toHaveLength(requests)
    })
  })
}
