/** Lets a run go on while its clock moves: what waits takes no real time. */
import type { ManualClock } from '../../src/testing/index.ts'

/** Moves the clock in small steps, all going on that can in between, until the promise has settled. Rejects with what it rejects with. */
export async function during<T>(clock: ManualClock, promise: Promise<T>, { stepMs = 50, mostMs = 120_000 }: { readonly stepMs?: number; readonly mostMs?: number } = {}): Promise<T> {
  let settled = false
  promise.then(() => (settled = true), () => (settled = true))
  for (let passed = 0; !settled; passed += stepMs) {
    for (let i = 0; i < 30 && !settled; i++) await clock.idle()
    if (settled) break
    if (passed > mostMs) throw new Error(`it has not ended in ${mostMs} ms`)
    await clock.advance(stepMs)
  }
  return promise
}

/** As {@link during}, and gives what it rejected with. */
export const failureOf = (clock: ManualClock, promise: Promise<unknown>): Promise<unknown> =>
  during(clock, promise.then((value) => Promise.reject(new Error(`it ended well: ${JSON.stringify(value)}`)), (error: unknown) => error))
