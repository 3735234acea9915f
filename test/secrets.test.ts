/** Named secrets: their names are stored and shown, their values are in the run, live and replayed (R14, C26). */
import { generateText, isStepCount, streamText, tool, type ToolSet } from 'ai'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, describeEvent, memoryStore, type Run, type RunnerOptions, type StampedEvent } from '../src/index.ts'
import { failingOnce } from './support/failing-once.ts'
import { testModel } from './support/model.ts'
import { STORES, type Place } from './support/stores.ts'

const KEY = 'sk_live_4eC39HqLyjWDarjtT1'
const ODD = 'pa"ss\\word ä'
const quick = { idleMs: 5, replayHoldMs: 20, retry: { maxAttempts: 2, backoff: { baseMs: 1, jitter: 'none' } } } satisfies Partial<RunnerOptions>

/** What must not be found anywhere in a store: each secret, also as JSON has it. */
const CLEAR = [KEY, ODD, JSON.stringify(ODD).slice(1, -1), JSON.stringify(JSON.stringify(ODD).slice(1, -1)).slice(1, -1), 'word \u00c3\u00a4', Buffer.from(ODD).toString('latin1')]

describe.each(STORES)('in a $kind store', ({ make }) => {
  let place: Place
  beforeEach(() => void (place = make()))
  afterEach(() => place.cleanup())

  const expectHidden = async (): Promise<void> => {
    const bytes = await place.bytes()
    expect(bytes).toContain('{{secret:KEY')
    for (const text of CLEAR) expect(bytes).not.toContain(text)
  }

  it.each(['generateText', 'streamText'] as const)('a secret in input, arguments, results, responses and errors of %s is stored by its name, and whole in the run, live and replayed (C26)', async (mode) => {
    const fail = failingOnce()
    const model = testModel((turn) => {
      if (turn === 0) return { text: `I use ${KEY}.`, calls: [{ id: 'c1', tool: 'login', input: { [KEY]: { password: ODD } } }, { id: 'c2', tool: 'fails', input: { url: `https://a.b/?k=${encodeURIComponent(ODD)}` } }] }
      return { text: `Done with ${ODD}` }
    })
    const seen: unknown[] = []
    const agent = defineAgent('a', async (run: Run, input: { auth: string }) => {
      const tools: ToolSet = run.tools({
        login: tool({ inputSchema: z.record(z.string(), z.unknown()), execute: async (given) => ({ token: `Bearer ${KEY}`, given }) }),
        fails: tool({ inputSchema: z.object({ url: z.string() }), execute: async (): Promise<string> => { throw new Error(`401 for ${KEY} and ${ODD}`) } }),
      }, { fails: { idempotent: true } })
      const options = { model: run.model(model), tools, system: `The key is ${KEY}`, prompt: `Log in with ${input.auth}`, stopWhen: isStepCount(3) }
      const result = mode === 'generateText' ? await generateText(options) : streamText(options)
      const [text, steps] = [await result.text, await result.steps]
      const read = await run.read('look', () => ({ error: new Error(`for ${KEY}`, { cause: ODD }), at: new Date(0) }))
      seen.push(JSON.parse(JSON.stringify([input, text, steps.flatMap(({ content }) => content.filter((part) => part.type !== 'text')), read.error.message, read.error.cause, read.at])))
      fail()
      return { text, auth: input.auth }
    })
    const input = { auth: `Basic ${ODD}` }
    const runner = createRunner({ agents: [agent], store: place.open(), secrets: { KEY, ODD }, ...quick })
    await expect(runner.run(agent, input, { runId: 'r' })).rejects.toThrow(/later/)
    await runner.close()
    await expectHidden()

    const again = createRunner({ agents: [agent], store: place.open(), secrets: { KEY, ODD }, ...quick })
    expect(await again.run(agent, input, { runId: 'r' })).toEqual({ status: 'completed', result: { text: `Done with ${ODD}`, auth: `Basic ${ODD}` } })
    expect(await again.result('r')).toMatchObject({ result: { auth: `Basic ${ODD}` } })
    await again.close()
    await expectHidden()
    expect(model.requests).toHaveLength(2)
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(JSON.stringify(seen[0])).toContain(JSON.stringify(ODD).slice(1, -1))
  })

  it('a secret that was rotated changes nothing that was recorded: all replays, with the new value in it', async () => {
    const fail = failingOnce()
    let key = KEY
    let calls = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'login', input: { key } }] } : { text: 'done' }))
    const agent = defineAgent('a', async (run: Run, input: { key: string }) => {
      const tools = run.tools({ login: tool({ inputSchema: z.object({ key: z.string() }), execute: async (given) => (calls++, `session of ${given.key}`) }) }, { login: { effectKey: ({ key }) => key } })
      const { steps } = await generateText({ model: run.model(model), tools, system: `key ${key}`, prompt: input.key, stopWhen: isStepCount(3) })
      const own = await run.step('own', { key: input.key, input: { [input.key]: 1 } }, () => (calls++, input.key))
      await run.branch(input.key, () => run.step('inside', () => calls++))
      fail()
      return [own, steps[0]!.toolResults[0]!.output]
    })
    const runner = createRunner({ agents: [agent], store: place.open(), secrets: { KEY }, ...quick })
    await expect(runner.run(agent, { key }, { runId: 'r' })).rejects.toThrow(/later/)
    await runner.close()
    key = 'a "new" one, rotated'
    const events: StampedEvent[] = []
    const again = createRunner({ agents: [agent], store: place.open(), secrets: { KEY: key }, ...quick, onEvent: (event) => events.push(event) })
    expect(await again.run(agent, { key }, { runId: 'r' })).toEqual({ status: 'completed', result: [key, `session of ${key}`] })
    await again.close()
    expect(calls).toBe(3)
    expect(model.requests).toHaveLength(2)
    expect(events.flatMap((event) => (event.type === 'replay-diverged' || event.type === 'config-changed' || event.type === 'warning' ? [event] : []))).toEqual([])
  })

  it('a secret in a name (of a step, tool, model, call, branch, child agent, effect) is stored and shown by its own, and a rotated one changes nothing', async () => {
    const fail = failingOnce()
    let key = KEY
    let calls = 0
    const model = (): ReturnType<typeof testModel> => ({ ...testModel((turn) => (turn === 0 ? { calls: [{ id: `call-${key}`, tool: `login-${key}`, input: {} }] } : { text: 'done' })), provider: `at ${key}`, modelId: key })
    const agent = defineAgent('a', async (run) => {
      const child = defineAgent(`child ${key}`, (inner: Run) => inner.step(`own ${key}`, () => calls++))
      const description = run.attempt === 1 ? 'logs in' : 'does log in'
      const tools = run.tools({ [`login-${key}`]: tool({ description, inputSchema: z.object({}), execute: async () => calls++ }) }, { [`login-${key}`]: { effectKey: () => key } })
      await generateText({ model: run.model(model()), tools, prompt: 'Log in', stopWhen: isStepCount(3) })
      await run.step(`post to https://hooks.test/${key}`, () => calls++)
      await run.branch(`for ${key}`, () => run.read(`look ${key}`, () => 1))
      await run.agent(child, {})
      const charged = await run.step(`charge ${key}`, () => { calls++; throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }).catch((error: Error) => error.message)
      fail()
      return charged
    })
    const events: StampedEvent[] = []
    const open = (): ReturnType<typeof createRunner> => createRunner({ agents: [agent], store: place.open(), secrets: { KEY: key }, ...quick, onEvent: (event) => events.push(event) })
    const runner = open()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    await runner.close()
    await expectHidden()
    key = 'rotated_in_the_meantime'
    const again = open()
    expect(await again.resume('r')).toMatchObject({ status: 'completed' })
    expect(calls).toBe(4)
    expect(events.filter(({ type }) => type === 'replay-diverged')).toEqual([])
    expect(events.find((event) => event.type === 'config-changed')).toMatchObject({ changed: ['tool login-{{secret:KEY}}'] })
    expect(JSON.stringify([events, await again.history('r')])).not.toMatch(/sk_live|rotated_in/)
    await again.close()
    await expectHidden()
    expect(await place.bytes()).not.toContain(key)
  })

  it('a step in doubt whose name holds a secret is not repeated under a new value of it', async () => {
    let key = KEY
    let calls = 0
    const agent = defineAgent('a', (run) => run.step(`post to https://hooks.test/${key}`, () => { calls++; throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }))
    const open = (): ReturnType<typeof createRunner> => createRunner({ agents: [agent], store: place.open(), secrets: { KEY: key }, ...quick })
    const runner = open()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/reset/)
    await runner.close()
    key = 'rotated_in_the_meantime'
    const again = open()
    expect(await again.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', tool: 'post to https://hooks.test/{{secret:KEY}}' }] })
    expect(calls).toBe(1)
    await again.close()
  })

  it.each<[string, (value: string) => string, string, string]>([
    ['percent escapes', encodeURIComponent, 'sk_live_4eC39HqL', 'sk/live+4eC39HqL'],
    ['base64 of URLs', (value) => Buffer.from(value).toString('base64url'), 'sk_live_4eC39H1234', 'sk_live_4eC39H1234x'],
    ['base64', (value) => Buffer.from(value).toString('base64'), 'sk_live_4eC39H1234', 'sk_live_4eC39H1234x'],
    ['JSON text', JSON.stringify, 'sk_live_4eC39HqL', 'sk"live_4eC39HqL'],
    ['JSON text in a URL', (value) => encodeURIComponent(JSON.stringify([value])), 'sk"live\\4eC39HqL', 'sk_live_4eC39HqL'],
  ])('a secret in %s is known by its name alone, so that under a value which is written in another way all replays, and a doubt is met again', async (_, put, before, after) => {
    const fail = failingOnce()
    let key = before
    let calls = 0
    const lost = (): never => { calls++; throw Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }
    const model = testModel((turn) => (turn < 3 ? { calls: [{ id: `c${turn} ${put(key)}`, tool: turn === 0 ? 'login' : 'pay', input: { turn } }] } : { text: 'done' }))
    const agent = defineAgent('a', async (run) => {
      const text = `for ${put(key)}`
      const tools = run.tools({
        login: tool({ inputSchema: z.object({ turn: z.number() }), execute: async () => calls++ }),
        pay: tool({ inputSchema: z.object({ turn: z.number() }), execute: async (): Promise<string> => lost() }),
      }, { login: { effectKey: () => text }, pay: { effectKey: () => text } })
      await run.step('charge', { key: text }, () => calls++)
      await run.step(`charge ${text}`, () => calls++)
      await run.branch(text, () => run.step('charge', () => calls++))
      await generateText({ model: run.model(model), tools, prompt: text, stopWhen: isStepCount(run.attempt === 1 ? 2 : 4), maxRetries: 0 })
      fail()
    })
    const events: StampedEvent[] = []
    const open = (): ReturnType<typeof createRunner> => createRunner({ agents: [agent], store: place.open(), secrets: { KEY: key }, ...quick, onEvent: (event) => events.push(event) })
    const runner = open()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    await runner.close()
    expect(calls).toBe(5)
    key = after
    const again = open()
    expect(await again.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', tool: 'pay' }] })
    await again.close()
    expect(calls).toBe(5)
    expect(events.filter(({ type }) => type === 'replay-diverged' || type === 'config-changed' || type === 'warning')).toEqual([])
  })

  it('a secret that is not given any more: SECRET_MISSING with its name, before the handler starts, and nothing is changed', async () => {
    let handled = 0
    const agent = defineAgent('a', async (run) => {
      handled++
      await run.read('look', () => KEY)
      if (run.attempt === 1) throw new Error('later')
    })
    const runner = createRunner({ agents: [agent], store: place.open(), secrets: { KEY }, ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    await runner.close()
    const before = await place.bytes()
    const without = createRunner({ agents: [agent], store: place.open(), ...quick })
    await expect(without.resume('r')).rejects.toMatchObject({ code: 'SECRET_MISSING', message: expect.stringMatching(/run "r" holds the secret KEY/) })
    expect(JSON.stringify(await without.history('r'))).toContain('{{secret:KEY}}')
    await without.close()
    expect(handled).toBe(1)
    if (place.open().kind === 'memory') expect(await place.bytes()).toBe(before)
  })

  it('a decision with a secret in it is stored by its name, and reaches the run whole', async () => {
    const agent = defineAgent('a', async (run) => run.step('pay', { key: KEY }, () => { throw Object.assign(new Error(`reset with ${KEY}`), { code: 'ECONNRESET' }) }).catch((error: Error) => {
      if (run.attempt === 1) throw error
      return error.message
    }))
    const options = { agents: [agent], secrets: { KEY }, ...quick }
    const runner = createRunner({ ...options, store: place.open() })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/reset/)
    const [doubt] = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-started' ? [entry.step.id] : []))
    expect(doubt).toBe(`s:pay:${encodeURIComponent('{{secret:KEY}}')}#0`)
    await runner.resolve('r', doubt!, { result: { paid: KEY } })
    await expectHidden()
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: { paid: KEY } })
    await runner.close()
    await expectHidden()
  })

  it.each(['approve', 'deny'] as const)('a secret in who answers, and why, is stored and shown by its name when somebody says %s', async (say) => {
    const events: StampedEvent[] = []
    const agent = defineAgent('a', async (run: Run) => {
      const tools = run.tools({ refund: tool({ inputSchema: z.object({}), execute: async () => 'paid' }) }, { refund: { approval: true } })
      await generateText({ model: run.model(testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'refund', input: {} }] } : { text: 'done' }))), tools, prompt: 'go', stopWhen: isStepCount(3) })
    })
    const runner = createRunner({ agents: [agent], store: place.open(), secrets: { KEY }, redact: [/\S+@\S+/], ...quick, onEvent: (event) => events.push(event) })
    await runner.run(agent, {}, { runId: 'r' })
    const by = `ada@example.com with ${KEY}`
    if (say === 'approve') await runner.approve('r', '0/c:c1', { by })
    else await runner.deny('r', '0/c:c1', { by, reason: `not with ${KEY}` })
    await expectHidden()
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    await expectHidden()
    const shown = JSON.stringify([events, await runner.history('r')])
    expect(shown.match(/"by":"\[redacted\] with \{\{secret:KEY\}\}"/g)).toHaveLength(2)
    expect(shown).not.toMatch(/sk_live|ada@/)
    await runner.close()
  })

  it('a late result with a secret in it waits in the inbox by its name, and reaches the run whole', async () => {
    const late = Promise.withResolvers<object>()
    const agent = defineAgent('a', async (run) => run.step('pay', () => (run.attempt === 1 ? late.promise : { again: true })))
    const first = createRunner({ agents: [agent], store: place.open(), secrets: { KEY }, ...quick, timeouts: { toolMs: 20 }, drainMs: 20 })
    await expect(first.run(agent, {}, { runId: 'r' })).rejects.toThrow(/outcome is unknown/)
    late.resolve({ receipt: `for ${KEY}` })
    const looking = place.open()
    await looking.open()
    await vi.waitFor(async () => expect(await looking.inbox('r', 0)).toHaveLength(1))
    expect((await looking.inbox('r', 0))[0]!.body).toMatch(/late-result.*for \{\{secret:KEY\}\}/)
    await looking.close()
    await first.close()
    await expectHidden()
    const second = createRunner({ agents: [agent], store: place.open(), secrets: { KEY }, ...quick })
    expect(await second.resume('r')).toMatchObject({ status: 'completed', result: { receipt: `for ${KEY}` } })
    await second.close()
    await expectHidden()
  })

  it('is not shown: events, history and what redact names are masked, the outcome is whole', async () => {
    const events: StampedEvent[] = []
    const agent = defineAgent('a', async (run, input: { email: string }) => ({ read: await run.read('look', () => ({ password: 'x', note: `${KEY} of ${input.email}` })) }))
    const runner = createRunner({ agents: [agent], store: place.open(), secrets: { KEY }, redact: [/\S+@\S+/, 'password'], ...quick, onEvent: (event) => events.push(event) })
    const result = { read: { password: 'x', note: `${KEY} of me@home` } }
    expect(await runner.run(agent, { email: 'me@home' }, { runId: 'r', threadId: 'me@home' })).toEqual({ status: 'completed', result })
    expect(await runner.run(agent, { email: 'me@home' }, { runId: 'r' })).toEqual({ status: 'completed', result })
    const shown = JSON.stringify([events, await runner.history('r'), await runner.list(), await runner.get('r')])
    for (const text of [KEY, 'me@home', '"password":"x"']) expect(shown).not.toContain(text)
    expect(shown).toContain('{{secret:KEY}} of [redacted]')
    expect(await place.bytes()).toContain('me@home')
    await runner.close()
  })
})

