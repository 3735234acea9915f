/** What somebody gives to name or to say something: how long it may be, told before anything is stored (R14). */
import { generateText, isStepCount, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions, type Store } from '../src/index.ts'
import { answer, approvedBy, deniedBy } from '../src/runner/approve.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
const long = (bytes: number): string => 'k'.repeat(bytes)
const tooLarge = (message: RegExp): object => expect.objectContaining({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(message) })

describe('what somebody says with an answer', () => {
  const waiting = async (store: Store) => {
    const pay = tool({ inputSchema: z.object({}), execute: () => 'paid' })
    const agent = defineAgent('a', async (run) => {
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: {} }] } : { text: 'done' }))
      return (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: { approval: true } }), prompt: 'go', stopWhen: isStepCount(3) })).text
    })
    const runner = createRunner({ agents: [agent], store, ...quick })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended' })
    return runner
  }

  it.each<[string, 'approve' | 'deny', object, RegExp]>([
    ['who approves', 'approve', { by: long(1_023) }, /^by takes 1025 bytes as JSON, the limit is 1024\. Keep large data elsewhere and pass a reference to it$/],
    ['who denies', 'deny', { by: long(1_023) }, /^by takes 1025 bytes as JSON, the limit is 1024/],
    ['why', 'deny', { reason: long(20_000_000) }, /^reason takes 20000002 bytes as JSON, the limit is 65536/],
    // As it is stored.
    ['why, in characters that JSON escapes', 'deny', { reason: '\u0001'.repeat(11_000) }, /^reason takes 66002 bytes/],
  ])('is refused where it is too long, and nothing is stored: %s', async (_, what, given, says) => {
    const store = memoryStore()
    const runner = await waiting(store)
    await expect(runner[what]('r', '0/c:c', given)).rejects.toEqual(tooLarge(says))
    expect(await store.inbox('r', 0)).toEqual([])
    expect(await runner[what]('r', '0/c:c', { by: long(1_000), ...(what === 'deny' && { reason: long(65_000) }), resume: true })).toEqual({ status: 'completed', result: 'done' })
  })

  it('is refused where there is the store alone', async () => {
    const store = memoryStore()
    await waiting(store)
    await expect((async () => answer(store, 'r', '0/c:c', deniedBy({ reason: long(65_600) }), { now: 0 }))()).rejects.toEqual(tooLarge(/^reason takes/))
    await expect((async () => answer(store, 'r', '0/c:c', approvedBy({ by: long(1_100) }), { now: 0 }))()).rejects.toEqual(tooLarge(/^by takes/))
    expect(await store.inbox('r', 0)).toEqual([])
  })
})

describe('a name that stands in a row of the store and in each attempt', () => {
  it.each<[string, { name?: string; version?: string; threadId?: string }, RegExp]>([
    ['of an agent', { name: long(2_000) }, /^agents\[0\]: its name takes 2002 bytes as JSON, the limit is 1024/],
    ['of its version', { version: long(2_000) }, /^agents\[0\]: its version takes 2002 bytes as JSON, the limit is 1024/],
    ['of a thread', { threadId: long(2_000) }, /^threadId takes 2002 bytes as JSON, the limit is 1024/],
  ])('is refused where it is too long: %s', async (_, { name = 'a', version = '1', threadId }, says) => {
    const store = memoryStore()
    const start = async (): Promise<unknown> => {
      const agent = defineAgent(name, () => 1, { version })
      return createRunner({ agents: [agent], store, ...quick }).run(agent, 1, { runId: 'r', ...(threadId !== undefined && { threadId }) })
    }
    await expect(start()).rejects.toEqual(tooLarge(says))
    await store.open()
    expect(await store.list()).toEqual([])
  })
})

