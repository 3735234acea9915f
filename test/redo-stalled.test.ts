/** Driving a run again from a step on, and runs that do not get on (R5, R7, R9; C29, C37). */
import { generateText, isStepCount, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

describe('redo', () => {
  const scene = () => {
    const seen: string[] = []
    const agent = defineAgent('a', async (run) => {
      const values: string[] = []
      for (const name of ['one', 'two', 'three']) {
        values.push(await run.read(name, () => {
          seen.push(name)
          return `${name} ${seen.length}`
        }))
      }
      const beside = await run.branch('beside', () => run.step('pay', () => seen.push('pay')))
      return [...values, beside]
    })
    return { seen, agent, runner: createRunner({ agents: [agent], store: memoryStore(), ...quick }) }
  }

  it('supersedes a step and what came after it; an effect among that is not repeated without a decision', async () => {
    const { seen, agent, runner } = scene()
    await runner.run(agent, 1, { runId: 'r' })
    const outcome = await runner.resume('r', { redo: '1' })
    expect(seen).toEqual(['one', 'two', 'three', 'pay', 'two', 'three'])
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'pay' }] })
    const step = outcome.status === 'suspended' ? (outcome.reasons[0] as { step: string }).step : ''
    expect(await runner.resolve('r', step, 'reuse', { resume: true })).toMatchObject({ status: 'completed', result: ['one 1', 'two 5', 'three 6', 4] })
  })

  it.each<[string, (run: Run, id: number, work: () => Promise<number>) => Promise<number>]>([
    ['with a key', (run, id, work) => run.step('charge', { key: id }, work)],
    ['without', (run, _id, work) => run.step('charge', work)],
    ['behind what is looked up', async (run, _id, work) => { await run.read('load', () => 1); return run.step('charge', work) }],
  ])('of an item of a batch keeps the others, which ran beside it and ended later: %s', async (_, charge) => {
    const charged: number[] = []
    let isMended = false
    const others = Promise.withResolvers<void>()
    const agent = defineAgent('a', async (run) => {
      const results = await Promise.allSettled([1, 2, 3].map((id) => run.branch(String(id), () => charge(run, id, async () => {
        if (id !== 2) await others.promise
        if (id === 2 && !isMended) throw new Error('card declined')
        return charged.push(id)
      }).finally(() => setImmediate(others.resolve)))))
      await run.read('report', { input: results.length }, () => 'some failed')
      if (results.some(({ status }) => status === 'rejected')) throw new Error('some failed')
      return 'all charged'
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const failure: { advice?: string } = await runner.run(agent, 1, { runId: 'r' }).then(() => ({}), (error: { advice: string }) => error)
    isMended = true
    const [, step] = /redo: "([^"]+)"/.exec(failure.advice ?? '') ?? []
    expect(step).toMatch(/^b:2#0/)
    expect(await runner.resume('r', { redo: step! })).toEqual({ status: 'completed', result: 'all charged' })
    expect(charged.toSorted()).toEqual([1, 2, 3])
  })

  it('of a step that is not there is refused', async () => {
    const { agent, runner } = scene()
    await runner.run(agent, 1, { runId: 'r' })
    await expect(runner.resume('r', { redo: '17' })).rejects.toMatchObject({ code: 'UNKNOWN_STEP' })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
  })

  it('of a step whose record is superseded is refused, and says what stands in its place', async () => {
    const { agent, runner } = scene()
    await runner.run(agent, 1, { runId: 'r' })
    const outcome = await runner.resume('r', { redo: '1' })
    const before = await runner.history('r')
    await expect(runner.resume('r', { redo: '1' })).rejects.toMatchObject({ code: 'UNKNOWN_STEP', step: '1', message: expect.stringContaining('in its place stands 1~1') })
    await expect(runner.resume('r', { redo: 'b:beside#0/0' })).rejects.toMatchObject({ code: 'UNKNOWN_STEP', message: expect.stringContaining('nothing has come in its place yet') })
    expect(await runner.history('r')).toEqual(before)
    expect(outcome).toMatchObject({ status: 'suspended' })
  })

  it('of a call inside a response whose record is superseded names the call of the response that is there now', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: {} }] } : { text: 'done' }))
    const pay = tool({ inputSchema: z.object({}), execute: async () => 'paid' })
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), tools: run.tools({ pay }, { pay: { idempotent: true } }), prompt: 'pay', stopWhen: isStepCount(3) })).text)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, 1, { runId: 'r' })
    await runner.resume('r', { redo: '0' })
    await expect(runner.resume('r', { redo: '0/c:c' })).rejects.toMatchObject({ code: 'UNKNOWN_STEP', message: expect.stringContaining('in its place stands 0~1/c:c') })
  })

  it('of a step inside one that answers as a whole names that one', async () => {
    const agent = defineAgent('a', async (run) => run.read('outer', () => run.read('inner', () => 1)))
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, 1, { runId: 'r' })
    await expect(runner.resume('r', { redo: '0/0' })).rejects.toThrow(/inside step 0, .*redo that one/)
  })
})

describe('a run that does not get on', () => {
  it('because it ends its process each time is stalled, and others go on (C29)', async () => {
    const store = memoryStore()
    const agent = defineAgent('a', async () => new Promise(() => {}))
    for (let attempt = 1; attempt <= 3; attempt++) {
      const dying = mortal(store)
      const clock = later(attempt * 3_600_000)
      void createRunner({ agents: [agent], store: dying.store, clock, stallAfter: 3 }).run(agent, 1, { runId: 'r' })
      while ((await store.read('r')).length < attempt + 1) await new Promise((resolve) => setImmediate(resolve))
      dying.kill()
    }
    const runner = createRunner({ agents: [agent], store, clock: later(9 * 3_600_000), stallAfter: 3 })
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'RUN_STALLED', message: expect.stringMatching(/last 3 attempts died without getting on/) })
    expect(await runner.get('r')).toMatchObject({ status: 'stalled', owner: null })
  })

  it('is not stalled while it makes progress, however often it is killed (C18)', async () => {
    const store = memoryStore()
    let killer: () => void = () => {}
    const agent = defineAgent('a', async (run) => {
      for (let i = 1; i <= 6; i++) {
        await run.read(String(i), () => i)
        if (run.attempt === i) {
          killer()
          await new Promise(() => {})
        }
      }
      return 'done'
    })
    for (let attempt = 1; attempt <= 6; attempt++) {
      const dying = mortal(store)
      const died = new Promise<void>((resolve) => (killer = () => (dying.kill(), resolve())))
      void createRunner({ agents: [agent], store: dying.store, clock: later(attempt * 3_600_000), stallAfter: 3, ...quick }).run(agent, 1, { runId: 'r' })
      await died
    }
    expect(await createRunner({ agents: [agent], store, clock: later(9 * 3_600_000), stallAfter: 3, ...quick }).resume('r')).toMatchObject({ status: 'completed' })
  })

  it('because its handler puts something into the prompt that it looks up outside of steps: advice, and no endless loop (C37)', async () => {
    let n = 0
    const model = testModel(() => ({ text: 'x' }))
    const agent = defineAgent('a', async (run) => {
      await generateText({ model: run.model(model), prompt: `it is ${++n} o'clock` })
      throw new Error('later')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), stallAfter: 3, ...quick })
    for (let i = 0; i < 4; i++) await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_STALLED', message: expect.stringMatching(/diverged at step 0.*run\.read/) })
    await expect(runner.run(agent, 1, { runId: 'r', force: true })).rejects.toThrow(/later/)
  })
})
