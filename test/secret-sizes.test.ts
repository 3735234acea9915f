/** Limits of sizes count what is stored: the names of secrets, which may take more room than their values (R14, E5). */
import { generateText, isStepCount, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { storeSource } from '../src/cli/source.ts'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions } from '../src/index.ts'
import { failingOnce } from './support/failing-once.ts'
import { testModel } from './support/model.ts'

const VALUE = 'pa55word'
const NAME = 'K'.repeat(64)
/** A text that is small in the run, and large in the store. */
const many = (count: number): string => `${VALUE} `.repeat(count)
/** Every other character as an escape: small with the name alone, and large with how the value is written. */
const escaped = (text: string, escape: (hex: string) => string): string => [...text].map((unit, i) => (i % 2 ? unit : escape(unit.charCodeAt(0).toString(16)))).join('')
const SPELLED = escaped(escaped(VALUE, (hex) => `\\u00${hex}`), (hex) => `%${hex}`)
const options = {
  maxStepBytes: 4_096, secrets: { [NAME]: VALUE }, idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 3, backoff: { baseMs: 1, jitter: 'none' } },
} satisfies Partial<RunnerOptions>

const tooLarge = (message: RegExp): object => expect.objectContaining({ code: 'VALUE_TOO_LARGE', message: expect.stringMatching(message) })

/** A run of the handler to its end, its runner, and its journal. */
async function driven(handler: (run: Run) => Promise<unknown>, own: Partial<RunnerOptions> = {}) {
  const agent = defineAgent('a', handler)
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...options, ...own })
  const ended = await runner.run(agent, null, { runId: 'r' }).catch((error: unknown) => error)
  return { ended, runner, entries: async () => (await runner.history('r')).map(({ entry }) => entry) }
}

describe('what a step comes to that is too large with the names of secrets alone', () => {
  const act = (kind: 'step' | 'read', error: Error) => (run: Run, ran: () => void) => run[kind]('act', () => (ran(), Promise.reject(error)))

  it.each<[string, (run: Run, ran: () => void) => Promise<unknown>, RegExp, Partial<RunnerOptions>]>([
    ['the error of a step with effects', act('step', new RangeError(many(60))), /^RangeError \{\{secret:K+\}\} .*\.\.\. \(540 characters\)$/, {}],
    ['the error of a read', act('read', new RangeError(many(60))), /^RangeError \{\{secret:K+\}\} .*\.\.\. \(540 characters\)$/, {}],
    ['another property of its error', act('step', Object.assign(new RangeError('no'), { body: many(60) })), /^RangeError no$/, {}],
    ['its error, by how its text writes them', act('step', new RangeError(`${SPELLED} `.repeat(75))), /^RangeError \{\{secret:K\}\} .*\.\.\. \(\d+ characters\)$/, { secrets: { K: VALUE } }],
    ['the result of a step with effects', (run, ran) => run.step('act', () => (ran(), many(60))), /^HoldfastError step "act" succeeded, but its result could not be stored: the record of step "act" \(step 0\) takes \d{4} bytes as JSON, the limit is 4096\./, {}],
    ['the result of a read', (run, ran) => run.read('act', () => (ran(), many(60))), /^HoldfastError the record of read "act" \(step 0\) takes \d{4} bytes as JSON, the limit is 4096\./, {}],
    ['a result, of itself', (run, ran) => run.step('act', () => (ran(), many(20))), /^HoldfastError .* could not be stored: result of step "act" takes 15\d\d bytes as JSON, the limit is 1000\..*maxResultBytes/, { maxResultBytes: 1_000 }],
  ])('is recorded as what is too large in any way is, and its run goes on: %s', async (_, ask, says, own) => {
    let ran = 0
    const seen: string[] = []
    const fail = failingOnce()
    const { ended, runner, entries } = await driven(async (run) => {
      seen.push(await ask(run, () => ran++).then(() => 'a result', (error: Error) => `${error.name} ${error.message}`))
      fail()
    }, own)
    expect(ended).toMatchObject({ code: 'RUN_FAILED', message: expect.stringMatching(/later/) })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([expect.stringMatching(says), seen[0]])
    expect([ran, (await entries()).filter(({ type }) => type === 'step-ended').length]).toEqual([1, 1])
    await runner.close()
  })

  it('settles its doubt without it, where it came late', async () => {
    const late = Promise.withResolvers<string>()
    const { ended, runner, entries } = await driven(async (run) => {
      const code = await run.step('act', () => late.promise).catch((error: { code: string }) => error.code)
      late.resolve(many(60))
      await new Promise((resolve) => setTimeout(resolve, 50))
      return code
    }, { timeouts: { toolMs: 20 } })
    expect(ended).toEqual({ status: 'completed', result: 'OUTCOME_UNKNOWN' })
    const settled = (await entries()).flatMap((entry) => (entry.type === 'settled' ? [entry.settlement] : []))
    expect(settled).toEqual([{ type: 'completed', outcome: { type: 'unstored', error: expect.anything() } }])
    await runner.close()
  })
})

