/** Calls with effects that stand at another place than before: a deploy moved them, or a decision was about another one (R5, R6). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, memoryStore, type Run, type RunEvent, type RunnerOptions, type ToolPolicy } from '../src/index.ts'
import { failingOnce } from './support/failing-once.ts'
import { later, mortal } from './support/crash.ts'
import { testModel } from './support/model.ts'
import { waitingIn } from './support/waiting.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

interface Desk {
  /** What was paid, with the key. */
  readonly paid: { readonly what: string; readonly key: string }[]
  readonly pay: (run: Run, what: string) => Promise<unknown>
}

/** Pays by a tool that a model asks for, or by a step of the handler. */
function desk(by: 'tool' | 'step', policy: ToolPolicy<{ what: string }, string> = {}): Desk {
  const paid: Desk['paid'] = []
  const made = (what: string): string => {
    paid.push({ what, key: currentStep()!.idempotencyKey })
    return `paid ${what}`
  }
  if (by === 'step') return { paid, pay: (run, what) => run.step('pay', { input: what }, () => made(what)) }
  return {
    paid,
    pay: async (run, what) => {
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { what } }] } : { text: 'done' }))
      const tools = run.tools({ pay: tool({ inputSchema: z.object({ what: z.string() }), execute: async (input) => made(input.what) }) }, { pay: policy })
      const { steps } = await generateText({ model: run.model(model), tools, prompt: what, stopWhen: stepCountIs(3) })
      return steps[0]!.toolResults[0]?.output ?? 'unknown'
    },
  }
}

const places: Record<string, (run: Run, work: () => Promise<unknown>) => Promise<unknown>> = {
  'the main line': (_run, work) => work(),
  'a branch': (run, work) => run.branch('eu', work),
  'a branch of another key': (run, work) => run.branch('europe', work),
}
const moves = [['the main line', 'a branch'], ['a branch', 'a branch of another key'], ['a branch', 'the main line']] as const

describe.each(['tool', 'step'] as const)('a payment by a %s that was made, and then stands at another place', (by) => {
  it.each(moves)('is not made again without a decision, however often the run is resumed: from %s to %s', async (from, to) => {
    const { paid, pay } = desk(by)
    const fail = failingOnce()
    let place: string = from
    const agent = defineAgent('a', async (run) => {
      const told = await places[place]!(run, () => pay(run, 'A'))
      fail()
      return told
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    place = to
    for (let i = 0; i < 3; i++) expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat' }] })
    expect(await runner.resolve('r', waitingIn(await runner.resume('r')), 'reuse', { resume: true })).toEqual({ status: 'completed', result: 'paid A' })
    expect(paid).toHaveLength(1)
  })
})

describe.each(['tool', 'step'] as const)('a payment by a %s that was killed in the middle, and then stands at another place', (by) => {
  async function killed(policy: ToolPolicy<{ what: string }, string> = {}) {
    const made = desk(by, policy)
    const store = memoryStore()
    let place = 'the main line'
    const agent = defineAgent('a', (run) => places[place]!(run, () => made.pay(run, 'A')))
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"name":"pay"/, 'before')
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    expect(made.paid).toHaveLength(1)
    place = 'a branch'
    return { ...made, runner: createRunner({ agents: [agent], store, clock: later(), ...quick }) }
  }
  const old = by === 'tool' ? '0/c:c' : '0'

  it('offers what can be decided where it stands now, and runs again when somebody says so', async () => {
    const { paid, runner } = await killed()
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: [old], choices: ['rerun', 'skip', 'result'] }] })
    expect(await runner.resolve('r', waitingIn(outcome), 'rerun', { resume: true })).toMatchObject({ status: 'completed', result: 'paid A' })
    expect(paid).toHaveLength(2)
  })

  it('is not made again when somebody says what it gave', async () => {
    const { paid, runner } = await killed()
    await runner.resume('r')
    await runner.resolve('r', old, { result: 'paid A' })
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: [old] }] })
    expect(await runner.resolve('r', waitingIn(outcome), 'reuse', { resume: true })).toEqual({ status: 'completed', result: 'paid A' })
    expect(paid).toHaveLength(1)
  })

  it('can still be decided about when somebody left the old one at that', async () => {
    const { paid, runner } = await killed()
    await runner.resume('r')
    await runner.resolve('r', old, 'skip')
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', choices: ['rerun', 'skip', 'result'] }] })
    expect(await runner.resolve('r', waitingIn(outcome), { result: 'by hand' }, { resume: true })).toEqual({ status: 'completed', result: 'by hand' })
    expect(paid).toHaveLength(1)
  })

  if (by === 'tool') {
    it('is not made again when the outside world says that it is done', async () => {
      const { paid, runner } = await killed({ reconcile: async () => ({ status: 'completed', output: 'paid A' }) })
      expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: [old] }] })
      expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: [old] }] })
      expect(paid).toHaveLength(1)
    })
  }
})

