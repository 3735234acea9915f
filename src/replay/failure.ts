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
  /** The newest failure that answers again, and may be why the run failed. */
  readonly left: string | undefined
}

/** Steps that the run failed with, by the errors that it threw; and those that failed branches or agents. */
export interface Known {
  readonly known: readonly string[]
  readonly escaped: ReadonlySet<string>
}

/**
 * Asked for anew is what the run failed with, and what that failed with inside; what failed beside it, and nobody has seen; and where branches or agents failed the
 * run, the failures of others that nothing was asked for behind. What is recorded behind such a failure goes with it, but not what ran beside it: another line of work,
 * or a branch or agent beside that which it lies in, also one that came later.
 */
export function blamed(branches: readonly Branch[], history: History, now: number, { known, escaped }: Known): Blamed {
  const tickets = new Map(branches.flatMap(({ tickets }) => tickets.map((ticket) => [ticket.ref.id, ticket] as const)))
  const outcomeOf = (id: string) => history.records.get(id)?.end?.outcome
  const hasEscaped = known.some((step) => escaped.has(step))
  const blames = new Map<string, boolean>()

  const isBlamed = (ticket: Ticket): boolean => {
    const { id } = ticket.ref
    let is = blames.get(id)
    if (is === undefined) blames.set(id, (is = known.includes(id) ? !isLeft(id) : isFailure(ticket) && (isUnseen(ticket) || hasFailedItsLine(ticket))))
    return is
  }

  /** What somebody left at that, or did not agree to, stands: asked for again, it would be asked about again, for ever. */
  const isLeft = (id: string): boolean => {
    const outcome = outcomeOf(id)
    return (outcome?.type === 'unknown' && outcome.cause === 'skipped') || history.approvals.isDenied(id)
  }

  const hasFailed = (id: string): boolean => {
    const type = outcomeOf(id)?.type
    return (type === 'error' || type === 'unknown') && !isLeft(id)
  }

  /** It failed, and that is not known from before, when it may have been seen. */
  const isFailure = (ticket: Ticket): boolean => {
    if (!hasFailed(ticket.ref.id)) return false
    // What holds it has come to its own end with it.
    for (let { around } = ticket.within; around; around = around.within.around) if (outcomeOf(around.ref.id) && !isBlamed(around)) return false
    return ticket.record?.end === undefined || !isFollowed(ticket)
  }

  /** In the journal, by what stands in its branch. */
  const isFollowed = ({ ref, record }: Ticket): boolean =>
    history.childrenOf(ref.branch).some((child) => [...history.recordsBelow(child)].some((id) => history.records.get(id)!.seq > record!.seq))

  /** Nobody has been told. A failure of a call is for the model that asked for it: to be told of it is how its loop goes on. */
  const isUnseen = ({ deliveredAt, ref: { id } }: Ticket): boolean => deliveredAt === 0 && !isCalled(id)

  /** A branch or an agent has failed with it, as others have that failed the run; or the run failed in other words, as a batch does that counts its failures. */
  const hasFailedItsLine = (ticket: Ticket): boolean =>
    escaped.has(ticket.ref.id) && (hasEscaped || (known.length === 0 && outcomeOf(ticket.ref.id)!.type === 'error')) && !hasBehind(ticket)

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

  const holdsSteps = (id: string): boolean => history.records.get(id)?.ref.kind !== 'model' && history.hasInside(id) && !history.ledger.effects.has(id)

  /** One inside of what was answered from its record was not asked for in this drive. */
  const failureOf = (id: string): Failure => {
    const ticket = tickets.get(id)
    const after = ticket ? [...behind(ticket)] : []
    return holdsSteps(id) ? { step: id, ids: after, reopened: [id] } : { step: id, ids: [id, ...after] }
  }

  /** One whose failure may be in other words than that of something inside of it, or of the run. */
  const leftOver = (): string | undefined => {
    const unexplained = [...ids].filter((id) => holdsSteps(id) && history.records.get(id)?.failedBy.length === 0)
    const inside = unexplained.flatMap((id) => [...history.recordsBelow(id)])
    const seen = known.length > 0 ? [] : [...tickets.values()].filter(({ deliveredAt }) => deliveredAt > 0).map(({ ref }) => ref.id)
    const seqOf = (id: string): number => history.records.get(id)!.seq
    return [...inside, ...seen].filter((id) => hasFailed(id) && !ids.has(id)).sort((a, b) => seqOf(a) - seqOf(b)).at(-1)
  }

  const ids = new Set([...tickets.values()].sort((a, b) => a.claimedAt - b.claimedAt).filter(isBlamed).map(({ ref }) => ref.id))
  for (const id of ids) for (const inside of history.records.get(id)?.failedBy ?? []) if (hasFailed(inside)) ids.add(inside)
  return { failures: [...ids].map(failureOf), left: leftOver() }
}

/** Nobody knows of code that has left its context. */
const follows = ({ follows }: Claim, id: string): boolean => !follows || follows(id)
