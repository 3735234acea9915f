/** What a step waits for, and until when. */
import type { SuspendReason } from '../journal/entry.ts'

export interface Waiting {
  /** As things stand when it is asked for. */
  readonly reason: () => SuspendReason
  /** null: as its reason says. */
  readonly resumeAt: number | null
  /** Lets it look again; undefined: only another attempt can go on with it. */
  readonly wake: (() => void) | undefined
  /** Aborts when its own caller waits for it no more. */
  readonly signal?: AbortSignal | undefined
  /** It waits for work, which is time of the steps around it. */
  readonly isWork?: boolean
}

/** From when on what nobody but a person lets go on may be tried again. */
export const NOT_BY_ITSELF = Infinity

/** A store that refused a record may take the next one. */
const NEXT_RECORD_MS = 5_000

/** From when on another attempt may go on with what waits, ms since the epoch; null: when somebody has answered. */
export function dueOf({ reason, resumeAt }: Waiting, now: number): number | null {
  if (resumeAt !== null) return resumeAt === NOT_BY_ITSELF ? null : resumeAt
  const { type } = reason()
  if (type === 'draining') return now
  return type === 'not-recorded' ? now + NEXT_RECORD_MS : null
}

/** How what is not handed out ends (R10). */
export const never = <T>(): Promise<T> => new Promise(() => {})
