/** Replay, divergence and changes of configuration, through the runner (R4, R5, R8; C6-C13, C16, C30, C34, C36-C38). */
import { generateText, NoObjectGeneratedError, Output, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, currentStep, defineAgent, memoryStore, type Run, type RunEvent, type RunnerOptions } from '../src/index.ts'
import { testModel } from './support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>

/** Fails the first attempt after everything it did, so that the second one replays. */
function failingOnce() {
  let failed = false
  return () => {
    if (failed) return
    failed = true
    throw new Error('later')
  }
}

const ask = (run: Run, model: ReturnType<typeof testModel>, prompt: string, system?: string): Promise<string> =>
  generateText({ model: run.model(model), prompt, ...(system !== undefined && { instructions: system }) }).then((r) => r.text)

describe('a conversation that changes between attempts (C11b)', () => {
  it('diverges with position and reason, and goes on live', async () => {
    let prompt = 'one'
    const model = testModel((_turn, call) => ({ text: `answer to ${JSON.stringify(call.prompt.at(-1)!.content)}` }))
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const first = await ask(run, model, 'zero')
      const second = await ask(run, model, prompt)
      fail()
      return [first, second]
    })
    const events: RunEvent[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => events.push(e) })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    prompt = 'other'
    await runner.resume('r')
    expect(model.requests).toHaveLength(3)
    expect(events).toContainEqual(expect.objectContaining({ type: 'replay-diverged', step: '1', reason: 'message 1 (user) differs from the journal', superseded: 1 }))
  })

  it('does not repeat an effect that was made already, also when the arguments differ; the decision reuse answers it', async () => {
    let prompt = 'refund it'
    let refunds = 0
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: `c-${prompt}`, tool: 'refund', input: { words: prompt } }] } : { text: 'ok' }))
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ refund: tool({ inputSchema: z.object({ words: z.string() }), execute: async () => ({ refund: ++refunds }) }) })
      const { steps } = await generateText({ model: run.model(model), tools, prompt, stopWhen: stepCountIs(4) })
      fail()
      return steps.flatMap((s) => s.toolResults.map((r) => r.output))
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    prompt = 'pay it back'
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'refund', effects: ['0/c:c-refund%20it'] }] })
    const step = outcome.status === 'suspended' ? (outcome.reasons[0] as { step: string }).step : ''
    expect(await runner.resolve('r', step, 'reuse', { resume: true })).toMatchObject({ status: 'completed', result: [{ refund: 1 }] })
    expect(refunds).toBe(1)
  })
})

describe('a configuration that changes between attempts (C11)', () => {
  const scene = (onConfigChange?: 'replay' | 'diverge' | 'refuse') => {
    const settings = { system: 'be kind' }
    const model = testModel((_t, call) => ({ text: `as told: ${JSON.stringify(call.prompt[0]!.content)}` }))
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const text = await ask(run, model, 'hello', settings.system)
      fail()
      return text
    })
    const events: RunEvent[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => events.push(e), ...(onConfigChange && { onConfigChange }) })
    return { settings, model, agent, runner, events }
  }

  it('replays by default, naming what changed', async () => {
    const { settings, model, agent, runner, events } = scene()
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow()
    settings.system = 'be brief'
    expect(await runner.resume('r')).toMatchObject({ result: expect.stringMatching(/be kind/) })
    expect(model.requests).toHaveLength(1)
    expect(events).toContainEqual(expect.objectContaining({ type: 'config-changed', step: '0', changed: ['system'] }))
  })

  it('diverges where that is the policy', async () => {
    const { settings, model, agent, runner, events } = scene('diverge')
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow()
    settings.system = 'be brief'
    expect(await runner.resume('r')).toMatchObject({ result: expect.stringMatching(/be brief/) })
    expect(model.requests).toHaveLength(2)
    expect(events).toContainEqual(expect.objectContaining({ type: 'replay-diverged', reason: 'the configuration changed (system)' }))
  })

  it('is refused where that is the policy, and nothing is lost', async () => {
    const { settings, agent, runner } = scene('refuse')
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow()
    settings.system = 'be brief'
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'CONFIG_CHANGED' })
    settings.system = 'be kind'
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
  })

  it('three reviewers with one prompt and other instructions get no swapped answers, also after one text is edited (C34)', async () => {
    const texts = ['law', 'style', 'facts']
    const model = testModel((_t, call) => ({ text: String(call.prompt[0]!.content) }))
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const reviews = await Promise.all(texts.map((system) => ask(run, model, 'review this', system)))
      fail()
      return reviews
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    texts[1] = 'grammar'
    expect(await runner.resume('r')).toMatchObject({ result: ['law', 'grammar', 'facts'] })
  })
})