it('why a run waits is masked in its outcome too: it is a text for people', async () => {
  const agent = defineAgent('a', async (run) => run.read('look', () => { throw Object.assign(new Error(`429 for ${KEY}, me@home`), { statusCode: 429, responseHeaders: { 'retry-after': '7200' } }) }))
  const runner = createRunner({ agents: [agent], store: memoryStore(), secrets: { KEY }, redact: [/\S+@\S+/], ...quick })
  expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'retry-after', message: expect.stringMatching(/429 for \{\{secret:KEY\}\}, \[redacted\]/) }] })
  await runner.close()
})

it('an error that cannot be read whole is shown as far as it can, and ends nothing else', async () => {
  const events: StampedEvent[] = []
  const error = Object.defineProperty(new Error(`for ${KEY}`), 'body', { enumerable: true, get: () => { throw new Error('no body') } })
  const agent = defineAgent('a', async () => { throw error })
  const runner = createRunner({ agents: [agent], store: memoryStore(), secrets: { KEY }, ...quick, onEvent: (event) => events.push(event) })
  await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_FAILED', cause: error })
  expect(events.find(({ type }) => type === 'run-failed')).toMatchObject({ error: { message: 'for {{secret:KEY}}', body: '[redacted]' } })
  expect(String((runner.mask(error) as Error).message)).toBe('for {{secret:KEY}}')
  await runner.close()
})

