/** What is cut, by a time limit or by its caller, and what goes on inside of it (R6, R12; B1, C27). */
import { generateText, stepCountIs, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, durable, durableTools, HoldfastError, memoryStore, type Run, type RunnerOptions, type StampedEvent, type Store } from '../src/index.ts'
import { sleep } from '../src/core/clock.ts'
import { manualClock, type ManualClock } from '../src/testing/index.ts'
import { testModel } from './support/model.ts'
import { during } from './support/time.ts'

const codeOf = (error: unknown): string => (HoldfastError.isInstance(error) ? error.code : String(error))
const inputSchema = z.object({ order: z.number() })

interface Scene {
  readonly clock: ManualClock
  readonly events: StampedEvent[]
  readonly world: string[]
  drive(handler: (run: Run) => unknown, options?: Partial<RunnerOptions>): Promise<unknown>
  /** A charge of an order, which takes `ms` whether or not it is told to stop. */
  charge(ms: number): ReturnType<typeof chargeOf>
}

const chargeOf = (clock: ManualClock, world: string[], ms: number) => tool({
  inputSchema,
  execute: async ({ order }): Promise<string> => {
    await sleep(clock, ms)
    world.push(`charged ${order}`)
    return `receipt ${order}`
  },
})

function scene(): Scene {
  const clock = manualClock(1_000_000)
  const events: StampedEvent[] = []
  const world: string[] = []
  return {
    clock, events, world,
    charge: (ms) => chargeOf(clock, world, ms),
    drive: (handler, options) => {
      const runner = createRunner({ agents: [defineAgent('a', handler)], store: memoryStore(), clock, idleMs: 10_000, retry: { backoff: { baseMs: 1, jitter: 'none' } }, ...options, onEvent: (event) => events.push(event) })
      return during(clock, runner.run('a', 1, { runId: 'r' }))
    },
  }
}

interface Billing {
  readonly policy?: { composite?: boolean; timeoutMs?: number }
  readonly again?: 'billing' | 'charge'
  readonly effectKey?: boolean
  /** How long the charge takes, and what the sub-agent's model says afterwards. */
  readonly chargeMs?: number
  readonly says?: () => Promise<string> | string
}

/** A sub-agent as a tool, that charges order 7; the lead asks for it, and again when it is told of a failure. */
function billing({ clock, charge, events }: Scene, { policy = { composite: true, timeoutMs: 100 }, again = 'billing', effectKey = false, chargeMs = 400, says = () => 'charged' }: Billing = {}) {
  const told: string[] = []
  const inner = durableTools({ charge: charge(chargeMs) }, effectKey ? { charge: { effectKey: ({ order }: { order: number }) => String(order) } } : {})
  const sub = testModel(async (turn) => (turn === 0 ? { calls: [{ id: 'i', tool: 'charge', input: { order: 7 } }] } : { text: await says() }))
  const lead = testModel((turn, call) => {
    if (turn > 0) told.push(JSON.stringify(call.prompt.at(-1)))
    return turn < 2 ? { calls: [{ id: `o${turn}`, tool: turn === 0 ? 'billing' : again, input: { order: 7 } }] } : { text: 'done' }
  })
  const tools = durableTools({
    billing: tool({ inputSchema, execute: async () => (await generateText({ model: durable(sub), tools: inner, prompt: 'charge order 7', stopWhen: stepCountIs(3) })).text }),
  }, { billing: policy })
  const handler = async () => (await generateText({ model: durable(lead), tools: { ...tools, ...inner }, prompt: 'x', stopWhen: stepCountIs(4) })).text
  return { handler, told, sub, doubts: () => events.flatMap((e) => (e.type === 'step-in-doubt' ? [`${e.name} ${e.cause}`] : [])), clock }
}