describe('what failed the run (R4)', () => {
  it('a step whose error failed it is asked again, and what ran before it is not (C12)', async () => {
    let up = false
    const model = testModel((_t, call) => {
      const text = JSON.stringify(call.prompt.at(-1)!.content)
      if (text.includes('second') && !up) throw Object.assign(new Error('Incorrect API key provided'), { statusCode: 401 })
      return { text }
    })
    const agent = defineAgent('a', async (run) => [await ask(run, model, 'first'), await ask(run, model, 'second')])
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'STEP_FAILED' })
    up = true
    expect(await runner.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'completed' })
    expect(model.requests).toHaveLength(3)
  })

  it('a step error that the handler caught replays as it was (C13)', async () => {
    let reads = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const caught = await run.read('rate', () => {
        reads++
        throw new Error(`no rate today ${reads}`)
      }).catch((error: Error) => error.message)
      fail()
      return caught
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ result: 'no rate today 1' })
    expect(reads).toBe(1)
  })

  it('a response that does not validate is not replayed for ever (C36)', async () => {
    let good = false
    const model = testModel(() => ({ text: good ? '{"n":1}' : 'not json' }))
    const agent = defineAgent('a', async (run) => (await generateText({ model: run.model(model), prompt: 'n?', output: Output.object({ schema: z.object({ n: z.number() }) }) })).output)
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    const error = await runner.run(agent, {}, { runId: 'r' }).catch((e: unknown) => e)
    expect(NoObjectGeneratedError.isInstance((error as Error).cause)).toBe(true)
    good = true
    expect(await runner.resume('r')).toMatchObject({ result: { n: 1 } })
  })

  it('a clean-up effect after a caught failure is not repeated without a decision (C38)', async () => {
    let charges = 0
    let cleanups = 0
    const agent = defineAgent('a', async (run) => {
      try {
        return await run.read('confirm', () => {
          if (++charges < 3) throw new Error('not confirmed')
          return 'confirmed'
        })
      } catch (error) {
        await run.step('refundDeposit', () => ++cleanups)
        throw error
      }
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, retry: false })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/not confirmed/)
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'refundDeposit' }] })
    expect(cleanups).toBe(1)
    const step = outcome.status === 'suspended' ? (outcome.reasons[0] as { step: string }).step : ''
    await expect(runner.resolve('r', step, 'reuse', { resume: true })).rejects.toThrow(/not confirmed/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'confirmed' })
    expect(cleanups).toBe(1)
  })
})

