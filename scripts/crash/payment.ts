/** The agent of the named points: it looks, pays once (or twice, for two orders) in the way of its policy, and says what it was told. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, tool, type ToolSet } from 'ai'
import { currentRun, defineAgent, HoldfastError, type Agent, type Run, type ToolPolicy } from '../../src/index.ts'
import { UNKNOWN } from './expected.ts'
import type { Moment } from './points.ts'
import type { Policy } from './policies.ts'
import type { Job } from './protocol.ts'
import { worldClient, type WorldClient } from './world-client.ts'

type StopAt = (moment: Moment) => void
interface Order {
  readonly order: string
}

const inputSchema = jsonSchema<Order>({ type: 'object', properties: { order: { type: 'string' } } })

export function paymentAgent(policy: Policy, job: Job, stopAt: StopAt): Agent<object, string> {
  const world = worldClient(job)
  const act = async (order: string): Promise<string> => {
    stopAt('in-tool')
    const receipt = await world.act(`pay ${order}`)
    stopAt('after-effect')
    return receipt
  }
  const prepare = tool({ inputSchema: jsonSchema<object>({ type: 'object' }), execute: () => world.look('prepare') })
  const pay = tool({
    inputSchema,
    execute: async ({ order }) => {
      if (policy.program !== 'composite') return act(order)
      const isInside = policy.target.startsWith('1/c:pay/')
      if (isInside) return currentRun()!.step('charge', () => act(order))
      stopAt('in-tool')
      const receipt = await currentRun()!.step('charge', () => world.act(`pay ${order}`))
      stopAt('after-effect')
      return receipt
    },
  })
  // Executed by the provider, inside the model request.
  const search = tool({ type: 'provider', isProviderExecuted: true, id: 'recorded.search', args: {}, inputSchema: jsonSchema<object>({ type: 'object' }), outputSchema: jsonSchema<object>({ type: 'object' }) })
  const provider = createOpenAICompatible({
    name: 'scripted',
    baseURL: job.model,
    headers: { 'x-conversation': policy.program, 'x-run': job.runId },
    ...(policy.program === 'hosted' && { fetch: watchedFetch(stopAt) }),
  })

  return defineAgent('payment', async (run) => {
    const model = run.model(provider('scripted'), policy.hostedReadOnly ? { providerTools: 'read-only' } : {})
    const ask = async (prompt: string, tools: ToolSet): Promise<string> =>
      (await generateText({ model, tools, prompt, stopWhen: stepCountIs(8), maxRetries: 0 })).text
    const looking = run.tools({ prepare }, { prepare: { readOnly: true } })
    if (policy.program === 'hosted') return ask('go', { ...looking, search })
    if (policy.program !== 'step') return ask('go', { ...looking, ...run.tools({ pay }, { pay: toolPolicy(policy, world) }) })
    await ask('prepare', looking)
    return ask(`told: ${await payInStep(run, policy, () => act('order-1'))}`, {})
  })
}

async function payInStep(run: Run, { step }: Policy, act: () => Promise<string>): Promise<string> {
  try {
    switch (step) {
      case 'keyed': return await run.step('pay', { key: 'order-1' }, act)
      case 'idempotent': return await run.step('pay', { idempotent: true }, act)
      case 'read': return await run.read('pay', act)
      default: return await run.step('pay', act)
    }
  } catch (error) {
    if (HoldfastError.isInstance(error) && error.code === 'OUTCOME_UNKNOWN') return UNKNOWN
    throw error
  }
}

function toolPolicy({ tool: policy = {} }: Policy, world: WorldClient): ToolPolicy<Order, string> {
  const { reconcile, effectKey, ...rest } = policy
  const looks: NonNullable<ToolPolicy<Order, string>['reconcile']> = async ({ idempotencyKey }) => {
    const effect = await world.effectOf(idempotencyKey)
    if (reconcile === 'fails') throw new Error('the ledger cannot be read')
    return effect.done ? { status: 'completed', output: effect.output } : { status: 'not-done' }
  }
  return { ...rest, ...(reconcile && { reconcile: looks }), ...(effectKey && { effectKey: ({ order }: Order) => order }) }
}

/** The second request of the conversation is the step under trial: it stops before that is sent, and when it has been answered. */
function watchedFetch(stopAt: StopAt): typeof fetch {
  return async (input, init) => {
    const isTarget = typeof init?.body === 'string' && init.body.includes('"assistant"')
    if (isTarget) stopAt('in-tool')
    const response = await fetch(input, init)
    if (isTarget) stopAt('after-effect')
    return response
  }
}
