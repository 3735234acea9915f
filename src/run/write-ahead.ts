/** A step with effects is written down before its code is called (R2). */
import type { Consumption } from '../effects/guard.ts'
import type { NewEntry } from '../journal/writer.ts'
import { effectOf, type Ticket } from '../replay/claim.ts'
import { overlapOf } from '../replay/overlap.ts'
import type { Drive } from './drive.ts'
import { failed, isLost, isOfRecord, messageOf } from './outcome.ts'
import { afterOf, consumed, encodedInput, modelParts, record } from './record.ts'
import { noRoom, recordName } from './room.ts'
import type { StepSpec } from './step.ts'

/** `presumed`: it may have been started in a part of the journal that was lost. */
interface Start {
  readonly idempotencyKey: string
  readonly consumes?: Consumption
  readonly presumed?: true
}

/** Resolves to whether it stands in the journal now; where it does not, the code is not called, and everybody has been told. */
export async function writeAhead(drive: Drive, ticket: Ticket, spec: StepSpec, { idempotencyKey, consumes = NOTHING, presumed }: Start): Promise<boolean> {
  const { taken } = drive
  taken.keys.add(idempotencyKey)
  const isWritten = await written(drive, ticket, spec, consumes, () => [{
    type: 'step-started',
    step: ticket.ref,
    fingerprint: spec.claim.fingerprint ?? '',
    ...afterOf(ticket),
    ...overlapOf(ticket),
    idempotencyKey,
    ...effectOf(spec.claim),
    ...encodedInput(spec),
    ...modelParts(spec),
    ...(presumed && { presumed }),
  }])
  if (isWritten) taken.keys.delete(idempotencyKey)
  if (isWritten) ticket.start = drive.attempt.history.ledger.effects.get(ticket.ref.id)!.startedSeq
  return isWritten
}

/** The same of a step that has no start of its own, but uses something up. */
export const writeUsedUp = (drive: Drive, ticket: Ticket, spec: StepSpec, consumes: Consumption): Promise<boolean> => written(drive, ticket, spec, consumes, () => [])

const NOTHING: Consumption = { effects: [], decisions: [] }

async function written(drive: Drive, ticket: Ticket, spec: StepSpec, consumes: Consumption, entries: () => NewEntry[]): Promise<boolean> {
  const { attempt } = drive
  try {
    const misfit = noRoom(drive, ticket, spec)
    if (misfit) throw misfit
    await attempt.writeStep([...consumed(ticket.ref.id, consumes), ...entries()], recordName(drive, spec, ticket.ref.id))
    return true
  } catch (error) {
    if (isLost(error)) attempt.abort(error)
    // It would be refused for ever: its caller is told.
    else if (isOfRecord(error)) await record(drive, ticket, spec, { outcome: failed(error), asked: [] }, { tries: 0, ms: 0 }, consumes)
    // The run waits for a store that takes the record.
    else await drive.hold(ticket, { type: 'not-recorded', step: ticket.ref.id, message: `${spec.label} was not started: ${messageOf(error)}` })
    return false
  }
}
