/** A run that failed, and whose code undid behind the failure what it had done: the records of that would answer (R4). */
import { generateText, stepCountIs, tool } from 'ai'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, durableTools, memoryStore, type Run, type Runner, type RunnerOptions } from '../src/index.ts'
import { testModel } from './support/model.ts'
import { waitingIn } from './support/waiting.ts'

const quick = { idleMs: 5, replayHoldMs: 20 } satisfies Partial<RunnerOptions>
const world: string[] = []
let isSoldOut = true
beforeEach(() => {
  world.length = 0
  isSoldOut = true
})

const act = (what: string) => (): string => `no. ${world.push(what)}`
const bookCar = (): string => {
  if (isSoldOut) throw new Error('no car left')
  return act('car booked')()
}

type Work = (run: Run) => Promise<unknown>

/** Books a flight and a car, and does this behind a car that could not be booked. */
const trip = (cleanUp: Work, book: Work = (run) => run.step('book flight', act('flight booked'))) => defineAgent('trip', async (run: Run) => {
  const flight = await book(run)
  try {
    return { flight, car: await run.step('book car', bookCar) }
  } catch (error) {
    await cleanUp(run)
    throw error
  }
})

async function failed(agent: ReturnType<typeof trip>, options: Partial<RunnerOptions> = {}): Promise<{ readonly runner: Runner; readonly error: Error }> {
  const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick, ...options })
  const error = await runner.run(agent, undefined, { runId: 'r' }).then(() => new Error('it did not fail'), (thrown: Error) => thrown)
  isSoldOut = false
  return { runner, error }
}

const cancelled: Work = (run) => run.step('cancel flight', act('flight cancelled'))
const callOf = (policy: object): Work => {
  const tools = durableTools({ cancel: { execute: async () => act('flight cancelled')() } }, { cancel: policy } as never)
  return () => (tools.cancel.execute as (input: unknown, call: object) => Promise<unknown>)({}, { toolCallId: 'c', messages: [] })
}
const askedOfModel: Work = (run) => {
  const model = testModel((turn) => (turn === 0 ? { calls: [{ id: 'c1', tool: 'cancel', input: {} }] } : { text: 'cancelled' }))
  const cancel = tool({ inputSchema: z.object({}), execute: async () => act('flight cancelled')() })
  return generateText({ model: run.model(model), tools: run.tools({ cancel }), prompt: 'cancel it', stopWhen: stepCountIs(3) })
}

