/** What others send to a run, and how its owner takes it into the journal (R9). */
import type { Settled } from '../journal/entry.ts'
import { readMessage } from '../journal/message.ts'
import type { InboxMessage } from '../journal/store.ts'
import { unsealed, type Secrets } from '../journal/secrets.ts'
import type { NewEntry } from '../journal/writer.ts'
import { isInDoubt } from '../effects/doubt.ts'
import { tells, wouldBeRepeated, type Effect } from '../effects/effect.ts'
import type { History } from '../replay/history.ts'

export type { Message } from '../journal/message.ts'

/** The entries that a message of run `runId` becomes. What is settled already is not settled again (C20). @throws HoldfastError as {@link readMessage}. */
export function entriesOf(runId: string, sent: InboxMessage, history: History, secrets?: Secrets): NewEntry[] {
  const { seq } = sent
  const message = unsealed(runId, readMessage(runId, sent), secrets)
  const effect = history.ledger.effects.get(message.step)
  const taken = { type: 'inbox-taken', seq } as const
  if (message.type === 'decision') {
    // Known meanwhile, and in nobody's way: a decision about it would answer for something that nobody has seen yet.
    if (effect?.outcome && !wouldBeRepeated(effect)) return [{ ...taken, step: message.step }]
    return [{ type: 'decision', inbox: seq, step: message.step, effect: message.effect, fingerprint: message.fingerprint, since: message.since, decision: message.decision }]
  }
  if (message.type === 'approval') {
    const question = history.approvals.about(message.step)
    if (question?.seq !== message.question || !history.approvals.isOpen(question)) return [{ ...taken, step: message.step }]
    return [{ type: 'approval-decided', inbox: seq, step: message.step, decision: message.decision }]
  }
  if (!effect || !isNews(effect, message)) return [taken]
  const { step, start, settlement } = message
  return [{ type: 'settled', step, ...(start !== undefined && { start }), by: 'late-result', settlement }, taken]
}

/** Whether what came of a start settles anything: a doubt, or that it happened, whatever was said or decided of it since. */
export const isNews = (effect: Effect, settled: Settled): boolean =>
  tells(effect, settled) && (settled.settlement.type === 'completed' || isInDoubt(effect, () => false))
