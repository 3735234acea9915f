/** A run that ends its attempts again and again without progress is stalled: somebody has to look at it (R5, R9). */
import { HoldfastError } from '../errors.ts'
import type { Placed } from '../journal/chain.ts'
import type { RunRow, Store } from '../journal/store.ts'
import { placeOf } from '../replay/identity.ts'

export interface Stall {
  /** `died`: nothing was recorded and nobody ended the attempt. `diverged`: at one place, by another conversation each time. */
  readonly type: 'died' | 'diverged'
  readonly attempts: number
  /** Where it diverged. */
  readonly step?: string
}

interface Seen {
  /** ms since the epoch. */
  readonly startedAt: number
  died: boolean
  readonly diverged: string[]
}

function attemptsOf(entries: readonly Placed[]): Seen[] {
  const attempts: Seen[] = []
  for (const { entry } of entries) {
    if (entry.type === 'attempt-started') attempts.push({ startedAt: entry.at, died: true, diverged: [] })
    const last = attempts.at(-1)
    if (!last) continue
    if (entry.type === 'step-ended' || entry.type === 'attempt-ended' || entry.type === 'settled' || entry.type === 'decision' || entry.type === 'approval-asked' || entry.type === 'approval-decided') last.died = false
    if (entry.type === 'superseded' && entry.by === 'divergence') last.diverged.push(placeOf(entry.step))
  }
  return attempts
}

const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 60_000

/**
 * Until when a run whose newest attempts died is not driven again by itself, ms since the epoch; 0: it may be at once (R9). One death may
 * be anything, a deployment say; after more of them in a row its process has a rest. What is stalled is told at once.
 */
export function restsUntil(entries: readonly Placed[], stallAfter: number): number {
  const attempts = attemptsOf(entries)
  const deaths = attempts.length - 1 - attempts.findLastIndex(({ died }) => !died)
  if (deaths < 2 || deaths >= stallAfter) return 0
  return attempts.at(-1)!.startedAt + Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (deaths - 2))
}

/** Whether the newest attempts, `after` of them in a row, came to nothing in the same way. */
export function stallOf(entries: readonly Placed[], after: number): Stall | undefined {
  const attempts = attemptsOf(entries)
  if (attempts.length < after) return undefined
  const newest = attempts.slice(-after)
  if (newest.every(({ died }) => died)) return { type: 'died', attempts: after }
  const [first, ...others] = newest
  const place = first!.diverged.find((step) => others.every(({ diverged }) => diverged.includes(step)))
  return place === undefined ? undefined : { type: 'diverged', attempts: after, step: place }
}

/** Marks the run as stalled, unless somebody drives it, and gives the error to throw. */
export async function stall(store: Store, row: RunRow, { type, attempts, step }: Stall, now: number): Promise<HoldfastError> {
  if (row.status !== 'stalled') {
    await store.append(row.runId, { token: row.token, entries: [], patch: { status: 'stalled', release: true }, now }).catch(() => {})
  }
  const what = type === 'died'
    ? `its last ${attempts} attempts died without getting on`
    : `its last ${attempts} attempts diverged at step ${step}, each time with another conversation`
  const advice = type === 'died'
    ? 'Find out what ends the process'
    : 'Something that the handler looks up outside of steps gets into the conversation: record it with run.read(name, fn)'
  return new HoldfastError('RUN_STALLED', `run "${row.runId}" is stalled: ${what}`, { runId: row.runId, advice: `${advice}, then resume it with { force: true }, or holdfast resume ${row.runId} --force` })
}
