/** The end of a step, written down before it is announced (R3). */
import type { Consumption } from '../effects/guard.ts'
import { encode, type Encoded, type EncodeOptions } from '../journal/codec.ts'
import type { KeptFile } from '../journal/entry.ts'
import type { StepUsage } from '../journal/entry.ts'
import type { NewEntry } from '../journal/writer.ts'
import { effectOf, type Ticket } from '../replay/claim.ts'
import { lastOverlapOf } from '../replay/overlap.ts'
import type { Drive } from './drive.ts'
import type { Ended } from './drive-end.ts'
import { failed, isLost, isOfRecord, messageOf } from './outcome.ts'
import { reduced, withinRecord } from './reduced.ts'
import { recordName } from './room.ts'
import { settledBy } from './settle.ts'
import { ofStep, type StepSpec } from './step.ts'
import { NOT_BY_ITSELF } from './waiting.ts'

/** Durable before announced (R3). */
export async function record(
  drive: Drive,
  ticket: Ticket,
  spec: StepSpec,
  end: Ended,
  measured: { readonly tries: number; readonly ms: number; readonly usage?: StepUsage; readonly files?: readonly KeptFile[] },
  consumes: Consumption = { effects: [], decisions: [] },
): Promise<void> {
  const { attempt } = drive
  const { ref } = ticket
  const { fingerprint, effect } = spec.claim
  const ok = end.outcome.type === 'value' || end.outcome.type === 'unstored'
  if (fingerprint === null) {
    attempt.notRecorded('NOT_FINGERPRINTED', `${spec.label} holds what has no fingerprint: it is neither recorded nor replayed`, ref.id)
    attempt.budget.unrecorded(measured.usage)
    if (ref.kind === 'model') drive.unrecordableResponses.add(ref.id)
    return drive.ended(ticket, end, undefined)
  }
  if (standsAlready(drive, ticket, spec, measured.usage)) return
  if (spec.hasInside) drive.noteLeft(ticket)
  const entry: NewEntry = {
    type: 'step-ended',
    step: ref,
    fingerprint,
    ...afterOf(ticket),
    ...lastOverlapOf(ticket),
    outcome: end.outcome,
    ...(end.failedBy && end.failedBy.length > 0 && { failedBy: end.failedBy }),
    ...effectOf(spec.claim),
    ...modelParts(spec),
    ...(end.asked.length > 0 && { asked: end.asked }),
    ...measured,
  }
  let told = end
  let seq: number | undefined
  try {
    seq = await attempt.writeStep([...consumed(ref.id, consumes), entry], recordName(drive, spec, ref.id))
    attempt.countRecorded(ref.kind, ref.id)
  } catch (error) {
    if (isLost(error)) {
      // Another drives the run now, and may be in doubt about this very step: what came of it is told by the inbox.
      if (effect && ok && measured.tries > 0) attempt.options.onLateMessage({ type: 'late-result', ...settledBy(ticket, { type: 'completed', outcome: withinRecord(drive, spec, end.outcome, ref.id) }) })
      return attempt.abort(error)
    }
    if (standsAlready(drive, ticket, spec, measured.usage)) return
    if (isOfRecord(error)) {
      const { files, ...others } = measured
      if (files) {
        attempt.warn('FILE_NOT_KEPT', `${messageOf(error)}; the ${files.length} files that it fetched are not kept, a request after a resume fetches them again`, ref.id)
        return record(drive, ticket, spec, end, others, consumes)
      }
      const outcome = reduced(spec, end.outcome, error, ref.id, attempt.secrets)
      if (outcome) return record(drive, ticket, spec, { outcome, asked: [] }, measured, consumes)
    }
    const isRun = measured.tries > 0
    attempt.budget.unrecorded(measured.usage)
    if (isOfRecord(error) && !(effect && isRun)) {
      // No store will ever take it, so its run must not wait for one: its caller is told, and so the next time. Why nothing ran, the error that there is says better.
      if (isRun || end.outcome.type !== 'error') told = { outcome: failed(error), asked: [] }
    } else {
      const message = `${spec.label} ended, but the store refused its record: ${messageOf(error)}`
      // Its outcome cannot be made durable, so it cannot be announced; its `started` stands, and with it the doubt: unless the inbox takes what is known of it.
      if (effect && ok && isRun && !isOfRecord(error)) attempt.options.onLateMessage({ type: 'late-result', ...settledBy(ticket, { type: 'completed', outcome: withinRecord(drive, spec, end.outcome, ref.id) }) })
      if (effect) return drive.hold(ticket, { type: 'not-recorded', step: ref.id, message }, isOfRecord(error) ? NOT_BY_ITSELF : null)
      attempt.notRecorded('NOT_RECORDED', message, ref.id)
      if (ref.kind === 'model') drive.unrecordedResponses.add(ref.id)
    }
  }
  attempt.emit({ type: 'step-finished', ...ofStep(ref), ok: ok && told === end, tries: measured.tries, ms: measured.ms })
  drive.ended(ticket, told, seq)
  if (effect) drive.wake()
}

/** A try that was left, or an earlier drive, may come to its end beside the one that counts: of two results the first one stands (C20). */
function standsAlready(drive: Drive, ticket: Ticket, { claim }: StepSpec, usage: StepUsage | undefined): boolean {
  const { attempt } = drive
  const first = ticket.record?.end || claim.effect ? undefined : attempt.history.records.get(ticket.ref.id)
  if (!first?.end) return false
  attempt.budget.unrecorded(usage)
  drive.ended(ticket, { outcome: first.end.outcome, asked: first.asked }, first.end.seq)
  return true
}

export const consumed = (step: string, consumes: Consumption): NewEntry[] =>
  consumes.effects.length + consumes.decisions.length > 0 ? [{ type: 'consumed', step, ...consumes }] : []

export const afterOf = ({ claim: { after } }: Ticket): { after?: readonly string[] } => (after ? { after } : {})

export const modelParts = ({ claim: { model } }: StepSpec): { config?: string; prompt?: NonNullable<StepSpec['claim']['model']>['prompt'] } =>
  model ? { config: model.config, prompt: model.prompt } : {}

export function encodedInput(spec: StepSpec, limit: Pick<EncodeOptions, 'maxBytes' | 'secrets'> = {}): { input?: Encoded } {
  if (spec.input === undefined) return {}
  try {
    return { input: encode(spec.input, { path: `input of ${spec.label}`, ...limit }) }
  } catch {
    // A call is known by its fingerprint; its input is kept for reconcile and for people.
    return {}
  }
}
