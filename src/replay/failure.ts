/** What a run that failed asks for anew when it is driven again (R4). */
import { isUnknown } from '../effects/doubt.ts'
import type { Outcome, StepRef } from '../journal/entry.ts'
import type { Branch } from './branch.ts'
import type { Claim, Ticket } from './claim.ts'
import type { History } from './history.ts'
import { around, isCalled } from './identity.ts'

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
  /** Steps with effects that were done behind them, where others that stand were done before: they may have undone those. */
  readonly cleanUp: readonly StepRef[]
  readonly left: Left | undefined
}

/** The newest failure that answers again, and may be why the run failed; or what somebody left at that, or did not agree to, which is why. */
export interface Left {
  readonly step: string
  readonly isDecided: boolean
  /** As of the failures: what was done behind it, and is done no more when that alone is asked for anew. */
  readonly cleanUp: readonly StepRef[]
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
export function blamed(branches: readonly Branch[], history: History, now: number, known: Known): Blamed {
  return new Failures(branches, history, now, known).blamed()
}

/** The failures of a drive that has ended, and what was asked for behind each. */
class Failures {
  readonly #branches: readonly Branch[]
  readonly #history: History
  /** The end of the drive, in its events. */
  readonly #now: number
  readonly #known: Known
  /** What was asked for in the drive, in the order in which it was. */
  readonly #tickets: ReadonlyMap<string, Ticket>
  /** Whether the run failed with what failed a branch or an agent. */
  readonly #hasEscaped: boolean
  readonly #blames = new Map<string, boolean>()

  constructor(branches: readonly Branch[], history: History, now: number, known: Known) {
    this.#branches = branches
    this.#history = history
    this.#now = now
    this.#known = known
    const tickets = branches.flatMap((branch) => branch.tickets).sort((a, b) => a.claimedAt - b.claimedAt)
    this.#tickets = new Map(tickets.map((ticket) => [ticket.ref.id, ticket]))
    this.#hasEscaped = known.known.some((step) => known.escaped.has(step))
  }

  blamed(): Blamed {
    const ids = new Set([...this.#tickets.values()].filter((ticket) => this.#isBlamed(ticket)).map(({ ref }) => ref.id))
    for (const id of ids) for (const inside of this.#failedBy(id)) if (this.#hasFailed(inside)) ids.add(inside)
    const decided = this.#known.known.find((id) => this.#isLeft(id))
    const left = decided ?? this.#leftOver(ids)
    const failures = [...ids].map((id) => this.#failureOf(id))
    return {
      failures, cleanUp: this.#cleanUpOf(failures),
      left: left === undefined ? undefined : { step: left, isDecided: this.#isLeft(left), cleanUp: this.#cleanUpOf([this.#failureOf(left)]) },
    }
  }

  #cleanUpOf(failures: readonly Failure[]): readonly StepRef[] {
    // What failed is asked for anew, or about, itself.
    const failed = new Set(failures.map(({ step }) => step))
    const roots = new Set(failures.flatMap(({ step, ids }) => ids.filter((id) => id !== step)))
    const isBehind = (id: string): boolean => around(id).some((path) => roots.has(path))
    const done = [...this.#history.records.values()].flatMap(({ ref }) => (this.#mayUndo(ref) && this.#isDone(ref.id) && (!failed.has(ref.id) || isBehind(ref.id)) ? [ref] : []))
    const behind = done.filter(({ id }) => isBehind(id))
    return behind.length < done.length ? behind : []
  }

  /** It has changed something outside, also if it may do so again. Of a tool inside of what was answered as a whole nobody knows. */
  #mayUndo({ id, kind }: StepRef): boolean {
    if (kind === 'step' || this.#history.ledger.effects.has(id)) return true
    const ticket = this.#tickets.get(id)
    return kind === 'tool' && (ticket === undefined || ticket.claim.former?.policy.repeatable === true)
  }

  /** Or may be. */
  #isDone(id: string): boolean {
    const effect = this.#history.ledger.effects.get(id)
    const type = this.#outcomeOf(id)?.type
    return type === 'value' || type === 'unstored' || (effect !== undefined && isUnknown(effect, () => false))
  }

  #isBlamed(ticket: Ticket): boolean {
    const { id } = ticket.ref
    let is = this.#blames.get(id)
    if (is === undefined) {
      is = this.#known.known.includes(id) ? !this.#isLeft(id) : this.#isFailure(ticket) && (isUnseen(ticket) || this.#hasFailedItsLine(ticket))
      this.#blames.set(id, is)
    }
    return is
  }

  /** What somebody left at that, or did not agree to, stands: asked for again, it would be asked about again, for ever. */
  #isLeft(id: string): boolean {
    const outcome = this.#outcomeOf(id)
    return (outcome?.type === 'unknown' && outcome.cause === 'skipped') || this.#history.approvals.isDenied(id)
  }

  #hasFailed(id: string): boolean {
    const type = this.#outcomeOf(id)?.type
    return (type === 'error' || type === 'unknown') && !this.#isLeft(id)
  }

  /** It failed, and that is not known from before, when it may have been seen. */
  #isFailure(ticket: Ticket): boolean {
    if (!this.#hasFailed(ticket.ref.id)) return false
    // What holds it has come to its own end with it.
    for (let { around } = ticket.within; around; around = around.within.around) if (this.#outcomeOf(around.ref.id) && !this.#isBlamed(around)) return false
    return ticket.record?.end === undefined || !this.#isFollowed(ticket)
  }

  /** In the journal, by what stands in its branch. */
  #isFollowed({ ref, record }: Ticket): boolean {
    const { records } = this.#history
    return this.#history.childrenOf(ref.branch).some((child) => [...this.#history.recordsBelow(child)].some((id) => records.get(id)!.seq > record!.seq))
  }

  /** A branch or an agent has failed with it, as others have that failed the run; or the run failed in other words, as a batch does that counts its failures. */
  #hasFailedItsLine(ticket: Ticket): boolean {
    const { known, escaped } = this.#known
    const { id } = ticket.ref
    return escaped.has(id) && (this.#hasEscaped || (known.length === 0 && this.#outcomeOf(id)!.type === 'error')) && !this.#hasBehind(ticket)
  }

  /** What was asked for by code that goes on behind it, in its branch and those above. */
  *#behind({ ref, within, deliveredAt }: Ticket): Generator<string, void> {
    const since = deliveredAt || this.#now
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
      for (const child of this.#branches) if (child.parent === branch && child.place !== undefined && child.openedAt > since) yield child.path
    }
  }

