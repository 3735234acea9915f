/** What was asked for in a drive: a record that nobody has asked for may still turn out to be of a step that runs live elsewhere (R5). */
import type { Ticket } from './claim.ts'
import { parentOf } from './identity.ts'

export class Claimed {
  readonly #steps = new Set<string>()
  /** Of those, the steps that a record answers together with all that they hold. */
  readonly #whole = new Set<string>()

  add({ ref, record }: Ticket): void {
    this.#steps.add(ref.id)
    if (record?.end && ref.kind !== 'model') this.#whole.add(ref.id)
  }

  /** Whether the step, or one that holds and answers it, was asked for. */
  has(step: string): boolean {
    if (this.#steps.has(step)) return true
    for (let path = parentOf(step); path !== undefined; path = parentOf(path)) if (this.#whole.has(path)) return true
    return false
  }
}
