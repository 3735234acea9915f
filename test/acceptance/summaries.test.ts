/** Every attempt ends with a summary: as an event, as one line for a log, and in `holdfast show` (C21). */
import { generateText, isStepCount, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runView } from '../../src/cli/view/run-view.ts'
import { showText } from '../../src/cli/view/show-text.ts'
import { createRunner, defineAgent, describeEvent, memoryStore, type CallOptions, type Run, type Runner, type RunnerOptions, type StampedEvent, type Store } from '../../src/index.ts'
import { later, mortal } from '../support/crash.ts'
import { testModel } from '../support/model.ts'
import { refusing } from '../support/refusing-store.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** A model request, a tool call, a read and then `then`, in a loop of either way. */
const work = async (run: Run, mode: 'generateText' | 'streamText' = 'generateText'): Promise<string> => {
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'seen' }))
  const tools: ToolSet = run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => 1 }) })
  await run.read('price', () => 7)
  const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) }
  return mode === 'generateText' ? (await generateText(options)).text : streamText(options).text
}

/** Drives a run twice, and gives what was told of the end of each attempt, live and by `holdfast show`. */
async function summariesOf(handler: (run: Run) => Promise<unknown>, options: Partial<RunnerOptions> = {}, first: CallOptions = {}, before: (runner: Runner) => unknown = () => {}) {
  const events: StampedEvent[] = []
  const store = options.store ?? memoryStore()
  const agent = defineAgent('a', handler)
  const make = () => createRunner({ agents: [agent], ...quick, ...options, store, onEvent: (e) => events.push(e) })
  const runner = make()
  const run = runner.run(agent, {}, { runId: 'r', ...first })
  before(runner)
  await run.catch(() => {})
  const last = make()
  await last.resume('r').catch(() => {})
  const view = runView({ row: (await last.get('r'))!, entries: await last.history('r'), owner: null, inbox: [], place: {} })
  const shown = showText(view, { width: undefined, paint: (_style, text) => text })
  return {
    lines: events.filter((e) => e.type === 'attempt-ended').map(describeEvent),
    /** Of each attempt, how it ended and what it did, as `show` has it. */
    rows: shown.slice(shown.indexOf('\nattempts'), shown.indexOf('\nsteps')).split('\n').flatMap((line) => /^ +\d+ {2}.*Z {2}(\w+) +(.*)$/.exec(line)?.slice(1).join(': ') ?? []),
    types: events.map((e) => e.type),
  }
}

/** Whatever closes the runner leaves the store open for the next one. */
const kept = (store: Store): Store => ({ ...bound(store), close: async () => {} })
const bound = (store: Store): Store => new Proxy(store, {
  ownKeys: () => ['kind', 'durability', 'open', 'create', 'get', 'list', 'read', 'take', 'renew', 'append', 'send', 'inbox', 'remove', 'close'],
  getOwnPropertyDescriptor: (target, key) => ({ value: method(target, key), enumerable: true, configurable: true }),
  get: method,
})
function method(target: Store, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key, target)
  return typeof value === 'function' ? value.bind(target) : value
}

