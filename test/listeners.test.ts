/** Who listens has no part in the run, whatever a listener does with what it is given. */
import { expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type Run, type StampedEvent } from '../src/index.ts'
import { setOwn } from '../src/journal/json.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 1 } } as const

/** Empties all that it is given, but errors. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Error) return
  if (value instanceof Map || value instanceof Set) return value.clear()
  for (const key of Object.keys(value)) {
    spoil((value as Record<string, unknown>)[key])
    setOwn(value, key, 'spoilt')
  }
}

const agent = defineAgent('a', async (run: Run, input: { fails: boolean }) => {
  await run.step('pay', { input: { order: [7] } }, () => {
    if (input.fails) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
  })
  return { customer: 'Ada', orders: new Map([[7, { at: new Date(0) }]]) }
})

/** Without times and chance. */
const told = (value: unknown): string => JSON.stringify(value, (key, item: unknown) => (['at', 'ms', 'startedAt', 'activeMs', 'idempotencyKey'].includes(key) ? 0 : item instanceof Map ? [...item] : item))

it.each([undefined, ['iban']])('a listener that changes what it is told changes neither the outcome, nor what is stored, nor what others are told (redact: %j)', async (redact) => {
  const tellAll = async (first: (event: StampedEvent) => void, fails: boolean): Promise<string> => {
    const seen: string[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, ...(redact && { redact }), onEvent: first })
    const run = (): Promise<unknown> => runner.run(agent, { fails }, { runId: 'r', onEvent: (event) => seen.push(told(event)) }).catch((error: Error) => error.message)
    return told([await run(), await run(), (await runner.history('r')).map(({ entry }) => entry.type === 'suspended' && entry.reasons), seen])
  }
  for (const fails of [false, true]) expect(await tellAll(spoil, fails)).toBe(await tellAll(() => {}, fails))
})

it('a reader of list, get and history that changes what it is given changes nothing', async () => {
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  await runner.run(agent, { fails: false }, { runId: 'r' })
  const look = async (): Promise<unknown[]> => [await runner.list(), await runner.get('r'), await runner.history('r')]
  const before = structuredClone(await look())
  spoil(await look())
  expect(await look()).toEqual(before)
})