describe('what runs side by side (C16)', () => {
  it('two loops in branches replay wholly', async () => {
    const model = testModel((turn, call) => (turn === 0 ? { calls: [{ id: 'same', tool: 'look', input: { who: JSON.stringify(call.prompt[0]!.content) } }] } : { text: JSON.stringify(call.prompt[0]!.content) }))
    let looks = 0
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ look: tool({ inputSchema: z.object({ who: z.string() }), execute: async ({ who }) => `${who} ${++looks}` }) })
      const out = await Promise.all(['ann', 'bob'].map((who) => run.branch(who, async () => {
        const { text, steps } = await generateText({ model: run.model(model), tools, prompt: who, stopWhen: stepCountIs(4) })
        return [text, steps[0]!.toolResults[0]!.output]
      })))
      fail()
      return out
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const outcome = await runner.resume('r')
    expect(JSON.stringify(outcome)).toMatch(/ann.*ann.*bob.*bob/s)
    expect(model.requests).toHaveLength(4)
    expect(looks).toBe(2)
  })

  it('two loops with tools in one branch are refused at the second claim, and what the first did is kept (C16b)', async () => {
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'x' }))
    const agent = defineAgent('a', async (run, _customers: string[]) => {
      const loop = (customer: string) => generateText({
        model: run.model(model), prompt: 'what is owed?', stopWhen: stepCountIs(3),
        tools: run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => customer }) }),
      })
      return (await Promise.all(_customers.map(loop))).map((r) => r.text)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, ['ann', 'bob'], { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP', advice: expect.stringMatching(/currentRun\(\)\.branch\(key, fn\)/) })
  })

  it('where the first of them is on its way already, its answer is recorded, and replays when the code was mended (C16b)', async () => {
    const gate = Promise.withResolvers<void>()
    const model = testModel(async (turn, call) => {
      if (turn === 0) await gate.promise
      return turn === 0 ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: JSON.stringify(call.prompt.at(-1)) }
    })
    const loop = (run: Run, customer: string) => generateText({
      model: run.model(model), prompt: 'what is owed?', stopWhen: stepCountIs(3),
      tools: run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => customer }) }),
    }).then((r) => r.text)
    let mended = false
    const agent = defineAgent('a', async (run) => {
      const ann = loop(run, 'ann')
      if (mended) return [await ann, await run.branch('bob', () => loop(run, 'bob'))]
      while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
      const bob = loop(run, 'bob')
      gate.resolve()
      return Promise.all([ann, bob])
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
    expect(model.requests).toHaveLength(1)
    const ended = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'step-ended' ? [[entry.step.id, entry.outcome.type]] : []))
    expect(ended).toEqual([['0', 'value']])
    mended = true
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: [expect.stringMatching(/ann/), expect.stringMatching(/bob/)] })
    expect(model.requests).toHaveLength(4)
  })

  it('steps of one name without key or input are refused when they overlap; with a key they are right (C16d)', async () => {
    const wait = (i: number) => new Promise((resolve) => setTimeout(resolve, 3 - i))
    const fail = failingOnce()
    const without = defineAgent('without', async (run) => Promise.all([1, 2].map(async (i) => run.step('charge', async () => (await wait(i), i)))))
    const charged: number[] = []
    const withKey = defineAgent('with', async (run) => {
      const out = await Promise.all([1, 2].map(async (i) => {
        await wait(Math.random() * 3)
        return run.step('charge', { key: i }, async () => (charged.push(i), `charge ${i}`))
      }))
      fail()
      return out
    })
    const runner = createRunner({ agents: [without, withKey], store: memoryStore(), ...quick })
    await expect(runner.run(without, {}, { runId: 'a' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
    await expect(runner.run(withKey, {}, { runId: 'b' })).rejects.toThrow(/later/)
    expect(await runner.resume('b')).toMatchObject({ result: ['charge 1', 'charge 2'] })
    expect(charged.toSorted()).toEqual([1, 2])
  })

  it('a race has the same winner on replay (C16c)', async () => {
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    let slowFirst = true
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const winner = await Promise.race([
        run.read('left', async () => (await wait(slowFirst ? 15 : 0), 'left')),
        run.read('right', async () => (await wait(slowFirst ? 0 : 15), 'right')),
      ])
      const used = await run.step('use', { input: winner }, () => `used ${winner}`)
      await wait(20)
      fail()
      return used
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    slowFirst = false
    expect(await runner.resume('r')).toMatchObject({ result: 'used right' })
  })

  it('parallel tools that finish in reverse order get their own results, and fewer at a time do not deadlock (C5, C33)', async () => {
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    const model = testModel((turn) => (turn === 0 ? { calls: [1, 2, 3].map((n) => ({ id: `c${n}`, tool: 'get', input: { n } })) } : { text: 'x' }))
    let concurrency: number | undefined
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const tools = run.tools({ get: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => (await wait(20 - n * 5), `got ${n}`) }) })
      const { steps } = await generateText({ model: run.model(model), tools, prompt: 'x', stopWhen: stepCountIs(3), ...(concurrency && { toolCallConcurrency: concurrency }) })
      fail()
      return steps[0]!.toolResults.map((r) => [r.input, r.output])
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    concurrency = 1
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'completed', result: expect.arrayContaining([1, 2, 3].map((n) => [{ n }, `got ${n}`])) })
    expect(model.requests).toHaveLength(2)
  })

  it('an agent inside a tool replays as a whole, and its second use finds its own steps (C15)', async () => {
    const model = testModel((turn) => (turn < 2 ? { calls: [{ id: 'same', tool: 'research', input: { topic: turn } }] } : { text: 'x' }))
    const inner = testModel((_t, call) => ({ text: JSON.stringify(call.prompt.at(-1)!.content) }))
    const researcher = defineAgent('researcher', async (run, topic: number) => ask(run, inner, `topic ${topic}`))
    const fail = failingOnce()
    let entered = 0
    const agent = defineAgent('a', async (run) => {
      const research = tool({ inputSchema: z.object({ topic: z.number() }), execute: async ({ topic }) => (entered++, run.agent(researcher, topic)) })
      const { steps } = await generateText({ model: run.model(model), tools: run.tools({ research }, { research: { composite: true } }), prompt: 'x', stopWhen: stepCountIs(4) })
      fail()
      return steps.flatMap((s) => s.toolResults.map((r) => r.output))
    })
    const runner = createRunner({ agents: [agent, researcher], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    const outcome = await runner.resume('r')
    expect(JSON.stringify(outcome)).toMatch(/topic 0.*topic 1/)
    expect([inner.requests.length, entered]).toEqual([2, 2])
  })
})

