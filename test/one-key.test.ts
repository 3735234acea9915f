/** What has one key is one effect by the user's own word: what is decided of one call says nothing of another, and other arguments do not make another one of it (R5). */
import { expect, it } from 'vitest'
import { createRunner, defineAgent, durableTools, memoryStore, type Run } from '../src/index.ts'
import { failingOnce } from './support/failing-once.ts'
import { waitingIn } from './support/waiting.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

it.each(['rerun', 'reuse'] as const)('a refund that was made is asked about itself, where another one under its effectKey was settled by %s: nobody has said that it may be made again', async (decision) => {
  const refunded: number[] = []
  let isShipped = false
  const tools = durableTools({ refund: { execute: async ({ amount }: { order: string; amount: number }) => `refunded ${refunded.push(amount)}` } }, { refund: { effectKey: ({ order }: { order: string }) => order } } as never)
  const refund = (id: string, amount: number): Promise<unknown> => (tools.refund.execute as (input: unknown, call: object) => Promise<unknown>)({ order: 'B', amount }, { toolCallId: id, messages: [] })
  const agent = defineAgent('a', async (run) => {
    try {
      await run.step('ship', { input: 'B' }, () => { if (!isShipped) throw new Error('no such address') })
    } catch (error) {
      await refund('clean-up', 10)
      throw error
    }
    return [await refund('late', 20), await refund('rest', 10)]
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/no such address/)
  isShipped = true
  await runner.resolve('r', waitingIn(await runner.resume('r')), decision)
  const asked = await runner.resume('r')
  expect(asked).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', step: '2' }] })
  const made = decision === 'rerun' ? [10, 20] : [10]
  expect(refunded).toEqual(made)
  await runner.resolve('r', waitingIn(asked), 'reuse')
  expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [`refunded ${made.length}`, 'refunded 1'] })
  expect(refunded).toEqual(made)
})

it.each<[string, (run: Run, pay: (input: number) => Promise<unknown>, input: number) => Promise<unknown>]>([
  ['that was tried again by its handler', async (_run, pay, input) => pay(input).catch(() => pay(input))],
  ['that stands in another branch by now', (run, pay, input) => run.branch(input === 1 ? 'one' : 'two', () => pay(input))],
])('a step with a key %s is not made again without a question, though it has another input since', async (how, code) => {
  const paid: number[] = []
  const fail = failingOnce()
  let [tries, input] = [0, 1]
  const agent = defineAgent('a', async (run) => {
    const told = await code(run, (order) => run.step('pay', { key: 'A', input: order }, () => {
      if (how.includes('tried again') && ++tries === 1) throw new Error('card declined')
      return `receipt ${paid.push(order)}`
    }), input)
    fail()
    return told
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
  input = 2
  expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat' }] })
  expect(paid).toEqual([1])
})
