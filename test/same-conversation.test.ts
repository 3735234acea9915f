/** Requests that only their configuration tells apart, from lines of work that do not wait for each other (R8, C16b, C34). */
import { generateText } from 'ai'
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions, type Store } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** How far the letter of the first customer is. */
type Moment = 'asked' | 'answered' | 'handed out'

interface Plan {
  readonly first: 'ann' | 'bob'
  /** When the second letter is asked for. */
  readonly secondWhen?: Moment
  readonly hangs?: string
  readonly inBranches?: boolean
}

/** A letter for each customer, with the customer in the system text alone. The request for `hangs` has no answer. */
function letters({ first, secondWhen = 'handed out', hangs, inBranches = false }: Plan) {
  const customerOf = (call: { prompt: unknown }): string => /customer (\w+)/.exec(JSON.stringify(call.prompt))![1]!
  const asked: string[] = []
  const warned: string[] = []
  const reached = new Set<Moment>()
  let isSecondAsked = false
  const until = async (isSo: () => boolean): Promise<void> => {
    // By what lies outside of steps: of what one line of work hands to another, their order is known.
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
  }
  const model = testModel(async (_, call) => {
    const customer = customerOf(call)
    asked.push(customer)
    if (customer === first) {
      reached.add('asked')
      if (secondWhen === 'asked') await until(() => isSecondAsked)
    }
    if (customer === hangs) await new Promise(() => {})
    return { text: `letter for ${customer}` }
  })
  const write = async (run: Run, customer: string): Promise<string> =>
    (await generateText({ model: run.model(model), system: `You serve customer ${customer}.`, prompt: 'Write the letter.' })).text
  const agent = defineAgent('letters', async (run) => Promise.all(['ann', 'bob'].map((customer) => {
    const line = async (): Promise<string> => {
      if (customer !== first) await until(() => reached.has(secondWhen))
      const writing = write(run, customer)
      // It has no way to go before it asks but promises.
      if (customer !== first) setImmediate(() => (isSecondAsked = true))
      const letter = await writing
      if (customer === first) reached.add('handed out')
      return letter
    }
    return inBranches ? run.branch(customer, line) : line()
  })))
  const runnerOn = (store: Store, ahead = 0) => createRunner({
    agents: [agent], store, ...(ahead > 0 && { clock: later(ahead) }), ...quick,
    onEvent: (event) => {
      if (event.type === 'step-finished') reached.add('answered')
      if (event.type === 'warning') warned.push(event.code)
    },
  })
  return { agent, warned, runnerOn, inFlight: until(() => reached.has('answered') && asked.length === 2) }
}

describe('a request that asks what another one asked, in another configuration', () => {
  it.each<[Moment, Moment]>([
    ['asked', 'asked'], ['asked', 'handed out'], ['answered', 'answered'], ['answered', 'handed out'], ['handed out', 'answered'], ['handed out', 'handed out'],
  ])('is not answered by that one, where it was asked for when that was %s, and killed, and then is asked for before it, which comes when this is %s', async (before, after) => {
    const store = memoryStore()
    const dying = mortal(store)
    const killed = letters({ first: 'bob', secondWhen: before, hangs: 'ann' })
    void killed.runnerOn(dying.store).run(killed.agent, 1, { runId: 'r' })
    await killed.inFlight
    dying.kill()
    const resumed = letters({ first: 'ann', secondWhen: after })
    expect(await resumed.runnerOn(store, 3_600_000).resume('r')).toEqual({ status: 'completed', result: ['letter for ann', 'letter for bob'] })
  })

  it.each<[Moment, string[]]>([['asked', []], ['answered', ['SAME_CONVERSATION']], ['handed out', ['SAME_CONVERSATION']]])(
    'comes from other code: where it is asked for when that was %s, it is told of, %j', async (secondWhen, told) => {
      const { agent, warned, runnerOn } = letters({ first: 'bob', secondWhen })
      await runnerOn(memoryStore()).run(agent, 1, { runId: 'r' })
      expect(warned).toEqual(told)
    })

  it('is not told of in branches', async () => {
    const { agent, warned, runnerOn } = letters({ first: 'bob', inBranches: true })
    await runnerOn(memoryStore()).run(agent, 1, { runId: 'r' })
    expect(warned).toEqual([])
  })

  it('replays where it is asked again in the same configuration', async () => {
    const store = memoryStore()
    const model = testModel(async (_, call) => ({ text: `letter for ${/customer (\w+)/.exec(JSON.stringify(call.prompt))![1]}` }))
    const agent = defineAgent('letters', async (run) => {
      const texts: string[] = []
      for (const customer of ['ann', 'bob']) {
        texts.push((await generateText({ model: run.model(model), system: `You serve customer ${customer}.`, prompt: 'Write the letter.' })).text)
        await new Promise((resolve) => setImmediate(resolve))
      }
      return texts
    })
    const dying = mortal(store)
    const died = dying.killAt(/"run-ended"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    const outcome = await createRunner({ agents: [agent], store, clock: later(3_600_000), ...quick }).resume('r')
    expect([outcome, model.requests.length]).toEqual([{ status: 'completed', result: ['letter for ann', 'letter for bob'] }, 2])
  })
})
