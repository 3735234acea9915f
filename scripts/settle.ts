/** Settles doubts from outside, as a person would: looks into the world, then tells the run what happened. */
import type { Runner, SuspendReason } from '../src/index.ts'

/** What the world knows of an effect. */
export type EffectState = { readonly done: true; readonly output: string } | { readonly done: false }

/** `lookUp` asks the world by the idempotency key. Resolves to what was decided. @throws Error when a run waits for something that is not a doubt. */
export async function settleFromOutside(runner: Runner, runId: string, reasons: readonly SuspendReason[], lookUp: (key: string) => Promise<EffectState>): Promise<string[]> {
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
    const effect = await lookUp(started.idempotencyKey)
    await runner.resolve(runId, step, effect.done ? { result: effect.output } : 'rerun')
    decided.push(`${step}: ${effect.done ? 'its result' : 'rerun'}`)
  }
  return decided
}