describe.each(['tool', 'step'] as const)('two equal payments by a %s, of which one was made before both moved', (by) => {
  it('are each asked about: what somebody says of the one leaves the other as it is', async () => {
    const { paid, pay } = desk(by)
    const fail = failingOnce()
    let places = ['a']
    const agent = defineAgent('a', async (run) => {
      for (const place of places) await run.branch(place, () => pay(run, 'A'))
      fail()
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    places = ['x', 'y']
    const first = await runner.resume('r')
    const second = await runner.resolve('r', waitingIn(first), 'rerun', { resume: true })
    expect(second).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat' }] })
    expect(waitingIn(second!)).not.toBe(waitingIn(first))
    expect(await runner.resolve('r', waitingIn(second!), 'reuse', { resume: true })).toMatchObject({ status: 'completed' })
    expect(paid).toHaveLength(2)
  })
})

describe('a payment inside of an agent that ends without it, after a deploy', () => {
  it('stands in the way of the same one elsewhere: the record of the agent does not answer for it', async () => {
    const { paid, pay } = desk('step')
    const fail = failingOnce()
    let isOld = true
    const child = defineAgent('child', async (run) => {
      if (isOld) await pay(run, 'A')
      fail()
      return 'ended'
    })
    const agent = defineAgent('a', async (run) => [await run.agent(child, 1), isOld ? null : await pay(run, 'A')])
    const told: string[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (event) => event.type === 'replay-diverged' && told.push(event.reason) })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    isOld = false
    for (let i = 0; i < 2; i++) expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['a:child:#0/0'] }] })
    expect(told).toEqual(['agent "child" has ended without asking for what it had asked for inside before'])
    expect(paid).toHaveLength(1)
  })
})

