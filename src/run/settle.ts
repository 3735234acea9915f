/** How a doubt ends: the outside world has said, or the work comes to its end after all (R6). */
import { tells } from '../effects/effect.ts'
import type { Settled, Settlement } from '../journal/entry.ts'
import type { LateOutcome } from '../reliability/index.ts'
import type { Ticket } from '../replay/claim.ts'
import { effectAfter, isNotDone } from './after-error.ts'
import type { Drive } from './drive.ts'
import { isLost, messageOf, stored } from './outcome.ts'
import { withinRecord } from './reduced.ts'
import { ofStep, type StepSpec } from './step.ts'

/** `not-done` is believed this long after the former owner could last act, where the tool has no timeout to go by, ms. */
export const SETTLE_AFTER_MS = 60_000

export const settleAfter = (spec: StepSpec): number => spec.settleAfterMs ?? spec.timeoutMs ?? SETTLE_AFTER_MS

/** What came of a step, as it was started last. */
export const settledBy = ({ ref, start }: Ticket, settlement: Settlement): Settled => ({ step: ref.id, start, settlement })

/** Writes down what is known of an effect by now. What the store refuses is told by the inbox, if that takes it: nobody else may ever know. */
export async function settle(drive: Drive, by: 'reconcile' | 'late-result', settled: Settled): Promise<void> {
  const { attempt } = drive
  const effect = attempt.history.ledger.effects.get(settled.step)
  if (!effect || !tells(effect, settled)) return
  try {
    await attempt.write([{ type: 'settled', by, ...settled }])
  } catch (error) {
    attempt.options.onLateMessage({ type: 'late-result', ...settled })
    if (isLost(error)) attempt.abort(error)
    else attempt.warn('NOT_RECORDED', `what came of ${effect.step.kind} "${effect.step.name}" could not be recorded: ${messageOf(error)}`, settled.step)
    return
  }
  attempt.emit({ type: 'doubt-settled', ...ofStep(effect.step), by, as: settled.settlement.type })
  drive.wake()
}

/** Work that was no longer waited for has come to an end after all: that settles its doubt (R6). */
export function onLate(drive: Drive, ticket: Ticket, spec: StepSpec, late: LateOutcome<unknown>): void {
  const { attempt } = drive
  attempt.abandoned.delete(ticket.ref.id)
  if (!spec.claim.effect) return
  const settlement = lateSettlement(drive, spec, late, ticket.ref.id)
  if (!settlement) return
  const settled = settledBy(ticket, settlement)
  if (attempt.over) attempt.options.onLateMessage({ type: 'late-result', ...settled })
  else {
    attempt.leftOpen.delete(ticket.ref.id)
    drive.track(settle(drive, 'late-result', settled))
  }
}

function lateSettlement(drive: Drive, spec: StepSpec, late: LateOutcome<unknown>, step: string): Settlement | undefined {
  if (late.ok) return { type: 'completed', outcome: withinRecord(drive, spec, stored(spec, late.value, step, drive.attempt.secrets), step) }
  return isNotDone(effectAfter(drive, spec, step, late.error)) ? { type: 'not-done' } : undefined
}
