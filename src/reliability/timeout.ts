/** The time limits of one try: in all, until it gives something, without progress, and until the run's deadline. They return whether or not the work listens. */
import type { Clock } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'

/** Time limits of one try. Absent or Infinity: none. */
export interface Limits {
  /** Longest duration in all, ms. */
  readonly timeoutMs?: number | undefined
  /** Longest duration until the first part of what the work gives is there, ms. */
  readonly firstPartTimeoutMs?: number | undefined
  /** Longest duration without progress, ms; where the first part has a limit of its own, from that part on. */
  readonly idleTimeoutMs?: number | undefined
  /** When the run's own time ends, ms since the epoch. */
  readonly deadline?: number | undefined
}

/** Which limit was reached. */
export type Limit = 'total' | 'first-part' | 'idle' | 'deadline'

/** Limits that are running. */
export interface RunningLimits {
  /** Says that the first part is there: its limit ends, and the idle limit begins. */
  begin(): void
  /** Says that the work goes on: the idle limit starts anew, the total does not. */
  progress(): void
  /** Stops the clock of all limits but the deadline until the returned function is called: waiting for a person is no work. */
  pause(): () => void
  /** Disarms everything. */
  stop(): void
}

/** Starts the clock of `limits`; `onLimit` is called at most once, with the limit that was reached first. */
export function startLimits(limits: Limits, clock: Clock, onLimit: (limit: Limit) => void): RunningLimits {
  let stopped = false
  let pauses = 0
  const reach = (limit: Limit) => (): void => {
    if (stopped) return
    stop()
    onLimit(limit)
  }
  // Deadline first: where it falls together with another limit, the run's end is the reason.
  const deadline = countdown(clock, limits.deadline === undefined ? undefined : limits.deadline - clock.now(), reach('deadline'))
  const total = countdown(clock, limits.timeoutMs, reach('total'))
  const firstPart = countdown(clock, limits.firstPartTimeoutMs, reach('first-part'))
  const idle = countdown(clock, limits.idleTimeoutMs, reach('idle'))
  let hasBegun = limits.firstPartTimeoutMs === undefined
  const ofWork = (): readonly Countdown[] => [total, hasBegun ? idle : firstPart]
  for (const each of [deadline, ...ofWork()]) each.go()

  function stop(): void {
    stopped = true
    for (const each of [deadline, ...ofWork()]) each.stop()
  }

  return {
    begin() {
      if (hasBegun || stopped) return
      firstPart.stop()
      hasBegun = true
      if (pauses === 0) idle.go()
    },
    progress: () => idle.restart(),
    pause() {
      if (pauses++ === 0) for (const each of ofWork()) each.stop()
      let ended = false
      return () => {
        if (ended) return
        ended = true
        if (--pauses === 0 && !stopped) for (const each of ofWork()) each.go()
      }
    },
    stop,
  }
}

interface Countdown {
  go(): void
  stop(): void
  restart(): void
}

function countdown(clock: Clock, ms: number | undefined, onEnd: () => void): Countdown {
  if (ms === undefined || ms === Infinity) return { go() {}, stop() {}, restart() {} }
  let left = ms
  let endsAt = 0
  let disarm: (() => void) | undefined
  const arm = (): void => {
    disarm = clock.timer(endsAt - clock.now(), () => {
      // Progress only moves the end: a timer for each delta of a stream would cost more than the delta.
      if (clock.now() < endsAt) return arm()
      disarm = undefined
      onEnd()
    })
  }
  return {
    go() {
      endsAt = clock.now() + left
      arm()
    },
    stop() {
      if (disarm === undefined) return
      disarm()
      disarm = undefined
      left = Math.max(0, endsAt - clock.now())
    },
    restart() {
      left = ms
      if (disarm !== undefined) endsAt = clock.now() + ms
    },
  }
}

/** The error of a limit that was reached: `STEP_TIMEOUT`, or `RUN_TIMEOUT` for the deadline. `label` names the work, such as `tool search`. */
export function limitError(limit: Limit, limits: Limits, label: string): HoldfastError {
  switch (limit) {
    case 'total': return new HoldfastError('STEP_TIMEOUT', `${label} timed out after ${limits.timeoutMs} ms`)
    case 'first-part': return new HoldfastError('STEP_TIMEOUT', `${label} timed out: nothing of an answer in ${limits.firstPartTimeoutMs} ms`)
    case 'idle': return new HoldfastError('STEP_TIMEOUT', `${label} timed out: no progress for ${limits.idleTimeoutMs} ms`)
    case 'deadline': return new HoldfastError('RUN_TIMEOUT', `${label} stopped: the time of the run is used up`)
  }
}
