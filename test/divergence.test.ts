/** Replay, divergence and changes of configuration, through the runner (R4, R5, R8; C6-C13, C16, C30, C34, C36-C38). */
import { generateText, NoObjectGeneratedError, Output, stepCountIs, streamText, tool, type ModelMessage } from 'ai'
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

  it('compares every message, also the old ones (R8)', async () => {
    let name = 'Ann'
    const model = testModel((_turn, call) => ({ text: `you are ${JSON.stringify(call.prompt[0]!.content).includes('Ann') ? 'Ann' : 'Bob'}` }))
    const fail = failingOnce()
    const agent = defineAgent('a', async (run) => {
      const messages: ModelMessage[] = [{ role: 'user', content: `I am ${name}` }, { role: 'assistant', content: 'Hello' }, { role: 'user', content: 'Who am I?' }]
      const { text } = await generateText({ model: run.model(model), messages })
      fail()
      return text
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    name = 'Bob'
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: 'you are Bob' })
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
