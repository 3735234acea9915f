/** A deploy changes by what a call is known, or what its tool is said to be: what was done or is in doubt stands (R5, R6). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createRunner, currentRun, currentStep, defineAgent, memoryStore, type Run, type RunnerOptions, type Store, type ToolPolicy } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { waitingIn } from './support/waiting.ts'

type Input = { readonly order: string; readonly amount?: number | undefined }

interface Version {
  readonly policy?: ToolPolicy<{ order: string; amount?: number | undefined }, string>
  readonly prompt?: string
  readonly asked?: Input
  readonly inBranch?: boolean
  readonly inside?: (pay: () => Promise<string>) => Promise<string>
  readonly fails?: boolean
}

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
const byOrder = { effectKey: ({ order }: Input) => order }
const byOtherKey = { effectKey: ({ order }: Input) => `order-${order}` }

/** An agent that is asked to refund; `made` has the idempotency keys and orders of its calls. */
function refunding() {
  const made: { key: string; order: string }[] = []
  const store = memoryStore()
  const agentOf = ({ policy = {}, prompt = 'Refund it.', asked = { order: '7' }, inBranch = false, inside = (pay) => pay(), fails = false }: Version) => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'refund', input: asked }] } : { text: 'done' }))
    const refund = tool({
      inputSchema: z.object({ order: z.string(), amount: z.number().optional() }),
      execute: ({ order }) => inside(async () => (made.push({ key: currentStep()!.idempotencyKey, order }), `receipt of ${order}`)),
    })
    const loop = async (run: Run): Promise<string> =>
      (await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: policy }), prompt, stopWhen: stepCountIs(3) })).text
    return defineAgent('a', async (run) => {
      const text = inBranch ? await run.branch('b', () => loop(run)) : await loop(run)
      if (fails) throw new Error('later')
      return text
    })
  }
  const runnerOf = (version: Version, on: Store = store) => createRunner({ agents: [agentOf(version)], store: on, clock: later(), ...quick })
  return {
    made,
    runnerOf,
    killed: async (version: Version, kind = 'tool') => {
      const dying = mortal(store)
      const died = dying.killAt(new RegExp(`"step-ended".*"kind":"${kind}"`))
      void runnerOf(version, dying.store).run('a', 1, { runId: 'r' }).catch(() => {})
      await died
    },
    failed: (version: Version) => runnerOf({ ...version, fails: true }).run('a', 1, { runId: 'r' }).catch(() => {}),
    deploy: (version: Version) => createRunner({ agents: [agentOf(version)], store, clock: later(7_200_000), ...quick }).resume('r'),
  }
}

const CHANGED = { prompt: 'Refund it, please.' }

describe('a tool that is given an effectKey, or another one, or loses it', () => {
  it.each<[string, Version, Version]>([
    ['in doubt; given a key', {}, { ...CHANGED, policy: byOrder, asked: { order: '7', amount: 20 } }],
    ['in doubt; loses its key', { policy: byOrder }, { ...CHANGED, asked: { order: '7', amount: 20 } }],
    ['in doubt; given a key and moved', {}, { inBranch: true, policy: byOrder }],
    ['in doubt; given another key', { policy: byOrder }, { ...CHANGED, policy: byOtherKey, asked: { order: '7', amount: 20 } }],
    ['in doubt; given another key and moved', { policy: byOrder }, { inBranch: true, policy: byOtherKey }],
  ])('does not make a refund again without a question: %s', async (_, before, after) => {
    const { made, killed, deploy } = refunding()
    await killed(before)
    expect(await deploy(after)).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: ['0/c:c1'] }] })
    expect(made).toHaveLength(1)
  })

  it.each<[string, Version, Version]>([
    ['superseded; given a key', {}, { ...CHANGED, policy: byOrder, asked: { order: '7', amount: 20 } }],
    ['superseded; loses its key', { policy: byOrder }, { ...CHANGED, asked: { order: '7', amount: 20 } }],
    ['superseded; given another key', { policy: byOrder }, { ...CHANGED, policy: byOtherKey, asked: { order: '7', amount: 20 } }],
    ['moved; given a key', {}, { inBranch: true, policy: byOrder }],
    ['moved; given another key', { policy: byOrder }, { inBranch: true, policy: byOtherKey }],
    ['moved; loses its key', { policy: byOrder }, { inBranch: true }],
  ])('asks about one that is done: %s', async (_, before, after) => {
    const { made, failed, deploy } = refunding()
    await failed(before)
    expect(await deploy(after)).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['0/c:c1'] }] })
    expect(made).toHaveLength(1)
  })

  it.each<[string, Version['policy']]>([['given a key', {}], ['given another key', byOtherKey]])('lets another order pass: the key is made of what was asked for then, too (%s)', async (_, policy = {}) => {
    const { made, killed, deploy } = refunding()
    await killed({ policy })
    expect(await deploy({ ...CHANGED, policy: byOrder, asked: { order: '8' } })).toMatchObject({ status: 'completed' })
    expect(made.map(({ order }) => order)).toEqual(['7', '8'])
  })

  it.each<[string, Version['policy'], Version['policy']]>([['without a key first', {}, byOrder], ['with a key first', byOrder, {}]])('stands in the way in the same attempt, where it is made durable twice: %s', async (_, first, second) => {
    let calls = 0
    const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: async () => (++calls === 1 ? new Promise<string>(() => {}) : 'receipt') })
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'refund', input: { order: '7' } }] } : { text: 'done' }))
    const agent = defineAgent('a', async (run) => {
      const loop = (policy: object = {}) => generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: { timeoutMs: 10, ...policy } }), prompt: 'go', stopWhen: stepCountIs(3) })
      await run.branch('lead', () => loop(first))
      await run.branch('helper', () => loop(second))
    })
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(calls).toBe(1)
  })
})

