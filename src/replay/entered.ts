/** What a step without effects of its own was entered by (R1). */
import type { Note, Verdict } from './claim.ts'
import type { History } from './history.ts'

/** Its record comes with its end. As long as there is none, what it asks for is kept with the first record inside of it, so that nothing else goes on there. */
export class Entered {
  readonly #history: History
  /** Those that are told of and may not be written down yet. */
  readonly #told = new Set<string>()

  constructor(history: History) {
    this.#history = history
  }

  /** A verdict on what was asked for, with what it was asked for in. */
  told(verdict: Verdict): Verdict {
    if (verdict.type === 'refuse') return verdict
    const { around } = verdict.ticket.within
    if (!around || around.claim.effect || around.claim.fingerprint === null || this.#told.has(around.ref.id) || this.#history.records.has(around.ref.id)) return verdict
    this.#told.add(around.ref.id)
    const { ref, low, claim: { fingerprint, after } } = around
    const note: Note = { type: 'step-entered', step: ref, fingerprint, ...(after && { after }), ...(ref.slot !== undefined && { low }) }
    return { ...verdict, notes: [note, ...verdict.notes] }
  }
}
