/** Which numbered steps of a branch overlapped, and are therefore matched among themselves (R1). */
import type { Ticket } from './claim.ts'

/** Numbers [low, to) of its branch that a step overlapped, as its record has them. */
export interface Overlap {
  readonly low: number
  readonly to: number
}

/** A range of numbers [start, end). */
export interface Group {
  readonly start: number
  readonly end: number
}

/**
 * Joins the ranges in which steps overlapped to groups that do not touch each other. `to` may be Infinity: a step whose end is not recorded
 * overlaps all that was claimed after it, up to one whose record says that it was not open any more.
 *
 * A record's range is `[low, to)`: from the lowest number that was still open when it was claimed to the next number
 * when it ended. So an overlap is known from either side, also when the other step was killed and left no record.
 */
export function groupsOf(records: readonly (Overlap & { readonly slot: number })[]): readonly Group[] {
  const ranges = endedBy(records).sort((a, b) => a.low - b.low)
  const groups: { start: number; end: number }[] = []
  for (const { low, to } of ranges) {
    const last = groups.at(-1)
    if (last && low < last.end) last.end = Math.max(last.end, to)
    else groups.push({ start: low, end: to })
  }
  return groups
}

/** Each with an end where one behind it tells that: by the lowest number that was open then. */
function endedBy(records: readonly (Overlap & { readonly slot: number })[]): Overlap[] {
  const behind: { readonly slot: number; readonly low: number }[] = []
  return [...records].sort((a, b) => b.slot - a.slot).map(({ slot, low, to }) => {
    const next = to === Infinity ? behind.findLast((each) => each.low > slot) : undefined
    behind.push({ slot, low })
    return { low, to: next?.slot ?? to }
  })
}

/** The group that a number lies in; a number that no record covers is a group of its own. */
export function groupOf(groups: readonly Group[], slot: number): Group {
  let from = 0
  let until = groups.length
  while (from < until) {
    const middle = (from + until) >>> 1
    const group = groups[middle]!
    if (slot < group.start) until = middle
    else if (slot >= group.end) from = middle + 1
    else return group
  }
  return { start: slot, end: slot + 1 }
}

/** What a step overlapped so far. */
export const overlapOf = ({ ref, within, low, high }: Ticket): Overlap | Record<never, never> =>
  ref.slot === undefined ? {} : { low, to: Math.max(within.counter, high + 1) }

/** The same for the record of its end, which is written now: what comes beside the step from here on is not told by that. */
export function lastOverlapOf(ticket: Ticket): Overlap | Record<never, never> {
  const overlap = overlapOf(ticket)
  if ('to' in overlap) ticket.to = overlap.to
  return overlap
}
