/** Lists with billions of holes: what is done with them takes as long as what is in them, wherever they stand. None of these would end within the time of a test otherwise. */
import { describe, expect, it } from 'vitest'
import { classifyError, createRunner, defineAgent, memoryStore, type Run } from '../src/index.ts'
import { givenResponse } from '../src/ai-sdk/given-response.ts'
import { jsonText } from '../src/cli/json.ts'
import { shown } from '../src/core/shown.ts'
import { canonical } from '../src/journal/canonical.ts'
import { copyAgain, copyOf, isSame } from '../src/journal/copy.ts'
import { decode, encode } from '../src/journal/codec.ts'
import { Redaction } from '../src/journal/redact.ts'
import { Secrets, unsealed } from '../src/journal/secrets.ts'
import { Blame } from '../src/run/blame.ts'
import { messageOf } from '../src/run/readable.ts'

const LAST = 4_000_000_000
const KEY = 'sk_live_4eC39HqLyjWD'
const secrets = Secrets.of({ KEY })!

function sparse(...items: unknown[]): unknown[] {
  const list = [...items.slice(0, -1)]
  list[LAST] = items.at(-1)
  return list
}

/** Of a list like those: `toEqual` would look at each hole. */
const inside = (list: unknown): unknown => ({ length: (list as unknown[]).length, items: Object.entries(list as unknown[]) })
const around = (...items: unknown[]): unknown => inside(sparse(...items))

describe('a list with billions of holes', () => {
  it('is shown masked, with its holes', () => {
    const redaction = Redaction.of(['password', 'list.0'], secrets)!
    expect(inside(redaction.value(sparse(KEY, { password: 'x' })))).toEqual(around('{{secret:KEY}}', { password: '[redacted]' }))
    expect(inside((redaction.value({ list: sparse('a', 'b') }) as { list: unknown }).list)).toEqual(around('[redacted]', 'b'))
    const error = redaction.value(Object.assign(new Error('x'), { errors: sparse(KEY) })) as { errors: unknown }
    expect(inside(error.errors)).toEqual(around('{{secret:KEY}}'))
  })

  it('is stored, and whole again, with the names of secrets and without', () => {
    expect(inside(decode(encode(sparse(1, KEY))))).toEqual(around(1, KEY))
    const record = JSON.parse(secrets.seal({ type: 'x', input: encode(sparse(1, KEY)) })) as { input: unknown }
    expect(JSON.stringify(record)).not.toContain(KEY)
    expect(inside(decode(unsealed('r', record, secrets).input))).toEqual(around(1, KEY))
  })

  it('is copied and compared', () => {
    expect(inside(copyAgain(copyOf(sparse({ a: 1 }, [2]))))).toEqual(around({ a: 1 }, [2]))
    const copy = copyOf(sparse(1, { a: 1 }))
    expect([sparse(1, { a: 1 }), sparse(1, { a: 2 }), sparse({ a: 1 }), sparse(1, 2, { a: 1 })].map((other) => isSame(copy, other))).toEqual([true, false, false, false])
  })

  it('has no fingerprint, and a shorter one that of its text', () => {
    expect(() => canonical(sparse(1))).toThrow(/too large to compare/)
    const shorter: unknown[] = ['a']
    shorter[3] = undefined
    shorter[5] = 'b'
    shorter.length = 7
    expect(canonical(shorter)).toBe('["a",undefined,undefined,undefined,undefined,"b",undefined]')
    expect(canonical(Object.assign([1], { length: 3 }))).toBe('[1,undefined,undefined]')
  })

  it('is printed and told of as far as that goes', () => {
    expect(jsonText(sparse('a', 'b'))).toMatch(/^\[\n {2}"a",\n {2}null,\n/)
    for (const length of [30_000_000, LAST]) {
      const list = Object.assign(['a'], { length })
      expect(shown({ list })).toMatch(/^\{"list":\["a",null,[^]*null,"\.\.\."\]\}$/)
      expect(messageOf(list)).toBe('a')
    }
    expect(messageOf([1, [2, null], , 'c'])).toBe('1,2,,c') // oxlint-disable-line no-sparse-arrays
  })

  it('is none of the parts of an answer', () => {
    expect(givenResponse({ content: sparse({ type: 'text', text: 'a' }, { type: 'text', text: 'b' }) }, { id: 'i', timestamp: new Date(0), modelId: 'm' })).toBeUndefined()
  })

  it('on an error is looked at', () => {
    const status = (code: number): Error => Object.assign(new Error('x'), { status: code })
    expect(classifyError(Object.assign(new Error('several'), { errors: sparse(status(503), status(500)) })).category).toBe('server')
    expect(classifyError(Object.assign(new Error('slow down'), { status: 429, headers: sparse(['retry-after', '7']) })).retryAfterMs).toBe(7000)
    expect(classifyError(Object.assign(new Error('x'), { errorLabels: Object.assign(['RetryableWriteError'], { length: 30_000_000 }) })).category).toBe('server')
    expect(classifyError(sparse('x')).category).toBe('unknown')
    const blame = new Blame()
    const error = new Error('x')
    blame.remember(error, '7')
    expect(blame.stepsOf(Object.assign(new Error('several'), { errors: sparse(new Error('y'), error) }))).toEqual(['7'])
  })
})

it('a group of very many errors blames the step that one of them came from', () => {
  const blame = new Blame()
  const error = new Error('x')
  blame.remember(error, '7')
  expect(blame.stepsOf(new AggregateError([...Array.from({ length: 200_000 }, () => 'x'), error]))).toEqual(['7'])
})

it('a run that takes, gives and throws lists with billions of holes is driven, replayed and shown', async () => {
  const seen: unknown[] = []
  const agent = defineAgent('a', async (run: Run, input: unknown) => {
    const given = await run.step('give', () => sparse(KEY, { password: 'x' }))
    const thrown = await run.read('throw', (): unknown => { throw sparse('a', 'b') }).catch((error: unknown) => error)
    seen.push([input, given, thrown].map(inside))
    if (run.attempt === 1) throw Object.assign(new Error('later'), { errors: sparse(1) })
    return sparse('done')
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), secrets: { KEY }, redact: ['password'], retry: false, onEvent: () => {} })
  await expect(runner.run(agent, sparse('in'), { runId: 'r' })).rejects.toThrow(/later/)
  const { result } = (await runner.run(agent, sparse('in'), { runId: 'r' })) as { result?: unknown }
  expect(inside(result)).toEqual(around('done'))
  expect(seen).toEqual([0, 1].map(() => [around('in'), around(KEY, { password: 'x' }), around('a', 'b')]))
  const history = JSON.stringify(await runner.history('r'))
  expect(history).toContain('{{secret:KEY}}')
  expect(history).not.toContain('"x"')
  await runner.close()
})