it('no run, thread, agent or version is named by a secret', async () => {
  const agent = defineAgent('a', async () => 1)
  const runner = createRunner({ agents: [agent], secrets: { KEY }, retry: false })
  await expect(runner.run(agent, {}, { runId: `run-${KEY}` })).rejects.toMatchObject({ code: 'INVALID_RUN_ID', message: expect.stringMatching(/holds the secret KEY/) })
  await expect(runner.run(agent, {}, { runId: 'r', threadId: KEY })).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(/threadId holds the secret KEY/) })
  await runner.close()
  for (const named of [defineAgent(`a ${KEY}`, async () => 1), defineAgent('b', async () => 1, { version: KEY })]) {
    const make = (): unknown => createRunner({ agents: [named], secrets: { KEY }, retry: false })
    expect(make).toThrow(/^agents\[0\]: its (name|version) holds the secret KEY/)
    expect(make).not.toThrow(KEY)
  }
})

it('names of steps, reads and tools are masked in what is shown, and a reason in which one is masked is taken by resolve', async () => {
  const CARD = '4111111111111111'
  const events: StampedEvent[] = []
  const agent = defineAgent('a', async (run: Run) => {
    await run.read(`look up ${CARD}`, () => 1)
    return run.step(`charge ${CARD}`, { input: 1 }, () => Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' })))
  })
  const runner = createRunner({ agents: [agent], store: memoryStore(), redact: [/\d{16}/, 'name', 'tool'], ...quick, onEvent: (event) => events.push(event) })
  await runner.run(agent, null, { runId: 'r' }).catch(() => {})
  const outcome = await runner.resume('r')
  const [reason] = outcome.status === 'suspended' ? outcome.reasons : []
  expect(reason).toMatchObject({ type: 'in-doubt', tool: 'charge [redacted]' })
  const history = await runner.history('r')
  expect(JSON.stringify([events, events.map(describeEvent), outcome, history])).not.toContain(CARD)
  expect(events.map(describeEvent).join('\n')).toContain('read look up [redacted]')
  expect(history.flatMap(({ entry }) => (entry.type === 'step-ended' ? [entry.step.name] : []))[0]).toBe('look up [redacted]')
  await runner.resolve('r', reason as Parameters<typeof runner.resolve>[1], { result: 2 })
  expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 2 })
  await runner.close()
})
