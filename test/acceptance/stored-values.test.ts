/** Values through a whole run in every store: what is recorded is what was seen (R14; E2, E4, E6, E7). */
import { generateText, isStepCount, tool } from 'ai'
import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { hash } from '../../src/core/hash.ts'
import { createRunner, defineAgent, type Run, type RunnerOptions, type Store } from '../../src/index.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel } from '../support/model.ts'
import { ALL_STORES, type Place } from '../support/stores.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
/** Occur in some of the values: names are put in and taken out on the way, whatever else there is. */
const secrets = { WORDS: 'beside a secret', KEY: '__proto__ and so on' }

const proto: unknown = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}},"prototype":[3],"toString":null,"hasOwnProperty":"x"}')
const shared = { id: 1 }

const TYPES: readonly (readonly [string, unknown])[] = [
  ['a Date, also an invalid one apart', { at: new Date(1_700_000_000_123), far: new Date(8.64e15) }],
  ['a Map with objects as keys, in its order', new Map<unknown, unknown>([['b', 1], [{ k: 1 }, new Map([[NaN, undefined]])], [2, 'beside a secret']])],
  ['a Set, in its order', new Set<unknown>(['z', 1, new Set([{ a: 1 }])])],
  ['typed arrays and an ArrayBuffer', [new Uint8Array([0, 255]), new Float64Array([-0, NaN]), new BigInt64Array([-1n]), new Uint8Array([1, 2]).buffer]],
  ['undefined, NaN, -0, the infinities', [undefined, NaN, -0, Infinity, -Infinity, { a: undefined }]],
  ['undefined by itself', undefined],
  ['-0 by itself', -0],
  ['NaN by itself', NaN],
  ['a BigInt', 2n ** 80n],
  ['a URL and a RegExp', [new URL('https://example.com/a%20b?q=beside%20a%20secret#h'), /<\/a"\n(\d+)/giu]],
  ['holes', Object.assign([1], { 2: 3, length: 5 })],
  ['a shared reference', { first: shared, second: [shared] }],
]
const TEXTS: readonly (readonly [string, unknown])[] = [
  ['NUL', ['\0', 'a\0b', { '\0': '\0' }]],
  ['lone surrogates', ['\ud800', 'a\udc00b', { '\udfff': 'beside a secret \ud800' }]],
  ['4-byte characters and joined ones', ['𝄞', '👩‍👩‍👧', { '😀': 'e\u0301 é \ufeff\u2028' }]],
  ['all of them beside a Date', { at: new Date(0), text: '\0\ud800\udfff\udfff</script>\u2028👍 beside a secret', '\udfff<': 1 }],
  ['text that looks like a placeholder', ['{{secret:WORDS}}', { '{{secret:WORDS}}': 'beside a secret' }]],
]
const KEYS: readonly (readonly [string, unknown])[] = [
  ['plain', proto],
  ['beside a Date', { at: new Date(0), in: [new Map([['k', proto]]), proto] }],
  ['beside a secret', { in: proto, '__proto__ and so on': 'beside a secret' }],
]

describe.each(ALL_STORES)('in a store of the kind $kind', ({ make }) => {
  let place: Place
  beforeEach(() => void (place = make()))
  afterEach(() => place.cleanup())

  /** What the handler saw of a value as its input, as what a step, a read and a tool gave, in each attempt; and what its result became. */
  async function seenOf(value: unknown): Promise<{ readonly seen: readonly unknown[]; readonly result: unknown; readonly calls: number }> {
    const fail = failingOnce()
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'give', input: {} }] } : { text: 'done' }))
    const seen: unknown[] = []
    let calls = 0
    const give = (): unknown => (calls++, value)
    const agent = defineAgent('a', async (run: Run, input: { readonly value: unknown }) => {
      seen.push(input.value, await run.step('give', give), await run.read('look', { input: { value } }, give))
      const tools = run.tools({ give: tool({ inputSchema: z.object({}), execute: give, toModelOutput: () => ({ type: 'text', value: 'given' }) }) })
      const { steps } = await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) })
      seen.push(steps[0]!.toolResults[0]!.output)
      fail()
      return value
    })
    const first = createRunner({ agents: [agent], store: place.open(), secrets, ...quick })
    await expect(first.run(agent, { value }, { runId: 'r' })).rejects.toThrow(/later/)
    await first.close()
    const second = createRunner({ agents: [agent], store: place.open(), secrets, ...quick })
    const live = await second.run(agent, { value }, { runId: 'r' })
    await second.close()
    const third = createRunner({ agents: [agent], store: place.open(), secrets, ...quick })
    const recorded = await third.resume('r')
    await third.close()
    return { seen, result: [live, recorded].map((outcome) => (outcome.status === 'completed' ? outcome.result : outcome)), calls }
  }

  const expectSame = async (value: unknown): Promise<void> => {
    const { seen, result, calls } = await seenOf(value)
    expect(calls).toBe(3)
    for (const [i, back] of [...seen, ...(result as unknown[])].entries()) expect(isDeepStrictEqual(back, value), `at ${i}`).toBe(true)
    expect(seen).toHaveLength(8)
  }

  it.each(TYPES)('%s: equal live and replayed, as input, result of steps and tools, and of the run (E2)', async (_what, value) => expectSame(value))

  it.each(TEXTS)('%s: read back exactly equal (E6)', async (_what, value) => expectSame(value))

  it.each(KEYS)('__proto__ and constructor as keys, %s: plain data (E7)', async (_what, value) => {
    await expectSame(value)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('an error that a step threw: name, message and class exactly, with its cause and code, live and replayed (E2)', async () => {
    const seen: unknown[] = []
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const error: unknown = await run.step('fails', () => {
        throw Object.assign(new RangeError('\0 beside a secret \ud800', { cause: new TypeError('inner') }), { name: 'Own', code: 'E_OWN', at: new Date(0), [Symbol.for('own.mark')]: true, [Symbol('own')]: 1 })
      }).catch((e: unknown) => e)
      const given = await run.read('gives', () => ({ error: new SyntaxError('given') }))
      const { name, message, code, at, cause } = error as Error & { code: string; at: Date }
      seen.push([error instanceof RangeError, name, message, code, at, Object.getOwnPropertySymbols(error), cause instanceof TypeError && cause.message, given.error instanceof SyntaxError && given.error.message])
      fail()
    })
    for (let i = 0; i < 2; i++) {
      const runner = createRunner({ agents: [agent], store: place.open(), secrets, ...quick })
      await runner.run(agent, {}, { runId: 'r' }).catch(() => {})
      await runner.close()
    }
    expect(seen).toEqual(Array.from({ length: 2 }, () => [true, 'Own', '\0 beside a secret \ud800', 'E_OWN', new Date(0), [Symbol.for('own.mark')], 'inner', 'given']))
  })

  it('an unknown type tag fails closed with its path: the handler is not called, nothing is changed (E4)', async () => {
    let handled = 0
    const agent = defineAgent('a', async (run) => {
      handled++
      await run.step('give', () => ({ list: [{ at: new Date(0) }] }))
      throw new Error('later')
    })
    const first = createRunner({ agents: [agent], store: place.open(), ...quick })
    await expect(first.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    await first.close()
    const second = createRunner({ agents: [agent], store: rewritten(place.open(), (body) => body.replace('["Date",', '["Temporal",')), ...quick })
    const before = await second.get('r')
    await expect(second.resume('r')).rejects.toMatchObject({ code: 'STORE_CORRUPT', runId: 'r', message: expect.stringMatching(/entry 4: outcome\.value\.list\[0\]\.at has the unknown type "Temporal"/) })
    expect([handled, await second.get('r')]).toEqual([1, before])
    await second.close()
  })
})

/** The store as if other texts had been written, with checksums that fit. */
function rewritten(store: Store, change: (body: string) => string): Store {
  return {
    ...store,
    async read(runId, after) {
      let sum = ''
      const entries = (await store.read(runId)).map(({ seq, body }) => {
        const text = change(body)
        return { seq, body: text, sum: (sum = hash(sum, text)) }
      })
      return entries.slice(after ?? 0)
    },
  }
}
