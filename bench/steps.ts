/** Steps of the handler's own. */
import { createRunner, defineAgent, type Run, type Store } from '../src/index.ts'
import { Blocks, type Row } from './blocks.ts'

const payload = 'x'.repeat(1_000)

/** Each kind of step, as a handler takes one. */
const TAKE: Readonly<Record<string, (run: Run, i: number) => Promise<unknown>>> = {
  'step with effects': (run, i) => run.step('work', { input: i }, () => payload),
  'idempotent step': (run, i) => run.step('work', { input: i, idempotent: true }, () => payload),
  'step with a key': (run, i) => run.step('work', { key: i }, () => payload),
  'step in a branch of its own': (run, i) => run.branch(String(i), () => run.step('work', () => payload)),
}

/** A row of so many steps, and their replay. `kept` is the store within, where there is one: it says what is really kept. */
export async function stepRows(store: Store, steps: number, kind: keyof typeof TAKE, kept: Store = store): Promise<Row[]> {
  const take = TAKE[kind]!
  let blocks = new Blocks(steps)
  let isReplay = false
  const agent = defineAgent('steps', async (run) => {
    for (let i = 0; i < steps; i++) {
      await take(run, i)
      blocks.step()
    }
    if (!isReplay) throw new Error('drive it again')
  })
  const runner = createRunner({ agents: [agent], store })
  await runner.run(agent, 1, { runId: 'run' }).catch(() => {})
  const bytes = (await kept.read('run')).reduce((sum, { body }) => sum + body.length, 0)
  const live = blocks.row(`${store.kind}: ${kind}`, { bytesRatio: bytes / (steps * payload.length) })
  isReplay = true
  blocks = new Blocks(steps)
  await runner.resume('run')
  await runner.close()
  return [live, blocks.row(`${store.kind}: ${kind}, replayed`)]
}

export const stepKinds = Object.keys(TAKE)
