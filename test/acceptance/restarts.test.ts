/** Restarts: while replaying, ten in a row, and those that come to nothing (R4, R9; C8, C18, C29). */
import { generateText, isStepCount, streamText, tool, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions } from '../../src/index.ts'
import { later, mortal } from '../support/crash.ts'
import { testModel, type TestModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
const hours = (n: number) => later(n * 3_600_000)

/** Five turns, each with a call, and then a text; `seen` is told each tool result as the loop gets it. */
async function loop(mode: 'generateText' | 'streamText', run: Run, model: TestModel, execute: (n: number) => unknown, seen: (results: number) => void): Promise<string> {
  const tools: ToolSet = run.tools({ look: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => execute(n) as number }) })
  const options = { model: run.model(model), tools, prompt: 'x', stopWhen: isStepCount(9), onStepEnd: ({ toolResults }: { toolResults: readonly unknown[] }) => seen(toolResults.length) }
  return mode === 'generateText' ? (await generateText(options)).text : streamText(options).text
}

describe.each(['generateText', 'streamText'] as const)('%s, killed while it replays, twice (C8)', (mode) => {
  it('replays everything at the third attempt', async () => {
    const model = testModel((turn) => (turn < 5 ? { calls: [{ id: 'same', tool: 'look', input: { n: turn } }] } : { text: 'done' }))
    const store = memoryStore()
    let looks = 0
    let steps = 0
    let dieAfter = Infinity
    let die: () => void = () => {}
    const agent = defineAgent('a', async (run) => {
      steps = 0
      const text = await loop(mode, run, model, () => ++looks, () => {
        if (++steps === dieAfter) die()
      })
      if (run.attempt < 4) throw new Error('later')
      return text
    })
    await expect(createRunner({ agents: [agent], store, ...quick }).run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(looks).toBe(5)
    const requests = model.requests.length
    for (const [attempt, after] of [[2, 1], [3, 3]] as const) {
      dieAfter = after
      const dying = mortal(store)
      const died = new Promise<void>((resolve) => (die = () => (dying.kill(), resolve())))
      void createRunner({ agents: [agent], store: dying.store, clock: hours(attempt), ...quick }).resume('r').catch(() => {})
      await died
    }
    dieAfter = Infinity
    expect(await createRunner({ agents: [agent], store, clock: hours(9), ...quick }).resume('r')).toMatchObject({ status: 'completed', result: 'done' })
    expect([looks, model.requests.length]).toEqual([5, requests])
  })
})

describe('ten deploys in a row (C18)', () => {
  it('that each end a request in flight do not use up its tries', async () => {
    let inFlight: () => void = () => {}
    const model = testModel(() => {
      inFlight()
      return model.requests.length > 10 ? { text: 'done' } : new Promise(() => {})
    })
    const store = memoryStore()
    let turn = 0
    const agent = defineAgent('a', async (run) => {
      // Progress each time.
      for (let i = 0; i <= turn; i++) await run.read('progress', { key: i }, () => i)
      return (await generateText({ model: run.model(model), prompt: 'x' })).text
    })
    for (turn = 0; turn < 10; turn++) {
      const dying = mortal(store)
      const sent = new Promise<void>((resolve) => (inFlight = resolve))
      void createRunner({ agents: [agent], store: dying.store, clock: hours(turn), ...quick, stallAfter: 3, retry: { maxAttempts: 2 } }).run(agent, {}, { runId: 'r' }).catch(() => {})
      await sent
      dying.kill()
    }
    expect(await createRunner({ agents: [agent], store, clock: hours(20), ...quick, stallAfter: 3, retry: { maxAttempts: 2 } }).resume('r')).toEqual({ status: 'completed', result: 'done' })
  })

  it('that fail a first try before they are ended leave its tries to the next one', async () => {
    let failed: () => void = () => {}
    const model = testModel(() => {
      if (model.requests.length > 10) return { text: 'done' }
      throw Object.assign(new Error('Overloaded'), { statusCode: 529 })
    })
    const store = memoryStore()
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'x' })).text)
    const options = { agents: [agent], ...quick, stallAfter: 100, retry: { maxAttempts: 2, backoff: { baseMs: 30_000, maxMs: 30_000, jitter: 'none' } } } satisfies RunnerOptions
    for (let turn = 0; turn < 10; turn++) {
      const dying = mortal(store)
      const waits = new Promise<void>((resolve) => (failed = resolve))
      void createRunner({ ...options, store: dying.store, clock: hours(turn), onEvent: (e) => e.type === 'retry-wait' && failed() }).run(agent, {}, { runId: 'r' }).catch(() => {})
      await waits
      dying.kill()
    }
    expect(await createRunner({ ...options, store, clock: hours(20) }).resume('r')).toEqual({ status: 'completed', result: 'done' })
  })

  it('that close the runner on purpose do not stall the run, and each goes on where the one before ended', async () => {
    const store = memoryStore()
    const keep = new Proxy(store, { get: (target, property) => (property === 'close' ? async () => {} : Reflect.get(target, property, target).bind?.(target) ?? Reflect.get(target, property, target)) })
    const done: number[] = []
    let close: () => void = () => {}
    const agent = defineAgent('a', async (run) => {
      for (let i = 0; i < 11; i++) {
        await run.step('work', { input: i }, () => {
          done.push(i)
          if (i < 10) close()
          return i
        })
      }
      return 'done'
    })
    for (let turn = 0; turn < 10; turn++) {
      const runner = createRunner({ agents: [agent], store: keep, ...quick, stallAfter: 3 })
      close = () => void runner.close()
      expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'draining' }] })
    }
    expect(await createRunner({ agents: [agent], store, ...quick, stallAfter: 3 }).resume('r')).toEqual({ status: 'completed', result: 'done' })
    expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })
})

describe('a run that ends its process each time (C29)', () => {
  it('is stalled after so many attempts, others of the store go on, and force drives it once more', async () => {
    const store = memoryStore()
    let lethal = true
    let entered: () => void = () => {}
    const bad = defineAgent('bad', async () => {
      if (!lethal) return 'mended'
      entered()
      return new Promise<string>(() => {})
    })
    const good = defineAgent('good', async (run) => run.step('work', () => 'fine'))
    const agents = [bad, good]
    for (let attempt = 0; attempt < 3; attempt++) {
      const dying = mortal(store)
      const runs = new Promise<void>((resolve) => (entered = resolve))
      void createRunner({ agents, store: dying.store, clock: hours(attempt), stallAfter: 3 }).run(bad, {}, { runId: 'bad' })
      await runs
      dying.kill()
    }
    const runner = createRunner({ agents, store, clock: hours(9), stallAfter: 3, ...quick })
    for (let i = 0; i < 2; i++) await expect(runner.resume('bad')).rejects.toMatchObject({ code: 'RUN_STALLED' })
    expect(await runner.run(good, {}, { runId: 'good' })).toEqual({ status: 'completed', result: 'fine' })
    expect(await runner.list({ status: ['stalled'] })).toEqual([expect.objectContaining({ runId: 'bad' })])
    lethal = false
    expect(await runner.resume('bad', { force: true })).toEqual({ status: 'completed', result: 'mended' })
  })
})
