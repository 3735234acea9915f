/** A step of the handler that has another key than it had when it was made (R5). */
import { describe, expect, it } from 'vitest'
import { createRunner, defineAgent, memoryStore, type Run } from '../src/index.ts'
import { later, mortal } from './support/crash.ts'
import { failingOnce } from './support/failing-once.ts'
import { waitingIn } from './support/waiting.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }

describe('a step that was made, and is given a key, or loses the one that it has, after a deploy', () => {
  it.each<[string, object, object]>([
    ['without a key, then with one', {}, { key: 'ada' }],
    ['with a key, then without one', { key: 'ada' }, {}],
    ['with an input, and then a key besides', { input: 7 }, { input: 7, key: 'ada' }],
  ])('is not made again without a decision: %s', async (_, before, after) => {
    const paid: string[] = []
    const fail = failingOnce()
    let options = before
    const agent = defineAgent('a', async (run) => {
      const told = await run.step('pay', options, () => (paid.push('A'), 'paid A'))
      fail()
      return told
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    options = after
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat' }] })
    expect(await runner.resolve('r', waitingIn(outcome), 'reuse', { resume: true })).toEqual({ status: 'completed', result: 'paid A' })
    expect(paid).toEqual(['A'])
  })

  const input = { input: 7 }
  it.each<[string, object, object]>([
    ['a key', {}, { key: 'ada' }],
    ['a key and an input', {}, { key: 'ada', ...input }],
    ['a key besides its input', input, { key: 'ada', ...input }],
    ['a key in place of its input', input, { key: 'ada' }],
    ['no key any more', { key: 'ada' }, {}],
  ])('is asked about where nobody knows whether it was made: %s', async (_, before, after) => {
    const paid: string[] = []
    let options = before
    const agent = defineAgent('a', (run) => run.step('pay', options, () => (paid.push('A'), 'paid A')))
    const store = memoryStore()
    const dying = mortal(store)
    const died = dying.killAt(/"step-ended".*"name":"pay"/)
    void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
    await died
    options = after
    const runner = createRunner({ agents: [agent], store, clock: later(), ...quick })
    for (let i = 0; i < 2; i++) expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt', choices: ['rerun', 'skip', 'result'] }] })
    expect(await runner.resolve('r', waitingIn(await runner.resume('r')), { result: 'by hand' }, { resume: true })).toEqual({ status: 'completed', result: 'by hand' })
    expect(paid).toEqual(['A'])
  })

  it('is asked about where what stands before it is another one, too', async () => {
    const paid: string[] = []
    const agent = defineAgent('a', async (run) => {
      const isNew = run.attempt > 1
      await run.read('price', { input: isNew ? 'new' : 'old' }, () => 80)
      await run.step('pay', isNew ? { key: 'ada' } : {}, () => paid.push('A'))
      if (!isNew) throw new Error('later')
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['1'] }] })
    expect(paid).toEqual(['A'])
  })

  it.each<[string, (run: Run, who: string, pay: () => string) => Promise<unknown>]>([
    ['a key and an input', (run, who, pay) => run.step('pay', { key: who, input: who }, pay)],
    ['a branch and an input', (run, who, pay) => run.branch(who, () => run.step('pay', { input: who }, pay))],
  ])('is asked about where a loop that was refused is mended by %s', async (_, mended) => {
    const paid: string[] = []
    let isMended = false
    const agent = defineAgent('a', async (run) => {
      const first = Promise.withResolvers<void>()
      return Promise.all(['ada', 'bob'].map(async (who) => {
        const pay = (): string => (paid.push(who), `paid ${who}`)
        if (who === 'bob' && !isMended) await first.promise
        await new Promise(setImmediate)
        const told = await (isMended ? mended(run, who, pay) : run.step('pay', pay))
        first.resolve()
        return told
      }))
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toMatchObject({ code: 'AMBIGUOUS_STEP' })
    isMended = true
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['0'] }, { type: 'repeat', effects: ['0'] }] })
    expect(paid).toEqual(['ada'])
  })

  it('runs at once where it is another one: what has no key is still asked for in its place', async () => {
    const paid: string[] = []
    const fail = failingOnce()
    let isNew = false
    const agent = defineAgent('a', async (run) => {
      const more = isNew ? run.step('pay', { key: 'bob' }, () => paid.push('B')) : undefined
      await run.step('pay', () => paid.push('A'))
      await more
      fail()
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    isNew = true
    expect(await runner.resume('r')).toMatchObject({ status: 'completed' })
    expect(paid).toEqual(['A', 'B'])
  })

  it('runs at once where what has no key was asked for in its place, and somebody has left it at that', async () => {
    const paid: string[] = []
    const fail = failingOnce()
    let isChanged = false
    const agent = defineAgent('a', async (run) => {
      await run.read('price', { input: isChanged }, () => 1)
      await run.step('pay', () => paid.push('A')).catch(() => {})
      fail()
      await run.step('pay', { key: 'bob' }, () => paid.push('B'))
    })
    const runner = createRunner({ agents: [agent], store: memoryStore(), ...quick })
    await expect(runner.run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    isChanged = true
    const outcome = await runner.resume('r')
    expect(outcome).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: ['1'] }] })
    expect(await runner.resolve('r', waitingIn(outcome), 'skip', { resume: true })).toMatchObject({ status: 'completed' })
    expect(paid).toEqual(['A', 'B'])
  })
})

