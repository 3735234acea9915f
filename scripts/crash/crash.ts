/** All of it: the named points of every policy, then the random kills, two at a time. */
import { onGrounds, inLanes, type Grounds } from './grounds.ts'
import type { Options } from './options.ts'
import { tryPayment, type PaymentVerdict } from './payment-trial.ts'
import { POINTS, type Point } from './points.ts'
import type { PolicyName } from './policies.ts'
import { KILLS_A_RUN, travel, tryTrip, type TripVerdict } from './trip-trial.ts'
import { tripViolations } from './trip-verdict.ts'

/** Processes at a time, in one store file. */
const LANES = 2
/** The model answers each request of the random kills so late, ms. */
const MODEL_MS = 20

export interface Results {
  readonly payments: readonly PaymentVerdict[]
  readonly trips: readonly TripVerdict[]
  readonly processes: number
}

export interface Watching {
  readonly onPayment?: (verdict: PaymentVerdict, done: number, all: number) => void
  readonly onTrip?: (verdict: TripVerdict, kills: number, all: number) => void
  /** The named points are done, the random kills begin. */
  readonly onTrips?: (wholeMs: number) => void
}

export async function crash(options: Options, watching: Watching = {}): Promise<Results> {
  return onGrounds({ seed: options.seed, lanes: LANES, drop: options.drop, modelMs: MODEL_MS }, async (lanes) => {
    const payments = await allPayments(options, lanes, watching)
    const trips = await allTrips(options, lanes, watching)
    return { payments, trips, processes: lanes.reduce((sum, { driver }) => sum + driver.processes, 0) }
  })
}

async function allPayments({ point, policies, named }: Options, lanes: readonly Grounds[], { onPayment }: Watching): Promise<PaymentVerdict[]> {
  if (!named) return []
  const points = POINTS.filter((p) => point === undefined || p === point)
  const cases = policies.flatMap((name) => points.map((p): readonly [Point, PolicyName] => [p, name]))
  const verdicts: PaymentVerdict[] = []
  await inLanes(cases, lanes, async ([p, name], grounds) => {
    const verdict = await tryPayment(p, name, grounds)
    verdicts.push(verdict)
    onPayment?.(verdict, verdicts.length, cases.length)
  })
  return verdicts
}

async function allTrips({ seed, kills, kill }: Options, lanes: readonly Grounds[], { onTrip, onTrips }: Watching): Promise<TripVerdict[]> {
  if (kills === 0) return []
  const { wholeMs, result } = await undisturbed(lanes[0]!)
  onTrips?.(wholeMs)
  const numbers = Array.from({ length: Math.ceil(kills / KILLS_A_RUN) }, (_, number) => number)
  const chosen = kill === undefined ? numbers : [Math.floor(kill / KILLS_A_RUN)]
  const all = kill === undefined ? kills : KILLS_A_RUN
  const verdicts: TripVerdict[] = []
  await inLanes(chosen, lanes, async (number, grounds) => {
    const share = kill === undefined ? Math.min(KILLS_A_RUN, kills - number * KILLS_A_RUN) : KILLS_A_RUN
    const verdict = await tryTrip({ seed, number, kills: share, wholeMs, undisturbed: result }, grounds)
    verdicts.push(verdict)
    onTrip?.(verdict, verdicts.reduce((sum, v) => sum + v.kills, 0), all)
  })
  return verdicts.sort((a, b) => a.number - b.number)
}

/** The same program without a kill: twice, as the first run of a process takes longer. It must be as it must be, or nothing can be judged by it. */
async function undisturbed(grounds: Grounds): Promise<{ readonly wholeMs: number; readonly result: unknown }> {
  let wholeMs = 0
  let result: unknown
  for (const runId of ['trip-undisturbed-1', 'trip-undisturbed-2']) {
    const began = performance.now()
    const trip = await travel(runId, grounds, 0, () => 0)
    wholeMs = performance.now() - began
    const seen = { kills: 0, counts: grounds.world.countsOf(runId), requests: grounds.requests(runId).length, reasons: trip.reasons, result: trip.result }
    const violations = [...trip.violations, ...tripViolations(seen, result ?? trip.result)]
    if (violations.length > 0) throw new Error(`the run that nobody killed is not as it must be: ${violations.join('; ')}`)
    result = trip.result
  }
  return { wholeMs, result }
}