describe('a call in doubt whose tool is composite by now', () => {
  const composite: Version = { policy: { composite: true }, inside: async (pay) => pay() }

  it('is asked about: what it did then by itself, the steps that it has now do not know', async () => {
    const { made, killed, deploy } = refunding()
    await killed({})
    expect(await deploy(composite)).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '0/c:c1', effects: ['0/c:c1'] }] })
    expect(made).toHaveLength(1)
  })

  it('is entered again where it had steps inside: that those are its only effects is what the policy says', async () => {
    const inside: Version['inside'] = (pay) => currentRun()!.step('charge', pay)
    const { made, killed, deploy } = refunding()
    await killed({ inside })
    expect(await deploy({ inside, policy: { composite: true } })).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(1)
  })

  it('is entered once somebody lets it, and is not asked about again', async () => {
    const { made, killed, deploy, runnerOf } = refunding()
    await killed({})
    await deploy(composite)
    await runnerOf(composite).resolve('r', '0/c:c1', 'rerun')
    expect(await deploy(composite)).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(2)
  })

  it('is not entered where somebody says what it gave', async () => {
    const { made, killed, deploy, runnerOf } = refunding()
    await killed({})
    await deploy(composite)
    await runnerOf(composite).resolve('r', '0/c:c1', { result: 'receipt' })
    expect(await deploy(composite)).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(1)
  })
})

describe('a call whose tool was composite, and does by itself now what a step inside of it did', () => {
  const composite: Version = { policy: { composite: true }, inside: (pay) => currentRun()!.step('pay', { input: '7' }, pay) }
  const ways: readonly [string, string, (made: ReturnType<typeof refunding>) => Promise<void>, Version?][] = [
    ['killed behind the step', 'repeat', ({ killed }) => killed(composite)],
    ['killed in the step', 'in-doubt', ({ killed }) => killed(composite, 'step')],
    ['killed behind the step, and asked for otherwise now', 'repeat', ({ killed }) => killed(composite), CHANGED],
    ['killed in the step, and reconciled by what knows the tool alone', 'in-doubt', ({ killed }) => killed(composite, 'step'), { policy: { onIncompleteTool: 'reconcile', reconcile: async () => ({ status: 'not-done' }) } }],
  ]
  it.each(ways)('is asked about: %s', async (_, type, end, version = {}) => {
    const refund = refunding()
    await end(refund)
    const outcome = await refund.deploy(version)
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type, effects: ['0/c:c1/0'] }] })
    expect(outcome).not.toMatchObject({ reasons: [{ choices: expect.arrayContaining(['reuse']) }] })
    expect(JSON.stringify(outcome)).not.toContain('effectKey')
    expect(refund.made).toHaveLength(1)
  })

  it.each(['rerun', { result: 'receipt' }] as const)('ends as somebody decides: %j', async (decision) => {
    const { made, killed, deploy, runnerOf } = refunding()
    await killed(composite)
    await runnerOf({}).resolve('r', waitingIn(await deploy({})), decision)
    expect(await deploy({})).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(decision === 'rerun' ? 2 : 1)
  })
})

