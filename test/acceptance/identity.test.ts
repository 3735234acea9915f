/** Which call is which: the same call again, an id for two calls, three at once (R1; C4, C6, C7, and a look at C5). */
import { generateText, isStepCount, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run } from '../../src/index.ts'
import { later, mortal } from '../support/crash.ts'
import { failingOnce } from '../support/failing-once.ts'
import { testModel, type Answer } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

/** Runs the conversation, fails, and replays it; gives the results that the loop saw on both attempts. */
async function seen(mode: 'generateText' | 'streamText', answers: readonly Answer[]) {
  const model = testModel((turn) => answers[turn]!)
  const calls: string[] = []
  const fail = failingOnce()
  const attempts: unknown[][] = []
  const agent = defineAgent('a', async (run: Run) => {
    const tools: ToolSet = run.tools({ pay: tool({ inputSchema: z.object({ to: z.string() }), execute: async ({ to }) => `${to} ${calls.push(to)}` }) })
    const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(9) }
    const steps = mode === 'generateText' ? (await generateText(options)).steps : await streamText(options).steps
    attempts.push(steps.flatMap((s) => s.toolResults.map((r) => r.output)))
    fail()
    return 'done'
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
  expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
  expect(model.requests).toHaveLength(answers.length)
  expect(attempts[1]).toEqual(attempts[0])
  return { calls, results: attempts[0]! }
}

const call = (id: string, to: string) => ({ id, tool: 'pay', input: { to } })

describe.each(['generateText', 'streamText'] as const)('in %s', (mode) => {
  it('the same tool with the same arguments at two steps is executed both times, and each replays its own (C6)', async () => {
    const { calls, results } = await seen(mode, [{ calls: [call('a', 'ann')] }, { calls: [call('b', 'ann')] }, { text: 'done' }])
    expect(calls).toEqual(['ann', 'ann'])
    expect(results).toEqual(['ann 1', 'ann 2'])
  })

  it('one call id for two calls of different responses: each has its own result (C7)', async () => {
    const { calls, results } = await seen(mode, [{ calls: [call('same', 'ann')] }, { calls: [call('same', 'bob')] }, { calls: [call('same', 'ann')] }, { text: 'done' }])
    expect(calls).toEqual(['ann', 'bob', 'ann'])
    expect(results).toEqual(['ann 1', 'bob 2', 'ann 3'])
  })

  it('one call id for two calls of one response: both are executed, and each replays its own (C7)', async () => {
    const { calls, results } = await seen(mode, [{ calls: [call('same', 'ann'), call('same', 'bob')] }, { text: 'done' }])
    expect(calls).toHaveLength(2)
    expect(results).toHaveLength(2)
  })

  it('one call id and equal arguments twice in one response: executed twice (C6, C7)', async () => {
    const { calls, results } = await seen(mode, [{ calls: [call('same', 'ann'), call('same', 'ann')] }, { text: 'done' }])
    expect(calls).toEqual(['ann', 'ann'])
    expect(results).toHaveLength(2)
  })

  it('three calls at once, killed after two have finished: those replay, the third is in doubt (C4)', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: ['a', 'b', 'c'].map((id) => call(id, id)) } : { text: 'done' }))
    const calls: string[] = []
    const agent = defineAgent('a', async (run) => {
      const execute = ({ to }: { to: string }) => {
        calls.push(to)
        return to === 'b' && run.attempt === 1 ? new Promise<string>(() => {}) : Promise.resolve(`paid ${to}`)
      }
      const tools: ToolSet = run.tools({ pay: tool({ inputSchema: z.object({ to: z.string() }), execute }) }, { pay: { effectKey: ({ to }) => to } })
      const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(3) }
      const steps = mode === 'generateText' ? (await generateText(options)).steps : await streamText(options).steps
      return steps[0]!.toolResults.map((r) => [r.toolCallId, r.output] as const).toSorted()
    })
    const store = memoryStore()
    const dying = mortal(store)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    while ((await store.read('r').catch(() => [])).filter(({ body }) => body.includes('"step-ended"') && body.includes('"kind":"tool"')).length < 2) await new Promise((resolve) => setImmediate(resolve))
    dying.kill()
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:b', effects: ['0/c:b'] }] })
    expect(await runner.resolve('r', '0/c:b', { result: 'paid after all' }, { resume: true })).toEqual({ status: 'completed', result: [['a', 'paid a'], ['b', 'paid after all'], ['c', 'paid c']] })
    expect(calls).toEqual(['a', 'b', 'c'])
    expect(model.requests).toHaveLength(2)
  })
})
