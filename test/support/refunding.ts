/** An agent that refunds an order, by a tool that somebody has to agree to. */
import { generateText, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Outcome, type RunnerOptions, type SuspendReason, type ToolPolicy } from '../../src/index.ts'
import { testModel, type Answer } from './model.ts'

export interface Order {
  order: string
  amount: number
}

export const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
export const ASK: Answer = { calls: [{ id: 'c1', tool: 'refund', input: { order: '7', amount: 50 } }] }

export function refunding(policy: ToolPolicy<Order, { refunded: number }>, answer: (turn: number) => Answer = (turn) => (turn === 0 ? ASK : { text: 'finished' }), inputSchema: unknown = z.object({ order: z.string(), amount: z.number().max(100) }), before = async (): Promise<void> => {}) {
  const made: Order[] = []
  const looked: string[] = []
  const model = testModel(answer)
  const refund = tool({ inputSchema: inputSchema as z.ZodType<Order>, execute: async (input: Order) => (made.push(input), { refunded: input.amount }) })
  const look = tool({ inputSchema: z.object({ order: z.string() }), execute: async ({ order }) => (looked.push(order), 'found') })
  const agent = defineAgent('refunds', async (run, _input: object) => {
    await before()
    const result = await generateText({ model: run.model(model), tools: run.tools({ refund, look }, { refund: policy }), prompt: 'refund order 7', stopWhen: stepCountIs(6) })
    const told = result.steps.flatMap((step) => step.content).flatMap((part) =>
      part.type === 'tool-result' ? [part.output] : part.type === 'tool-error' ? [(part.error as Error).message] : [])
    return { text: result.text, told }
  })
  return { made, looked, model, agent }
}

export type Approval = SuspendReason & { type: 'approval' }

export function questionIn(outcome: Outcome | undefined): Approval {
  const [reason] = outcome?.status === 'suspended' ? outcome.reasons : []
  if (reason?.type !== 'approval') throw new Error(`it does not wait for approval: ${JSON.stringify(outcome)}`)
  return reason
}

export async function asked(policy: ToolPolicy<Order, { refunded: number }> = { approval: true }, options: Partial<RunnerOptions> = {}) {
  const scene = refunding(policy)
  const store = memoryStore()
  const runner = createRunner({ agents: [scene.agent], store, ...quick, ...options })
  const outcome = await runner.run(scene.agent, {}, { runId: 'r' })
  return { ...scene, store, runner, outcome, question: questionIn(outcome) }
}