describe('a call in doubt whose tool is idempotent by now', () => {
  it.each<[string, Version]>([['where it stood', {}], ['behind another prompt', CHANGED], ['in a branch', { inBranch: true }]])('is made again under the key that it had: %s', async (_, version) => {
    const { made, killed, deploy } = refunding()
    await killed({})
    expect(await deploy({ ...version, policy: { idempotent: true } })).toMatchObject({ status: 'completed' })
    expect(made).toHaveLength(2)
    expect(new Set(made.map(({ key }) => key)).size).toBe(1)
  })

  it('is asked about where other words ask for it', async () => {
    const { made, killed, deploy } = refunding()
    await killed({})
    expect(await deploy({ ...CHANGED, asked: { order: '7', amount: 20 }, policy: { idempotent: true } })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(made).toHaveLength(1)
  })
})

it.each<[string, object, Version]>([
  ['done', {}, CHANGED],
  ['in doubt', { isHung: true }, CHANGED],
  ['done; under one effectKey', {}, { ...CHANGED, policy: byOrder }],
])('two equal calls of one response that are idempotent by now are made again under their keys, one each: %s', async (_, { isHung = false }: { isHung?: boolean }, { prompt, policy }) => {
  const keys: string[] = []
  const store = memoryStore()
  const dying = mortal(store)
  const agentOf = (version: Version) => defineAgent('a', async (run) => {
    const model = testModel((turn) => (turn === 0 ? { calls: ['c1', 'c2'].map((id) => ({ id: `${id} ${version.prompt}`, tool: 'credit', input: { order: '7' } })) } : { text: 'done' }))
    const credit = tool({
      inputSchema: z.object({ order: z.string() }),
      execute: async () => {
        if (keys.push(currentStep()!.idempotencyKey) === 2 && isHung) dying.kill()
        return 'credited'
      },
    })
    const { text } = await generateText({ model: run.model(model), tools: run.tools({ credit }, { credit: version.policy ?? {} }), prompt: version.prompt!, stopWhen: stepCountIs(3) })
    if (version.prompt === 'first') throw new Error('later')
    return text
  })
  const first = createRunner({ agents: [agentOf({ prompt: 'first', policy: { ...policy } })], store: dying.store, ...quick }).run('a', 1, { runId: 'r' }).catch(() => {})
  if (isHung) await vi.waitFor(() => expect(keys).toHaveLength(2))
  else await first
  expect(await createRunner({ agents: [agentOf({ prompt: prompt!, policy: { ...policy, idempotent: true } })], store, clock: later(), ...quick }).resume('r')).toMatchObject({ status: 'completed' })
  expect([keys.length, new Set(keys).size]).toEqual([4, 2])
})

it.each([{ key: '7' }, { input: { order: 7 } }, {}])('a step that may have taken effect, failed its run, and is idempotent by now, is made again under the key that it had: %j', async (options) => {
  const keys: string[] = []
  const store = memoryStore()
  const runnerOf = (isIdempotent: boolean) => createRunner({
    agents: [defineAgent('a', (run) => run.step('charge', { ...options, ...(isIdempotent && { idempotent: true }) }, () => {
      if (keys.push(currentStep()!.idempotencyKey) === 1) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      return 'charged'
    }))], store, ...quick,
  })
  await expect(runnerOf(false).run('a', 1, { runId: 'r' })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(await runnerOf(true).resume('r')).toEqual({ status: 'completed', result: 'charged' })
  expect([keys.length, new Set(keys).size]).toEqual([2, 1])
})

describe('a call that somebody agreed to with other arguments, and that stands at another place now', () => {
  it('is not made as it was asked for, without a question', async () => {
    const { made, runnerOf, deploy } = refunding()
    const gated: Version = { policy: { approval: true }, fails: true }
    await runnerOf(gated).run('a', 1, { runId: 'r' })
    await runnerOf(gated).approve('r', '0/c:c1', { input: { order: '8' } })
    await deploy(gated).catch(() => {})
    expect(await deploy({ inBranch: true })).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['0/c:c1'] }] })
    expect(made.map(({ order }) => order)).toEqual(['8'])
  })
})

describe('a step that is moved into a branch, and known otherwise there', () => {
  const input = { order: 7 }
  it.each<[string, object, object]>([
    ['given a key', { input }, { input, key: '7' }],
    ['loses its key', { input, key: '7' }, { input }],
    ['has no input any more', { input, key: '7' }, { key: '7' }],
  ])('is not made again without a question: %s', async (_, before, after) => {
    for (const isKilled of [true, false]) {
      let made = 0
      const store = memoryStore()
      const agentOf = (options: object, isMoved: boolean) => defineAgent('a', async (run) => {
        const charge = () => run.step('charge', options, () => ++made)
        const receipt = isMoved ? await run.branch('order-7', charge) : await charge()
        if (!isMoved) throw new Error('later')
        return receipt
      })
      const dying = mortal(store)
      if (isKilled) {
        const died = dying.killAt(/"step-ended"/)
        void createRunner({ agents: [agentOf(before, false)], store: dying.store, ...quick }).run('a', 1, { runId: 'r' })
        await died
      } else await createRunner({ agents: [agentOf(before, false)], store, ...quick }).run('a', 1, { runId: 'r' }).catch(() => {})
      expect(await createRunner({ agents: [agentOf(after, true)], store, clock: later(), ...quick }).resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: isKilled ? 'in-doubt' : 'repeat' }] })
      expect(made).toBe(1)
    }
  })
})

