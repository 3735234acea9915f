/** The agent of the random kills: two desks side by side, each a loop with parallel tools of every kind, then an agent inside, then a step. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { currentRun, defineAgent, type Agent, type ToolPolicy } from '../../src/index.ts'
import type { AnyAgent } from '../../src/runner/agent.ts'
import type { Job } from './protocol.ts'
import { worldClient } from './world-client.ts'

export const REGIONS = ['eu', 'us'] as const

/** What the world must have carried out in the end, by how often. */
export const EFFECTS: Readonly<Record<string, 'once' | 'one key' | 'at least once'>> = {
  ...Object.fromEntries(REGIONS.flatMap((region) => [
    [`reserve ${region}`, 'one key'], [`pay ${region}`, 'once'], [`notify ${region}`, 'once'], [`log ${region}`, 'at least once'],
  ] as const)),
  sign: 'once',
  file: 'once',
  publish: 'once',
}

/** Steps that wait for a person when they are in doubt: nothing else may ask. */
export const ASKING: ReadonlySet<string> = new Set(['notify', 'sign', 'publish'])

/** Model requests of an undisturbed run; open at once; the same of the world's reads. */
export const WORK = { requests: 8, requestsAtOnce: 2, reads: 5, readsAtOnce: 4 }

export interface TripResult {
  readonly day: string
  readonly booked: readonly string[]
  readonly audit: string
  readonly published: string
}

interface In {
  readonly region: string
}

export function tripAgents(job: Job): readonly [trip: Agent<object, TripResult>, audit: AnyAgent] {
  const world = worldClient(job)
  const modelOf = (conversation: string) =>
    createOpenAICompatible({ name: 'scripted', baseURL: job.model, headers: { 'x-conversation': conversation, 'x-run': job.runId } })('scripted')
  const inputSchema = jsonSchema<In>({ type: 'object', properties: { region: { type: 'string' }, what: { type: 'string' } } })
  const acting = (name: string) => tool({ inputSchema, execute: ({ region }) => world.act(`${name} ${region}`) })
  const reconcile: NonNullable<ToolPolicy<unknown, string>['reconcile']> = async ({ idempotencyKey }) => {
    const effect = await world.effectOf(idempotencyKey)
    return effect.done ? { status: 'completed', output: effect.output } : { status: 'not-done' }
  }
  const tools = {
    search: tool({ inputSchema: jsonSchema<In & { what: string }>({ type: 'object' }), execute: ({ region, what }) => world.look(`${what} in ${region}`) }),
    reserve: acting('reserve'),
    pay: acting('pay'),
    notify: acting('notify'),
    log: acting('log'),
  }
  const policies = {
    search: { readOnly: true },
    reserve: { idempotent: true },
    pay: { reconcile },
    log: { onIncompleteTool: 'rerun' },
  } as const

  const book = async (region: string): Promise<string> => {
    const run = currentRun()!
    const asked = { model: run.model(modelOf('trip')), tools: run.tools(tools, policies), prompt: region, stopWhen: stepCountIs(5), maxRetries: 0 }
    if (region === 'eu') return (await generateText(asked)).text
    const result = streamText({ ...asked, onError: () => {} })
    for await (const part of result.stream) if (part.type === 'error') throw part.error
    return result.text
  }

  const audit = defineAgent('audit', async (run, { day }: { day: string }) => {
    const signature = await run.step('sign', () => world.act('sign'))
    const file = tool({ inputSchema: jsonSchema<object>({ type: 'object' }), execute: () => world.act('file') })
    const { text } = await generateText({ model: run.model(modelOf('audit')), tools: run.tools({ file }, { file: { reconcile } }), prompt: day, stopWhen: stepCountIs(3), maxRetries: 0 })
    return `${signature}, ${text}`
  })

  const trip = defineAgent('trip', async (run, _input: object): Promise<TripResult> => {
    const day = await run.read('day', () => world.look('day'))
    const booked = await Promise.all(REGIONS.map((region) => run.branch(region, () => book(region))))
    const audited = await run.agent(audit, { day })
    const published = await run.step('publish', { key: 'trip', input: booked }, () => world.act('publish'))
    return { day, booked, audit: audited, published }
  })
  return [trip, audit]
}
