/** What a failed run must not replay (R4). */
import type { Branch } from './branch.ts'
import type { Ticket } from './claim.ts'

/**
 * The step that failed it, and what was claimed after that failure was handed out, in its branch and those above. What ran beside it stays.
 * `now`: in events of the machine, for a failure that was not handed out.
 */
export function blamed(branches: readonly Branch[], step: string, now: number): readonly string[] {
  const failed = ticketOf(branches, step)
  if (!failed) return []
  const since = failed.deliveredAt || now
  const ids = [failed.ref.id]
  for (let branch: Branch | undefined = failed.within; branch; branch = branch.parent) {
    for (const ticket of branch.tickets) if (ticket.claimedAt > since) ids.push(ticket.ref.id)
    for (const child of branches) if (child.parent === branch && child.openedAt > since) ids.push(child.path)
  }
  return ids
}

function ticketOf(branches: readonly Branch[], step: string): Ticket | undefined {
  for (const branch of branches) {
    const found = branch.tickets.findLast((ticket) => ticket.ref.id === step)
    if (found) return found
  }
  return undefined
}
