/** The random kills: a run is killed at random times by the wall clock, again and again, until it has had its share, and judged when it ends. */
import { hash } from '../../src/core/hash.ts'
import { seededRandom, type Random } from '../../src/core/random.ts'
import type { SuspendReason } from '../../src/index.ts'
import { settleFromOutside } from '../settle.ts'
import type { Grounds } from './grounds.ts'
import type { Job } from './protocol.ts'
import { tripViolations } from './trip-verdict.ts'

/** Kills of each run; fewer than make a run `stalled`. */
export const KILLS_A_RUN = 4

/** Runs `first` to `last` of the kills of a call. */
export interface TripPlan {
  readonly seed: number
  /** Which run, from 0: it has the kills from `number * KILLS_A_RUN` on. */
  readonly number: number
  readonly kills: number
  /** How long an undisturbed run takes, ms. */
  readonly wholeMs: number
  readonly undisturbed: unknown
}

export interface TripVerdict {
  readonly number: number
  readonly kills: number
  /** Runs that it took: one that ends before its kills are made is judged, and another one is begun. */
  readonly runs: number
  readonly questions: number
  readonly lookups: number
  readonly requests: number
  readonly violations: readonly string[]
}

/** So many runs at most for the kills of one: a machine that was slow when it was measured how long one takes may be quick by now. */
const MOST_RUNS = 40
/** No run takes so many drives. */
const MOST_DRIVES = 40

interface Trip {
  readonly kills: number
  readonly reasons: readonly SuspendReason[]
  readonly violations: readonly string[]
  readonly result: unknown
}

export async function tryTrip({ seed, number, kills: planned, wholeMs, undisturbed }: TripPlan, grounds: Grounds): Promise<TripVerdict> {
  const random = seededRandom(Number.parseInt(hash(String(seed), String(number)).slice(0, 8), 16))
  const total = { kills: 0, runs: 0, questions: 0, lookups: 0, requests: 0 }
  const violations: string[] = []
  while (total.kills < planned && total.runs < MOST_RUNS && violations.length === 0) {
    const runId = `trip-${number}.${total.runs++}`
    const trip = await travel(runId, grounds, planned - total.kills, () => killTime(random, wholeMs))
    const counts = grounds.world.countsOf(runId)
    const requests = grounds.requests(runId).length
    total.kills += trip.kills
    total.questions += trip.reasons.length
    total.lookups += counts.lookups
    total.requests += requests
    violations.push(...trip.violations)
    if (trip.violations.length === 0) violations.push(...tripViolations({ kills: trip.kills, counts, requests, reasons: trip.reasons, result: trip.result }, undisturbed))
  }
  if (violations.length === 0 && total.kills < planned) violations.push(`only ${total.kills} of ${planned} kills were made in ${MOST_RUNS} runs`)
  return { number, ...total, violations }
}

/** Anywhere in a whole run: a process that has something to replay is sooner done, so later kills come late in it, or find it done. */
const killTime = (random: Random, wholeMs: number): number => Math.round(random() * wholeMs)

export async function travel(runId: string, { job, driver, runner, world }: Grounds, kills: number, killTime: () => number): Promise<Trip> {
  const base: Job = { ...job, runId, program: 'trip' }
  const reasons: SuspendReason[] = []
  const violations: string[] = []
  let made = 0
  const over = (result: unknown, violation?: string): Trip =>
    ({ kills: made, reasons, violations: violation === undefined ? violations : [...violations, violation], result })

  for (let drives = 1; drives <= MOST_DRIVES; drives++) {
    const end = await driver.drive(base, made < kills ? killTime() : undefined)
    violations.push(...end.noticed)
    if (end.type === 'killed') made++
    else if (end.type === 'failed') return over(undefined, `it failed: ${end.error}`)
    else if (end.status === 'completed') return over(end.result)
    else if (end.status === 'suspended') {
      reasons.push(...end.reasons)
      try {
        await settleFromOutside(runner, runId, end.reasons, async (key) => world.effectOf(key))
      } catch (error) {
        return over(undefined, `it is suspended, and cannot be settled: ${String(error)}`)
      }
    } else return over(undefined, `it came to "${end.status}"`)
  }
  return over(undefined, `it has not ended after ${MOST_DRIVES} drives`)
}
