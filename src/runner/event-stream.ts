/** The events of a run as an async iterable. */
import type { StampedEvent } from '../run/events.ts'
import type { Outcome } from './outcome.ts'

/** Events in the order in which they happen; ends with the attempt. Nothing is lost when it is read late; the run does not wait for its reader. */
export interface RunStream<RESULT> extends AsyncIterable<StampedEvent> {
  /** What `run` would have given; rejects where it would have thrown. */
  readonly outcome: Promise<Outcome<RESULT>>
}

export class EventStream<RESULT> implements RunStream<RESULT> {
  readonly outcome: Promise<Outcome<RESULT>>
  readonly #events: StampedEvent[] = []
  #ended = false
  #wake: () => void = () => {}

  constructor(start: (onEvent: (event: StampedEvent) => void) => Promise<Outcome<RESULT>>) {
    this.outcome = start((event) => {
      this.#events.push(event)
      this.#wake()
    })
    const end = (): void => {
      this.#ended = true
      this.#wake()
    }
    this.outcome.then(end, end)
  }

  async *[Symbol.asyncIterator](): AsyncIterator<StampedEvent> {
    for (let at = 0; ; at++) {
      while (at >= this.#events.length) {
        if (this.#ended) return
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
      yield this.#events[at]!
    }
  }
}
