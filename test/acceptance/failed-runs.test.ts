/** What a failed run replays when it is driven again, and what not (R4, R5; C12, C36, C38). */
import * as ai from 'ai'
import { generateObject, generateText, isStepCount, Output, streamText, tool, ToolLoopAgent, type ToolSet } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type Run, type RunnerOptions } from '../../src/index.ts'
import { testModel, type TestModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20, retry: false } satisfies Partial<RunnerOptions>

const denied = () => Object.assign(new Error('the key is not valid'), { statusCode: 401 })

/** A request that fails while the provider is down. */
const fatal: Readonly<Record<string, (run: Run, isDown: () => boolean) => Promise<unknown>>> = {
  'a model request': (run, isDown) => generateText({ model: run.model(down(isDown)), prompt: 'x' }).then((r) => r.text),
  'a streamed model request': (run, isDown) => Promise.resolve(streamText({ model: run.model(down(isDown)), prompt: 'x', onError: () => {} }).text),
  'a request of a loop of its own': (run, isDown) => Promise.resolve(run.model(down(isDown)).doGenerate({ prompt: [] })),
  'a read': (run, isDown) => run.read('fatal', { input: 1 }, () => {
    if (isDown()) throw denied()
    return 'fine'
  }),
  'a step with effects': (run, isDown) => run.step('fatal', { input: 1 }, () => {
    if (isDown()) throw denied()
    return 'fine'
  }),
  'a child agent': (run, isDown) => run.agent(defineAgent('child', async (inner) => inner.read('fatal', { input: 1 }, () => {
    if (isDown()) throw denied()
    return 'fine'
  })), 1),
}

function down(isDown: () => boolean): TestModel {
  return testModel(() => {
    if (isDown()) throw denied()
    return { text: 'fine' }
  })
}

describe.each(Object.entries(fatal))('a run that %s failed (C12)', (_what, ask) => {
  it('asks that again; what ran before it replays, the clean-up after it runs again, whatever wraps the error', async () => {
    let isDown = true
    const ran: string[] = []
    const note = (run: Run, name: string) => run.read(name, { input: name }, () => ran.push(name))
    const agent = defineAgent('a', async (run) => {
      await note(run, 'before')
      try {
        return await ask(run, () => isDown)
      } catch (error) {
        await note(run, 'clean-up')
        throw new Error('the desk is closed', { cause: error })
      } finally {
        await note(run, 'finally')
      }
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/desk is closed/)
    await expect(runner.resume('r')).rejects.toThrow(/desk is closed/)
    expect(ran).toEqual(['before', 'clean-up', 'finally', 'clean-up', 'finally'])
    isDown = false
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(ran.slice(5)).toEqual(['finally'])
  })

  it('replays what ran beside it in another branch, also after the failure', async () => {
    let isDown = true
    const ran: string[] = []
    const failed = Promise.withResolvers<void>()
    const agent = defineAgent('a', async (run) => {
      const [beside] = await Promise.allSettled([
        run.branch('beside', async () => {
          await run.read('one', () => ran.push('one'))
          if (isDown) await failed.promise
          return run.step('two', () => ran.push('two'))
        }),
        run.branch('main', () => ask(run, () => isDown)).catch((error: unknown) => {
          failed.resolve()
          throw error
        }),
      ])
      // Not the step's error: the one of the branch, as `Promise.all` would give it.
      if (isDown) await run.branch('main', () => ask(run, () => isDown))
      return beside.status
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/key is not valid/)
    isDown = false
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'fulfilled' })
    expect(ran).toEqual(['one', 'two'])
  })
})

const schema = z.object({ n: z.number() })

/** Ways to ask for an output that has to validate. */
const validated: Readonly<Record<string, (run: Run, model: TestModel) => Promise<unknown>>> = {
  'generateText with Output': async (run, model) => (await generateText({ model: run.model(model), prompt: 'n?', output: Output.object({ schema }) })).output,
  'streamText with Output': async (run, model) => streamText({ model: run.model(model), prompt: 'n?', output: Output.object({ schema }) }).output,
  'generateObject': async (run, model) => (await generateObject({ model: run.model(model), prompt: 'n?', schema })).object,
  'a ToolLoopAgent': async (run, model) => (await new ToolLoopAgent({ model: run.model(model), output: Output.object({ schema }) }).generate({ prompt: 'n?' })).output,
  'an agent inside a step': async (run, model) => run.agent(defineAgent('child', async (inner) => (await generateText({ model: inner.model(model), prompt: 'n?', output: Output.object({ schema }) })).output), 1),
}

