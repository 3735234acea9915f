/** What somebody answers to a call that waits for approval: checked, and put into the run's inbox (R10). */
import { hasExpired, type Question } from '../effects/approvals.ts'
import { HoldfastError } from '../errors.ts'
import { encode } from '../journal/codec.ts'
import type { ApprovalDecision } from '../journal/entry.ts'
import { NAME_BYTES, TEXT_BYTES, textWithin } from '../journal/given-text.ts'
import { writeMessage } from '../journal/message.ts'
import type { Secrets } from '../journal/secrets.ts'
import { effectReasons, type ApprovalReason, type EffectReason } from '../journal/suspend-reason.ts'
import type { RunRow, Store } from '../journal/store.ts'
import { History } from '../replay/history.ts'
import { spokenTo, stepOf, type Saying } from './saying.ts'
import { DEFAULT_SIZES, sizeOf } from './sizes.ts'

export interface ApproveInput {
  /** It is called with these arguments, which its schema has to accept, in place of those that the model asked for. Default: as asked. */
  readonly input?: unknown
  /** Who agreed: kept, and shown. At most 1 KiB. */
  readonly by?: string
}

export interface DenyInput {
  /** The model is told. At most 64 KiB. */
  readonly reason?: string
  /** Who did not agree: kept, and shown. At most 1 KiB. */
  readonly by?: string
}

/** How large what is given may be, as it is stored. */
type Limits = Pick<Saying, 'sizes' | 'secrets'>

/** @throws HoldfastError `VALUE_NOT_STORABLE`, `VALUE_TOO_LARGE`. */
export const approvedBy = (given: ApproveInput, { sizes = DEFAULT_SIZES, secrets }: Limits = {}): ApprovalDecision =>
  ({ type: 'approved', ...whoSays(given, secrets), ...(given.input !== undefined && { input: encode(given.input, sizeOf('input', sizes, secrets)) }) })

/** @throws HoldfastError `VALUE_TOO_LARGE`. */
export const deniedBy = (given: DenyInput, { secrets }: Limits = {}): ApprovalDecision =>
  ({ type: 'denied', ...whoSays(given, secrets), ...(given.reason !== undefined && { reason: textWithin('reason', given.reason, TEXT_BYTES, secrets) }) })

const whoSays = ({ by }: ApproveInput | DenyInput, secrets: Secrets | undefined): { readonly by?: string } => (by === undefined ? {} : { by: textWithin('by', by, NAME_BYTES, secrets) })

/** Needs the store only: somebody may answer where no agent is at hand. The run goes on when it is resumed. */
export async function answer(store: Store, runId: string, asked: string | ApprovalReason, decision: ApprovalDecision, { now, secrets, asOf }: Saying): Promise<void> {
  const step = stepOf(decision.type === 'approved' ? 'approve()' : 'deny()', runId, asked)
  const { row, entries } = await spokenTo(store, runId, asOf)
  const history = new History()
  for (const { entry, seq } of entries) history.apply(entry, seq)
  const open = isOver(row) ? [] : history.approvals.open().filter(({ step: { id } }) => !history.isGone(id))
  const question = open.find((each) => each.step.id === step)
  if (!question) {
    const reason = isOver(row) ? undefined : effectReasons(entries).find((each) => each.step === step)
    throw nothingToApprove(row, step, whyNot(row, history.approvals.about(step)), open, reason && resolveIt(runId, reason))
  }
  if (typeof asked === 'string' && question.seq > (asOf ?? Infinity)) throw nothingToApprove(row, step, `was asked about after entry ${asOf}`, open)
  if (typeof asked !== 'string' && asked.question !== question.seq) throw nothingToApprove(row, step, 'is another call now than the one that was asked about', open)
  if (hasExpired(question, now)) throw nothingToApprove(row, step, 'has expired: it counts as denied', [])
  const message = writeMessage(runId, { type: 'approval', step, question: question.seq, decision }, secrets)
  const sent = await store.send(runId, { question: `approval ${question.seq}`, body: message, wakes: true, now })
  if (sent === null) throw nothingToApprove(row, step, 'was answered already', [])
}

const isOver = ({ status }: RunRow): boolean => status === 'completed' || status === 'cancelled'

function whyNot(row: RunRow, question: Question | undefined): string {
  if (question?.decision) return `was answered already (${question.decision.type})`
  return isOver(row) ? `waits for nobody: the run is ${row.status}` : 'does not wait for approval'
}

/** It is an effect that is in question, not whether it may be made. */
const resolveIt = (runId: string, { step, first = [] }: EffectReason): string =>
  first.length > 0 ? `It waits for the outcome of ${first.join(', ')}: settle that with resolve()` : `It waits for a decision about its effect: resolve(), or holdfast resolve ${runId} ${step}`

function nothingToApprove({ runId, status }: RunRow, step: string, what: string, open: readonly Question[], instead?: string): HoldfastError {
  const advice = instead ?? (open.length > 0 ? `What waits for approval: ${open.map((question) => question.step.id).join(', ')}` : status === 'suspended' ? 'Resume the run to go on' : undefined)
  return new HoldfastError('NOTHING_TO_APPROVE', `step "${step}" of run "${runId}" ${what}`, { runId, step, ...(advice !== undefined && { advice }) })
}