describe('a streamed model step (C24)', () => {
  it('replays the same parts, joined, without a request', async () => {
    const model = testModel(() => ({ text: 'hello' }))
    const fail = failingOnce()
    const seen: string[][] = []
    const agent = defineAgent('a', async (run) => {
      const parts: string[] = []
      for await (const part of streamText({ model: run.model(model), prompt: 'x' }).fullStream) parts.push(part.type === 'text-delta' ? `delta ${part.text}` : part.type)
      seen.push(parts)
      fail()
      return parts.length
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    await runner.resume('r')
    expect(model.requests).toHaveLength(1)
    expect(seen[0]!.filter((p) => p.startsWith('delta')).join('')).toBe('delta hdelta edelta ldelta ldelta o')
    expect(seen[1]).toEqual([...new Set(seen[0]!.map((p) => (p.startsWith('delta') ? 'delta hello' : p)))])
  })
})

describe('what is idempotent, when the run diverges', () => {
  it.each([['its arguments', undefined], ['its effect key', (input: { words: string }) => input.words.split(' ')[0]!]] as const)('is asked again under the key of %s', async (_what, effectKey) => {
    let time = 1
    const keys: string[] = []
    const fail = failingOnce()
    const model = testModel((turn) => (turn === 0 ? { calls: [{ id: `c${time}`, tool: 'add', input: { words: effectKey ? `seven ${time}` : 'seven' } }] } : { text: 'x' }))
    const agent = defineAgent('a', async (run) => {
      const add = tool({ inputSchema: z.object({ words: z.string() }), execute: async () => keys.push(currentStep()!.idempotencyKey) })
      await generateText({ model: run.model(model), tools: run.tools({ add }, { add: { idempotent: true, ...(effectKey && { effectKey }) } }), prompt: `it is ${time}`, stopWhen: stepCountIs(3) })
      fail()
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    time = 2
    await runner.resume('r')
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
  })
})

describe('a deploy in the middle of a repeated conversation (R8)', () => {
  it('is one change for each record, and not a divergence at the next restart', async () => {
    const settings = { system: 'v0' }
    const model = testModel(() => ({ text: 'same' }))
    const agent = defineAgent('a', async (run, failures: number) => {
      const texts = [await ask(run, model, 'again', settings.system)]
      if (run.attempt === 1) throw new Error('later')
      texts.push(await ask(run, model, 'again', settings.system))
      if (run.attempt <= failures) throw new Error('later')
      return texts
    })
    const events: RunEvent[] = []
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, onEvent: (e) => events.push(e) })
    await expect(runner.run(agent, 2, { runId: 'r' })).rejects.toThrow()
    settings.system = 'v1'
    await expect(runner.resume('r')).rejects.toThrow()
    expect(await runner.resume('r')).toMatchObject({ result: ['same', 'same'] })
    expect(model.requests).toHaveLength(2)
    expect(events.filter((e) => e.type === 'config-changed')).toHaveLength(1)
    expect(events.filter((e) => e.type === 'replay-diverged')).toEqual([])
  })

  it('with a second request of the same conversation, the answers are not swapped when the first is gone', async () => {
    const asks = ['law', 'style']
    const model = testModel((_t, call) => ({ text: String(call.prompt[0]!.content) }))
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const out: string[] = []
      for (const system of asks) out.push(await ask(run, model, 'review this', system))
      fail()
      return out
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    asks.shift()
    expect(await runner.resume('r')).toMatchObject({ result: ['style'] })
  })
})
