/** What an error that a tool or step with effects threw says about its effect: `not-done`, or in doubt and not made again (R6; A8, B1, C28). */
import { execFile } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createClassifier, createRunner, defineAgent, memoryStore, type RunnerOptions, type ToolPolicy } from '../src/index.ts'
import { CLIENTS } from './corpus/clients.ts'
import { hydrate } from './corpus/hydrate.ts'
import { testModel } from './support/model.ts'

type Throw = () => unknown
const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** The model asks for a payment, and once more after it was told that the first one threw; only the first one throws. */
function paying(fail: Throw, policy: ToolPolicy<object, string> = {}, options: Partial<RunnerOptions> = {}) {
  const seen = { calls: 0, warnings: [] as string[] }
  const pay = tool({
    inputSchema: z.object({}),
    execute: async () => {
      if (++seen.calls === 1) throw await fail()
      return 'paid'
    },
  })
  const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn}`, tool: 'pay', input: {} }] } : { text: 'done' }))
  const agent = defineAgent('pays', async (run, _input: object) => {
    const result = await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: policy }), prompt: 'pay', stopWhen: stepCountIs(5) })
    return result.steps.flatMap((step) => step.content).flatMap((part) => (part.type === 'tool-result' ? [part.output] : part.type === 'tool-error' ? [(part.error as Error).message] : []))
  })
  const onEvent: RunnerOptions['onEvent'] = (event) => event.type === 'warning' && seen.warnings.push(`${event.code} ${event.message}`)
  return { seen, run: () => createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent, ...options }).run(agent, {}, { runId: 'r' }) }
}

const caught = (fn: () => unknown): Throw => async () => {
  try {
    return await fn()
  } catch (error) {
    return error
  }
}
const aborted = (): AbortSignal => {
  const controller = new AbortController()
  controller.abort()
  return controller.signal
}
const client = (what: string): Throw => () => hydrate(CLIENTS.find(([name]) => name === what)![1])

const DOUBTS: readonly (readonly [string, Throw])[] = [
  ['a time limit of its own, with an AbortController', caught(() => fetch('http://127.0.0.1:9/', { signal: aborted() }))],
  ['an abort of a Node API (ABORT_ERR)', caught(() => setTimeout(1, undefined, { signal: aborted() }))],
  ...['undici aborted', 'axios canceled', 'openai aborted', 'grpc cancelled', 'stripe reset', 'mongo closed', 'ioredis closed', 'redis closed', 'nodemailer socket', 'prisma P1017',
    'pg shutdown without severity', 'mysql lost', 'aws fault only', 'http2 pending', 'mcp streamable 504', 'child killed'].map((what) => [`the client: ${what}`, client(what)] as const),
  ['a child process that was killed', caught(() => promisify(execFile)(process.execPath, ['-e', 'process.kill(process.pid, "SIGKILL")']))],
  ['an answer that is a page', caught(() => new Response('<html>502 Bad Gateway</html>').json())],
  ['an answer that was cut', caught(() => new Response('{"id":"re_1","am').json())],
  ['a lost connection in words of its own', () => new Error('payment failed: read ECONNRESET')],
]

describe('a rule whose answer is none', () => {
  it('never makes a doubt a clean failure, and is told of once', async () => {
    const classify = createClassifier({ rules: [{ name: 'bank', match: (async () => ({ category: 'tool' })) as unknown as () => undefined }] })
    const { seen, run } = paying(() => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), {}, { retry: { classify } })
    expect(await run()).toMatchObject({ status: 'suspended' })
    expect(seen).toEqual({ calls: 1, warnings: ['RETRY_HOOK_FAILED tool "pay": rule "bank" was ignored: it gave a promise, and must answer at once'] })
  })
})

describe('in doubt is', () => {
  it.each(DOUBTS)('%s: the payment is not made again, the run waits', async (_what, fail) => {
    const { seen, run } = paying(fail)
    expect(await run()).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '1/c:c1', tool: 'pay', effects: ['0/c:c0'] }] })
    expect(seen).toEqual({ calls: 1, warnings: [] })
  })

  it('asked about where the tool can: reconcile settles an abort of its own making', async () => {
    const { seen, run } = paying(DOUBTS[0]![1], { reconcile: async () => ({ status: 'completed', output: 'found' }) })
    expect(await run()).toEqual({ status: 'completed', result: [expect.stringMatching(/outcome is unknown/), 'found'] })
    expect(seen.calls).toBe(1)
  })

  it('the same for a step: the handler that tries again waits', async () => {
    let calls = 0
    const pay = async () => {
      if (++calls === 1) throw new DOMException('This operation was aborted', 'AbortError')
      return 'paid'
    }
    const agent = defineAgent('pays', async (run, _input: object) => run.step('pay', pay).catch(() => run.step('pay', pay)))
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({
      status: 'suspended', reasons: [{ type: 'in-doubt', step: '1', effects: ['0'] }],
    })
    expect(calls).toBe(1)
  })
})

describe('not done is', () => {
  it.each<readonly [string, Throw]>([
    ['what a tool says in words of its own', () => new Error('no such account')],
    ['a refusal', () => Object.assign(new Error('x'), { status: 422 })],
    ['a declined card', client('stripe declined')],
    ['a process that ended by itself', client('execa exit code')],
  ])('%s: the model reads the error, and a second payment starts', async (_what, fail) => {
    const { seen, run } = paying(fail)
    expect(await run()).toMatchObject({ status: 'completed', result: [expect.any(String), 'paid'] })
    expect(seen.calls).toBe(2)
  })
})

describe('the word of the tool (afterError)', () => {
  const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const declined = () => new Error('declined')

  it.each<readonly [string, Throw, ToolPolicy<object, string>, Partial<RunnerOptions>, number]>([
    ['says that nothing happened', refused, { afterError: () => 'not-done' }, {}, 2],
    ['says that it is in doubt', declined, { afterError: () => 'in-doubt' }, {}, 1],
    ['leaves it to the kind of error', refused, { afterError: () => undefined }, {}, 1],
    ['leaves it to the kind of error', declined, { afterError: () => undefined }, {}, 2],
    ['is asked with what was thrown', declined, { afterError: (error) => ((error as Error).message === 'declined' ? 'in-doubt' : 'not-done') }, {}, 1],
    ['of the runner, where the tool has none', declined, {}, { afterError: () => 'in-doubt' }, 1],
    ['of the tool before that of the runner', declined, { afterError: () => 'not-done' }, { afterError: () => 'in-doubt' }, 2],
    ['before a classifier', declined, { afterError: () => 'not-done' }, { retry: { classify: createClassifier({ rules: [{ name: 'all', match: () => ({ category: 'server' }) }] }) } }, 2],
  ])('%s', async (_what, fail, policy, options, calls) => {
    const { seen, run } = paying(fail, policy, options)
    expect(await run()).toMatchObject({ status: calls === 1 ? 'suspended' : 'completed' })
    expect(seen).toEqual({ calls, warnings: [] })
  })

  it.each<readonly [string, () => unknown, RegExp]>([
    ['another word', () => 'done', /must give 'not-done', 'in-doubt' or undefined, got "done": the call is in doubt/],
    ['a promise', async () => 'not-done', /got \[object Promise\]/],
    ['a throw', () => { throw new Error('bug') }, /it threw: bug/],
  ])('is no clear answer: %s is a doubt, with a warning', async (_what, afterError, message) => {
    const { seen, run } = paying(declined, { afterError: afterError as never })
    expect(await run()).toMatchObject({ status: 'suspended' })
    expect(seen).toEqual({ calls: 1, warnings: [expect.stringMatching(/^AFTER_ERROR_FAILED afterError of tool "pay" /)] })
    expect(seen.warnings[0]).toMatch(message)
  })

  it('is not asked about a time limit', async () => {
    const { seen, run } = paying(() => new Promise(() => {}), { timeoutMs: 10, afterError: () => 'not-done' })
    expect(await run()).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(seen.calls).toBe(1)
  })

  it('settles the doubt of a call that timed out, when it throws later', async () => {
    let land: (error: unknown) => void = () => {}
    const late = new Promise((resolve) => (land = resolve))
    const { seen, run } = paying(() => late, { timeoutMs: 10, afterError: () => 'not-done' }, { idleMs: 2_000, onEvent: (event) => event.type === 'step-waiting' && land(declined()) })
    expect(await run()).toMatchObject({ status: 'completed', result: [expect.stringMatching(/unknown/), 'paid'] })
    expect(seen.calls).toBe(2)
  })

  it('is an option of a step', async () => {
    for (const [word, status] of [['not-done', 'completed'], ['in-doubt', 'suspended']] as const) {
      let calls = 0
      const pay = async () => {
        if (++calls === 1) throw declined()
        return 'paid'
      }
      const options = { afterError: () => word }
      const agent = defineAgent('pays', async (run, _input: object) => run.step('pay', options, pay).catch(() => run.step('pay', options, pay)))
      expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ status })
    }
  })

  it('is checked: a function, and none of a composite tool, of a read, or of a runner that is not one', async () => {
    await expect(paying(declined, { afterError: 'in-doubt' as never }).run()).rejects.toMatchObject({ message: expect.stringMatching(/tools\.pay\.afterError must be a function, got "in-doubt"/) })
    await expect(paying(declined, { composite: true, afterError: () => 'in-doubt' }).run()).rejects.toThrow(/composite is true/)
    expect(() => paying(declined, {}, { afterError: 'in-doubt' as never }).run()).toThrow(/afterError must be a function/)
    const reads = defineAgent('reads', async (run, _input: object) => run.read('look', { afterError: () => 'in-doubt' } as never, () => 1))
    await expect(createRunner({ agents: [reads], store: memoryStore() }).run(reads, {}, { runId: 'r' })).rejects.toThrow(/afterError is not one of its options/)
  })
})
