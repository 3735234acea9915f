/** What holds steps and has not ended is entered again by what it was entered by, and by nothing else (R1, R5). */
import { tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

type Holder = (run: Run, customer: string, inside: () => Promise<string>) => Promise<unknown>

const HOLDERS: Readonly<Record<string, Holder>> = {
  'an agent': (run, customer, inside) => run.agent(defineAgent('bill', inside), customer),
  'an agent with a key': (run, customer, inside) => run.agent(defineAgent('bill', inside), customer, { key: 'k' }),
  'an idempotent step': (run, customer, inside) => run.step('bill', { input: customer, idempotent: true }, inside),
  'an idempotent step with a key': (run, customer, inside) => run.step('bill', { input: customer, idempotent: true, key: 'k' }, inside),
  'a read': (run, customer, inside) => run.read('bill', { input: customer }, inside),
  'a composite tool that no response asked for': (run, customer, inside) => {
    const tools = run.tools({ bill: tool({ inputSchema: z.object({ customer: z.string() }), execute: () => inside() }) }, { bill: { composite: true } })
    return tools.bill.execute!({ customer }, { toolCallId: `call-${customer}`, messages: [], context: undefined as never }) as Promise<unknown>
  },
  'an agent in a branch that both have': (run, customer, inside) => run.agent(defineAgent('bill', (inner) => inner.branch('b', inside)), customer),
}

/** Killed behind the first charge; on resume the customers come in the given order. */
async function killed(holder: Holder, orderThen: readonly string[]) {
  const charged: string[] = []
  let order: readonly string[] = ['ann', 'bob']
  const agent = defineAgent('shop', async (run) => {
    const receipts: unknown[] = []
    for (const customer of order) {
      receipts.push(await holder(run, customer, async () => {
        const receipt = await run.step('charge', () => (charged.push(customer), `receipt of ${customer}`))
        await run.step('note', { idempotent: true }, () => 'noted')
        return receipt
      }))
    }
    return receipts
  })
  const store = memoryStore()
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"name":"note"/)
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
  await died
  order = orderThen
  return { charged, outcome: await createRunner({ agents: [agent], store, clock: later(), ...quick }).resume('r') }
}

describe('a step with steps inside that had not ended', () => {
  it.each(Object.entries(HOLDERS))('is not entered by another customer, and nobody is charged twice: %s', async (_, holder) => {
    const { charged, outcome } = await killed(holder, ['bob', 'ann'])
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat' }] })
    expect(charged).toEqual(['ann'])
  })

  it.each(Object.entries(HOLDERS))('is entered again by the same one, and goes on there: %s', async (_, holder) => {
    const { charged, outcome } = await killed(holder, ['ann', 'bob'])
    expect(outcome).toEqual({ status: 'completed', result: ['receipt of ann', 'receipt of bob'] })
    expect(charged).toEqual(['ann', 'bob'])
  })
})
