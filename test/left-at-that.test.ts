/** Calls that somebody, or a policy, leaves at that: `skip` (R6). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runView } from '../src/cli/view/run-view.ts'
import { createRunner, defineAgent, HoldfastError, memoryStore, type Run, type RunnerOptions } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** Killed in the middle of each of its payments. */
async function killed(handler: (run: Run, pay: (what: string) => string) => Promise<unknown>) {
  const paid: string[] = []
  const pay = (what: string): string => (paid.push(what), `paid ${what}`)
  const store = memoryStore()
  const agent = defineAgent('a', (run) => handler(run, pay))
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"name":"pay"/, 'before')
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
  await died
  const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
  const view = async () => runView({ row: (await runner.get('r'))!, entries: await runner.history('r'), owner: null, inbox: [], place: {} })
  return { paid, runner, view }
}

const tools = async (run: Run, pay: (what: string) => string): Promise<string> => {
  const model = testModel((turn) => (turn === 0 ? { calls: ['A', 'B'].map((what) => ({ id: what, tool: 'pay', input: { what } })) } : { text: 'done' }))
  const set = run.tools({ pay: tool({ inputSchema: z.object({ what: z.string() }), execute: async ({ what }) => pay(what) }) })
  return (await generateText({ model: run.model(model), tools: set, prompt: 'x', stopWhen: stepCountIs(3) })).text
}

describe('a tool call that somebody leaves at that', () => {
  it('is shown so, is not asked about again, and takes no decision any more', async () => {
    const { runner, view, paid } = await killed(tools)
    expect(await runner.resume('r')).toMatchObject({ reasons: [{ step: '0/c:A' }, { step: '0/c:B' }] })
    expect(await runner.resolve('r', '0/c:A', 'skip', { resume: true })).toMatchObject({ status: 'suspended', reasons: [{ step: '0/c:B' }] })
    const states = async () => (await view()).steps.filter(({ name }) => name === 'pay').map(({ id, state }) => `${id} ${state}`)
    expect(await states()).toEqual(['0/c:A skipped', '0/c:B in-doubt'])
    expect((await view()).waits.map(({ step }) => step)).toEqual(['0/c:B'])
    await expect(runner.resolve('r', '0/c:A', 'rerun')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', advice: 'What can be resolved: 0/c:B' })
    expect(await runner.resolve('r', '0/c:B', 'skip', { resume: true })).toEqual({ status: 'completed', result: 'done' })
    expect(await states()).toEqual(['0/c:A skipped', '0/c:B skipped'])
    await expect(runner.resolve('r', '0/c:B', 'rerun')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', advice: 'Nothing of this run waits for a decision' })
    expect(paid).toEqual(['A', 'B'])
  })
})

describe('a step that is left at that', () => {
  const step = (run: Run, pay: (what: string) => string): Promise<unknown> => run.step('pay', { input: 'A' }, () => pay('A'))

  it('fails the run with an error that says what to do, each time, and is not asked about again', async () => {
    const { runner, paid } = await killed(step)
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended' })
    await runner.resolve('r', '0', 'skip')
    for (let i = 0; i < 2; i++) await expect(runner.resume('r')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('step "pay": by a decision'), advice: expect.stringContaining('redo: "0"') })
    expect(await runner.resume('r', { redo: '0' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0~1' }] })
    expect(await runner.resolve('r', '0~1', { result: 'by hand' }, { resume: true })).toEqual({ status: 'completed', result: 'by hand' })
    expect(paid).toHaveLength(1)
  })

  it('is caught by a handler that knows what to do then, on each attempt', async () => {
    let failing = true
    const { runner } = await killed(async (run, pay) => {
      const told = await step(run, pay).catch((error: unknown) => (HoldfastError.isInstance(error) ? error.code : 'another'))
      if (failing && run.attempt > 1) throw new Error('something else')
      return told
    })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended' })
    await runner.resolve('r', '0', 'skip')
    await expect(runner.resume('r')).rejects.toThrow(/something else/)
    failing = false
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'OUTCOME_UNKNOWN' })
  })

  it('by the policy of the call that resumes it: the same', async () => {
    const { runner } = await killed(step)
    await expect(runner.resume('r', { onIncompleteTool: 'skip' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('by its policy') })
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  })
})

describe('a tool call whose outcome the model was told is unknown, and that nobody asked about', () => {
  it('takes no decision any more once the run is completed', async () => {
    const agent = defineAgent('a', (run) => tools(run, () => {
      throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
    }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    expect(await runner.run(agent, 1, { runId: 'r' })).toEqual({ status: 'completed', result: 'done' })
    for (const decision of ['rerun', 'skip', { result: 'by hand' }] as const) {
      await expect(runner.resolve('r', '0/c:A', decision)).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', advice: 'Nothing of this run waits for a decision' })
    }
  })
})

describe('a step that threw a network error', () => {
  it('runs again under its key, where the call that resumes it says so', async () => {
    let calls = 0
    const agent = defineAgent('a', (run) => run.step('pay', { input: 1 }, () => {
      if (++calls === 1) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
      return 'paid'
    }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(await runner.resume('r', { onIncompleteTool: 'rerun' })).toEqual({ status: 'completed', result: 'paid' })
  })
})

describe('a reason that somebody decides about after the call was started once more', () => {
  it('is refused: what was found out says nothing of the newer start', async () => {
    let calls = 0
    const agent = defineAgent('a', (run) => run.step('pay', { input: 1 }, () => {
      calls++
      throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
    }))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    const waiting = async () => {
      const outcome = await runner.resume('r')
      const reason = outcome.status === 'suspended' ? outcome.reasons[0] : undefined
      if (reason?.type !== 'in-doubt') throw new Error(`it does not wait: ${JSON.stringify(outcome)}`)
      return reason
    }
    const first = await waiting()
    await new Promise((resolve) => setTimeout(resolve, 2))
    await expect(runner.resolve('r', first, 'rerun', { resume: true })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
    const second = await waiting()
    await expect(runner.resolve('r', first, 'rerun')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE' })
    await runner.resolve('r', second, { result: 'by hand' })
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'by hand' })
    expect(calls).toBe(2)
  })
})