describe('an idempotent call that may have taken effect, and failed', () => {
  const lost = (): never => { throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) }
  const retry = { maxAttempts: 2, backoff: { baseMs: 1 } }

  /** A tool that the model asks for `asks` times in the same words; its first `fails` tries lose their answer. */
  async function asked(asks: readonly string[][], fails: number, fail: () => never = lost) {
    const keys: string[] = []
    const execute = (): string => (keys.push(currentStep()!.idempotencyKey), keys.length <= fails ? fail() : 'receipt')
    const model = testModel((turn) => (asks[turn] ? { calls: asks[turn].map((id) => ({ id, tool: 'refund', input: { order: '7' } })) } : { text: 'done' }))
    const agent = defineAgent('a', async (run) => {
      const refund = tool({ inputSchema: z.object({ order: z.string() }), execute: async () => execute() })
      return (await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: { idempotent: true } }), prompt: 'go', stopWhen: stepCountIs(5) })).text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), retry, ...quick })
    expect(await runner.run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed' })
    return keys
  }

  it('has the same key where the model asks for it again', async () => {
    const keys = await asked([['a'], ['b']], 2)
    expect([keys.length, new Set(keys).size]).toEqual([3, 1])
  })

  it('is not taken for one that was made beside it, or after it', async () => {
    const [first, , second, third, fourth] = await asked([['a'], ['b', 'c'], ['d']], 2)
    expect(second).toBe(first)
    expect(new Set([first, third, fourth]).size).toBe(3)
  })

  it('has another key where the first one is known to have failed, or to have been made', async () => {
    const refused = (): never => { throw Object.assign(new Error('no such order'), { statusCode: 404 }) }
    for (const keys of [await asked([['a'], ['b']], 0), await asked([['a'], ['b']], 1, refused)]) expect([keys.length, new Set(keys).size]).toEqual([2, 2])
  })

  it('asks afterError of a step with effects once, also where that has a key', async () => {
    let asks = 0
    const agent = defineAgent('a', (run) => run.step('charge', { key: '7', afterError: () => (asks++, 'not-done') }, lost).catch(() => 'caught'))
    expect(await createRunner({ agents: [agent], store: memoryStore(), ...quick }).run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'caught' })
    expect(asks).toBe(1)
  })

  it('has the same key where the handler asks again under its key, and not at another turn without one', async () => {
    for (const [key, different] of [['7', 1], [undefined, 2]] as const) {
      const keys: string[] = []
      const agent = defineAgent('a', async (run) => {
        const charge = () => run.step('charge', { idempotent: true, input: 1, ...(key !== undefined && { key }) }, () => (keys.push(currentStep()!.idempotencyKey), keys.length <= 2 ? lost() : 'receipt'))
        return charge().catch(charge)
      })
      expect(await createRunner({ agents: [agent], store: memoryStore(), retry, ...quick }).run(agent, 1, { runId: 'r' })).toMatchObject({ status: 'completed', result: 'receipt' })
      expect(new Set(keys).size).toBe(different)
    }
  })
})

describe('a step whose key holds what is named as a secret by now', () => {
  it.each([true, false])('is not made again without a question (killed: %s)', async (isKilled) => {
    const ACCOUNT = 'DE89370400440532013000'
    let made = 0
    let fails = !isKilled
    const store = memoryStore()
    const agent = defineAgent('a', async (run) => {
      const receipt = await run.step('charge', { key: ACCOUNT }, () => ++made)
      if (fails) throw new Error('later')
      return receipt
    })
    const dying = mortal(store)
    if (isKilled) {
      const died = dying.killAt(/"step-ended"/)
      void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
      await died
    } else await createRunner({ agents: [agent], store, ...quick }).run(agent, 1, { runId: 'r' }).catch(() => {})
    fails = false
    const outcome = await createRunner({ agents: [agent], store, clock: later(), secrets: { ACCOUNT }, ...quick }).resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: isKilled ? 'in-doubt' : 'repeat' }] })
    expect(made).toBe(1)
  })
})
