/** When the agent's process is killed: counts the points that are reached, from all processes. Pure. */
import type { KillAt } from './options.ts'
import type { PointReached } from './points.ts'

/** Where the process was killed. */
export interface Killed {
  readonly number: number
  readonly what: string
}

export class KillPlan {
  readonly #killAt: KillAt
  /** Every point so far, in words, in order. */
  readonly points: string[] = []
  killed: Killed | undefined

  constructor(killAt: KillAt) {
    this.#killAt = killAt
  }

  /** Whether the process has to be killed now. */
  reach({ what, effect }: Pick<PointReached, 'what' | 'effect'>): boolean {
    if (this.killed) return false
    const number = this.points.push(what)
    const isDue = this.#killAt.type === 'point' ? number === this.#killAt.number : this.#killAt.type === 'effect' && effect === this.#killAt.name
    if (isDue) this.killed = { number, what }
    return isDue
  }
}