describe('an effect inside of a tool that is cut at its time limit', () => {
  it.each(['billing', 'charge'] as const)('is in doubt: asked for again through %s it does not start, and is answered with what comes of the first', async (again) => {
    const it = scene()
    const { handler, told, doubts } = billing(it, { again })
    expect(await it.drive(handler)).toEqual({ status: 'completed', result: 'done' })
    expect(it.world).toEqual(['charged 7'])
    expect(doubts()).toEqual(['charge timeout', 'charge in-doubt'])
    expect(it.events).toContainEqual(expect.objectContaining({ type: 'doubt-settled', name: 'charge', by: 'late-result', as: 'completed' }))
    expect(told[0]).toMatch(/tool \\?"billing\\?" timed out after 100 ms\. Inside of it tool \\?"charge\\?" \(0\/c:o0\/0\/c:i\) had not ended\. The outcome of that is unknown: it may have taken effect, do not repeat it/)
  })

  it('also where the calls of the tool are told apart', async () => {
    const it = scene()
    expect(await it.drive(billing(it, { effectKey: true }).handler)).toMatchObject({ status: 'completed' })
    expect(it.world).toEqual(['charged 7'])
  })

  it('also where the tool around it has effects of its own: both are in doubt', async () => {
    const it = scene()
    const { handler, doubts } = billing(it, { policy: { timeoutMs: 100 }, again: 'charge' })
    expect(await it.drive(handler)).toMatchObject({ status: 'completed' })
    expect(it.world).toEqual(['charged 7'])
    expect(doubts()).toEqual(['charge timeout', 'billing timeout', 'charge in-doubt'])
  })

  it('has its record before that of the tool, which answers for all that it holds', async () => {
    const it = scene()
    const store = memoryStore()
    const { handler } = billing(it)
    await it.drive(handler, { store })
    const history = await createRunner({ agents: [], store }).history('r')
    expect(history.flatMap(({ entry }) => (entry.type === 'step-ended' && entry.step.kind === 'tool' ? [`${entry.step.name} ${entry.outcome.type}`] : [])).slice(0, 2)).toEqual(['charge unknown', 'billing error'])
  })

  it('is waited for by a person where nothing comes of it, and the run ends meanwhile', async () => {
    const it = scene()
    const { handler } = billing({ ...it, charge: () => it.charge(10_000_000) })
    expect(await it.drive(handler, { idleMs: 5 })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', tool: 'charge', effects: ['0/c:o0/0/c:i'] }] })
  })
})

describe('an effect that was done inside of a composite tool', () => {
  it('is told of where the tool is cut behind it', async () => {
    const it = scene()
    const { handler, told } = billing(it, { chargeMs: 10, says: () => sleep(it.clock, 1_000).then(() => 'charged') })
    await it.drive(handler)
    expect(told[0]).toMatch(/tool \\?"billing\\?" timed out after 100 ms\. Inside of it tool \\?"charge\\?" \(0\/c:o0\/0\/c:i\) was done: do not repeat it/)
  })

  it('is told of where the result of the tool is too large', async () => {
    const it = scene()
    const { handler, told } = billing(it, { chargeMs: 10, says: () => 'x'.repeat(2_000) })
    await it.drive(handler, { maxResultBytes: 1_500 })
    expect(told[0]).toMatch(/result of tool \\?"billing\\?" takes 2011 bytes.*Inside of it tool \\?"charge\\?" \(0\/c:o0\/0\/c:i\) was done: do not repeat it/)
  })
})

describe('a step that its caller cancels', () => {
  it('while it is written ahead is not made, and nobody is in doubt about it: the next one is made', async () => {
    const it = scene()
    const controller = new AbortController()
    const inner = memoryStore()
    const append: Store['append'] = async (runId, batch) => {
      if (batch.entries.some(({ body }) => body.includes('"step-started"'))) controller.abort(new DOMException('enough', 'AbortError'))
      return inner.append(runId, batch)
    }
    const outcome = await it.drive(async (run) => {
      const { charge } = run.tools({ charge: it.charge(400) })
      const ask = (toolCallId: string, abortSignal?: AbortSignal) => Promise.resolve(charge.execute!({ order: 7 }, { toolCallId, messages: [], context: {}, ...(abortSignal && { abortSignal }) })).catch(String)
      return [await ask('a', controller.signal), it.world.length, await ask('b')]
    }, { store: { ...inner, append } })
    expect(outcome).toEqual({ status: 'completed', result: ['AbortError: enough', 0, 'receipt 7'] })
    expect(it.events.filter(({ type }) => type === 'step-in-doubt')).toEqual([])
    // To say so of the first would be wrong: its code was not called.
    expect(it.events.flatMap((event) => (event.type === 'step-started' ? [event.step] : []))).toEqual(['1'])
    expect((await inner.read('r')).map(({ body }) => JSON.parse(body) as object)).toContainEqual(expect.objectContaining({ type: 'settled', step: '0', by: 'owner', settlement: { type: 'not-done' } }))
  })

  it('leaves the effects inside of it in doubt, and says which', async () => {
    const it = scene()
    const controller = new AbortController()
    it.clock.timer(100, () => controller.abort(new DOMException('enough', 'AbortError')))
    const outcome = await it.drive(async (run) => {
      const { charge } = run.tools({ charge: it.charge(400) })
      const { around } = run.tools({ around: tool({ inputSchema, execute: async (input) => charge.execute!(input, { toolCallId: 'i', messages: [], context: {} }) }) }, { around: { composite: true } })
      const options = { toolCallId: 'o', messages: [], context: {} }
      const first = await Promise.resolve(around.execute!({ order: 7 }, { ...options, abortSignal: controller.signal })).catch((error: unknown) => error)
      return [codeOf(first), (first as Error).message.includes('tool "charge" (0/0) had not ended'), await charge.execute!({ order: 7 }, { ...options, toolCallId: 'again' })]
    })
    expect(outcome).toEqual({ status: 'completed', result: ['OUTCOME_UNKNOWN', true, 'receipt 7'] })
    expect(it.world).toEqual(['charged 7'])
    expect(it.events).toContainEqual(expect.objectContaining({ type: 'step-in-doubt', name: 'charge', cause: 'cancelled' }))
  })
})

describe('a step that ends without waiting for an effect inside of it', () => {
  it.each([
    ['throws', () => Promise.reject(new Error('no luck')), 'OUTCOME_UNKNOWN'],
    ['gives a value', () => Promise.resolve('shrugs'), 'shrugs'],
  ])('leaves it in doubt where it %s', async (_, end, told) => {
    const it = scene()
    const outcome = await it.drive(async (run) => {
      const pay = () => run.step('pay', { input: 7 }, async () => (await sleep(it.clock, 400), it.world.push('paid'), 'receipt'))
      const first = await run.read('around', async () => (void pay().catch(() => {}), await sleep(it.clock, 100), end())).catch(codeOf)
      return [first, await pay().catch(codeOf)]
    }, { idleMs: 5, retry: false })
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', effects: ['0/0'] }] })
    expect(it.world).toEqual([])
    expect(it.events).toContainEqual(expect.objectContaining({ type: 'step-finished', name: 'pay', ok: false }))
    if (told === 'OUTCOME_UNKNOWN') expect(it.events).toContainEqual(expect.objectContaining({ type: 'step-finished', name: 'around', ok: false }))
  })
})

describe('the signal of a step', () => {
  it('aborts with the step around it; an effect that throws for that is in doubt, whatever it throws', async () => {
    const it = scene()
    const outcome = await it.drive(async (run) => {
      const pay = () => run.step('pay', { input: 7 }, () => {
        const { signal } = currentStep()!
        return new Promise((_, reject) => signal.addEventListener('abort', () => (it.world.push('told to stop'), reject(new Error('stopped')))))
      })
      // The first of two tries: what the next one asks for is told what came of it.
      return run.read('around', { timeoutMs: 100 }, () => pay()).catch(codeOf)
    }, { retry: { maxAttempts: 2, backoff: { baseMs: 1 } } })
    expect(outcome).toEqual({ status: 'completed', result: 'OUTCOME_UNKNOWN' })
    expect(it.world).toEqual(['told to stop'])
    expect(it.events.filter(({ type }) => type === 'step-in-doubt')).toEqual([expect.objectContaining({ name: 'pay', cause: 'cancelled' })])
  })
})

describe('what waits inside of a step that is cut', () => {
  it('waits no more: nobody is asked about it, and the time of the steps around goes on', async () => {
    const it = scene()
    const controller = new AbortController()
    it.clock.timer(100, () => controller.abort(new DOMException('enough', 'AbortError')))
    const options = { toolCallId: 'o', messages: [], context: {} }
    const outcome = await it.drive(async (run) => {
      const { pay } = run.tools({ pay: it.charge(0) }, { pay: { approval: true } })
      const { around } = run.tools({ around: tool({ inputSchema, execute: async (input) => pay.execute!(input, options) }) }, { around: { composite: true } })
      const { outer } = run.tools({ outer: tool({ inputSchema, execute: async (input) => {
        await Promise.resolve(around.execute!(input, { ...options, abortSignal: controller.signal })).catch(() => {})
        await new Promise(() => {})
      } }) }, { outer: { composite: true, timeoutMs: 1_000 } })
      return Promise.resolve(outer.execute!({ order: 7 }, options)).catch(codeOf)
    })
    expect(outcome).toEqual({ status: 'completed', result: 'STEP_TIMEOUT' })
    expect(it.world).toEqual([])
  })
})

describe('what runs inside of a step that is cut', () => {
  const hang = (signal: AbortSignal | undefined): Promise<never> => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  const subAgent = (what: string) => testModel(async (_, call) => {
    if (what === 'a request that is tried again') throw Object.assign(new Error('Overloaded'), { status: 529 })
    if (what === 'a request that may be asked again in a minute') throw Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '60' } })
    if (what === 'a request that hangs') return hang(call.abortSignal)
    return { calls: [{ id: 'i', tool: 'look', input: { order: 7 } }] }
  })

  it.each(['a request that hangs', 'a request that is tried again', 'a tool that hangs and heeds no signal', 'a request that may be asked again in a minute'])('%s ends with it, and so does its run', async (what) => {
    const it = scene()
    const sub = subAgent(what)
    const look = durableTools({ look: tool({ inputSchema, execute: () => new Promise<string>(() => {}) }) }, { look: { readOnly: true } })
    const outcome = await it.drive(async () => {
      const tools = durableTools({ research: tool({ inputSchema, execute: async () => (await generateText({ model: durable(sub), tools: look, prompt: 's' })).text }) }, { research: { composite: true, timeoutMs: 200 } })
      const lead = testModel((turn) => (turn === 0 ? { calls: [{ id: 'o', tool: 'research', input: { order: 7 } }] } : { text: 'without the research' }))
      return (await generateText({ model: durable(lead), tools, prompt: 'x', stopWhen: stepCountIs(3) })).text
    }, { retry: { maxAttempts: 4, backoff: { baseMs: 1_000, jitter: 'none' } } })
    expect(outcome).toEqual({ status: 'completed', result: 'without the research' })
    expect([sub.requests.length, it.clock.now() <= 1_000_300]).toEqual([1, true])
    expect(it.clock.pending).toBe(0)
  })

  it('has no record: the next try of the step asks for it anew', async () => {
    const it = scene()
    const model = testModel((_, call) => (model.requests.length === 1 ? hang(call.abortSignal) : { text: 'a summary' }))
    const outcome = await it.drive((run) => run.read('around', { timeoutMs: 200 }, async () => (await generateText({ model: run.model(model), prompt: 'x' })).text))
    expect(outcome).toEqual({ status: 'completed', result: 'a summary' })
    expect(model.requests).toHaveLength(2)
  })

  it('has one result: where two tries of the step have come to one each, and the store takes the first only, that counts', async () => {
    const it = scene()
    const inner = memoryStore()
    const second = Promise.withResolvers<void>()
    let ends = 0
    const append: Store['append'] = async (runId, batch) => {
      if (batch.entries.some(({ body }) => /"step-ended".*"name":"tell"/.test(body))) {
        if (++ends > 1) throw new HoldfastError('STORE_UNAVAILABLE', 'no space left on device')
        // Until the second one is on its way, too.
        await second.promise
        for (let turn = 0; turn < 5; turn++) await it.clock.idle()
      }
      return inner.append(runId, batch)
    }
    let told = 0
    const tell = (): number => {
      if (++told > 1) second.resolve()
      return told
    }
    const outcome = await it.drive((run) => run.step('around', { idempotent: true, timeoutMs: 200 }, () => run.step('tell', { idempotent: true }, tell)), { store: { ...inner, append } })
    expect([told, ends]).toEqual([2, 2])
    expect(outcome).toEqual({ status: 'completed', result: 1 })
    expect(it.events.find(({ type }) => type === 'attempt-ended')).toMatchObject({ summary: { recorded: { step: 2 }, unrecorded: [] } })
  })

  it('is given up where what hangs is waited for by the next try: that has a time limit, too', async () => {
    const it = scene()
    const outcome = await it.drive((run) => run.step('around', { idempotent: true, timeoutMs: 200 }, () => run.step('pay', { timeoutMs: Infinity }, () => new Promise(() => {}))).catch(codeOf), { retry: { maxAttempts: 2, backoff: { baseMs: 1, jitter: 'none' } } })
    expect(outcome).toEqual({ status: 'completed', result: 'OUTCOME_UNKNOWN' })
  })
})

