/** Runs that nobody drives although they could go on: found in the store, and driven (R9, R10; A15). */
import type { Clock } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'
import type { Placed } from '../journal/chain.ts'
import type { RunRow, Store } from '../journal/store.ts'
import type { StampedEvent } from '../run/events.ts'
import { ownership } from '../run/lease.ts'
import type { Outcome } from './outcome.ts'
import { Slots } from './slots.ts'
import { restsUntil } from './stall.ts'

/** What became of a run that was recovered: as `resume` would have ended. */
export type Recovered =
  | { readonly runId: string; readonly outcome: Outcome }
  | { readonly runId: string; readonly error: unknown }

export interface RecoverOptions {
  /** How many runs are driven at a time. Default 10. */
  readonly concurrency?: number
  /** Ends the sweep when it aborts: no other run is begun, and those under way are stopped as `close` does it. What was done until then is returned. */
  readonly signal?: AbortSignal | undefined
  /** Told what happens in the runs, after the runner's own `onEvent`. */
  readonly onEvent?: ((event: StampedEvent) => unknown) | undefined
}

export const DEFAULT_CONCURRENCY = 10

/** What a runner lends to who recovers its runs. */
export interface Recovering {
  readonly store: Store
  readonly clock: Clock
  readonly leaseMs: number
  readonly stallAfter: number
  /** Opens the store. @throws HoldfastError `RUNNER_CLOSED`, a `STORE_...` code. */
  readonly ready: () => Promise<void>
  readonly hasAgent: (name: string) => boolean
  /** Whether this runner drives it already. */
  readonly isDriven: (runId: string) => boolean
  /** As `resume`; undefined: by now it is not one to go on with. */
  readonly drive: (runId: string, options: DriveOptions & { readonly isStill: (row: RunRow, entries: readonly Placed[]) => boolean }) => Promise<Outcome | undefined>
  /** For what is shown without being asked for. */
  readonly mask: (value: unknown) => unknown
}

export interface DriveOptions extends Pick<RecoverOptions, 'onEvent'> {
  /** When it aborts, the run is stopped as by `close`. */
  readonly drain?: AbortSignal | undefined
}

/** A run rests until then (ms since the epoch): its newest attempts died. */
interface Resting {
  readonly runId: string
  readonly until: number
}

/** Whether a suspended run can go on. */
export const isDue = ({ status, resumeAt }: Pick<RunRow, 'status' | 'resumeAt'>, now: number): boolean => status === 'suspended' && resumeAt !== null && resumeAt <= now

/** From when on the run could have gone on without anybody having done so, ms since the epoch; undefined: it cannot, or somebody drives it. */
export function waitsSince(row: RunRow, now: number, leaseMs: number): number | undefined {
  if (isDue(row, now)) return row.resumeAt!
  if (row.status !== 'running' || !ownership(row, now).free) return undefined
  // Whoever has just created it is about to take it.
  if (row.token === 0) return row.createdAt + leaseMs <= now ? row.createdAt : undefined
  return row.updatedAt
}

/** All of them, those that wait longest first. `onDamaged`: told of each row that cannot be read; it keeps no other run from being found. */
export async function findRecoverable({ store, clock, leaseMs, ready, hasAgent, isDriven }: Recovering, onDamaged: (runId: string, error: HoldfastError) => void): Promise<readonly string[]> {
  await ready()
  const now = clock.now()
  const all = { limit: Infinity, onDamaged: (error: HoldfastError) => onDamaged(error.runId ?? '', error) }
  const rows = [...(await store.list({ status: ['running'], ...all })), ...(await store.list({ dueBy: now, ...all }))]
  const since = new Map<string, number>()
  for (const row of rows) {
    const from = hasAgent(row.agent) && !isDriven(row.runId) ? waitsSince(row, now, leaseMs) : undefined
    if (from !== undefined) since.set(row.runId, from)
  }
  return [...since].sort(([idA, a], [idB, b]) => a - b || (idA < idB ? -1 : 1)).map(([runId]) => runId)
}

/** Drives one of them, if it still is one: it may have moved on since it was found. Never rejects. */
export async function recoverOne(host: Recovering, runId: string, options: DriveOptions): Promise<Recovered | Resting | undefined> {
  let rests = 0
  const isStill = (row: RunRow, entries: readonly Placed[]): boolean => {
    const now = host.clock.now()
    if (options.drain?.aborted || host.isDriven(runId) || waitsSince(row, now, host.leaseMs) === undefined) return false
    // What is suspended was ended on purpose.
    rests = row.status === 'running' ? restsUntil(entries, host.stallAfter) : 0
    return rests <= now
  }
  try {
    const outcome = await host.drive(runId, { ...options, isStill })
    if (outcome) return { runId, outcome }
    return rests > host.clock.now() ? { runId, until: rests } : undefined
  } catch (error) {
    // It was removed, or there was no time left to begin with it.
    const isNothing = HoldfastError.isInstance(error) && (error.code === 'UNKNOWN_RUN' || error.code === 'RUNNER_CLOSED')
    return isNothing ? undefined : { runId, error }
  }
}

/** One sweep. Resolves when all that it drove have come to an end, or wait again. */
export async function sweep(host: Recovering, { concurrency = DEFAULT_CONCURRENCY, onEvent, signal: drain }: RecoverOptions): Promise<readonly Recovered[]> {
  const recovered: Recovered[] = []
  const slots = new Slots(concurrency)
  for (const runId of await findRecoverable(host, (id, error) => recovered.push({ runId: id, error }))) {
    await slots.free()
    if (drain?.aborted) break
    slots.take(runId, async () => {
      const one = await recoverOne(host, runId, { drain, onEvent })
      if (one && !('until' in one)) recovered.push(one)
    })
  }
  await slots.empty()
  return recovered
}
