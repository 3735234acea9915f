/** Time: the only place with timers. Everything that waits takes a {@link Clock}, so tests take no real time. */

/** A source of time. Times are ms since the epoch, durations are ms. */
export interface Clock {
  now(): number
  /** Calls `fn` once after `ms` (any finite length); the returned function disarms it. */
  timer(ms: number, fn: () => void): () => void
  /** Resolves when the event loop has run dry: all that could go on without I/O or a timer has gone on. */
  idle(): Promise<void>
}

/** The longest delay that `setTimeout` takes; a longer one would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  timer(ms, fn) {
    let handle: NodeJS.Timeout
    const arm = (left: number): void => {
      handle = left > MAX_TIMEOUT_MS
        ? setTimeout(() => arm(left - MAX_TIMEOUT_MS), MAX_TIMEOUT_MS)
        : setTimeout(fn, Math.max(0, left))
    }
    arm(ms)
    return () => clearTimeout(handle)
  },
  // Two turns: promises of Node's streams resolve over one setImmediate, what they start is seen in the second.
  idle: () => new Promise((resolve) => setImmediate(() => setImmediate(resolve))),
}

/** Calls `fn` when every promise that can go on by itself has gone on, before any timer or I/O does. Not simulated: it takes no time. */
export const afterPromises = (fn: () => void): void => queueMicrotask(() => process.nextTick(fn))

/**
 * Waits `ms`. Rejects with the signal's own reason as soon as it aborts, and leaves no timer behind.
 */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = (): void => {
      disarm()
      reject(signal!.reason)
    }
    const disarm = clock.timer(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