describe('what is given to a run, or comes of it, and is too large with the names of secrets alone', () => {
  it('is refused as its input, before anything is stored', async () => {
    const agent = defineAgent('a', async () => 1)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...options })
    await expect(runner.run(agent, many(60), { runId: 'r' })).rejects.toEqual(tooLarge(/^input takes 4\d\d\d bytes as JSON, the limit is 4096\./))
    expect(await runner.list()).toEqual([])
  })

  it('fails it as its result', async () => {
    const { ended, runner } = await driven(async () => many(60))
    expect(ended).toEqual(tooLarge(/^result takes 4\d\d\d bytes as JSON, the limit is 4096\./))
    await runner.close()
  })

  it('is its error up to the beginning of its message', async () => {
    const { runner } = await driven(() => Promise.reject(new RangeError(many(60))))
    await expect(runner.result('r')).rejects.toMatchObject({ code: 'RUN_FAILED', cause: { name: 'RangeError', message: expect.stringMatching(/^\{\{secret:K+\}\} .*\.\.\. \(540 characters\)$/) } })
    await runner.close()
  })

  it('is not asked about as the arguments of a call that needs approval: its model is told', async () => {
    let ran = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { n: 1 } }] } : { text: 'done' }))
    const { ended, runner } = await driven(async (run) => {
      const pay = tool({ inputSchema: z.object({ n: z.number() }).transform(() => ({ text: many(60) })), execute: async () => ++ran })
      return (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: { approval: true } }), prompt: 'x', stopWhen: isStepCount(3) })).text
    })
    expect(ended).toEqual({ status: 'completed', result: 'done' })
    expect(JSON.stringify(model.requests[1]!.prompt)).toMatch(/the record of tool \\"pay\\" \(step 0\/c:c\) takes \d{4} bytes as JSON, the limit is 4096/)
    expect(ran).toBe(0)
    await runner.close()
  })
})

describe('what somebody gives for a step that waits, and is too large with the names of secrets alone', () => {
  const secrets = JSON.stringify(options.secrets)
  const approval = async () => {
    const store = memoryStore()
    const { ended, runner } = await driven(async (run) => {
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { note: '' } }] } : { text: 'done' }))
      const pay = tool({ inputSchema: z.object({ note: z.string() }), execute: ({ note }) => note.length })
      return (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: { approval: true } }), prompt: 'go', stopWhen: isStepCount(3) })).text
    }, { store })
    expect(ended).toMatchObject({ status: 'suspended', reasons: [{ type: 'approval' }] })
    return { store, runner }
  }

  it.each<[string, 'approve' | 'deny', object, RegExp]>([
    ['other arguments', 'approve', { input: { note: many(30) } }, /^input takes 2\d\d\d bytes as JSON, the limit is 2048\. .*maxStepBytes/],
    ['who approves', 'approve', { by: many(20) }, /^by takes 15\d\d bytes as JSON, the limit is 1024/],
    ['who denies', 'deny', { by: many(20) }, /^by takes 15\d\d bytes/],
    ['why', 'deny', { reason: many(1_000) }, /^reason takes 7\d{4} bytes as JSON, the limit is 65536/],
  ])('is refused where it is given, and nothing is stored: %s', async (_, say, given, says) => {
    const { store, runner } = await approval()
    await expect(runner[say]('r', '0/c:c', given)).rejects.toEqual(tooLarge(says))
    expect(await store.inbox('r', 0)).toEqual([])
    expect(await runner[say]('r', '0/c:c', { resume: true })).toEqual({ status: 'completed', result: 'done' })
    await runner.close()
  })

  it.each<[string, 'approve' | 'deny', object]>([
    ['who approves', 'approve', { by: many(20) }],
    ['why', 'deny', { reason: many(1_000) }],
  ])('is refused where there is the store alone too: %s', async (_, say, given) => {
    const { store } = await approval()
    await expect(storeSource(store, () => 0, secrets)[say]('r', '0/c:c', given)).rejects.toEqual(tooLarge(/takes/))
    expect(await store.inbox('r', 0)).toEqual([])
  })

  it.each<[Partial<RunnerOptions>, RegExp]>([
    [{}, /^result takes 2\d\d\d bytes as JSON, the limit is 2048\. .*maxStepBytes/],
    [{ maxResultBytes: 1_000 }, /^result takes 2\d\d\d bytes as JSON, the limit is 1000\. .*maxResultBytes/],
  ])('is refused as its result, and used up is nothing (%j)', async (own, says) => {
    const { runner } = await driven((run) => run.step('pay', () => Promise.reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))), own)
    await expect(runner.resolve('r', '0', { result: many(30) })).rejects.toEqual(tooLarge(says))
    expect(await runner.resolve('r', '0', { result: many(5) }, { resume: true })).toEqual({ status: 'completed', result: many(5) })
    await runner.close()
  })
})

describe('a name that is too long with the names of secrets alone', () => {
  it.each<[string, (run: Run) => Promise<unknown>, RegExp]>([
    ['of a step', (run) => run.step(many(1_000), () => 1), /^name of step takes 7\d{4} bytes as JSON, the limit is 65536/],
    ['that is the key of a step', (run) => run.step('save', { key: many(1_000) }, () => 1), /^key of step "save" takes 7\d{4} bytes/],
    ['that is the key of a branch', (run) => run.branch(many(1_000), () => run.step('save', () => 1)), /^key of run\.branch\(\) takes 7\d{4} bytes/],
    ['of a tool', async (run) => {
      const tools = { [many(1_000)]: tool({ inputSchema: z.object({}), execute: () => 1 }) }
      return generateText({ model: run.model(testModel(() => ({ text: 'hm' }))), tools, prompt: 'x' })
    }, /^name of a tool takes 7\d{4} bytes/],
    ['that effectKey gives', (run) => {
      const { pay } = run.tools({ pay: tool({ inputSchema: z.object({}), execute: () => 1 }) }, { pay: { effectKey: () => many(1_000) } })
      return Promise.resolve(pay.execute!({}, { toolCallId: 'c', messages: [], context: {} }))
    }, /^tools\.pay\.effectKey takes 7\d{4} bytes/],
  ])('is refused where it is given: %s', async (_, handler, says) => {
    const { ended, runner } = await driven(handler, { maxStepBytes: 1_000_000 })
    expect(ended).toEqual(tooLarge(says))
    await runner.close()
  })
})
