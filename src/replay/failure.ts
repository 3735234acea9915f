/** What a run that failed asks for anew when it is driven again (R4). */
import type { Branch } from './branch.ts'
import type { Claim, Ticket } from './claim.ts'
import type { History } from './history.ts'
import { isCalled } from './identity.ts'

/** A failure that does not answer any more. */
export interface Failure {
  readonly step: string
  /** It, and what was asked for behind it. */
  readonly ids: readonly string[]
  /** Absent: it does not hold steps. Else its end alone is meant: it is entered again, and what is inside of it stays. */
  readonly reopened?: readonly string[]
}

export interface Blamed {
  /** In the order in which they were asked for. */
  readonly failures: readonly Failure[]
  /** The newest failure that answers again although nothing was asked for behind it: it may be why the run failed. */
  readonly left: string | undefined
}

/** Steps that the run failed with, by the errors that it threw; and those that failed branches or agents. */
export interface Known {
  readonly known: readonly string[]
  readonly escaped: ReadonlySet<string>
}

/**
 * Asked for anew is what the run failed with; what failed beside it, and nobody has seen; and where a branch or an agent failed the run, the failures of others
 * that nothing was asked for behind. What is recorded behind such a failure goes with it, but not what ran beside it: another line of work, or a branch or agent
 * beside that which it lies in, also one that came later.
 */
export function blamed(branches: readonly Branch[], history: History, now: number, { known, escaped }: Known): Blamed {
  const newest = [...new Map(branches.flatMap(({ tickets }) => tickets.map((ticket) => [ticket.ref.id, ticket] as const))).values()].sort((a, b) => a.claimedAt - b.claimedAt)
  const outcomeOf = ({ ref }: Ticket) => history.records.get(ref.id)?.end?.outcome
  const hasEscaped = known.some((step) => escaped.has(step))
  const blames = new Map<Ticket, boolean>()

  const isBlamed = (ticket: Ticket): boolean => {
    let is = blames.get(ticket)
    if (is === undefined) blames.set(ticket, (is = known.includes(ticket.ref.id) ? !isLeft(ticket) : isFailure(ticket) && (isUnseen(ticket) || (hasEscaped && escaped.has(ticket.ref.id) && !hasBehind(ticket)))))
    return is
  }

  /** Nobody has been told. A failure of a call is for the model that asked for it: to be told of it is how its loop goes on. */
  const isUnseen = ({ deliveredAt, ref: { id } }: Ticket): boolean => deliveredAt === 0 && !isCalled(id)

  /** What somebody left at that, or did not agree to, stands: asked for again, it would be asked about again, for ever. */
  const isLeft = (ticket: Ticket): boolean => {
    const outcome = outcomeOf(ticket)
    return (outcome?.type === 'unknown' && outcome.cause === 'skipped') || history.approvals.isDenied(ticket.ref.id)
  }

  /** It failed, and that is not known from before, when it may have been seen. */
  const isFailure = (ticket: Ticket): boolean => {
    const type = outcomeOf(ticket)?.type
    if ((type !== 'error' && type !== 'unknown') || isLeft(ticket)) return false
    // What holds it has come to its own end with it.
    for (let { around } = ticket.within; around; around = around.within.around) if (outcomeOf(around) && !isBlamed(around)) return false
    return ticket.record?.end === undefined || !isFollowed(ticket)
  }

  /** In the journal, by what stands in its branch. */
  const isFollowed = ({ ref, record }: Ticket): boolean =>
    history.childrenOf(ref.branch).some((child) => [...history.recordsBelow(child)].some((id) => history.records.get(id)!.seq > record!.seq))

  /** What was asked for by code that goes on behind it, in its branch and those above. */
  function* behind({ ref, within, deliveredAt }: Ticket): Generator<string, void> {
    const since = deliveredAt || now
    let at = ref.id
    for (let branch: Branch | undefined = within; branch; at = branch.path, branch = branch.parent) {
      const isOwn = branch === within
      // What comes behind the last that does is found at once, however far that is behind the failure.
      let last = at
      for (const { claim, claimedAt, ref: { id, kind } } of branch.tickets) {
        if (claimedAt <= since || (!isOwn && kind === 'agent') || !(follows(claim, last) || follows(claim, at))) continue
        last = id
        yield id
      }
      if (!isOwn) continue
      for (const child of branches) if (child.parent === branch && child.place !== undefined && child.openedAt > since) yield child.path
    }
  }

  const hasBehind = (ticket: Ticket): boolean => behind(ticket).next().done !== true

  const failureOf = (ticket: Ticket): Failure => {
    const { id, kind } = ticket.ref
    const holdsSteps = kind !== 'model' && history.hasInside(id) && !history.ledger.effects.has(id)
    return holdsSteps ? { step: id, ids: [...behind(ticket)], reopened: [id] } : { step: id, ids: [id, ...behind(ticket)] }
  }

  return {
    failures: newest.filter(isBlamed).map(failureOf),
    left: newest.findLast((ticket) => !isBlamed(ticket) && ticket.deliveredAt > 0 && isFailure(ticket) && !hasBehind(ticket))?.ref.id,
  }
}

/** Nobody knows of code that has left its context. */
const follows = ({ follows }: Claim, id: string): boolean => !follows || follows(id)
