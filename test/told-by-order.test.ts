/** Steps that only their order tells apart: said when the second one is asked for (R1). */
import { expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type Run } from '../src/index.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

async function toldOf(code: (run: Run) => Promise<unknown>, attempts = 1): Promise<string[]> {
  const told: string[] = []
  let left = attempts
  const agent = defineAgent('a', async (run) => {
    await code(run)
    if (--left > 0) throw new Error('later')
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (event) => { if (event.type === 'warning') told.push(event.code) } })
  for (let i = 0; i < attempts; i++) await runner.run(agent, 1, { runId: 'r' }).catch(() => {})
  return told
}

const mail = (run: Run, options = {}) => run.step('mail', options, () => 1)

it.each<[string, (run: Run) => Promise<unknown>, string[]]>([
  ['two in a row', async (run) => { await mail(run); await mail(run) }, ['TOLD_BY_ORDER']],
  ['a loop, once', async (run) => { for (let i = 0; i < 5; i++) await mail(run) }, ['TOLD_BY_ORDER']],
  ['what is looked up', async (run) => { await run.read('load', () => 1); await run.read('load', () => 2) }, ['TOLD_BY_ORDER']],
  ['one in a branch each', async (run) => { await run.branch('a', () => mail(run)); await run.branch('b', () => mail(run)) }, []],
  ['with an input', async (run) => { await mail(run, { input: 1 }); await mail(run, { input: 2 }) }, []],
  ['with a key', async (run) => { await mail(run, { key: 1 }); await mail(run, { key: 2 }) }, []],
  ['of two names', async (run) => { await mail(run); await run.step('letter', () => 1) }, []],
])('%s', async (_, code, told) => {
  expect(await toldOf(code)).toEqual(told)
  expect(await toldOf(code, 2)).toEqual(told)
})
