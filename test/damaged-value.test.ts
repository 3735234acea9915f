/** A value that cannot be made, in an entry that is rightly chained, is found before anything runs (R15): it is no error of its step, which a handler would answer with another effect. */
import { expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore } from '../src/index.ts'
import { link, START, type Tip } from '../src/journal/chain.ts'
import type { Encoded } from '../src/journal/codec.ts'
import type { Entry } from '../src/journal/entry.ts'

it.each<[string, Encoded, RegExp]>([
  ['a RegExp', { devalue: [{ pattern: 1 }, ['RegExp', '(']] }, /outcome\.value\.pattern is no RegExp/],
  ['a URL', { devalue: [{ url: 1 }, ['URL', '::']] }, /outcome\.value\.url is no URL/],
  ['an error', { devalue: [['Error', 1], { name: 2 }, 'x'] }, /outcome\.value is no Error/],
])('%s that is none: STORE_CORRUPT with its place, nothing is called and nothing is written', async (_, value, words) => {
  const calls: string[] = []
  const agent = defineAgent('a', (run) => run.step('charge', () => calls.push('charge')).catch(() => run.step('refund', () => calls.push('refund'))))
  const whole = memoryStore()
  const runner = createRunner({ agents: [agent], store: whole })
  await runner.run(agent, {}, { runId: 'r' })
  const entries = (await runner.history('r')).map(({ entry }) => entry)
  await runner.close()

  // It ended with the step, as a kill would have it.
  const end = entries.findIndex(({ type }) => type === 'step-ended')
  const kept = entries.slice(0, end + 1).map((entry): Entry => (entry.type === 'step-ended' ? { ...entry, outcome: { type: 'value', value } } : entry))
  let tip: Tip = START
  const rows = kept.map((entry) => {
    const row = link(tip, entry)
    tip = row
    return row
  })
  const store = memoryStore()
  await store.create({ runId: 'r', agent: 'a', threadId: null, createdAt: entries[0]!.at, entries: rows })
  const again = createRunner({ agents: [agent], store })
  for (let i = 0; i < 2; i++) await expect(again.resume('r')).rejects.toMatchObject({ code: 'STORE_CORRUPT', runId: 'r', message: expect.stringMatching(words) })
  expect(calls).toEqual(['charge'])
  expect(await store.get('r')).toMatchObject({ lastSeq: kept.length, token: 0 })
  await again.close()
})
