/** What becomes of calls in doubt when a run resumes: the tool's word, then the call's, then the runner's (R6). */
import { generateText, isStepCount, tool } from 'ai'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, memoryStore, type OnIncompleteTool, type ToolPolicy } from '../../src/index.ts'
import { later, mortal } from '../support/crash.ts'
import { testModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

/** A run that died inside its two tools, of which `pay` may have a policy; `byStep` makes it a step of the handler. */
async function killed(policy: ToolPolicy<{ id: string }, string> = {}, byRunner?: OnIncompleteTool) {
  const keys: string[] = []
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { id: 'c' } }] } : { text: 'done' }))
  let land: () => void = () => {}
  const landed = new Promise<void>((resolve) => (land = resolve))
  const agent = defineAgent('a', async (run) => {
    const execute = async (): Promise<string> => {
      if (keys.push(currentStep()!.idempotencyKey) > 1) return 'paid'
      land()
      return new Promise(() => {})
    }
    const { steps } = await generateText({ model: run.model(model), tools: run.tools({ pay: tool({ inputSchema: z.object({ id: z.string() }), execute }) }, { pay: policy }), prompt: 'x', stopWhen: isStepCount(3) })
    return steps[0]!.content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : part.type === 'tool-error' ? [(part.error as Error).message] : []))
  })
  const store = memoryStore()
  const dying = mortal(store)
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
  await landed
  dying.kill()
  const runner = createRunner({ agents: [agent], store, clock: later(), ...quick, ...(byRunner && { onIncompleteTool: byRunner }) })
  return { keys, agent, runner }
}

describe('onIncompleteTool of a call', () => {
  it('rerun: the call in doubt runs again, with the same key, in resume and in run', async () => {
    for (const how of ['resume', 'run'] as const) {
      const { keys, agent, runner } = await killed()
      const options = { onIncompleteTool: 'rerun' } as const
      expect(await (how === 'resume' ? runner.resume('r', options) : runner.run(agent, {}, { runId: 'r', ...options }))).toMatchObject({ status: 'completed', result: ['paid'] })
      expect(keys).toHaveLength(2)
      expect(new Set(keys).size).toBe(1)
    }
  })

  it('skip: the model is told that the outcome is unknown, in resolve with resume too', async () => {
    const { keys, runner } = await killed()
    expect(await runner.resume('r', { onIncompleteTool: 'skip' })).toMatchObject({ status: 'completed', result: [expect.stringMatching(/outcome is unknown/)] })
    expect(keys).toHaveLength(1)
  })

  it('reconcile: a tool that has no such function waits', async () => {
    const { keys, runner } = await killed()
    expect(await runner.resume('r', { onIncompleteTool: 'reconcile' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(keys).toHaveLength(1)
  })

  it('comes before what the runner says, in that call alone', async () => {
    const { keys, runner } = await killed({}, 'skip')
    expect(await runner.resume('r', { onIncompleteTool: 'refuse' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [expect.stringMatching(/unknown/)] })
    expect(keys).toHaveLength(1)
  })

  it('comes after what the tool says', async () => {
    const refuse = await killed({ onIncompleteTool: 'refuse' })
    expect(await refuse.runner.resume('r', { onIncompleteTool: 'rerun' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    const reconcile = await killed({ reconcile: async () => ({ status: 'completed', output: 'found' }) })
    expect(await reconcile.runner.resume('r', { onIncompleteTool: 'skip' })).toMatchObject({ status: 'completed', result: ['found'] })
    expect([refuse.keys.length, reconcile.keys.length]).toEqual([1, 1])
  })

  it('holds for steps of the handler too', async () => {
    let charges = 0
    let land: () => void = () => {}
    const landed = new Promise<void>((resolve) => (land = resolve))
    const agent = defineAgent('a', async (run) => run.step('charge', () => {
      if (++charges > 1) return 'charged'
      land()
      return new Promise<string>(() => {})
    }))
    const store = memoryStore()
    const dying = mortal(store)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
    await landed
    dying.kill()
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0' }] })
    expect(await runner.resume('r', { onIncompleteTool: 'rerun' })).toEqual({ status: 'completed', result: 'charged' })
  })

  it('rerun: a call that is made in place of one in doubt leaves those of others to their own calls, with their keys, also where its process dies', async () => {
    const keys: Record<string, string[]> = { a: [], b: [] }
    const store = memoryStore()
    const dying = mortal(store)
    const turns = [['a', 'b'], ['a'], ['b']]
    const model = testModel((turn) => (turns[turn] ? { calls: turns[turn].map((id) => ({ id: `${id} ${turn}`, tool: 'pay', input: { id } })) } : { text: 'done' }))
    const agent = defineAgent('a', async (run) => {
      const execute = async ({ id }: { id: string }): Promise<string> => {
        if (keys[id]!.push(currentStep()!.idempotencyKey) === 1) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
        if (id === 'a') dying.kill()
        return 'paid'
      }
      return (await generateText({ model: run.model(model), tools: run.tools({ pay: tool({ inputSchema: z.object({ id: z.string() }), execute }) }), prompt: 'x', stopWhen: isStepCount(6) })).text
    })
    expect(await createRunner({ agents: [agent], store, ...quick }).run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    void createRunner({ agents: [agent], store: dying.store, ...quick }).resume('r', { onIncompleteTool: 'rerun' })
    await vi.waitFor(() => expect(keys['a']).toHaveLength(2))
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    await runner.resume('r')
    await runner.resolve('r', '1/c:a%201', { result: 'paid' })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '2/c:b%202', effects: ['0/c:b%200'] }] })
    expect(await runner.resume('r', { onIncompleteTool: 'rerun' })).toMatchObject({ status: 'completed' })
    for (const id of ['a', 'b']) expect([keys[id]!.length, new Set(keys[id]).size]).toEqual([2, 1])
  })
})
