/** Bad input is refused with its code before anything runs, and nothing is lost (R7; C9, C10, E3). */
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateText, isStepCount, tool } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, durable, durableTools, memoryStore, sqliteStore, type Run, type RunnerOptions } from '../src/index.ts'
import { testModel } from './support/model.ts'

const echo = defineAgent('echo', async (_run, input: unknown) => input)
const runner = (options: Partial<RunnerOptions> = {}) => createRunner({ agents: [echo], store: memoryStore(), idleMs: 5, ...options })

const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })))
function file(name: string, content?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  folders.push(folder)
  if (content !== undefined) writeFileSync(join(folder, name), content)
  return join(folder, name)
}

describe('ids, agents, inputs', () => {
  it.each<readonly [string, string | undefined, string]>([
    ['no run id', undefined, 'MISSING_RUN_ID'],
    ['an empty one', '', 'MISSING_RUN_ID'],
    ...['../../x', '..', '.', 'a/b', 'a\\b', 'a b', 'a\0b', 'x'.repeat(201), '\u202Eabc', '-x'].map((id) => [JSON.stringify(id).slice(0, 20), id, 'INVALID_RUN_ID'] as const),
    ['a number', 7 as unknown as string, 'INVALID_RUN_ID'],
  ])('%s is refused', async (_what, runId, code) => {
    await expect(runner().run(echo, 1, runId === undefined ? {} : { runId })).rejects.toMatchObject({ code })
  })

  it('an agent that the runner does not have is refused, naming those that it has', async () => {
    const other = defineAgent('other', async () => 1)
    await expect(runner().run(other, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'UNKNOWN_AGENT', message: expect.stringMatching(/Its agents are: echo/) })
    await expect(runner().run('echoo', 1, { runId: 'r' })).rejects.toMatchObject({ code: 'UNKNOWN_AGENT' })
    await expect(runner().run(defineAgent('echo', async () => 2), 1, { runId: 'r' })).rejects.toMatchObject({ code: 'UNKNOWN_AGENT' })
  })

  it('two agents of one name are refused', () => {
    expect(() => createRunner({ agents: [echo, defineAgent('echo', async () => 1)] })).toThrow(expect.objectContaining({ code: 'DUPLICATE_AGENT' }))
  })

  it('an input that cannot be encoded is refused with its path, and leaves no run behind', async () => {
    const r = runner()
    await expect(r.run(echo, { items: [{ done: () => {} }] }, { runId: 'r' })).rejects.toMatchObject({ code: 'VALUE_NOT_STORABLE', message: expect.stringMatching(/input\.items\[0\]\.done is a function/) })
    expect(await r.get('r')).toBeUndefined()
  })

  it('a run that is not there cannot be resumed, read or resolved', async () => {
    const r = runner()
    for (const call of [r.resume('r'), r.history('r'), r.result('r'), r.resolve('r', '0', 'rerun')]) await expect(call).rejects.toMatchObject({ code: 'UNKNOWN_RUN' })
  })

  it.each([{ status: ['nope'] }, { status: 'failed' }, { limit: -1 }, { limit: Number.NaN }, { agnt: 'x' }])('a list by %j is refused', async (filter) => {
    await expect(runner().list(filter as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('a decision of no known kind is refused', async () => {
    await expect(runner().resolve('r', '0', 'again' as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it.each<[unknown, RegExp]>([
    [{ pollMs: 'x' }, /pollMs of result\(\) must be a number >= 1, got "x"/],
    [{ pollMs: 0 }, /pollMs of result\(\)/],
    [{ signal: 5 }, /signal of result\(\) must be an AbortSignal, got number/],
    [{ polMs: 5 }, /polMs is not an option of result\(\)/],
    [{ constructor: 5 }, /constructor is not an option of result\(\)/],
    [5, /options of result\(\) must be an object/],
  ])('waiting for a result with %j is refused', async (options, message) => {
    const r = runner()
    await r.run(echo, 1, { runId: 'r' })
    await expect(r.result('r', options as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) })
  })

  it('what has no text in JSON is refused with the same code', async () => {
    const circular: { self?: unknown } = {}
    circular.self = circular
    const [r, calls] = [runner(), [circular, 5n, { step: 5n }, Object.create(null)] as never[]]
    for (const wrong of calls) {
      for (const call of [r.resolve('r', '0', wrong), r.resolve('r', wrong, 'rerun'), r.approve('r', wrong), r.deny('r', wrong), r.list({ status: wrong }), r.list({ limit: wrong })]) {
        await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
      }
      await expect(r.run(echo, 1, { runId: wrong })).rejects.toMatchObject({ code: 'INVALID_RUN_ID' })
      expect(() => runner({ stallAfter: wrong })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
      expect(() => runner({ redact: [wrong] })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
      expect(() => sqliteStore(file('a.db'), { busyTimeoutMs: wrong })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
    }
  })
})

it.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'])('a tool may be called %s: it runs, and replays', async (name) => {
  let calls = 0
  const made = durableTools(Object.fromEntries([[name, tool({ inputSchema: z.object({}), execute: async () => ++calls })]]))
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: name, input: {} }] } : { text: 'done' }))
  let drives = 0
  const agent = defineAgent('a', async () => {
    const { text } = await generateText({ model: durable(model), tools: durableTools(made), prompt: 'x', stopWhen: isStepCount(3) })
    if (++drives === 1) throw new Error('later')
    return text
  })
  const r = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5 })
  await expect(r.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
  expect(await r.resume('r')).toEqual({ status: 'completed', result: 'done' })
  expect(calls).toBe(1)
})

describe('options and policies', () => {
  it.each<[string, () => unknown, string, RegExp]>([
    ['an unknown option', () => createRunner({ agents: [echo], retries: 3 } as never), 'INVALID_OPTIONS', /retries is not an option/],
    ['no agents', () => createRunner({} as never), 'INVALID_OPTIONS', /agents must be an array/],
    ['something that is no store', () => createRunner({ agents: [echo], store: 'runs.db' as never }), 'INVALID_OPTIONS', /store must be a store/],
    ['a policy with a wrong value', () => createRunner({ agents: [echo], retry: { maxAttempts: 0 } }), 'INVALID_POLICY', /retry\.maxAttempts must be an integer >= 1, got 0/],
    ['an unknown key in a policy', () => createRunner({ agents: [echo], timeouts: { modelMS: 1 } as never }), 'INVALID_POLICY', /timeouts\.modelMS/],
    ['the time of a run among the limits of a runner', () => createRunner({ agents: [echo], limits: { runMs: 1 } as never }), 'INVALID_POLICY', /limits\.runMs is not known here\. For all runs of a runner it is timeouts\.runMs/],
    ['a deadline for all runs', () => createRunner({ agents: [echo], limits: { deadline: 1 } as never }), 'INVALID_POLICY', /limits\.deadline is not known here\. A call gives its run one/],
    ['a negative duration', () => createRunner({ agents: [echo], leaseMs: -1 }), 'INVALID_OPTIONS', /leaseMs must be a number >= 100, got -1/],
    ['a tool policy for a tool that does not exist', () => durableTools({ search: tool({ inputSchema: z.object({}), execute: async () => 1 }) }, { serach: { readOnly: true } } as never), 'UNKNOWN_TOOL', /serach.*search/],
    ['retry on a tool that is not idempotent', () => durableTools({ pay: tool({ inputSchema: z.object({}), execute: async () => 1 }) }, { pay: { retry: { maxAttempts: 2 } } }), 'INVALID_POLICY', /pay\.retry is given, but the tool is not idempotent/],
    ['a model id where a model is wanted', () => durable('openai/gpt-6' as never), 'INVALID_OPTIONS', /language model object/],
    ['a model that lacks a method', () => durable({ specificationVersion: 'v4', doStream: () => {} } as never), 'INVALID_OPTIONS', /language model object, got an object without doGenerate\(\)/],
    ['a model of another specification', () => durable({ specificationVersion: 'v2', doGenerate: () => {} } as never), 'INVALID_OPTIONS', /specification v4, got "v2"/],
    ['a list of tools', () => durableTools([tool({ inputSchema: z.object({}), execute: async () => 1 })] as never), 'INVALID_OPTIONS', /object of tools by name, got an array/],
    ['a tool that is none', () => durableTools({ search: 5 } as never), 'INVALID_OPTIONS', /tools\.search must be a tool, got 5/],
    ['tools that are none', () => durableTools(undefined as never), 'INVALID_OPTIONS', /object of tools by name/],
    ['half an attempt', () => createRunner({ agents: [echo], stallAfter: 1.5 }), 'INVALID_OPTIONS', /stallAfter must be an integer >= 1, got 1.5/],
    ['an agent without a handler', () => defineAgent('x', undefined as never), 'INVALID_OPTIONS', /handler of agent "x"/],
  ])('%s is refused', (_what, make, code, message) => {
    expect(make).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }))
  })
})