describe('what is found out too late inside of what is cut', () => {
  it('is asked of nobody: a call whose doubt was being reconciled waits no more, and the run goes on', async () => {
    const { drive, clock, events, world } = scene()
    const charge = tool({ inputSchema, execute: async ({ order }): Promise<string> => {
      world.push(`charged ${order}`)
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    } })
    const call = (toolCallId: string) => ({ toolCallId, messages: [], context: {} })
    const outcome = await drive(async (run) => {
      const tools = run.tools({ charge }, { charge: { timeoutMs: 10_000, reconcile: async () => (await sleep(clock, 300), 'nobody knows' as never) } })
      const ask = (id: string): unknown => tools.charge.execute!({ order: 7 }, call(id))
      await Promise.resolve(ask('c0')).catch(() => {})
      const { team } = run.tools({ team: tool({ inputSchema: z.object({}), execute: () => ask('c1') }) }, { team: { composite: true, timeoutMs: 100 } })
      const told = await Promise.resolve(team.execute!({}, call('t'))).then(String, codeOf)
      await run.step('later', () => sleep(clock, 1_000))
      return told
    }, { idleMs: 50 })
    expect(outcome).toMatchObject({ status: 'completed', result: 'STEP_TIMEOUT' })
    expect(world).toEqual(['charged 7'])
    expect(events.filter(({ type }) => type === 'step-waiting' || type === 'run-suspended')).toEqual([])
  })
})
