/** Why a call waits for somebody, in words, and until when it does by itself. */
import type { Effect } from '../effects/ledger.ts'
import type { GuardVerdict } from '../effects/guard.ts'
import type { SuspendReason } from '../journal/entry.ts'
import type { Ticket } from '../replay/claim.ts'
import type { Drive } from './drive.ts'
import { settleAfter } from './settle.ts'
import type { StepSpec } from './step.ts'

export function waitReason(runId: string, { ref, claim }: Ticket, { why }: GuardVerdict & { type: 'wait' }, effects: readonly string[]): SuspendReason {
  const what = why === 'in-doubt'
    ? `nobody knows whether ${ref.kind} "${ref.name}" (${effects.join(', ')}) took effect`
    : `${ref.kind} "${ref.name}" would repeat an effect that was made already (${effects.join(', ')})`
  const result = ref.kind === 'model' ? ' (--rerun sends it again, --skip fails the request, the result is a text or {"content": [...]})' : ''
  return {
    type: why,
    step: ref.id,
    tool: ref.name,
    fingerprint: claim.fingerprint ?? '',
    effects,
    message: `${what}. Settle it: holdfast resolve ${runId} ${ref.id} --rerun | --skip | --result JSON${why === 'repeat' ? ' | --reuse' : ''}${result}`,
  }
}

/** For events only: a run does not suspend while something of it runs. */
export const stillOnItsWay = ({ ref, claim }: Ticket): SuspendReason => ({
  type: 'in-doubt',
  step: ref.id,
  tool: ref.name,
  fingerprint: claim.fingerprint ?? '',
  effects: [ref.id],
  message: `${ref.kind} "${ref.name}" (${ref.id}) is still on its way from an earlier try of what it stands in: its outcome is waited for`,
})

/** When `not-done` may be believed, a run that waits for that is due by itself. */
export function dueAt(drive: Drive, spec: StepSpec, effects: readonly Effect[]): number | null {
  const due = effects.flatMap((effect) => {
    if (!spec.reconcile || !drive.asked.has(effect.step.id)) return []
    const from = drive.attempt.believesNotDone(effect, settleAfter(spec))
    return typeof from === 'number' && from > drive.attempt.clock.now() ? [from] : []
  })
  return due.length > 0 ? Math.min(...due) : null
}