/** A is paid, and the run has failed behind it: what `list` holds is paid from now on, in a row. */
async function paidA() {
  const { paid, pay } = desk('step')
  const fail = failingOnce()
  const list = ['A']
  const agent = defineAgent('a', async (run) => {
    for (const what of list) await pay(run, what)
    fail()
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
  return { paid, list, runner }
}

describe('a decision about one payment that stands where another one stood', () => {
  it.each(['rerun', { result: 'by hand' }] as const)('says nothing of that one: %j', async (decision) => {
    const { paid, list, runner } = await paidA()
    list.splice(0, 1, 'B', 'A')
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', step: '0~1', effects: ['0'] }] })
    expect(await runner.resolve('r', '0~1', decision, { resume: true })).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', step: '1', effects: ['0'] }] })
    expect(await runner.resolve('r', '1', 'reuse', { resume: true })).toMatchObject({ status: 'completed' })
    expect(paid.map(({ what }) => what)).toEqual(decision === 'rerun' ? ['A', 'B'] : ['A'])
  })

  it('is not that it is given what that one gave: it has another input, and that is what the question says', async () => {
    const { list, runner } = await paidA()
    list.splice(0, 1, 'B')
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ reasons: [{ type: 'repeat', step: '0~1', choices: ['rerun', 'skip', 'result'], message: expect.stringMatching(/Its input is another one than that of 0$/) }] })
    await expect(runner.resolve('r', '0~1', 'reuse')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', message: expect.stringContaining('0 asked for something else') })
  })

  it('lets what asks for something else again go on without another question', async () => {
    const { paid, list, runner } = await paidA()
    list.splice(0, 1, 'B', 'C', 'D')
    await runner.resume('r')
    expect(await runner.resolve('r', '0~1', 'rerun', { resume: true })).toMatchObject({ status: 'completed' })
    expect(paid.map(({ what }) => what)).toEqual(['A', 'B', 'C', 'D'])
  })
})

describe.each(['tool', 'step'] as const)('two payments by a %s that were made, before what comes first became something else', (by) => {
  it('are each answered with what they gave', async () => {
    const { paid, pay } = desk(by)
    const fail = failingOnce()
    let isOld = true
    const agent = defineAgent('a', async (run) => {
      if (!isOld) await run.read('new', { input: 1 }, () => 1)
      const told = [await pay(run, 'A'), await pay(run, 'B')]
      fail()
      return told
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    isOld = false
    const first = await runner.resume('r')
    expect(first).toMatchObject({ reasons: [{ type: 'repeat', effects: [expect.anything(), expect.anything()] }] })
    const second = await runner.resolve('r', waitingIn(first), 'reuse', { resume: true })
    expect(await runner.resolve('r', waitingIn(second!), 'reuse', { resume: true })).toEqual({ status: 'completed', result: ['paid A', 'paid B'] })
    expect(paid).toHaveLength(2)
  })
})

describe('a payment that was made, beside one that was killed in the middle, after both moved', () => {
  it('is asked about as what was made, not as what nobody knows', async () => {
    const { paid, pay } = desk('step')
    const store = memoryStore()
    let places = ['x', 'y']
    const agent = defineAgent('a', async (run) => {
      for (const [i, place] of places.entries()) await run.branch(place, () => pay(run, ['ada', 'bob'][i]!))
    })
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"name":"pay".*paid bob/, 'before')
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    places = ['v', 'w']
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', step: 'b:v#0/0', effects: ['b:x#0/0', 'b:y#0/0'], message: expect.stringMatching(/made already \(b:x#0\/0\); nobody knows whether b:y#0\/0 took effect/) }] })
    expect(paid.map(({ what }) => what)).toEqual(['ada', 'bob'])
  })
})

describe('a loop that moves into branches, after it was killed', () => {
  /** Killed while it paid the third of them; it stands in branches then. */
  async function moved(input: boolean) {
    const paid: string[] = []
    const warned: string[] = []
    const pay = (run: Run, who: string) => run.step('pay', input ? { input: who } : {}, () => (paid.push(who), `paid ${who}`))
    const store = memoryStore()
    let isMoved = false
    const agent = defineAgent('a', async (run) => {
      const told: unknown[] = []
      for (const who of ['ada', 'bob', 'cy']) told.push(await (isMoved ? run.branch(who, () => pay(run, who)) : pay(run, who)))
      return told
    })
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"name":"pay".*paid cy/, 'before')
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    isMoved = true
    const onEvent = (event: RunEvent): void => void (event.type === 'warning' && warned.push(event.code))
    return { paid, warned, runner: createRunner({ agents: [agent], store, clock: later(), ...quick, onEvent }) }
  }

  it('each payment is answered with what it gave, the one in doubt is made when somebody says so, and nothing is told to be left', async () => {
    const { paid, warned, runner } = await moved(true)
    let outcome = await runner.resume('r')
    for (const decision of ['reuse', 'reuse', 'rerun'] as const) outcome = (await runner.resolve('r', waitingIn(outcome), decision, { resume: true }))!
    expect(outcome).toEqual({ status: 'completed', result: ['paid ada', 'paid bob', 'paid cy'] })
    expect(paid).toEqual(['ada', 'bob', 'cy', 'cy'])
    expect(warned).not.toContain('EFFECTS_LEFT')
  })

  it('where nothing says whose result is whose, none is given for another one: it has to be said', async () => {
    const { paid, runner } = await moved(false)
    let outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ reasons: [{ type: 'repeat', effects: ['0', '1', '2'], choices: ['rerun', 'skip', 'result'], message: expect.stringContaining('any of them may be its own') }] })
    await expect(runner.resolve('r', waitingIn(outcome), 'reuse')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', message: expect.stringContaining('0, 1 gave different ones') })
    for (const who of ['ada', 'bob', 'cy']) outcome = (await runner.resolve('r', waitingIn(outcome), { result: `paid ${who}` }, { resume: true }))!
    expect(outcome).toEqual({ status: 'completed', result: ['paid ada', 'paid bob', 'paid cy'] })
    expect(paid).toEqual(['ada', 'bob', 'cy'])
  })
})

