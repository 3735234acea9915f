/** How the tools of a run talk to the world. */
import { currentStep } from '../../src/index.ts'
import type { EffectState } from '../settle.ts'
import type { Job, WorldCall } from './protocol.ts'

export interface WorldClient {
  /** Makes an effect, with the idempotency key of the step that runs. */
  act(name: string): Promise<string>
  look(name: string): Promise<string>
  effectOf(key: string): Promise<EffectState>
}

export function worldClient({ world, runId, program }: Job): WorldClient {
  const ask = async <T>(path: string, call?: WorldCall): Promise<T> => {
    const response = await fetch(`${world}${path}`, call && { method: 'POST', body: JSON.stringify(call) })
    if (!response.ok) throw new Error(`the world answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as T
  }
  const call = async (name: string, key: string | null): Promise<string> =>
    (await ask<{ output: string }>('/call', { runId, name, key, slow: program === 'trip' })).output
  return {
    act: (name) => call(name, currentStep()?.idempotencyKey ?? 'no key'),
    look: (name) => call(name, null),
    effectOf: (key) => ask(`/effect?run=${encodeURIComponent(runId)}&key=${encodeURIComponent(key)}`),
  }
}
