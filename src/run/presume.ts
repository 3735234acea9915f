/** A call that may have been made in a part of the journal that was lost: it is taken for one that was started, and nobody knows how it ended (R15). */
import type { Ticket } from '../replay/claim.ts'
import type { Drive } from './drive.ts'
import { ofStep, type StepSpec } from './step.ts'
import { writeAhead } from './write-ahead.ts'

export const mayBeLost = ({ attempt }: Drive, { ref }: Ticket, { claim }: StepSpec): boolean =>
  claim.effect !== undefined && attempt.history.ledger.mayBeLost(ref.id)

/**
 * Writes down the start that may have been lost, with the key that it would have had: from here on it is in doubt like any other, and is
 * settled as its policy, or somebody, says. Resolves to false where it cannot go on.
 */
export async function presume(drive: Drive, ticket: Ticket, spec: StepSpec): Promise<boolean> {
  const { attempt } = drive
  const isWritten = await writeAhead(drive, ticket, spec, { idempotencyKey: attempt.idempotencyKey(ticket), presumed: true })
  if (isWritten) attempt.emit({ type: 'step-in-doubt', ...ofStep(ticket.ref), cause: 'presumed' })
  return isWritten
}
