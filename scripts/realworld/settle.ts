/** Settles doubts from outside, as a person would: looks into the world, then tells the run what happened. */
import type { Runner, SuspendReason } from '../../src/index.ts'
import { effectOf } from './world-client.ts'

/** Resolves to what was decided; @throws Error when a run waits for something that is not a doubt. */
export async function settleFromOutside(runner: Runner, world: string, runId: string, reasons: readonly SuspendReason[]): Promise<string[]> {
  const effects = new Set<string>()
  for (const reason of reasons) {
    if (reason.type !== 'in-doubt') throw new Error(`it waits for something else: ${reason.type}: ${reason.message}`)
    for (const effect of reason.effects) effects.add(effect)
  }
  const history = await runner.history(runId)
  const decided: string[] = []
  for (const step of effects) {
    const started = history.findLast(({ entry }) => entry.type === 'step-started' && entry.step.id === step)?.entry
    if (started?.type !== 'step-started') throw new Error(`it waits for ${step}, which was never started`)
    const effect = await effectOf(world, started.idempotencyKey)
    await runner.resolve(runId, step, effect.done ? { result: effect.output } : 'rerun')
    decided.push(`${step}: ${effect.done ? 'its result' : 'rerun'}`)
  }
  return decided
}
