/** A call that may have been made in a part of the journal that was lost: it is taken for one that was started, and nobody knows how it ended (R15). */
import { failed, isLost, isTooLarge, messageOf } from './outcome.ts'
import type { Ticket } from '../replay/claim.ts'
import type { Drive } from './drive.ts'
import { encodedInput, modelParts, record, recordName } from './record.ts'
import { ofStep, type StepSpec } from './step.ts'

export const mayBeLost = ({ attempt }: Drive, { ref }: Ticket, { claim }: StepSpec): boolean =>
  claim.effect !== undefined && attempt.history.ledger.mayBeLost(ref.id)

/**
 * Writes down the start that may have been lost, with the key that it would have had: from here on it is in doubt like any other, and is
 * settled as its policy, or somebody, says. Resolves to false where it cannot go on.
 */
export async function presume(drive: Drive, ticket: Ticket, spec: StepSpec): Promise<boolean> {
  const { attempt } = drive
  const { name, key } = spec.claim.effect!
  try {
    await attempt.writeStep([{
      type: 'step-started',
      step: ticket.ref,
      fingerprint: spec.claim.fingerprint ?? '',
      ...drive.machine.rangeOf(ticket),
      idempotencyKey: attempt.idempotencyKey(ticket),
      effect: { name, key },
      ...encodedInput(spec),
      ...modelParts(spec),
      presumed: true,
    }], recordName(spec, ticket.ref.id))
    attempt.emit({ type: 'step-in-doubt', ...ofStep(ticket.ref), cause: 'presumed' })
    return true
  } catch (error) {
    if (isLost(error)) attempt.abort(error)
    else if (isTooLarge(error)) await record(drive, ticket, spec, { outcome: failed(error), asked: [] }, { tries: 0, ms: 0 })
    else drive.hold(ticket, { type: 'not-recorded', step: ticket.ref.id, message: `${spec.label} was not started: ${messageOf(error)}` })
    return false
  }
}