describe('a decision that is given with the reason it was asked for with', () => {
  it('is taken, and is refused where the id has become that of another call', async () => {
    const { paid, list, runner } = await paidA()
    const reasonFor = async (what: string) => {
      list.splice(0, list.length, what)
      const outcome = await runner.resume('r')
      const [reason] = outcome.status === 'suspended' ? outcome.reasons : []
      if (reason?.type !== 'repeat') throw new Error(`it does not wait: ${JSON.stringify(outcome)}`)
      return reason
    }
    const [b, c] = [await reasonFor('B'), await reasonFor('C')]
    expect(c.step).toBe(b.step)
    await expect(runner.resolve('r', b, 'rerun')).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE', message: expect.stringContaining('is another call now') })
    expect(await runner.resolve('r', c, 'rerun', { resume: true })).toMatchObject({ status: 'completed' })
    expect(paid.map(({ what }) => what)).toEqual(['A', 'C'])
  })

  it('may be given with the position of the newest entry that was known instead: refused where the call was started, or is another, since', async () => {
    const { paid, list, runner } = await paidA()
    const known = async (): Promise<number> => (await runner.history('r')).at(-1)!.seq
    const waitWith = async (what: string) => {
      list.splice(0, list.length, what)
      const outcome = await runner.resume('r')
      const [reason] = outcome.status === 'suspended' ? outcome.reasons : []
      return { step: (reason as { step: string }).step, asOf: await known() }
    }
    const b = await waitWith('B')
    const c = await waitWith('C')
    const refused = (what: string) => ({ code: 'NOTHING_TO_RESOLVE', message: expect.stringContaining(what) })
    await expect(runner.resolve('r', b.step, 'rerun', { asOf: b.asOf })).rejects.toMatchObject(refused('is another call now'))
    for (const asOf of [0, 1.5, c.asOf + 1]) await expect(runner.resolve('r', c.step, 'rerun', { asOf })).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining(`as of entry ${asOf}`) })
    expect(await runner.resolve('r', c.step, 'rerun', { asOf: c.asOf, resume: true })).toMatchObject({ status: 'completed' })
    expect(paid.map(({ what }) => what)).toEqual(['A', 'C'])
  })

  it('must be about something that has an id', async () => {
    const runner = createRunner({ agents: [defineAgent('a', async () => 1)], store: memoryStore() })
    await runner.run('a', 1, { runId: 'r' })
    await expect(runner.resolve('r', { tool: 'pay' } as never, 'rerun')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

it('a payment that a model asks for in the same words, at another place and of a tool whose schema adds a default by now, is not made again without a question', async () => {
  const paid: string[] = []
  const fail = failingOnce()
  let isDeployed = false
  const schemas = [z.object({ order: z.number() }), z.object({ order: z.number(), currency: z.string().default('EUR') })]
  const pays = async (run: Run): Promise<unknown> => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'pay', input: { order: 7 } }] } : { text: 'done' }))
    const tools = run.tools({ pay: tool({ inputSchema: schemas[isDeployed ? 1 : 0]!, execute: async (input) => (paid.push(JSON.stringify(input)), 'receipt') }) })
    return (await generateText({ model: run.model(model), tools, prompt: 'Pay order 7', stopWhen: stepCountIs(3) })).steps[0]!.toolResults[0]?.output
  }
  const agent = defineAgent('a', async (run) => {
    const told = await (isDeployed ? run.branch('eu', () => pays(run)) : pays(run))
    fail()
    return told
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
  await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
  isDeployed = true
  const outcome = await runner.resume('r')
  expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['0/c:c'] }] })
  expect(await runner.resolve('r', waitingIn(outcome), 'reuse', { resume: true })).toEqual({ status: 'completed', result: 'receipt' })
  expect(paid).toEqual(['{"order":7}'])
})

it('a payment that waits for one in doubt, which an agent has left behind and nobody asks for any more, can be decided about itself', async () => {
  const paid: string[] = []
  const store = memoryStore()
  const isPaid = Promise.withResolvers<void>()
  const pay = (run: Run, what: string): Promise<unknown> => run.step('pay', { input: what }, () => (paid.push(what), isPaid.resolve(), paid.length === 1 ? new Promise(() => {}) : 'receipt'))
  const racing = defineAgent('racing', (run) => Promise.race([run.branch('quick', () => run.read('price', () => isPaid.promise.then(() => 80))), run.branch('slow', () => pay(run, 'A'))]))
  const agent = defineAgent('a', async (run) => {
    await run.agent(racing, 1)
    return pay(run, 'A')
  })
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended".*"kind":"agent"/, 'before')
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
  await died
  const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
  const outcome = await runner.resume('r')
  expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', choices: ['rerun', 'skip', 'result'] }] })
  expect(await runner.resolve('r', waitingIn(outcome), 'rerun', { resume: true })).toEqual({ status: 'completed', result: 'receipt' })
  expect(paid).toEqual(['A', 'A'])
})

it('a payment in doubt, of which somebody says itself that it may happen again, holds up nothing else, though nobody asks for it any more', async () => {
  const store = memoryStore()
  const paid: number[] = []
  let orders = [0]
  const agent = defineAgent('a', async (run) => {
    for (const order of orders) await run.step('pay', { input: order }, () => paid.push(order))
  })
  const dying = mortal(store)
  const died = dying.killAt(/"step-ended"/)
  void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, {}, { runId: 'r' })
  await died
  orders = [1, 2, 3]
  const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
  expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', step: '1', effects: ['0'] }] })
  expect(await runner.resolve('r', '0', 'rerun', { resume: true })).toMatchObject({ status: 'completed' })
  expect(paid).toEqual([0, 1, 2, 3])
})
