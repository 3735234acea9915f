/** A tool that runs when its attempt is stopped from outside: that it was left open is told at once, and kept (R6; B11). */
import { generateText, isStepCount, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, describeSummary, memoryStore, type RunEvent, type ToolPolicy } from '../src/index.ts'
import { testModel } from './support/model.ts'

/** A payment that goes on until `release` is called; `stop` is called once it runs. */
function paying(policy: ToolPolicy<{ to: string }, string>) {
  const { promise, resolve: release } = Promise.withResolvers<string>()
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { to: 'x' } }] } : { text: 'done' }))
  let stop = (): void => {}
  let calls = 0
  const pay = tool({
    inputSchema: z.object({ to: z.string() }),
    execute: async (): Promise<string> => {
      calls++
      stop()
      return promise
    },
  })
  const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: policy }), prompt: 'pay', stopWhen: isStepCount(3) })).text)
  const events: RunEvent[] = []
  const runner = createRunner({ agents: [agent], store: memoryStore(), idleMs: 5, replayHoldMs: 20, drainMs: 5, onEvent: (event) => events.push(event) })
  return { agent, runner, events, release, calls: () => calls, onCalled: (then: () => void) => (stop = then) }
}

const doubts = (events: readonly RunEvent[]): unknown[] => events.flatMap((event) => (event.type === 'step-in-doubt' ? [[event.step, event.cause]] : []))
const lastSummary = (events: readonly RunEvent[]): string => describeSummary(events.findLast((event) => event.type === 'attempt-ended')!.summary)

describe('stopped while a tool with effects runs', () => {
  it('by its caller: it is told as in doubt, and the summary names it', async () => {
    const { agent, runner, events, calls, onCalled } = paying({})
    const caller = new AbortController()
    onCalled(() => queueMicrotask(() => caller.abort(new Error('user left'))))
    await expect(runner.run(agent, {}, { runId: 'r', signal: caller.signal })).rejects.toThrow('user left')
    expect(doubts(events)).toEqual([['0/c:c', 'cancelled']])
    expect(lastSummary(events)).toBe('replayed 0 steps (0 model, 0 tool, 0 other), recorded 1 new, left open: 0/c:c')
    expect((await runner.history('r')).at(-1)!.entry).toMatchObject({ type: 'attempt-ended', summary: { leftOpen: ['0/c:c'] } })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c' }] })
    expect(lastSummary(events)).not.toContain('left open')
    expect(calls()).toBe(1)
  })

  it('by its runner that closes: the same', async () => {
    const { agent, runner, events, onCalled } = paying({})
    onCalled(() => void runner.close())
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'draining' }] })
    expect(doubts(events)).toEqual([['0/c:c', 'cancelled']])
    expect(lastSummary(events)).toContain('left open: 0/c:c')
  })

  it('is nothing to tell of a tool that may run twice', async () => {
    const { agent, runner, events, onCalled } = paying({ idempotent: true })
    const caller = new AbortController()
    onCalled(() => queueMicrotask(() => caller.abort(new Error('user left'))))
    await expect(runner.run(agent, {}, { runId: 'r', signal: caller.signal })).rejects.toThrow('user left')
    expect(doubts(events)).toEqual([])
    expect(lastSummary(events)).not.toContain('left open')
  })

  it('is settled by what comes of it after all', async () => {
    const { agent, runner, release, calls, onCalled } = paying({})
    const caller = new AbortController()
    onCalled(() => queueMicrotask(() => caller.abort(new Error('user left'))))
    await expect(runner.run(agent, {}, { runId: 'r', signal: caller.signal })).rejects.toThrow('user left')
    release('paid')
    await new Promise((resolve) => setImmediate(resolve))
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'done' })
    expect(calls()).toBe(1)
  })
})

it('left open because the run\'s time is over: the same', async () => {
  const { agent, runner, events } = paying({})
  await expect(runner.run(agent, {}, { runId: 'r', limits: { runMs: 150 } })).rejects.toMatchObject({ code: 'RUN_TIMEOUT' })
  expect(doubts(events)).toEqual([['0/c:c', 'timeout']])
  expect(lastSummary(events)).toContain('left open: 0/c:c')
})
