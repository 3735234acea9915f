/** Typical stories of a run, and what it tells in each: docs/events.md shows them line by line. */
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { sleep } from '../../src/core/clock.ts'
import { createRunner, defineAgent, describeEvent, memoryStore, type Agent, type RunnerOptions, type Store, type ToolPolicy } from '../../src/index.ts'
import { manualClock, type ManualClock } from '../../src/testing/index.ts'
import { mortal } from '../support/crash.ts'
import { testModel, type Answer } from '../support/model.ts'
import { endParts, streamingModel, textParts } from '../support/streaming.ts'
import { during } from '../support/time.ts'

export interface Story {
  /** Its heading in the page. */
  readonly title: string
  /** What is told, as lines of a log. */
  tell(): Promise<string[]>
}

interface World {
  readonly clock: ManualClock
  readonly store: Store
  readonly lines: string[]
  runner(options?: Partial<RunnerOptions>): ReturnType<typeof createRunner>
}

const START = Date.UTC(2026, 10, 29, 12)
const HOUR = 3_600_000
const runId = 'ticket-7'

function worldOf(agent: Agent<unknown, unknown>, clock: ManualClock): World {
  const store = memoryStore()
  const lines: string[] = []
  const runner = (options: Partial<RunnerOptions> = {}) => createRunner({
    agents: [agent], store, clock, random: () => 0.5, idleMs: 5, replayHoldMs: 20, drainMs: 50, retry: { backoff: { jitter: 'none' } }, onEvent: (event) => lines.push(describeEvent(event)), ...options,
  })
  return { clock, store, lines, runner }
}

/** What an attempt tells before it is killed; what its process would say after that nobody hears. */
async function killed(world: World, agent: Agent<unknown, unknown>, entry: RegExp): Promise<void> {
  const dying = mortal(world.store)
  const died = dying.killAt(entry)
  let alive = true
  void world.runner({ store: dying.store, onEvent: (event) => { if (alive) world.lines.push(describeEvent(event)) } }).run(agent, {}, { runId }).catch(() => {})
  await during(world.clock, died)
  alive = false
  await world.clock.advance(HOUR)
}

const overloaded = (): Error => Object.assign(new Error('Overloaded'), { statusCode: 529 })

/** An agent that looks an order up, refunds it, and says so. */
function desk(refund: () => Promise<string>, policy: ToolPolicy<{ order: string }, string> = {}, answer: (turn: number) => Answer | Promise<Answer> = refunding): Agent<unknown, unknown> {
  const model = testModel((turn) => answer(turn))
  const tools = {
    look_up: tool({ inputSchema: z.object({ order: z.string() }), execute: async () => 'a lamp, damaged' }),
    refund: tool({ inputSchema: z.object({ order: z.string() }), execute: refund }),
  }
  return defineAgent('desk', async (run) => (await generateText({
    model: run.model(model), tools: run.tools(tools, { look_up: { readOnly: true }, refund: policy }), prompt: 'refund o-1', stopWhen: stepCountIs(9),
  })).text)
}

const refunding = (turn: number): Answer => {
  if (turn === 0) return { calls: [{ id: 'a', tool: 'look_up', input: { order: 'o-1' } }] }
  return turn === 1 ? { calls: [{ id: 'b', tool: 'refund', input: { order: 'o-1' } }] } : { text: 'done' }
}

export const STORIES: readonly Story[] = [
  {
    title: 'A request is tried again',
    async tell() {
      let asked = 0
      const agent = desk(async () => 'receipt', {}, (turn) => {
        if (++asked === 2) throw overloaded()
        return refunding(turn)
      })
      const world = worldOf(agent, manualClock(START))
      await during(world.clock, world.runner().run(agent, {}, { runId }))
      return world.lines
    },
  },
  {
    title: 'A stream breaks after some of it was shown',
    async tell() {
      const model = streamingModel((n) => (n === 1 ? [...textParts('He', 'l'), { type: 'error', error: overloaded() }] : [...textParts('Hel', 'lo'), ...endParts]))
      const agent = defineAgent('desk', async (run) => {
        await run.read('customer', () => 'Ada Park')
        return streamText({ model: run.model(model), prompt: 'greet', onError: () => {} }).text
      })
      const world = worldOf(agent, manualClock(START))
      await during(world.clock, world.runner().run(agent, {}, { runId }))
      return world.lines
    },
  },
  {
    title: 'A tool hangs, and comes to its end after all',
    async tell() {
      const clock = manualClock(START)
      const agent = desk(async () => (await sleep(clock, 3_000), 'receipt'), { timeoutMs: 1_000 }, async (turn) => {
        if (turn === 2) await sleep(clock, 5_000)
        return refunding(turn)
      })
      const world = worldOf(agent, clock)
      await during(clock, world.runner().run(agent, {}, { runId }))
      return world.lines
    },
  },
  {
    title: 'Killed inside an effect, and settled by a person',
    async tell() {
      const agent = desk(async () => 'receipt')
      const world = worldOf(agent, manualClock(START))
      await killed(world, agent, /"step-ended".*"name":"refund"/)
      await during(world.clock, world.runner().resume(runId))
      await world.runner().resolve(runId, '1/c:b', { result: 'receipt' })
      await during(world.clock, world.runner().resume(runId))
      return world.lines
    },
  },
  {
    title: 'Killed inside an effect, and reconciled',
    async tell() {
      const agent = desk(async () => 'receipt', { reconcile: async () => ({ status: 'completed', output: 'receipt' }) })
      const world = worldOf(agent, manualClock(START))
      await killed(world, agent, /"step-ended".*"name":"refund"/)
      await during(world.clock, world.runner().resume(runId))
      return world.lines
    },
  },
  {
    title: 'A long wait',
    async tell() {
      let asked = 0
      const agent = desk(async () => 'receipt', {}, (turn) => {
        if (++asked === 2) throw Object.assign(new Error('slow down'), { statusCode: 429, responseHeaders: { 'retry-after': '3600' } })
        return refunding(turn)
      })
      const world = worldOf(agent, manualClock(START))
      await during(world.clock, world.runner().run(agent, {}, { runId }))
      await world.clock.advance(HOUR)
      await during(world.clock, world.runner().resume(runId))
      return world.lines
    },
  },
  {
    title: 'A limit is reached, and raised',
    async tell() {
      const agent = desk(async () => 'receipt')
      const world = worldOf(agent, manualClock(START))
      await during(world.clock, world.runner().run(agent, {}, { runId, limits: { maxSteps: 3 } }).catch(() => {}))
      await during(world.clock, world.runner().resume(runId, { limits: { maxSteps: 9 } }))
      return world.lines
    },
  },
  {
    title: 'The code was changed between two attempts',
    async tell() {
      const deployed = { system: 'You refund orders.', prompt: 'refund o-1' }
      const model = testModel(() => ({ text: 'done' }))
      let isReady = false
      const agent = defineAgent('desk', async (run) => {
        for (const prompt of ['look at o-1', deployed.prompt]) await generateText({ model: run.model(model), instructions: deployed.system, prompt })
        if (!isReady) throw new Error('not ready')
        return 'done'
      })
      const world = worldOf(agent, manualClock(START))
      await during(world.clock, world.runner().run(agent, {}, { runId }).catch(() => {}))
      Object.assign(deployed, { system: 'You refund orders, kindly.', prompt: 'refund o-1 in full' })
      isReady = true
      await during(world.clock, world.runner().resume(runId))
      return world.lines
    },
  },
]
