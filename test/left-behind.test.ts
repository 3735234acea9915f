/** What a run leaves behind where it ends: said, once, by name (R6). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type Runner } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { failingOnce } from './support/failing-once.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 50, replayHoldMs: 20 }

const warningsOf = async (runner: Runner): Promise<string[]> => (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'warning' ? [`${entry.code}: ${entry.message}`] : []))

describe('a run that ends without asking for what an earlier attempt had started', () => {
  it.each<[string, boolean, RegExp]>([
    ['was done', false, /step "refund" \(0\), which was done/],
    ['is in doubt', true, /step "refund" \(0\), of which nobody knows whether it took effect/],
  ])('says so where it %s', async (_, fails, said) => {
    let goes = true
    const agent = defineAgent('a', async (run) => {
      if (!goes) return 'another way'
      await run.step('refund', { input: 7 }, () => { if (fails) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }).catch(() => {})
      throw new Error('later')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, 1, { runId: 'r' }).catch(() => {})
    goes = false
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(await warningsOf(runner)).toEqual([expect.stringMatching(new RegExp(`^EFFECTS_LEFT: .*${said.source}`))])
  })

  it('says nothing where it asked for all', async () => {
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      await run.branch('b', () => run.step('refund', { input: 7 }, () => 1))
      await run.step('outer', { idempotent: true }, () => run.step('inner', () => 2))
      fail()
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await runner.run(agent, 1, { runId: 'r' }).catch(() => {})
    await runner.resume('r')
    expect(await warningsOf(runner)).toEqual([])
  })
})

describe('a run that was killed in the middle of a refund, and ends with it in doubt', () => {
  /** How the agent goes on after the kill. */
  type Then = 'gives up' | 'gives up while the outside world is asked' | 'has no such tool' | 'calls it otherwise' | 'is asked something else'

  async function killed() {
    const made: string[] = []
    let then: Then | undefined
    const execute = async (): Promise<string> => (made.push('refunded'), 'receipt')
    const refund = tool({ inputSchema: z.object({}), execute })
    const model = testModel((turn, call) => (turn === 0 && !JSON.stringify(call.prompt).includes('Hello') ? { calls: [{ id: 'c', tool: 'refund', input: {} }] } : { text: 'done' }))
    const agent = defineAgent('a', async (run) => {
      const givingUp = new AbortController()
      const reconcile = async () => (givingUp.abort(), { status: 'completed', output: 'receipt' } as const)
      const tools = then === 'has no such tool' ? run.tools({}) : then === 'calls it otherwise' ? run.tools({ payBack: refund }) : run.tools({ refund }, then === 'gives up while the outside world is asked' ? { refund: { reconcile } } : {})
      const abort = then === 'gives up' ? { abortSignal: AbortSignal.timeout(5) } : { abortSignal: givingUp.signal }
      const prompt = then === 'is asked something else' ? 'Hello' : 'Refund it.'
      try {
        return (await generateText({ model: run.model(model), tools, prompt, stopWhen: stepCountIs(3), ...abort })).text
      } catch {
        return await run.step('say so', { input: 1 }, () => 'gave up')
      }
    })
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"name":"refund"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    return { made, runner: createRunner({ agents: [agent], store, clock: later(), ...quick }), goOn: (how: Then) => void (then = how) }
  }

  it.each<Then>(['gives up', 'has no such tool', 'calls it otherwise', 'is asked something else'])('says so where it %s', async (how) => {
    const { made, runner, goOn } = await killed()
    goOn(how)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(await warningsOf(runner)).toContainEqual(expect.stringMatching(/^EFFECTS_LEFT: .*tool "refund" \(0\/c:c\), of which nobody knows whether it took effect/))
    expect(made).toEqual(['refunded'])
  })

  it('says so where it gives up while the outside world is asked, and that says that it was done', async () => {
    const { made, runner, goOn } = await killed()
    goOn('gives up while the outside world is asked')
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'gave up' })
    expect(await warningsOf(runner)).toContainEqual(expect.stringMatching(/^EFFECTS_LEFT: .*tool "refund" \(0\/c:c\), which was done/))
    expect(made).toEqual(['refunded'])
  })
})

it('an effect inside of a step that somebody has given a result is said to be left in doubt', async () => {
  const store = memoryStore()
  const agent = defineAgent('a', (run: Run) => run.step('outer', { input: 1 }, () => run.step('inner', { input: 2 }, () => 'made')))
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"name":"inner"/)
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
  await died
  const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
  expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0' }] })
  expect(await runner.resolve('r', '0', { result: 'by hand' }, { resume: true })).toEqual({ status: 'completed', result: 'by hand' })
  expect(await warningsOf(runner)).toContainEqual(expect.stringMatching(/^EFFECTS_LEFT: .*step "inner" \(0\/0\), of which nobody knows/))
})