describe('a run that undid behind its failure what it had done', () => {
  it.each<[string, Work, Work?]>([
    ['by a step', cancelled],
    ['by an idempotent step', (run) => run.step('cancel flight', { idempotent: true }, act('flight cancelled'))],
    ['by a step in a branch', (run) => run.branch('undo', () => cancelled(run))],
    ['by a step in an agent', (run) => run.agent(defineAgent('undo', (inner) => cancelled(inner)), 1)],
    ['by a tool', callOf({})],
    ['by an idempotent tool', callOf({ idempotent: true })],
    ['by a call that a model asked for', askedOfModel],
    ['done by an idempotent step', cancelled, (run) => run.step('book flight', { idempotent: true }, act('flight booked'))],
    ['done in a branch', cancelled, (run) => run.branch('flight', () => run.step('book flight', act('flight booked')))],
    ['done in an agent', cancelled, (run) => run.agent(defineAgent('flight', (inner) => inner.step('book flight', act('flight booked'))), 1)],
    ['done by a step that an idempotent one holds', cancelled, (run) => run.step('flight', { idempotent: true }, () => run.step('book flight', act('flight booked')))],
  ])('%s, is not driven again by itself: what is undone would count as done', async (_, cleanUp, book) => {
    const { runner, error } = await failed(trip(cleanUp, book))
    expect(world).toEqual(['flight booked', 'flight cancelled'])
    const advice = expect.stringMatching(/^Behind the failure was done: .*"cancel.*redo.*force/)
    expect(error).toMatchObject({ code: 'RUN_FAILED', advice })
    for (const again of [() => runner.run('trip', undefined, { runId: 'r' }), () => runner.resume('r')]) {
      await expect(again()).rejects.toMatchObject({ code: 'RUN_CLEANED_UP', advice, cause: { message: expect.stringContaining('no car left') } })
    }
    await expect(runner.result('r')).rejects.toMatchObject({ advice })
    expect(await runner.get('r')).toMatchObject({ status: 'failed' })
    expect(world).toEqual(['flight booked', 'flight cancelled'])
    expect(await runner.resume('r', { force: true })).toMatchObject({ status: 'completed', result: { car: 'no. 3' } })
  })

  it('is driven again from what was undone on, with redo: that is asked about as any effect is', async () => {
    const { runner } = await failed(trip(cancelled))
    const asked = await runner.resume('r', { redo: '0' })
    expect(asked).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', tool: 'book flight' }] })
    await runner.resolve('r', waitingIn(asked), 'rerun')
    expect(await runner.resume('r')).toEqual({ status: 'completed', result: { flight: 'no. 3', car: 'no. 4' } })
    expect(world).toEqual(['flight booked', 'flight cancelled', 'flight booked', 'car booked'])
  })

  it('is driven again from several steps on, where they ran side by side', async () => {
    const both: Work = (run) => Promise.all(['flight', 'hotel'].map((what) => run.step('book', { input: what }, act(`${what} booked`))))
    const { runner } = await failed(trip(cancelled, both))
    const outcome = await runner.resume('r', { redo: ['0', '1'] })
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', step: '0~1' }, { type: 'repeat', step: '1~1' }] })
    for (const redo of [[], ['0', 7], 7]) await expect(runner.resume('r', { redo: redo as string[] })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('also where the clean-up is in doubt itself, and failed the run besides', async () => {
    const agent = defineAgent('trip', async (run: Run) => {
      const flight = await run.step('book flight', act('flight booked'))
      try {
        return { flight, car: await run.step('book car', bookCar) }
      } catch (error) {
        const undo: unknown = await run.step('cancel flight', () => {
          act('flight cancelled')()
          throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
        }).catch((thrown: unknown) => thrown)
        throw new AggregateError([error, undo], 'two failures')
      }
    })
    const { runner } = await failed(agent)
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'RUN_CLEANED_UP', advice: expect.stringContaining('cancel flight') })
  })

  it('also where it was booked by an idempotent tool in an agent, which is answered as a whole', async () => {
    const tools = durableTools({ book: { execute: async () => act('flight booked')() } }, { book: { idempotent: true } } as never)
    const flight = defineAgent('flight', () => (tools.book.execute as (input: unknown, call: object) => Promise<unknown>)({}, { toolCallId: 'c', messages: [] }))
    const { runner } = await failed(trip((run) => run.step('cancel flight', { idempotent: true }, act('flight cancelled')), (run) => run.agent(flight, 1)))
    isSoldOut = true
    await expect(runner.resume('r', { force: true })).rejects.toMatchObject({ code: 'RUN_FAILED' })
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'RUN_CLEANED_UP' })
  })

  it('in words of its own replays as it is, and says that redo of the failure alone leaves undone what was undone', async () => {
    const agent = defineAgent('trip', async (run: Run) => {
      const flight = await run.step('book flight', act('flight booked'))
      try {
        return { flight, car: await run.step('book car', bookCar) }
      } catch (error) {
        await cancelled(run)
        throw new Error(`no trip: ${(error as Error).message}`)
      }
    })
    const { runner, error } = await failed(agent)
    const advice = 'Behind it was done: step "cancel flight" (2). What that has undone counts as done then: redo it too, { redo: ["STEP", "1"] }'
    expect(error).toMatchObject({ advice: expect.stringContaining(advice) })
    await expect(runner.resume('r')).rejects.toMatchObject({ advice: expect.stringContaining(advice) })
    expect(await runner.resume('r', { redo: ['0', '1'] })).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['0'] }] })
  })

  it('is driven again where its runner says that clean-ups undo nothing', async () => {
    const { runner } = await failed(trip(cancelled), { onCleanup: 'continue' })
    expect(await runner.run('trip', undefined, { runId: 'r' })).toMatchObject({ status: 'completed' })
  })

  it.each<[string, Work?]>([
    ['done by a step'],
    ['done by an idempotent step in an agent, which replays as a whole', (run) => run.agent(defineAgent('flight', (inner) => inner.step('book flight', { idempotent: true }, act('flight booked'))), 1)],
  ])('%s, is not driven again by itself where it was forced, and failed and cleaned up once more', async (_, book) => {
    const { runner } = await failed(trip((run) => run.step('cancel flight', { idempotent: true }, act('flight cancelled')), book))
    isSoldOut = true
    await expect(runner.resume('r', { force: true })).rejects.toMatchObject({ code: 'RUN_FAILED' })
    await expect(runner.resume('r')).rejects.toMatchObject({ code: 'RUN_CLEANED_UP' })
  })
})

describe('a run is driven again by itself', () => {
  const failing: Work = (run) => run.step('cancel flight', () => { throw new Error('no such booking') }).catch(() => {})
  it.each<[string, Work, Work?, 'in-doubt'?]>([
    ['that looked something up behind its failure', (run) => run.read('look', act('looked'))],
    ['that called a tool without effects behind it', callOf({ readOnly: true })],
    ['whose clean-up failed', failing],
    ['that had done nothing before', cancelled, async () => 'walk'],
    ['whose failure alone may have done something', cancelled, async () => 'walk', 'in-doubt'],
    ['that had only looked something up before', cancelled, (run) => run.read('look', act('looked'))],
  ])('%s', async (_, cleanUp, book, how) => {
    const { runner, error } = await failed(trip(cleanUp, book), how && { afterError: () => how })
    const outcome = await runner.run('trip', undefined, { runId: 'r' })
    if (how) return expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', tool: 'book car' }] })
    expect(error.message).toContain('drives it again from there')
    expect(outcome).toMatchObject({ status: 'completed' })
    expect(world.at(-1)).toBe('car booked')
  })
})