describe.each(Object.entries(validated))('an output of %s that does not validate (C36)', (_how, ask) => {
  it('is not replayed for ever: the blamed response is asked for again when the run is driven again, what was before it is not', async () => {
    let text = 'not json'
    const model = testModel(() => ({ text }))
    let reads = 0
    const agent = defineAgent('a', async (run) => {
      await run.read('before', () => ++reads)
      return ask(run, model)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toMatchObject({ code: 'RUN_FAILED' })
    text = '{"n":"no number"}'
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'RUN_FAILED' })
    text = '{"n":1}'
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: { n: 1 } })
    expect([model.requests.length, reads]).toEqual([3, 1])
  })

  it('that the handler caught and asked for again replays, the bad one too', async () => {
    const texts = ['not json', '{"n":1}']
    const model = testModel(() => ({ text: texts[model.requests.length - 1]! }))
    let fails = true
    const agent = defineAgent('a', async (run) => {
      const first = await run.branch('first', () => ask(run, model)).catch((error: Error) => error.name)
      const second = await run.branch('second', () => ask(run, model))
      if (fails) {
        fails = false
        throw new Error('later')
      }
      return [first, second]
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: ['AI_NoObjectGeneratedError', { n: 1 }] })
    expect(model.requests).toHaveLength(2)
  })
})

describe('a response that does not heed the tool choice (C36)', () => {
  // A lower version of the AI SDK passes it on.
  it.skipIf(!('ToolChoiceViolationError' in ai))('is not replayed for ever', async () => {
    let heeds = false
    const model = testModel((turn) => (turn === 0 && heeds ? { calls: [{ id: 'c', tool: 'look', input: {} }] } : { text: 'I would rather not' }))
    const agent = defineAgent('a', async (run) => {
      const tools: ToolSet = run.tools({ look: tool({ inputSchema: z.object({}), execute: async () => 'seen' }) })
      return (await generateText({ model: run.model(model), tools, toolChoice: 'required', prompt: 'x' })).toolResults.map((r) => r.output)
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/tool choice was required/)
    heeds = true
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: ['seen'] })
    expect(model.requests).toHaveLength(2)
  })
})

describe('an output that the handler refuses by itself (C36)', () => {
  it('replays, since nothing blames the response; redo asks for it again', async () => {
    let text = 'maybe'
    const model = testModel(() => ({ text }))
    const agent = defineAgent('a', async (run) => {
      const answer = (await generateText({ model: run.model(model), prompt: 'yes or no?' })).text
      if (answer !== 'yes') throw new Error(`what is ${answer}?`)
      return answer
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/what is maybe/)
    text = 'yes'
    await expect(runner.resume('r')).rejects.toThrow(/what is maybe/)
    expect(await runner.resume('r', { redo: '0' })).toMatchObject({ result: 'yes' })
    expect(model.requests).toHaveLength(2)
  })
})

describe('an effect of the clean-up (C38)', () => {
  it.each(['a step', 'a tool call', 'a step in a branch', 'a step of a child agent'] as const)('%s is not repeated without a decision, and is asked about once', async (kind) => {
    let isDown = true
    let undone = 0
    const undo = (run: Run): Promise<unknown> => {
      const work = (): number => ++undone
      if (kind === 'a step') return run.step('undo', work)
      if (kind === 'a step in a branch') return run.branch('clean-up', () => run.step('undo', work))
      if (kind === 'a step of a child agent') return run.agent(defineAgent('cleaner', async (inner) => inner.step('undo', work)), 1)
      const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c', tool: 'undo', input: {} }] } : { text: 'undone' }))
      const tools: ToolSet = run.tools({ undo: tool({ inputSchema: z.object({}), execute: async () => work() }) })
      return generateText({ model: run.model(model), tools, prompt: 'clean up', stopWhen: isStepCount(3) })
    }
    const agent = defineAgent('a', async (run) => {
      try {
        return await run.read('confirm', () => {
          if (isDown) throw new Error('not confirmed')
          return 'confirmed'
        })
      } catch (error) {
        await undo(run)
        throw error
      }
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, {}, { runId: 'r' })).rejects.toThrow(/not confirmed/)
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'undo' }] })
    const step = outcome.status === 'suspended' ? (outcome.reasons[0] as { step: string }).step : ''
    await expect(runner.resolve('r', step, 'reuse', { resume: true })).rejects.toThrow(/not confirmed/)
    isDown = false
    expect(await runner.resume('r')).toMatchObject({ status: 'completed', result: 'confirmed' })
    expect(undone).toBe(1)
  })
})
