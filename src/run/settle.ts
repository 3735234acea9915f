/** How a doubt ends: the outside world is asked, or the work comes to its end after all (R6). */
import type { Effect } from '../effects/ledger.ts'
import { decode } from '../journal/codec.ts'
import type { Settlement, StepRef } from '../journal/entry.ts'
import { execute, type LateOutcome, type Reconciled } from '../reliability/index.ts'
import type { Ticket } from '../replay/claim.ts'
import { effectAfter, isNotDone } from './after-error.ts'
import type { Drive } from './drive.ts'
import { isLost, messageOf, stored } from './outcome.ts'
import { ofStep, type StepSpec } from './step.ts'

/** `not-done` is believed this long after the former owner could last act, where the tool has no timeout to go by, ms. */
const SETTLE_AFTER_MS = 60_000

export const settleAfter = (spec: StepSpec): number => spec.settleAfterMs ?? spec.timeoutMs ?? SETTLE_AFTER_MS

/** Asks the outside world about an effect that is in doubt. */
export async function reconcile(drive: Drive, ticket: Ticket, spec: StepSpec, effect: Effect): Promise<void> {
  const { attempt } = drive
  drive.asked.add(effect.step.id)
  const ask = spec.reconcile
  if (!ask) return
  const asked = await execute(
    () => ask({
      input: effect.input === undefined ? undefined : decode(effect.input),
      idempotencyKey: effect.idempotencyKey,
      runId: attempt.runId,
      step: effect.step.id,
      toolName: effect.ref.name,
    }),
    {
      retry: attempt.policies.retry,
      timeoutMs: spec.timeoutMs ?? SETTLE_AFTER_MS,
      deadline: attempt.budget.deadline,
      signal: attempt.signal,
      clock: attempt.clock,
      random: attempt.options.random,
      label: `reconcile of ${spec.label}`,
    },
  )
  if (asked.type !== 'ok') {
    attempt.warn('RECONCILE_FAILED', `reconcile of ${spec.label} failed: ${messageOf(asked.error)}`, ticket.ref.id)
    return
  }
  const { value } = asked
  if (!isReconciled(value)) {
    const text = JSON.stringify(value) ?? String(value)
    // Before it is cut: a part of a secret would not be known as one.
    const got = attempt.secrets?.hide(text) ?? text
    attempt.warn('RECONCILE_FAILED', `reconcile of ${spec.label} must give { status: 'completed', output } or { status: 'not-done' }, got ${got.slice(0, 200)}: the doubt stands`, ticket.ref.id)
    return
  }
  if (value.status === 'not-done' && attempt.believesNotDone(effect, settleAfter(spec)) !== true) return
  const settlement: Settlement = value.status === 'not-done'
    ? { type: 'not-done' }
    : { type: 'completed', outcome: stored(spec, value.output, effect.step.id) }
  await settle(drive, effect.step, 'reconcile', settlement)
}

/** What a service's own lookup gives (nothing, a record with a status of its own) says neither: taken for one, it would settle a doubt about money wrongly. */
export const isReconciled = (value: unknown): value is Reconciled<unknown> =>
  typeof value === 'object' && value !== null && 'status' in value && ((value.status === 'completed' && 'output' in value) || value.status === 'not-done')

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
  if (late.ok) return { type: 'completed', outcome: stored(spec, late.value, step) }
  return isNotDone(effectAfter(drive, spec, step, late.error)) ? { type: 'not-done' } : undefined
}
