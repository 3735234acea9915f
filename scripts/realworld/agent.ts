/** The agent under trial: a chat of several user turns, each a loop of its own over the AI SDK. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText, type LanguageModel, type ModelMessage, type StopCondition, type ToolSet } from 'ai'
import { defineAgent, durable, durableTools, type Agent, type Run } from '../../src/index.ts'
import type { AgentSetup } from './recording.ts'
import type { Job, Talk, TrialInput } from './protocol.ts'
import { worldPolicies, worldTools } from './tools.ts'

/** The messages of each conversation, by its id. */
export type TrialResult = Readonly<Record<string, readonly ModelMessage[]>>

export function trialAgent(setup: AgentSetup, job: Pick<Job, 'model' | 'world' | 'settling'>): Agent<TrialInput, TrialResult> {
  return defineAgent('support', async (run, { talks }: TrialInput): Promise<TrialResult> => {
    const [only, ...others] = talks
    if (only && others.length === 0) return { [only.id]: await converse(run, only, setup, job) }
    const ended = await Promise.all(talks.map((talk) => run.branch(talk.id, () => converse(run, talk, setup, job))))
    return Object.fromEntries(ended.map((messages, i) => [talks[i]!.id, messages]))
  })
}

async function converse(run: Run, talk: Talk, setup: AgentSetup, { model: baseURL, world, settling }: Pick<Job, 'model' | 'world' | 'settling'>): Promise<ModelMessage[]> {
  const plain = createOpenAICompatible({ name: 'recorded', baseURL, headers: { 'x-conversation': talk.id } })('gpt-4o')
  const plainTools = worldTools(setup.tools, world, talk.id)
  const policies = worldPolicies(setup.tools, world, talk.id, settling)
  // Both ways to wrap are tried: bound to the run, and belonging to whatever run and branch is current.
  const [model, tools] = talk.streamed ? [durable(plain), durableTools(plainTools, policies)] : [run.model(plain), run.tools(plainTools, policies)]
  const messages: ModelMessage[] = []
  let answered = 0
  for (const turn of talk.turns) {
    messages.push({ role: 'user', content: turn })
    const stopWhen: StopCondition<ToolSet> = ({ steps }) => answered + steps.length >= talk.answers
    const options = { model, tools, instructions: setup.system, messages, stopWhen, maxRetries: 0 }
    const added = await (talk.streamed ? streamed(options) : generated(options))
    answered += added.filter(({ role }) => role === 'assistant').length
    messages.push(...added)
  }
  return messages
}

interface Asked {
  readonly model: LanguageModel
  readonly tools: ToolSet
  readonly instructions: string
  readonly messages: ModelMessage[]
  readonly stopWhen: StopCondition<ToolSet>
  readonly maxRetries: number
}

const generated = async (asked: Asked): Promise<ModelMessage[]> => (await generateText({ ...asked, messages: [...asked.messages] })).responseMessages

async function streamed(asked: Asked): Promise<ModelMessage[]> {
  const result = streamText({ ...asked, messages: [...asked.messages], onError: () => {} })
  for await (const part of result.stream) if (part.type === 'error') throw part.error
  return result.responseMessages
}
