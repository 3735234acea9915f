/** What a call may be that stands at another place now, is known otherwise, or had effects of its own then (R5). */
import { isInDoubt } from '../effects/doubt.ts'
import { isDone, isSilent, wouldBeRepeated, type Effect } from '../effects/effect.ts'
import { calledWith, type ClaimedEffect, type Ticket } from './claim.ts'
import type { History } from './history.ts'
import { turnOf } from './identity.ts'
import type { Unclaimed } from './unclaimed.ts'

/** Effects that nobody has asked for, and that the call may be: it asks for the very same (a step without input has not said what), or may stand in a step that does. */
export function elsewhere(unclaimed: Unclaimed, history: History, ticket: Ticket, effect: ClaimedEffect, rivals: readonly string[]): readonly Effect[] {
  const turn = turnOf(ticket.ref.id)
  // What stood at its own turn is no other place, also where it is known otherwise by now.
  const others = candidates(unclaimed, history, ticket, effect, rivals).filter((each) => turnOf(each.step.id) === turn || unclaimed.mayBe(ticket.ref, calledWith(ticket.claim), each))
  const inside = history.ledger.insideOf(ticket.ref.id).filter((each) => isDone(each) || wouldBeRepeated(each) || isInDoubt(each, () => false))
  return [...others, ...inside]
}

function candidates(unclaimed: Unclaimed, history: History, { ref, claim }: Ticket, { name, key, policy, keysNow }: ClaimedEffect, rivals: readonly string[]): readonly Effect[] {
  // A schema may make something else of the same words by now.
  const words = claim.kind === 'tool' ? history.askedWith(ref.id) : undefined
  const inTheSameWords = (effect: Effect): boolean =>
    effect.fingerprint === calledWith(claim) || effect.asked === claim.fingerprint || (words !== undefined && history.askedWith(effect.step.id) === words)
  // A step that has no input says nothing of what it asks for, and so may be any.
  const isSilentStep = claim.kind === 'step' && !claim.hasInput
  const mayBe = (effect: Effect): boolean => policy.keyed || isSilentStep || inTheSameWords(effect) || isSilent(effect)
  // What has one key is one effect by the user's own word, whatever it asks for: a step's as a tool's.
  const alike = unclaimed.of({ name, key }, (effect) => mayBe(effect) || (claim.kind === 'step' && key !== ''), rivals)
  switch (claim.kind) {
    case 'step':
      return [...alike, ...unclaimed.otherwiseKeyed({ name, key }, ref, calledWith(claim), mayBe)]
    case 'tool': {
      // One without a key may be about the same: by the key that it would have now, if that can be told.
      const keyNow = (effect: Effect): string | undefined => (effect.ref.key === '' ? keysNow?.of(effect.input) : undefined)
      const isOne = (effect: Effect): boolean => (keyNow(effect) === undefined ? inTheSameWords(effect) : keyNow(effect) === key)
      const mayBeOne = (effect: Effect): boolean => effect.step.kind === 'tool' && (keyNow(effect) ?? key) === key
      return [...(keysNow ? unclaimed.keyedAnew({ name, key }, keysNow) : []), ...alike, ...unclaimed.otherwiseKeyedTool({ name, key }, isOne), ...history.ledger.standingOtherwise({ name, key }).filter(mayBeOne)]
    }
    default:
      return alike
  }
}

/** Of a call whose tool has no effects of its own by now: what it was when it had, as far as something of that stands. */
export function formerEffect(history: History, { ref, claim: { former } }: Ticket): ClaimedEffect | undefined {
  if (!former) return undefined
  const { ledger } = history
  const own = ledger.effects.get(ref.id)
  // With steps inside it was none of its own, which is said now; what somebody, or its tool, has told of it since stands all the same.
  const wasOwn = own && !own.superseded && !own.consumed && (own.outcome ? own.told !== 'outcome' : isInDoubt(own, () => false) && !hasInsideSince(history, ref.id, own.startedSeq))
  const others = [...ledger.standing(former), ...ledger.standingOtherwise(former)].filter((effect) => effect !== own)
  // A step of the handler is another one at another turn.
  return wasOwn || others.some(({ step }) => ref.kind !== 'step' || turnOf(step.id) === turnOf(ref.id)) ? former : undefined
}

/** Whether there are steps inside that its start has asked for: those of an earlier version came before it. */
const hasInsideSince = (history: History, id: string, startedSeq: number): boolean =>
  [...history.recordsBelow(id)].some((inside) => inside !== id && history.records.get(inside)!.seq > startedSeq)
