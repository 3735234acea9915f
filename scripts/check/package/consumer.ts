/** A program of a user, compiled against the packed types. */
export const CONSUMER = `
import { ToolLoopAgent, generateText, tool, type Tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import {
  classifyError, createRunner, currentRun, currentStep, defineAgent, durable, durableTools, HoldfastError, memoryStore, sqliteStore,
  type Category, type Outcome, type Runner, type Store,
} from 'holdfast'
import { z } from 'zod'

const lookup = tool({ inputSchema: z.object({ id: z.string() }), execute: ({ id }) => ({ id, key: currentStep()?.idempotencyKey }) })
const tools = durableTools({ lookup }, { lookup: { readOnly: true, timeoutMs: 1_000 } })
const same: { lookup: typeof lookup } = tools
const asTool: Tool = tools.lookup
const model: MockLanguageModelV4 = durable(new MockLanguageModelV4())
const desk = new ToolLoopAgent({ model, tools })

const answer = defineAgent('answer', async (run, input: { question: string }) => {
  const first = await run.step('first', () => 1)
  const inner = run.model(model)
  const { text } = await generateText({ model: inner, prompt: input.question })
  return { first, text, again: (await desk.generate({ prompt: text })).text, same, asTool }
})

const store: Store = Math.random() < 0.5 ? memoryStore() : sqliteStore('runs.db')
const runner: Runner = createRunner({ agents: [answer], store, retry: { maxAttempts: 2 } })
const outcome: Outcome<{ first: number; text: string }> = await runner.run(answer, { question: 'why?' }, { runId: 'run-1' })
if (outcome.status === 'completed') outcome.result.first.toFixed()
const category: Category = classifyError(new HoldfastError('INVALID_OPTIONS', 'no')).category
export const seen = [category, currentRun()?.runId]

// @ts-expect-error the input is checked
await runner.run(answer, { wrong: 1 }, { runId: 'run-2' })
// @ts-expect-error policies belong to tools that exist
durableTools({ lookup }, { other: { readOnly: true } })
`
