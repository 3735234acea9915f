/** The agent that is driven on forged journals, with each kind of step, and the journals that it has really written. */
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { manualClock, type ManualClock } from '../../src/core/manual-clock.ts'
import { seededRandom } from '../../src/core/random.ts'
import { createRunner, currentStep, defineAgent, memoryStore, type Agent, type Runner, type Store } from '../../src/index.ts'
import { mortalProcess } from '../support/dead-process.ts'
import { testModel, type Answer } from '../support/model.ts'
import { during } from '../support/time.ts'

export const RUN_ID = 'driven'
export const T0 = 1_700_000_000_000
export const INPUT = { order: 7 }

/** A call of an effect: it was asked for, or its code was called. */
export interface Made {
  readonly name: string
  readonly key: string
}

export interface Desk {
  readonly agent: Agent<typeof INPUT, unknown>
  /** Effects that the handler asked for, in order. */
  readonly asked: string[]
  /** Effects that were made, in order: the world counts them, whatever the journal says. */
  readonly made: Made[]
}

const TURNS: readonly Answer[] = [
  { calls: [{ id: 'c1', tool: 'look', input: { of: 'order' } }, { id: 'c2', tool: 'charge', input: { of: '7' } }] },
  { calls: [{ id: 'c3', tool: 'refund', input: { of: '7' } }, { id: 'c4', tool: 'research', input: { of: 'law' } }] },
  { calls: [{ id: 'c5', tool: 'mail', input: { of: 'ada' } }] },
  { text: 'done' },
]
const INNER: readonly Answer[] = [{ calls: [{ id: 'c1', tool: 'file', input: { of: 'law' } }] }, { text: 'filed' }]

/** @param words What the conversation begins with: other words than before are another conversation. */
export function desk(words = 'Help.'): Desk {
  const asked: string[] = []
  const made: Made[] = []
  const make = (name: string) => async (): Promise<Date> => {
    made.push({ name, key: currentStep()!.idempotencyKey })
    return new Date(T0)
  }
  const inputSchema = jsonSchema<{ of: string }>({ type: 'object', properties: { of: { type: 'string' } }, required: ['of'] })
  const effect = (name: string) => tool({ inputSchema, execute: make(name) })
  /** Tools that tell when they are asked for, whether their code is called or not. */
  const telling = <T extends object>(tools: T): T => Object.fromEntries(Object.entries(tools).map(([name, each]: [string, { execute: (...given: unknown[]) => unknown }]) =>
    [name, { ...each, execute: (...given: unknown[]) => (asked.push(name), each.execute(...given)) }])) as T
  const [outer, inner] = [TURNS, INNER].map((turns) => testModel((turn) => turns[turn] ?? { text: 'end' })) as [ReturnType<typeof testModel>, ReturnType<typeof testModel>]
  return {
    asked,
    made,
    agent: defineAgent('desk', async (run, { order }: typeof INPUT) => {
      const step = (name: string): Promise<Date> => {
        asked.push(name)
        return run.step(name, { input: order }, make(name))
      }
      const research = tool({
        inputSchema,
        execute: async () => (await generateText({ model: run.model(inner), tools: telling(run.tools({ file: effect('file') })), prompt: 'File it.', stopWhen: stepCountIs(4) })).text,
      })
      const tools = run.tools(
        { look: tool({ inputSchema, execute: async ({ of }) => `${of} found` }), charge: effect('charge'), refund: effect('refund'), mail: effect('mail'), research },
        { look: { readOnly: true }, refund: { approval: true }, research: { composite: true } },
      )
      const { text } = await generateText({ model: run.model(outer), tools: telling(tools), prompt: words, stopWhen: stepCountIs(6) })
      const notes = await Promise.all(['eu', 'us'].map((region) => run.branch(region, () => step(`note ${region}`))))
      const page = await run.read('page', () => new Map([['order', order]]))
      const archived = await run.agent(defineAgent('child', async () => step('archive')), 1)
      return { text, notes, page, archived }
    }),
  }
}

export const runnerOf = (agent: Desk['agent'], store: Store, clock: ManualClock): Runner =>
  createRunner({ agents: [agent], store, clock, random: seededRandom(1), idleMs: 5, replayHoldMs: 20 })

/** What a run has left in its store. */
export interface Left {
  readonly bodies: readonly string[]
  readonly inbox: readonly string[]
}

/** A run that was killed there, if anywhere, when its conversation began with these words. Somebody agrees to the refund, and answers what is asked. */
async function left({ killedAt, words }: { readonly killedAt?: RegExp; readonly words?: string } = {}): Promise<Left> {
  const clock = manualClock(T0)
  const store = memoryStore()
  if (killedAt) {
    const dying = mortalProcess(store)
    const { agent } = desk(words)
    void runnerOf(agent, dying.store, clock).run(agent, INPUT, { runId: RUN_ID })
    await during(clock, dying.killAt(killedAt))
  }
  const { agent } = desk()
  const runner = runnerOf(agent, store, clock)
  for (;;) {
    const outcome = await during(clock, runner.run(agent, INPUT, { runId: RUN_ID }))
    if (outcome.status !== 'suspended') break
    for (const reason of outcome.reasons) {
      if (reason.type === 'approval') await runner.approve(RUN_ID, reason, { by: 'ada' })
      else if (reason.type === 'in-doubt' || reason.type === 'repeat') await runner.resolve(RUN_ID, reason, reason.type === 'repeat' ? 'reuse' : 'rerun')
    }
  }
  const [entries, inbox] = [await store.read(RUN_ID), await store.inbox(RUN_ID, 0)]
  await during(clock, runner.close())
  return { bodies: entries.map(({ body }) => body), inbox: inbox.map(({ body }) => body) }
}

/** Undisturbed; killed in the middle of an effect; killed, and another conversation since. */
export const LEFT: readonly Left[] = [
  await left(),
  await left({ killedAt: /"step-ended".*"name":"charge"/ }),
  await left({ killedAt: /"step-ended".*"name":"file"/, words: 'Hello.' }),
]
