/** How a doubt ends: the outside world has said, or the work comes to its end after all (R6). */
import type { Settlement, StepRef } from '../journal/entry.ts'
import type { LateOutcome } from '../reliability/index.ts'
import type { Ticket } from '../replay/claim.ts'
import { effectAfter, isNotDone } from './after-error.ts'
import type { Drive } from './drive.ts'
import { isLost, stored } from './outcome.ts'
import { withinRecord } from './reduced.ts'
import { ofStep, type StepSpec } from './step.ts'

/** `not-done` is believed this long after the former owner could last act, where the tool has no timeout to go by, ms. */
export const SETTLE_AFTER_MS = 60_000

export const settleAfter = (spec: StepSpec): number => spec.settleAfterMs ?? spec.timeoutMs ?? SETTLE_AFTER_MS

export async function settle(drive: Drive, step: StepRef, by: 'reconcile' | 'late-result', settlement: Settlement): Promise<void> {
  const { attempt } = drive
  try {
    await attempt.write([{ type: 'settled', step: step.id, by, settlement }])
  } catch (error) {
    if (isLost(error)) {
      attempt.options.onLateMessage({ type: 'late-result', step: step.id, settlement })
      attempt.abort(error)
    }
    return
  }
  attempt.emit({ type: 'doubt-settled', ...ofStep(step), by, as: settlement.type })
  drive.wake()
}

/** Work that was no longer waited for has come to an end after all: that settles its doubt (R6). */
export function onLate(drive: Drive, ticket: Ticket, spec: StepSpec, late: LateOutcome<unknown>): void {
  const { attempt } = drive
  attempt.abandoned.delete(ticket.ref.id)
  if (!spec.claim.effect) return
  const settlement = lateSettlement(drive, spec, late, ticket.ref.id)
  if (!settlement) return
  if (attempt.over) attempt.options.onLateMessage({ type: 'late-result', step: ticket.ref.id, settlement })
  else {
    attempt.leftOpen.delete(ticket.ref.id)
    drive.track(settle(drive, ticket.ref, 'late-result', settlement))
  }
}

function lateSettlement(drive: Drive, spec: StepSpec, late: LateOutcome<unknown>, step: string): Settlement | undefined {
  if (late.ok) return { type: 'completed', outcome: withinRecord(drive, spec, stored(spec, late.value, step, drive.attempt.secrets), step) }
  return isNotDone(effectAfter(drive, spec, step, late.error)) ? { type: 'not-done' } : undefined
}