describe('an attempt ends with a summary (C21)', () => {
  it.each(['generateText', 'streamText'] as const)('when it fails and when it completes: how many steps of each kind replayed, how many are new (%s)', async (mode) => {
    const { lines, rows, types } = await summariesOf(async (run) => {
      const text = await work(run, mode)
      if (run.attempt === 1) throw new Error('later')
      await run.step('new', () => 1)
      return text
    })
    expect(lines).toEqual([
      'r  attempt-ended  attempt 1: replayed 0 steps (0 model, 0 tool, 0 other), recorded 4 new',
      'r  attempt-ended  attempt 2: replayed 4 steps (2 model, 1 tool, 1 other), recorded 1 new',
    ])
    expect(rows).toEqual(['failed: replayed 0 steps (0 model, 0 tool, 0 other), recorded 4 new', 'completed: replayed 4 steps (2 model, 1 tool, 1 other), recorded 1 new'])
    expect(types.slice(-2)).toEqual(['attempt-ended', 'run-completed'])
  })

  it('when it suspends', async () => {
    let works = false
    const { lines, rows } = await summariesOf(async (run) => {
      const text = await work(run)
      await run.read('slow', () => {
        if (works) return 1
        works = true
        throw Object.assign(new Error('slow down'), { statusCode: 429, headers: { 'retry-after': '1' } })
      })
      return text
    }, { retry: { inlineWaitMs: 0 } })
    expect(lines).toEqual([
      'r  attempt-ended  attempt 1: replayed 0 steps (0 model, 0 tool, 0 other), recorded 4 new',
      'r  attempt-ended  attempt 2: replayed 4 steps (2 model, 1 tool, 1 other), recorded 0 new',
    ])
    expect(rows).toEqual(['suspended: replayed 0 steps (0 model, 0 tool, 0 other), recorded 4 new', 'suspended: replayed 4 steps (2 model, 1 tool, 1 other), recorded 0 new'])
  })

  it('when its caller aborts it', async () => {
    const stop = new AbortController()
    const { lines, rows } = await summariesOf(async (run) => {
      const text = await work(run)
      if (run.attempt === 1) {
        stop.abort(new Error('enough'))
        await new Promise(() => {})
      }
      return text
    }, {}, { signal: stop.signal })
    expect(lines[0]).toBe('r  attempt-ended  attempt 1: replayed 0 steps (0 model, 0 tool, 0 other), recorded 4 new')
    expect(rows).toEqual(['suspended: replayed 0 steps (0 model, 0 tool, 0 other), recorded 4 new', 'completed: replayed 4 steps (2 model, 1 tool, 1 other), recorded 0 new'])
  })

  it('when its runner is closed', async () => {
    const closing = Promise.withResolvers<void>()
    const { lines, rows } = await summariesOf(async (run) => {
      const text = await work(run)
      closing.resolve()
      await run.step('new', () => 1)
      return text
    }, { store: kept(memoryStore()) }, {}, (runner) => void closing.promise.then(() => runner.close()))
    expect(lines).toHaveLength(2)
    expect(rows).toEqual([expect.stringMatching(/^suspended: .*recorded [45] new/), expect.stringMatching(/^completed: replayed [45] steps/)])
  })

  it('which names what was not recorded', async () => {
    const { store } = refusing(memoryStore(), /"step-ended".*"name":"price"/)
    const { lines, rows } = await summariesOf(async (run) => {
      await work(run)
      throw new Error('later')
    }, { store })
    expect(lines).toEqual([
      'r  attempt-ended  attempt 1: replayed 0 steps (0 model, 0 tool, 0 other), recorded 3 new, not recorded: 0',
      'r  attempt-ended  attempt 2: replayed 3 steps (2 model, 1 tool, 0 other), recorded 0 new, not recorded: 0',
    ])
    expect(rows).toEqual([expect.stringMatching(/^failed: .*recorded 3 new, not recorded: 0$/), expect.stringMatching(/^failed: replayed 3 steps.*, not recorded: 0$/)])
  })

  it('unless it was killed: then the next one says so, and show knows none of it', async () => {
    const store = memoryStore()
    const dying = mortal(store)
    const lines: string[] = []
    const agent = defineAgent('a', async (run) => {
      const text = await work(run)
      if (run.attempt === 1) {
        dying.kill()
        await new Promise(() => {})
      }
      return text
    })
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    while (!(await store.read('r')).some(({ body }) => body.includes('"step-ended"') && body.includes('"id":"2"'))) await new Promise((resolve) => setImmediate(resolve))
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick, onEvent: (e) => lines.push(describeEvent(e)) })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(lines[0]).toMatch(/^r {2}run-resumed {2}attempt 2: the (lease|process) of the attempt before it/)
    expect(lines).toContain('r  attempt-ended  attempt 2: replayed 4 steps (2 model, 1 tool, 1 other), recorded 0 new')
    const view = runView({ row: (await runner.get('r'))!, entries: await runner.history('r'), owner: null, inbox: [], place: {} })
    expect(view.attempts.map(({ ending, summary }) => [ending, summary?.replayed])).toEqual([[expect.stringMatching(/killed|lost/), undefined], ['completed', { model: 2, tool: 1, read: 1 }]])
  })
})
