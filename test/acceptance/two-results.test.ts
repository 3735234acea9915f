/** Two results for one call: one counts, and what the work itself told before anybody's word (R6; C20). */
import { generateText, isStepCount, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createRunner, defineAgent, memoryStore, type DecisionInput, type Runner } from '../../src/index.ts'
import { later } from '../support/crash.ts'
import { testModel } from '../support/model.ts'

const quick = { idleMs: 5, replayHoldMs: 20 }
const STEP = '0/c:c1'

type Way = 'late' | 'resolve' | 'reconcile'

/** How each result says where it comes from. */
const RESULT: Readonly<Record<Way, string>> = { late: 'by the tool itself', resolve: 'by a person', reconcile: 'by the service' }

/**
 * A refund timed out; the model asks for it again, so the run waits. Then its outcome is told, in the order of `ways`: by its late end, by
 * a person, by the service when the run is resumed.
 */
async function told(ways: readonly Way[], decision: DecisionInput = { result: RESULT.resolve }) {
  let finish: (receipt: string) => void = () => {}
  const scene = { calls: 0, knows: false, refused: [] as unknown[] }
  const model = testModel((turn) => (turn < 2 ? { calls: [{ id: `c${turn + 1}`, tool: 'refund', input: {} }] } : { text: 'done' }))
  const agent = defineAgent('a', async (run) => {
    const refund = tool({ inputSchema: z.object({}), execute: () => (++scene.calls === 1 ? new Promise<string>((resolve) => (finish = resolve)) : Promise.resolve('again')) })
    const policy = { timeoutMs: 15, settleAfterMs: 0, reconcile: async () => (scene.knows ? { status: 'completed', output: RESULT.reconcile } as const : Promise.reject(new Error('the service is down'))) }
    const { steps } = await generateText({ model: run.model(model), tools: run.tools({ refund }, { refund: policy }), prompt: 'x', stopWhen: isStepCount(4) })
    return steps.flatMap((s) => s.content).flatMap((part) => (part.type === 'tool-result' ? [part.output] : part.type === 'tool-error' ? ['unknown'] : []))
  })
  const store = memoryStore()
  const first = createRunner({ agents: [agent], store, ...quick })
  expect(await first.run(agent, {}, { runId: 'r' })).toMatchObject({ status: 'suspended', reasons: [{ type: 'in-doubt' }] })
  const runner = createRunner({ agents: [agent], store, ...quick, clock: later() })
  for (const way of ways) {
    if (way === 'late') {
      finish(RESULT.late)
      // It goes to the inbox when the work has ended.
      while ((await store.inbox('r', 0)).every(({ body }) => !body.includes('late-result'))) await new Promise((resolve) => setImmediate(resolve))
    } else if (way === 'resolve') await resolveBy(runner, decision).catch((error: unknown) => scene.refused.push(error))
    else scene.knows = true
  }
  const outcome = await runner.resume('r')
  const settled = (await runner.history('r')).flatMap(({ entry }) => (entry.type === 'settled' ? [entry.by] : []))
  return { ...scene, outcome, settled, runner }
}

const resolveBy = (runner: Runner, decision: DecisionInput) => runner.resolve('r', STEP, decision)

describe('the outcome of a call that is told twice (C20)', () => {
  it.each<[readonly Way[], Way]>([
    [['late'], 'late'],
    [['resolve'], 'resolve'],
    [['reconcile'], 'reconcile'],
    [['late', 'resolve'], 'late'],
    [['late', 'reconcile'], 'late'],
    [['resolve', 'late'], 'resolve'],
    [['resolve', 'reconcile'], 'resolve'],
    [['reconcile', 'late'], 'late'],
    [['reconcile', 'resolve'], 'resolve'],
    [['late', 'resolve', 'reconcile'], 'late'],
    [['resolve', 'late', 'reconcile'], 'resolve'],
    [['reconcile', 'resolve', 'late'], 'resolve'],
  ])('%j: the call is answered once, by what counts (%s), and the tool is not called again', async (ways, counts) => {
    const { outcome, calls, settled } = await told(ways)
    expect(outcome).toEqual({ status: 'completed', result: ['unknown', RESULT[counts]] })
    expect(calls).toBe(1)
    expect(settled.length).toBeLessThanOrEqual(1)
  })

  it.each(['rerun', 'skip'] as const)('by its late end after the decision %s about the doubt: what was decided is void, nothing is repeated or left unknown', async (decision) => {
    const { outcome, calls } = await told(['resolve', 'late'], decision)
    expect(outcome).toEqual({ status: 'completed', result: ['unknown', RESULT.late] })
    expect(calls).toBe(1)
  })

  it('after it has ended by itself: a decision is refused, also about the call that waits for it', async () => {
    const { refused, outcome } = await told(['late', 'resolve'])
    expect(refused).toEqual([expect.objectContaining({ code: 'NOTHING_TO_RESOLVE', message: expect.stringMatching(/has come to its end meanwhile.*Resume the run/) })])
    expect(outcome).toMatchObject({ result: ['unknown', RESULT.late] })
  })

  it('by two people: the second is refused, and says so', async () => {
    const { refused, outcome } = await told(['resolve', 'resolve'])
    expect(refused).toEqual([expect.objectContaining({ code: 'NOTHING_TO_RESOLVE', message: expect.stringMatching(/resolved already/) })])
    expect(outcome).toMatchObject({ status: 'completed', result: ['unknown', RESULT.resolve] })
  })

  it('after the run has ended: refused, and the result stands', async () => {
    const { runner, outcome } = await told(['late'])
    for (const decision of ['rerun', 'skip', 'reuse', { result: 1 }] as const) await expect(resolveBy(runner, decision)).rejects.toMatchObject({ code: 'NOTHING_TO_RESOLVE' })
    expect(await runner.resume('r')).toEqual(outcome)
  })
})
