/** A deploy that is rolled back, with a process that stopped in each version, and people who decided in between (R5, R6). */
import { generateText, stepCountIs, tool } from 'ai'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, defineAgent, memoryStore, type Outcome, type Run, type Runner } from '../src/index.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, drainMs: 10 }
const never = <T>(): Promise<T> => new Promise(() => {})

/** Each version is driven in turn; it may stop its process where it likes. */
function versions() {
  const paid: string[] = []
  const store = memoryStore()
  const drive = async (handler: (run: Run, stop: () => Promise<never>) => Promise<unknown>): Promise<{ readonly outcome: Outcome | undefined; readonly runner: Runner }> => {
    const stopping = new AbortController()
    const stop = (): Promise<never> => (stopping.abort(new Error('deploy')), never())
    const agent = defineAgent('a', (run) => handler(run, stop))
    const runner = createRunner({ agents: [agent], store, ...quick })
    const outcome = await runner.run(agent, 1, { runId: 'r', signal: stopping.signal }).catch(() => undefined)
    return { outcome, runner }
  }
  return { paid, drive, pay: (order: string) => (): string => `receipt ${paid.push(order)}` }
}

type Calls = readonly { readonly id: string; readonly tool: string; readonly input: object }[]

const loop = async (run: Run, prompt: string, calls: Calls, execute: (input: { order: string }) => Promise<string>, policy = {}, inputSchema: z.ZodType<{ order: string }> = z.object({ order: z.string(), note: z.string().optional() })): Promise<string> => {
  const model = testModel((turn) => (turn === 0 ? { calls } : { text: 'done' }))
  return (await generateText({ model: run.model(model), tools: run.tools({ pay: tool({ inputSchema, execute }) }, { pay: policy }), prompt, stopWhen: stepCountIs(3) })).text
}
const CALL: Calls = [{ id: 'c1', tool: 'pay', input: { order: 'A' } }]

it('a call in doubt that is composite once more is asked about: the steps inside of it are those of the version before', async () => {
  const { paid, drive, pay } = versions()
  const composite = (run: Run, stop?: () => Promise<never>) => loop(run, 'pay', CALL, async ({ order }) => {
    await currentRun()!.read('credit', () => 'fine')
    if (stop) await stop()
    return currentRun()!.step('charge', { key: order }, pay(order))
  }, { composite: true })
  await drive((run, stop) => composite(run, stop))
  await drive((run, stop) => loop(run, 'pay', CALL, async ({ order }) => (pay(order)(), stop())))
  const { outcome } = await drive((run) => composite(run))
  expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: ['0/c:c1'] }] })
  expect(paid).toEqual(['A'])
})

it('what a step inside did, after the call itself was known not to have been made, is not made again by that', async () => {
  const { paid, drive, pay } = versions()
  const calls: Calls = [...CALL, { id: 'c2', tool: 'pay', input: { order: 'B' } }]
  // The second one is written ahead, and not called any more.
  await drive((run, stop) => loop(run, 'pay', calls, async ({ order }) => (void stop(), pay(order)())))
  await drive((run, stop) => loop(run, 'pay', calls, async ({ order }) => {
    await currentRun()!.step('charge', { key: order }, pay(order))
    return stop()
  }, { composite: true }))
  const { outcome } = await drive((run) => loop(run, 'pay', calls, async ({ order }) => pay(order)()))
  expect(outcome).toMatchObject({ status: 'suspended' })
  expect(paid.toSorted()).toEqual([...new Set(paid)].toSorted())
})

it('a step that was known not to have been made, and was made under no key since, is not made again under its key', async () => {
  const { paid, drive, pay } = versions()
  const both = (run: Run, options: (order: string) => object, code: (order: string) => () => unknown) => Promise.all(['A', 'B'].map((order) => run.step('pay', { ...options(order), input: order }, code(order))))
  await drive((run, stop) => both(run, (key) => ({ key }), (order) => () => {
    if (order === 'A') void stop()
    return pay(order)()
  }))
  await drive(async (run, stop) => {
    await both(run, () => ({}), pay)
    return stop()
  })
  const { outcome } = await drive((run) => both(run, (key) => ({ key }), pay))
  expect(outcome).toMatchObject({ status: 'suspended' })
  expect(paid.filter((order) => order === 'B').length).toBeLessThan(2)
})

it('the newest word about a turn counts, also where the call was asked for in other words then', async () => {
  const { paid, drive, pay } = versions()
  const version = (note: string, stop?: () => Promise<never>) => (run: Run) =>
    loop(run, note, [{ id: 'c1', tool: 'pay', input: { order: 'A', note } }], async ({ order }) => (pay(order)(), stop ? stop() : 'receipt'))
  await drive((run, stop) => version('one', stop)(run))
  const two = await drive((run) => version('two')(run))
  await two.runner.resolve('r', '0~1/c:c1', 'rerun')
  const one = await drive((run) => version('one')(run))
  await one.runner.resolve('r', '0~2/c:c1', { result: 'it was paid, says the bank' })
  const { outcome } = await drive((run) => version('two')(run))
  expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ effects: ['0/c:c1'] }] })
  expect(paid).toEqual(['A'])
})

it('a call in doubt whose schema makes something else of its words by now is answered by its reason', async () => {
  const { paid, drive, pay } = versions()
  await drive((run, stop) => loop(run, 'pay', CALL, async ({ order }) => (pay(order)(), stop()), {}, z.object({ order: z.string() })))
  const later = (run: Run) => loop(run, 'pay', CALL, async ({ order }) => pay(order)(), {}, z.object({ order: z.string(), currency: z.string().default('EUR') }))
  const { outcome, runner } = await drive(later)
  if (outcome?.status !== 'suspended') throw new Error('it does not wait')
  const [reason] = outcome.reasons
  if (reason?.type !== 'in-doubt') throw new Error('it is not in doubt')
  await runner.resolve('r', reason, { result: 'receipt 1' })
  expect((await drive(later)).outcome).toEqual({ status: 'completed', result: 'done' })
  expect(paid).toEqual(['A'])
})
