/** What is refused before it starts (R1), and what to do about it. */
import type { Branch } from './branch.ts'
import { isBlind, type Claim, type Ticket, type Verdict } from './claim.ts'

export type Refusal = Verdict & { readonly type: 'refuse' }

/** What to do, by what is wrong. */
export const REFUSED = {
  ambiguous: 'Give each line of work a branch of its own: `currentRun().branch(key, fn)`',
  // What comes in any order stands at another number each time: with its input there, it is another one than is recorded.
  blind: 'Give each a `key` of its own, or each line of work a branch: `currentRun().branch(key, fn)`. Where they come in the same order each time, their `input` is enough. A run that has made it before asks somebody then',
  agent: 'Give each of them a key of its own, `run.agent(child, input, { key })`, or a branch: `currentRun().branch(key, fn)`',
  key: 'Give each of them a key of its own, or a branch: `currentRun().branch(key, fn)`',
  usedKey: 'Give each a key of its own, or each line of work a branch: `currentRun().branch(key, fn)`. Where they come in the same order each time, their `input` besides is enough',
  branchKey: 'Give each line of work a key of its own',
  call: 'Use what its first execution gave. What is to be done once more is a step of its own: run.step(name, { key }, fn)',
  ended: 'Await what a branch starts before its function returns. A queue that calls it from another branch needs AsyncResource.bind(fn)',
  config: 'Run it with the configuration it was started with, or allow the change with `onConfigChange`',
}

/** What cannot be told apart from what is open beside it is refused before it starts (R1). */
export function ambiguity(branch: Branch, claim: Claim, slot: number | undefined): Refusal | undefined {
  const open = [...branch.open]
  // What its own caller has cancelled is waited for by nobody: it only is not recorded yet.
  const [other] = open.filter((ticket) => !areReAsks(claim, ticket) && !ticket.claim.isGivenUp?.())
  if (claim.model && claim.model.tools.length > 0 && other) {
    return { type: 'refuse', code: 'AMBIGUOUS_STEP', message: `a model request that offers tools was made while ${other.ref.kind} "${other.ref.name}" of the same branch is open`, advice: REFUSED.ambiguous }
  }
  // Two equal requests are answered alike; the calls of a snippet are told apart by their order.
  if (slot === undefined || claim.kind === 'model' || (claim.place.type === 'call' && branch.isInsideCall)) return undefined
  const twin = open.find((t) => t.ref.slot !== undefined && t.ref.kind === claim.kind && t.ref.name === claim.name && t.claim.fingerprint === claim.fingerprint)
  if (twin) return { type: 'refuse', code: 'AMBIGUOUS_STEP', message: `two steps "${claim.name}" that ask for the same are open in one branch`, advice: claim.kind === 'tool' ? REFUSED.ambiguous : REFUSED.key }
  const former = isBlind(claim) ? branch.newestBlind(claim) : undefined
  if (former === undefined || comesAfter(claim, former)) return undefined
  return {
    type: 'refuse', code: 'AMBIGUOUS_STEP', advice: REFUSED.blind,
    message: `${claim.kind} "${claim.name}" was asked for before (${former.ref.id}), by other code of its branch than asks for it now, and says nothing of what it asks: ${WHY}`,
  }
}

/** Whether the code that asks comes after the former on resume, too: it has asked for that itself, or goes on from something that ended after it. Nobody knows of code that has left its context. */
export const comesAfter = ({ follows, seen = 0 }: Pick<Claim, 'follows' | 'seen'>, former: Ticket | Branch): boolean => {
  const endedAt = 'ref' in former ? former.deliveredAt : former.endedAt
  return !follows || (endedAt > 0 && endedAt <= seen) || follows(idOf(former))
}

const idOf = (former: Ticket | Branch): string => ('ref' in former ? former.ref.id : former.path)

/** Of code that runs beside other code, or waits in front of its step for something that no step records: to us they look alike. */
const WHY = 'nobody can tell that they come in this order again (it runs beside that, or waits for something outside of steps before it asks)'

/** What is known by a key and says nothing more of itself is told by its turn, where the key is used again: by code that follows what used it before (R1). */
export const usedByOthers = (what: string, former: Ticket | Branch): Refusal => ({
  type: 'refuse', code: 'AMBIGUOUS_STEP', advice: 'ref' in former ? REFUSED.usedKey : REFUSED.branchKey,
  message: `${what} was used before (${idOf(former)}), by other code of its branch than uses it now: ${WHY}`,
})

/**
 * A re-ask carries on the conversation of a step: a repair of one of its calls, made while it is still open or beside the repair of another
 * call. They are told apart by their conversations (C35).
 */
const areReAsks = ({ model }: Claim, other: Ticket): boolean =>
  model?.carriesOn !== undefined && (other.ref.id === model.carriesOn || other.carriesOn === model.carriesOn)

/** One call that a model asked for is one effect. */
export const repeatedCall = ({ name, place }: Claim, step: string): Refusal => ({
  type: 'refuse', code: 'REPEATED_CALL', message: `tool "${name}" is executed again for call "${(place as { callId: string }).callId}", which step ${step} stands for`, advice: REFUSED.call,
})