describe('options of a call, and of a step', () => {
  it.each<[string, (r: ReturnType<typeof runner>) => Promise<unknown>, RegExp]>([
    ['null', (r) => r.run(echo, 1, null as never), /options of run\(\) must be an object, got null/],
    ['an unknown option', (r) => r.run(echo, 1, { runId: 'r', runid: 'x' } as never), /runid is not an option of run\(\)/],
    ['a thread that is a number', (r) => r.run(echo, 1, { runId: 'r', threadId: 7 } as never), /threadId of run\(\) must be a string, got number/],
    ['an unknown way with calls in doubt', (r) => r.resume('r', { onIncompleteTool: 'retry' } as never), /onIncompleteTool of resume\(\) must be one of refuse, rerun, skip, reconcile, got "retry"/],
    ['a signal that is none', (r) => r.resume('r', { signal: {} } as never), /signal of resume\(\) must be an AbortSignal/],
  ])('%s is refused', async (_what, call, message) => {
    await expect(call(runner())).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) })
  })

  it.each<[string, (run: Run) => Promise<unknown>, RegExp]>([
    ['a step without a function', (run) => run.step('a', undefined as never), /run\.step\(\): its (options|function)/],
    ['a step without a name', (run) => run.step('', () => 1), /its name must be a string/],
    ['an idempotent that is a text', (run) => run.step('a', { idempotent: 'false' } as never, () => 1), /idempotent must be true or false, got "false"/],
    ['a misspelt option', (run) => run.step('a', { kee: 1 } as never, () => 1), /kee is not one of its options\. Is key meant\?/],
    ['an option that another one is', (run) => run.step('a', { timeout: 5 } as never, () => 1), /timeout is not one of its options\. Is timeoutMs meant\?/],
    ['an option that there is nowhere', (run) => run.step('a', { colour: 5 } as never, () => 1), /Known are key, input, idempotent, timeoutMs/],
    ['retry without idempotent', (run) => run.step('a', { retry: { maxAttempts: 2 } }, () => 1), /it is not idempotent\. Set idempotent: true if it may run twice, or leave retry out/],
    ['a read that says it is idempotent', (run) => run.read('a', { idempotent: true } as never, () => 1), /idempotent is not one of its options/],
    ['an agent that is none', (run) => run.agent({} as never, 1), /takes an agent/],
    ['a branch without a function', (run) => run.branch('x', undefined as never), /run\.branch\(\)/],
  ])('%s is refused', async (_what, call, message) => {
    const agent = defineAgent('a', async (run) => call(run))
    await expect(createRunner({ agents: [agent], store: memoryStore() }).run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) })
  })
})

