/** A handler that looks something up outside of any step (R5; C37): a reason, advice, and never an endless loop of questions. */
import { generateText, isStepCount, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunEvent, type RunnerOptions } from '../../src/index.ts'
import { testModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, stallAfter: 3 } satisfies Partial<RunnerOptions>

describe('what is looked up outside of steps and gets into the conversation (C37)', () => {
  it('diverges with the message that differs, and the same handler with run.read does not', async () => {
    for (const recorded of [false, true]) {
      let clock = 0
      const model = testModel(() => ({ text: 'x' }))
      const events: RunEvent[] = []
      const agent = defineAgent('a', async (run) => {
        const time = recorded ? await run.read('clock', () => ++clock) : ++clock
        await generateText({ model: run.model(model), prompt: `it is ${time} o'clock` })
        if (run.attempt === 1) throw new Error('later')
      })
      const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => events.push(e) })
      await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
      expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
      expect(events.flatMap((e) => (e.type === 'replay-diverged' ? [e.reason] : []))).toEqual(recorded ? [] : ['message 1 (user) differs from the journal'])
      expect(model.requests).toHaveLength(recorded ? 1 : 2)
    }
  })

  it.each(['reuse', 'skip', 'rerun'] as const)('asks about an effect behind it once: the decision %s outlives the next divergence', async (decision) => {
    let clock = 0
    let paid = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: `c${clock}`, tool: 'pay', input: { at: clock } }] } : { text: 'done' }))
    const agent = defineAgent('a', async (run: Run) => {
      const tools: ToolSet = run.tools({ pay: tool({ inputSchema: z.object({ at: z.number() }), execute: async () => ++paid }) }, { pay: { effectKey: () => 'the invoice' } })
      const { steps } = await generateText({ model: run.model(model), tools, prompt: `it is ${++clock} o'clock`, stopWhen: isStepCount(3) })
      if (run.attempt === 1) throw new Error('later')
      return steps[0]!.toolResults.map((r) => r.output)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, stallAfter: 9 })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    let outcome = await runner.resume('r')
    let questions = 0
    while (outcome.status === 'suspended' && questions < 5) {
      questions++
      const [reason] = outcome.reasons
      expect(reason).toMatchObject({ type: 'repeat' })
      outcome = (await runner.resolve('r', (reason as { step: string }).step, decision, { resume: true }))!
    }
    expect(outcome).toMatchObject({ status: 'completed' })
    expect([questions, paid]).toEqual([1, decision === 'rerun' ? 2 : 1])
  })

  it.each<[string, (run: Run, n: number) => Promise<unknown>]>([
    ['a request', async (run, n) => generateText({ model: run.model(testModel(() => ({ text: 'x' }))), prompt: String(n) })],
    ['the input of a step', async (run, n) => run.read('look', { input: n }, () => n)],
    ['a branch', async (run, n) => run.branch('b', () => run.read('look', { input: n }, () => n))],
  ])('that changes each time, in %s, stalls the run with advice, and force drives it on', async (_where, look) => {
    let n = 0
    const agent = defineAgent('a', async (run) => {
      await look(run, ++n)
      throw new Error('later')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const errors: unknown[] = []
    for (let i = 0; i < 6; i++) await runner.run(agent, 1, { runId: 'r' }).catch((error: unknown) => errors.push(error))
    expect(errors.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => expect.objectContaining({ code: 'RUN_FAILED' })))
    expect(errors.slice(4)).toEqual(Array.from({ length: 2 }, () => expect.objectContaining({ code: 'RUN_STALLED', message: expect.stringMatching(/diverged at step .*run\.read\(name, fn\)/) })))
    await expect(runner.run(agent, 1, { runId: 'r', force: true })).rejects.toThrow(/later/)
    expect(n).toBe(5)
  })

  it('that changes once, with a deploy, does not stall', async () => {
    let version = 1
    const agent = defineAgent('a', async (run) => {
      await run.read('look', { input: version }, () => version)
      throw new Error('later')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    for (let i = 0; i < 8; i++) {
      if (i === 3) version = 2
      await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    }
  })
})
