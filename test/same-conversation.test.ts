/** Requests that only their configuration tells apart, from lines of work that do not overlap (R8, C16b, C34). */
import { generateText } from 'ai'
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions, type Store } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A letter for each customer, with the customer in the system text alone. `first` comes first; the request for `hangs` has no answer. */
function letters(first: string, { hangs, inBranches = false, inARow = false }: { hangs?: string; inBranches?: boolean; inARow?: boolean } = {}) {
  const customerOf = (call: { prompt: unknown }): string => /customer (\w+)/.exec(JSON.stringify(call.prompt))![1]!
  const asked: string[] = []
  const model = testModel(async (_, call) => {
    const customer = customerOf(call)
    asked.push(customer)
    if (customer === hangs) await new Promise(() => {})
    return { text: `letter for ${customer}` }
  })
  const write = async (run: Run, customer: string): Promise<string> =>
    (await generateText({ model: run.model(model), system: `You serve customer ${customer}.`, prompt: 'Write the letter.' })).text
  const agent = defineAgent('letters', async (run) => {
    if (inARow) {
      const texts: string[] = []
      for (const customer of ['ann', 'bob']) {
        texts.push(await write(run, customer))
        await wait(1)
      }
      return texts
    }
    return Promise.all(['ann', 'bob'].map((customer) => {
      const line = async (): Promise<string> => {
        await wait(customer === first ? 1 : 60)
        return write(run, customer)
      }
      return inBranches ? run.branch(customer, line) : line()
    }))
  })
  const warned: string[] = []
  const runnerOn = (store: Store, ahead = 0) => createRunner({ agents: [agent], store, ...(ahead > 0 && { clock: later(ahead) }), ...quick, onEvent: (event) => { if (event.type === 'warning') warned.push(event.code) } })
  return { agent, asked, warned, runnerOn }
}

describe('a request that asks what another one asked, in another configuration', () => {
  it('is not answered by that one, where its process was killed before it had its answer', async () => {
    const store = memoryStore()
    const before = letters('bob', { hangs: 'ann' })
    const dying = mortal(store)
    void before.runnerOn(dying.store).run(before.agent, 1, { runId: 'r' })
    while (!before.asked.includes('ann')) await wait(1)
    dying.kill()
    const after = letters('ann')
    expect(await after.runnerOn(store, 3_600_000).resume('r')).toEqual({ status: 'completed', result: ['letter for ann', 'letter for bob'] })
  })

  it('is told of, once, where it comes from other code', async () => {
    const { agent, warned, runnerOn } = letters('bob')
    await runnerOn(memoryStore()).run(agent, 1, { runId: 'r' })
    expect(warned).toEqual(['SAME_CONVERSATION'])
  })

  it('is not told of in branches', async () => {
    const { agent, warned, runnerOn } = letters('bob', { inBranches: true })
    await runnerOn(memoryStore()).run(agent, 1, { runId: 'r' })
    expect(warned).toEqual([])
  })

  it('replays where it is asked again in the same configuration', async () => {
    const store = memoryStore()
    const { agent, asked, runnerOn } = letters('bob', { inARow: true })
    const dying = mortal(store)
    const died = dying.killAt(/"run-ended"/)
    void runnerOn(dying.store).run(agent, 1, { runId: 'r' })
    await died
    expect(await runnerOn(store, 3_600_000).resume('r')).toEqual({ status: 'completed', result: ['letter for ann', 'letter for bob'] })
    expect(asked).toEqual(['ann', 'bob'])
  })
})