describe('stores', () => {
  it.each<[string, () => string, object, string]>([
    ['a store that is not there', () => file('runs.db'), { create: false }, 'STORE_NOT_FOUND'],
    ['an empty file', () => file('runs.db', ''), {}, 'STORE_EMPTY'],
    ['a file of another program', () => file('runs.db', 'name,amount\nann,7\n'), {}, 'STORE_FOREIGN'],
  ])('%s is refused before anything runs', async (_what, path, options, code) => {
    let ran = false
    const agent = defineAgent('a', async () => (ran = true))
    await expect(createRunner({ agents: [agent], store: sqliteStore(path(), options) }).run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code })
    expect(ran).toBe(false)
  })
})

describe('a journal that has lost its end', () => {
  it('is refused with both numbers, and nothing is driven or changed (R15)', async () => {
    const store = memoryStore()
    const failing = defineAgent('a', async (run) => {
      await run.step('pay', () => 'receipt')
      throw new Error('later')
    })
    await expect(createRunner({ agents: [failing], store }).run(failing, 1, { runId: 'r' })).rejects.toThrow()
    const before = await store.get('r')
    let ran = false
    const agent = defineAgent('a', async () => (ran = true))
    const torn = { ...store, read: async (id: string, after?: number) => (await store.read(id, after)).slice(0, 3) }
    await expect(createRunner({ agents: [agent], store: torn }).resume('r')).rejects.toMatchObject({
      code: 'STORE_CORRUPT', message: expect.stringContaining(`ends at entry 3, it had ${before!.lastSeq}`),
    })
    expect(ran).toBe(false)
    expect(await store.get('r')).toEqual(before)
  })
})