  #hasBehind(ticket: Ticket): boolean {
    return this.#behind(ticket).next().done !== true
  }

  /** One inside of what was answered from its record was not asked for in this drive. */
  #failureOf(id: string): Failure {
    const ticket = this.#tickets.get(id)
    const after = ticket ? [...this.#behind(ticket)] : []
    return this.#holdsSteps(id) ? { step: id, ids: after, reopened: [id] } : { step: id, ids: [id, ...after] }
  }

  /** One whose failure may be in other words than that of something inside of it, or of the run. */
  #leftOver(blamed: ReadonlySet<string>): string | undefined {
    const unexplained = [...blamed].filter((id) => this.#holdsSteps(id) && this.#failedBy(id).length === 0)
    const inside = unexplained.flatMap((id) => [...this.#history.recordsBelow(id)])
    const seen = this.#known.known.length > 0 ? [] : [...this.#tickets.values()].filter(({ deliveredAt }) => deliveredAt > 0).map(({ ref }) => ref.id)
    const seqOf = (id: string): number => this.#history.records.get(id)!.seq
    return [...inside, ...seen].filter((id) => (this.#hasFailed(id) || this.#isLeft(id)) && !blamed.has(id)).sort((a, b) => seqOf(a) - seqOf(b)).at(-1)
  }

  #holdsSteps(id: string): boolean {
    const { records, ledger } = this.#history
    return records.get(id)?.ref.kind !== 'model' && this.#history.hasInside(id) && !ledger.effects.has(id)
  }

  #failedBy(id: string): readonly string[] {
    return this.#history.records.get(id)?.failedBy ?? []
  }

  #outcomeOf(id: string): Outcome | undefined {
    return this.#history.records.get(id)?.end?.outcome
  }
}

/** Nobody has been told. A failure of a call is for the model that asked for it: to be told of it is how its loop goes on. */
const isUnseen = ({ deliveredAt, ref: { id } }: Ticket): boolean => deliveredAt === 0 && !isCalled(id)

/** Nobody knows of code that has left its context. */
const follows = ({ follows }: Claim, id: string): boolean => !follows || follows(id)
