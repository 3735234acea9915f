/** What a suspended run waits with. */
import type { Outcome } from '../../src/index.ts'

/** The id of the first step that it waits with. */
export function waitingIn(outcome: Outcome): string {
  const reason = outcome.status === 'suspended' ? outcome.reasons[0] : undefined
  if (!reason || !('step' in reason)) throw new Error(`it does not wait with a step: ${JSON.stringify(outcome)}`)
  return reason.step
}
