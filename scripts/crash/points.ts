/** Where a process is killed, seen from the step under trial, and what has happened by then. Pure. */

/** A moment at which a process stands still until it is killed, around the step under trial. */
export const MOMENTS = [
  'before-response', 'after-response', 'before-write-ahead', 'after-write-ahead', 'in-tool', 'after-effect', 'before-result', 'after-result',
] as const
export type Moment = (typeof MOMENTS)[number]

/** The points: a moment, or two kills: at a moment, and the next process when it has replayed some of the steps but not all. */
export const POINTS = [...MOMENTS, 'while-replaying-in-doubt', 'while-replaying'] as const
export type Point = (typeof POINTS)[number]

/** What has happened when the first process dies. */
export interface State {
  /** The model's response that leads to the step is recorded. */
  readonly responded: boolean
  /** The record before the step's code is durable, where the step writes one. */
  readonly started: boolean
  /** It took effect. */
  readonly effect: boolean
  /** Its result is durable. */
  readonly recorded: boolean
}

const state = (responded: boolean, started: boolean, effect: boolean, recorded: boolean): State => ({ responded, started, effect, recorded })

const AT: Readonly<Record<Moment, State>> = {
  //                           responded started effect recorded
  'before-response': state(false, false, false, false),
  'after-response': state(true, false, false, false),
  'before-write-ahead': state(true, false, false, false),
  'after-write-ahead': state(true, true, false, false),
  'in-tool': state(true, true, false, false),
  'after-effect': state(true, true, true, false),
  'before-result': state(true, true, true, false),
  'after-result': state(true, true, true, true),
}

/** Nobody was killed. */
export const UNDISTURBED = state(true, true, true, true)

export const momentOf = (point: Point): Moment => {
  if (point === 'while-replaying') return 'after-result'
  return point === 'while-replaying-in-doubt' ? 'after-effect' : point
}

export const killsAgain = (point: Point): boolean => point === 'while-replaying' || point === 'while-replaying-in-doubt'

export const stateAt = (point: Point): State => AT[momentOf(point)]

export const isWriteAhead = (point: Point): boolean => point === 'before-write-ahead' || point === 'after-write-ahead'
