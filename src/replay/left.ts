/** What the journal has, and the program does not ask for (R5). */
import type { Branch } from './branch.ts'
import type { Claim } from './claim.ts'
import type { History } from './history.ts'
import { isCalled } from './identity.ts'

/** Everything of a branch that was not asked for: steps, calls of its responses, branches that were not opened (`isOpen`: it was, in this branch). */
export function leftOf(branch: Branch, history: History, isOpen: (path: string) => boolean): string[] {
  const claimed = new Set(branch.tickets.map((ticket) => ticket.ref.id))
  const responses = branch.tickets.filter((ticket) => ticket.ref.kind === 'model').map((ticket) => ticket.ref.id)
  return [branch.path, ...responses].flatMap((path) => history.childrenOf(path)).filter((path) => !claimed.has(path) && !isOpen(path))
}

/** Of the response that a new request goes on from, the calls that nobody has asked for: they do not validate by now, say, and the model is told that. */
export function callsLeft(branch: Branch, { model }: Claim, history: History): string[] {
  const calls = model?.carriesOn === undefined ? [] : history.childrenOf(model.carriesOn).filter(isCalled)
  // They were asked for last, so they are found at once, however long the branch is.
  return calls.filter((id) => !branch.tickets.findLast(({ ref }) => ref.id === id))
}
