/** What others send to a run (R9): its owner takes it into the journal. */
import { hash } from '../core/hash.ts'
import { HoldfastError } from '../errors.ts'
import type { Placed } from './chain.ts'
import { encodedFault } from './encoded.ts'
import { FORMAT, type ApprovalDecision, type Decision, type EffectRef, type Settled } from './entry.ts'
import { messageFault } from './schema.ts'
import type { Secrets } from './secrets.ts'
import type { InboxMessage } from './store.ts'
import type { NewEntry } from './writer.ts'

export type Message =
  | {
      readonly type: 'decision'
      readonly step: string
      readonly effect: EffectRef
      readonly fingerprint: string
      readonly since: number
      readonly decision: Decision
    }
  /** To the question at position `question` of the journal. */
  | { readonly type: 'approval'; readonly step: string; readonly question: number; readonly decision: ApprovalDecision }
  /** The work of a step that was no longer waited for came to an end after its attempt did. */
  | ({ readonly type: 'late-result' } & Settled)

/** The text of a message to run `runId`, with the names of secrets in place of their values, and its checksum for its last field. */
export function writeMessage(runId: string, message: Message, secrets?: Secrets): string {
  const text = secrets ? secrets.seal(message) : JSON.stringify(message)
  return `${text.slice(0, -1)},"sum":"${hash(runId, text)}"}`
}

const SEALED = /^([^]*),"sum":"([0-9a-f]{32})"\}$/

/** Whether the text is as {@link writeMessage} made it for this run. */
function isWhole(runId: string, body: string): boolean {
  const [, text, sum] = SEALED.exec(body) ?? []
  return body.isWellFormed() && sum === hash(runId, `${text}}`)
}

/** @throws HoldfastError `STORE_CORRUPT` with the place, `STORE_NEWER` for what a newer build sent (its `format` says so). */
export function readMessage(runId: string, { seq, body }: InboxMessage): Message {
  const place = placeOf(runId, seq)
  let message: unknown
  try {
    message = JSON.parse(body)
  } catch (cause) {
    throw damagedMessage(runId, seq, 'it is not JSON', cause)
  }
  const format = formatOf(message)
  if (format > FORMAT) {
    throw new HoldfastError('STORE_NEWER', `${place} was written in format ${format}, this build reads up to ${FORMAT}`, { runId, advice: 'Update holdfast; nothing was changed' })
  }
  if (!isWhole(runId, body)) throw damagedMessage(runId, seq, 'its checksum does not match')
  const fault = messageFault(message, (value, path) => encodedFault(value, path, (message as { readonly secrets?: unknown }).secrets))
  if (fault !== undefined) throw damagedMessage(runId, seq, fault)
  return message as Message
}

/** The newest message that a salvage has given up; 0: none has. Those up to it need not be there any more. */
export const settledMessages = (entries: readonly Placed[]): number => entries.reduce((newest, { entry }) => (entry.type === 'salvaged' ? Math.max(newest, entry.inbox) : newest), 0)

/** The message that an entry has taken in; 0: none. */
export const takenSeq = (entry: NewEntry): number => (entry.type === 'decision' || entry.type === 'approval-decided' || entry.type === 'salvaged' ? (entry.inbox ?? 0) : entry.type === 'inbox-taken' ? entry.seq : 0)

/** The same over a journal; 0: none. */
export const newestTaken = (entries: readonly Placed[]): number => entries.reduce((newest, { entry }) => Math.max(newest, takenSeq(entry)), 0)

/** Absent in format 1. */
const formatOf = (message: unknown): number =>
  typeof message === 'object' && message !== null && 'format' in message && typeof message.format === 'number' ? message.format : 1

const placeOf = (runId: string, seq: number): string => `message ${seq} in the inbox of run "${runId}"`

/** The error for an inbox in which something is wrong at message `seq`. */
export const damagedMessage = (runId: string, seq: number, what: string, cause?: unknown): HoldfastError =>
  new HoldfastError('STORE_CORRUPT', `${placeOf(runId, seq)} is damaged: ${what.slice(0, 500)}`, {
    runId, cause, advice: 'Nothing was changed. Restore the store from a copy; holdfast verify lists all that is damaged',
  })