describe('what a step is known by', () => {
  const act = tool({ inputSchema: z.object({}), execute: () => 'done' })
  it.each<[string, (run: Run) => Promise<unknown>, RegExp]>([
    ['the name of a step', (run) => run.step(long(70_000), () => 1), /^name of step takes 70002 bytes as JSON, the limit is 65536/],
    ['the key of a step', (run) => run.step('save', { key: long(70_000) }, () => 1), /^key of step "save" takes 70002 bytes/],
    ['the key of a read', (run) => run.read('look', { key: long(70_000) }, () => 1), /^key of read "look" takes 70002 bytes/],
    ['the name of a child agent', (run) => run.agent(defineAgent(long(70_000), () => 1), 1), /^name of agent takes 70002 bytes/],
    ['the key of a child agent', (run) => run.agent(defineAgent('child', () => 1), 1, { key: long(70_000) }), /^key of agent "child" takes 70002 bytes/],
    ['the key of a branch', (run) => run.branch(long(70_000), () => run.step('save', () => 1)), /^key of run\.branch\(\) takes 70002 bytes/],
    ['the name of a tool that a model is offered', async (run) => {
      const tools: ToolSet = { [long(70_000)]: act }
      return generateText({ model: run.model(testModel(() => ({ text: 'hm' }))), tools, prompt: 'x' })
    }, /^name of a tool takes 70002 bytes/],
    ['the effectKey of a call', (run) => {
      const { pay } = run.tools({ pay: act }, { pay: { effectKey: () => long(70_000) } })
      return Promise.resolve(pay.execute!({}, { toolCallId: 'c', messages: [], context: {} }))
    }, /^tools\.pay\.effectKey takes 70002 bytes/],
  ])('is refused where it is too long, whatever a record may hold: %s', async (_, handler, says) => {
    const agent = defineAgent('a', handler)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, null, { runId: 'r' })).rejects.toEqual(tooLarge(says))
    expect(JSON.stringify(await runner.history('r')).length).toBeLessThan(3_000)
    expect((await runner.history('r')).map(({ entry }) => entry.type)).toEqual(['run-created', 'attempt-started', 'run-ended', 'attempt-ended'])
    await runner.close()
  })
})

describe('the error with which a run fails', () => {
  it.each<[string, unknown, object]>([
    ['a long message', Object.assign(new RangeError(`It failed: ${long(300_000)}`), { data: long(100_000) }), { name: 'RangeError', message: expect.stringMatching(/^It failed: k+\.\.\. \(300011 characters\)$/) }],
    ['a large property', Object.assign(new Error('It failed'), { data: long(100_000), code: 'E' }), { name: 'Error', message: 'It failed' }],
    ['what is no error', long(300_000), { message: expect.stringMatching(/^k+\.\.\. \(300000 characters\)$/) }],
    ['what cannot be stored', { [Symbol('s')]: 1, toString: () => long(300_000) }, { message: expect.stringMatching(/^k+\.\.\. \(300000 characters\)$/) }],
  ])('keeps its name and the beginning of its message where it is too large: %s', async (_, thrown, kept) => {
    const agent = defineAgent('a', () => Promise.reject(thrown as Error))
    const runner = createRunner({ agents: [agent], store: memoryStore(), maxStepBytes: 20_000, ...quick })
    // Who has called it is given what was thrown.
    await expect(runner.run(agent, null, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_FAILED', cause: thrown })
    expect(JSON.stringify(await runner.history('r')).length).toBeLessThan(5_000)
    const failure = await runner.result('r').catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'RUN_FAILED', cause: kept })
    expect((failure as { cause: object }).cause).not.toHaveProperty('data')
    await runner.close()
  })

  it('ends inside of no secret', async () => {
    const secret = 'sk-live-0123456789abcdef'
    const agent = defineAgent('a', () => Promise.reject(new Error(`${long(990)}${secret}${long(30_000)}`)))
    const runner = createRunner({ agents: [agent], store: memoryStore(), maxStepBytes: 20_000, secrets: { KEY: secret }, ...quick })
    await expect(runner.run(agent, null, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_FAILED' })
    expect(JSON.stringify(await runner.history('r'))).not.toContain(secret.slice(0, 4))
  })

  it('is kept whole where it is not too large', async () => {
    const agent = defineAgent('a', () => Promise.reject(Object.assign(new Error(long(5_000)), { code: 'E', data: long(5_000) })))
    const runner = createRunner({ agents: [agent], store: memoryStore(), maxStepBytes: 20_000, ...quick })
    await expect(runner.run(agent, null, { runId: 'r' })).rejects.toThrow()
    await expect(runner.result('r')).rejects.toMatchObject({ cause: { message: long(5_000), code: 'E', data: long(5_000) } })
  })
})
