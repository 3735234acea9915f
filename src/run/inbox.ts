/** What others send to a run, and how its owner takes it into the journal (R9). */
import type { Decision, EffectRef, Settlement } from '../journal/entry.ts'
import type { InboxMessage } from '../journal/store.ts'
import type { NewEntry } from '../journal/writer.ts'
import { isInDoubt } from '../effects/doubt.ts'
import type { History } from '../replay/history.ts'

export type Message =
  | { readonly type: 'decision'; readonly step: string; readonly effect: EffectRef; readonly decision: Decision }
  /** The work of a step that was no longer waited for came to an end after its attempt did. */
  | { readonly type: 'late-result'; readonly step: string; readonly settlement: Settlement }

/** The entries that a message becomes. What is settled already is not settled again (C20). */
export function entriesOf({ seq, body }: InboxMessage, history: History): NewEntry[] {
  const message = JSON.parse(body) as Message
  if (message.type === 'decision') {
    return [{ type: 'decision', inbox: seq, step: message.step, effect: message.effect, decision: message.decision }]
  }
  const effect = history.ledger.effects.get(message.step)
  const taken: NewEntry = { type: 'inbox-taken', seq }
  if (!effect || !isInDoubt(effect, () => false)) return [taken]
  return [{ type: 'settled', step: message.step, by: 'late-result', settlement: message.settlement }, taken]
}

/** The newest message that the journal has taken in. */
export const takenSeq = (entry: NewEntry): number => (entry.type === 'decision' ? entry.inbox : entry.type === 'inbox-taken' ? entry.seq : 0)