it('a step in the turn of another one is asked about with what was done under a key elsewhere: the order of its turn is another order', async () => {
  const paid: number[] = []
  const pay = (run: Run, options: object, order: number): Promise<number> => run.step('pay', { ...options, input: order }, () => paid.push(order))
  const store = memoryStore()
  const runs = (code: (run: Run) => Promise<unknown>) => createRunner({ agents: [defineAgent('a', code)], store, ...quick })
  const failing = (code: (run: Run) => Promise<unknown>) => async (run: Run) => {
    await code(run)
    throw new Error('later')
  }
  await expect(runs(failing((run) => run.branch('w1', () => pay(run, {}, 9)))).run('a', 1, { runId: 'r' })).rejects.toThrow('later')
  await expect(runs(failing((run) => run.branch('w0', () => pay(run, { key: 7 }, 7)))).resume('r')).rejects.toThrow('later')
  expect(await runs((run) => run.branch('w1', () => pay(run, {}, 7))).resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat', effects: expect.arrayContaining(['b:w0#0/s:pay:7#0']) }] })
  expect(paid).toEqual([9, 7])
})

/** Where a step stands before and after a deploy. */
const places: Record<string, (run: Run, work: (run: Run) => Promise<unknown>) => Promise<unknown>> = {
  'the main line': (run, work) => work(run),
  'a branch': (run, work) => run.branch('eu', () => work(run)),
  'an agent': (run, work) => run.agent(defineAgent('payer', work), 1),
}
const moves = [['the main line', 'a branch'], ['the main line', 'an agent'], ['a branch', 'the main line'], ['an agent', 'a branch']] as const
const changes = Object.entries<readonly [object, object]>({
  'is given a key': [{}, { key: 'ada' }],
  'is given a key and an input': [{}, { key: 'ada', input: 7 }],
  'is given a key in place of its input': [{ input: 7 }, { key: 'ada' }],
  'loses its key': [{ key: 'ada' }, {}],
  'loses its key and its input': [{ key: 'ada', input: 7 }, {}],
  'is given an input': [{}, { input: 7 }],
  'loses its input': [{ input: 7 }, {}],
})

describe.each(moves)('a step that moves from %s to %s, and in the same deploy', (from, to) => {
  async function deployed([before, after]: readonly [object, object], isKilled: boolean) {
    const paid: string[] = []
    const fail = failingOnce()
    let [place, options]: [string, object] = [from, before]
    const agent = defineAgent('a', async (run) => {
      const told = await places[place]!(run, (inner) => inner.step('pay', options, () => (paid.push('A'), 'paid A')))
      if (!isKilled) fail()
      return told
    })
    const store = memoryStore()
    const dying = mortal(store)
    if (isKilled) {
      const died = dying.killAt(/"step-ended".*"name":"pay"/)
      void createRunner({ agents: [agent], store: dying.store, ...quick }).run(agent, 1, { runId: 'r' })
      await died
    } else await expect(createRunner({ agents: [agent], store, ...quick }).run(agent, 1, { runId: 'r' })).rejects.toThrow(/later/)
    ;[place, options] = [to, after]
    return { paid, runner: createRunner({ agents: [agent], store, clock: later(), ...quick }) }
  }

  it.each(changes)('%s is not made again without a decision', async (_, change) => {
    const { paid, runner } = await deployed(change, false)
    for (let i = 0; i < 2; i++) expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'repeat' }] })
    expect(await runner.resolve('r', waitingIn(await runner.resume('r')), 'reuse', { resume: true })).toEqual({ status: 'completed', result: 'paid A' })
    expect(paid).toEqual(['A'])
  })

  it.each(changes)('%s is asked about where nobody knows whether it was made', async (_, change) => {
    const { paid, runner } = await deployed(change, true)
    for (let i = 0; i < 2; i++) expect(await runner.resume('r')).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
    expect(await runner.resolve('r', waitingIn(await runner.resume('r')), { result: 'by hand' }, { resume: true })).toEqual({ status: 'completed', result: 'by hand' })
    expect(paid).toEqual(['A'])
  })
})
