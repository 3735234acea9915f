/** The run that golden files hold: killed after its charge took effect, before anybody knew. What it asks for must never change. */
import { currentStep, defineAgent, durable, type Agent } from '../../src/index.ts'
import { testModel, type TestModel } from '../support/model.ts'

export interface World {
  readonly agent: Agent<{ readonly order: number; readonly when: Date }, unknown>
  readonly model: TestModel
  /** Names of what ran, in order. */
  readonly ran: string[]
  /** Idempotency keys of the charges. */
  readonly charges: string[]
}

export function world(): World {
  const model = testModel((turn) => ({ text: `answer ${turn}` }))
  const ran: string[] = []
  const charges: string[] = []
  const asked = durable(model)
  const agent = defineAgent('desk', async (run, input: { readonly order: number; readonly when: Date }) => {
    const ask = async (text: string): Promise<unknown> =>
      (await asked.doGenerate({ prompt: [{ role: 'system', content: 'You are a desk.' }, { role: 'user', content: [{ type: 'text', text }] }] })).content
    const first = await ask(`What about order ${input.order}?`)
    const page = await run.read('page', () => {
      ran.push('page')
      return new Map([['prices', new Set([12n, NaN])]])
    })
    const regions = await Promise.all(['eu', 'us'].map((region) => run.branch(region, () => run.step('note', { input: region, idempotent: true }, () => {
      ran.push(`note ${region}`)
      return new Uint8Array([region.length])
    }))))
    const charged = await run.step('charge', { key: input.order, input }, () => {
      ran.push('charge')
      charges.push(currentStep()!.idempotencyKey)
      return { at: new Date(1_700_000_000_000) }
    })
    return { first, page, regions, charged, last: await ask('And now?') }
  }, { version: '1' })
  return { agent, model, ran, charges }
}