describe('the same run, the same thing (R7)', () => {
  const v1 = defineAgent('a', async () => 'done', { version: '1' })
  const v2 = defineAgent('a', async () => 'done', { version: '2' })

  it('another input, another version: named before the handler starts, allowed by a flag (C10)', async () => {
    const store = memoryStore()
    const failing = defineAgent('a', async () => { throw new Error('later') })
    await expect(createRunner({ agents: [failing], store }).run(failing, { n: 1, m: 2 }, { runId: 'r' })).rejects.toThrow()
    const r1 = createRunner({ agents: [v1], store })
    await expect(r1.run(v1, { n: 2 }, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_MISMATCH', message: expect.stringMatching(/the input is not the one/) })
    const r2 = createRunner({ agents: [v2], store })
    await expect(r2.resume('r')).rejects.toMatchObject({ code: 'RUN_MISMATCH', message: expect.stringMatching(/version "2", the run was started with "1"/) })
    expect(await r1.run(v1, { m: 2, n: 1 }, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
  })

  it('another input is found also where it is too large for a fingerprint', async () => {
    const shared = (n: number): unknown => Array.from({ length: 21 }).reduce((inner: unknown) => [inner, inner], { n })
    const one = createRunner({ agents: [v1], store: memoryStore() })
    await one.run(v1, shared(1), { runId: 'r' })
    await expect(one.run(v1, shared(2), { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_MISMATCH', message: expect.stringMatching(/the input is not the one/) })
    expect(await one.run(v1, shared(1), { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
  })

  it('goes on with another version where that is allowed', async () => {
    const store = memoryStore()
    const failing = defineAgent('a', async () => { throw new Error('later') })
    await expect(createRunner({ agents: [failing], store }).run(failing, 1, { runId: 'r' })).rejects.toThrow()
    expect(await createRunner({ agents: [v2], store }).resume('r', { allowMismatch: true })).toMatchObject({ status: 'completed' })
  })

  it('a finished run gives its recorded result and calls nothing (C9)', async () => {
    const model = testModel(() => ({ text: 'x' }))
    let handled = 0
    const agent = defineAgent('a', async (run) => (handled++, (await generateText({ model: run.model(model), prompt: 'x' })).text))
    const r = createRunner({ agents: [agent], store: memoryStore() })
    for (const call of [() => r.run(agent, 1, { runId: 'r' }), () => r.run(agent, 1, { runId: 'r' }), () => r.resume('r')]) {
      expect(await call()).toEqual({ status: 'completed', result: 'x' })
    }
    expect([handled, model.requests.length]).toEqual([1, 1])
  })
})
