/** Written ahead, and durable before it is announced (R2, R3): seen through stores that are slow or refuse. */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type RunEvent } from '../src/index.ts'
import type { Store } from '../src/journal/store.ts'
import { mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } as const

/** All that can go on without the store has gone on. */
const quiet = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A store that takes no append whose entries match, as long as `entry` is set. */
function refusing(): { store: Store; entry: RegExp | undefined } {
  const inner = memoryStore()
  const scene = {
    entry: undefined as RegExp | undefined,
    store: {
      ...inner,
      append: async (...[runId, batch]: Parameters<Store['append']>) => {
        if (batch.entries.some(({ body }) => scene.entry?.test(body))) throw new Error('no room on the disk')
        return inner.append(runId, batch)
      },
    },
  }
  return scene
}

const askOnce = () => testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'pay', input: {} }] } : { text: 'paid' }))

function paying() {
  const seen = { calls: 0 }
  const pay = tool({ inputSchema: z.object({}), execute: async () => `receipt ${++seen.calls}` })
  const model = askOnce()
  const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), tools: run.tools({ pay }), prompt: 'pay', stopWhen: stepCountIs(3) })).text)
  return { seen, model, agent }
}

describe('a step with effects whose record the store refuses', () => {
  it('is not called; the run waits, and goes on when the store takes it (R2)', async () => {
    const { agent, seen, model } = paying()
    const scene = refusing()
    scene.entry = /"step-started".*"kind":"tool"/
    const runner = createRunner({ agents: [agent], store: scene.store, ...quick })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'not-recorded', message: expect.stringMatching(/"pay" was not started: no room/) }] })
    expect(seen.calls).toBe(0)
    scene.entry = undefined
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'paid' })
    expect(seen.calls).toBe(1)
    expect(model.requests).toHaveLength(2)
  })

  it('is not called for a response that could not be recorded (R4)', async () => {
    const { agent, seen } = paying()
    const scene = refusing()
    scene.entry = /"step-ended".*"kind":"model"/
    const runner = createRunner({ agents: [agent], store: scene.store, ...quick })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'not-recorded' }] })
    expect(seen.calls).toBe(0)
  })
})

describe('while a record is on its way to the store (R3)', () => {
  it('the result is neither handed out nor announced', async () => {
    const dying = mortal(memoryStore())
    const events: RunEvent['type'][] = []
    const used: unknown[] = []
    const agent = defineAgent('a', async (run) => used.push(await run.read('price', () => 7)))
    const onItsWay = dying.killAt(/"step-ended"/)
    void createRunner({ agents: [agent], store: dying.store, onEvent: ({ type }) => void events.push(type) }).run(agent, 1, { runId: 'r' })
    await onItsWay
    await quiet()
    expect(used).toEqual([])
    expect(events).toEqual(['run-started', 'step-started'])
  })

  it('a stream has given its text, and not its finish', async () => {
    const dying = mortal(memoryStore())
    const parts: string[] = []
    const model = testModel(() => ({ text: 'ok' }))
    const agent = defineAgent('a', async (run) => {
      const { stream } = await run.model(model).doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] })
      for await (const { type } of stream) parts.push(type)
    })
    const onItsWay = dying.killAt(/"step-ended"/)
    void createRunner({ agents: [agent], store: dying.store }).run(agent, 1, { runId: 'r' })
    await onItsWay
    await quiet()
    expect(parts).toContain('text-delta')
    expect(parts).not.toContain('finish')
  })

  it.each([
    ['completed', /"run-ended"/, () => 'done'],
    ['suspended', /"suspended"/, undefined],
  ] as const)('nobody is told that the run is %s', async (status, entry, work) => {
    const events: string[] = []
    const dying = mortal(memoryStore())
    const agent = defineAgent('a', async (run) => run.step('work', work ?? (() => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET' })))).catch(() => run.step('work', () => 'again')))
    const onItsWay = dying.killAt(entry)
    void createRunner({ agents: [agent], store: dying.store, ...quick, onEvent: ({ type }) => void events.push(type) }).run(agent, 1, { runId: 'r' })
    await onItsWay
    await quiet()
    expect(events).not.toContain(`run-${status}`)
  })
})
