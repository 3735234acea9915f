/** Tools that stream: their preliminary results, and the context that a generator's body runs in. */

const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}) as object

export const isAsyncGenerator = (fn: unknown): boolean => typeof fn === 'function' && Object.getPrototypeOf(fn) === AsyncGeneratorFunction

export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

/**
 * Reads an iterable to its end and gives its last value. Each `next` is called from here, inside of `enter`, so the body of a generator runs in
 * the context of the step and not in its consumer's.
 */
export async function drain(iterable: AsyncIterable<unknown>, enter: <T>(call: () => T) => T, onValue: (value: unknown) => void): Promise<unknown> {
  const iterator = iterable[Symbol.asyncIterator]()
  const calls: AsyncIterator<unknown> = { next: () => enter(() => iterator.next()), ...(iterator.return && { return: () => enter(() => iterator.return!()) }) }
  let last: unknown
  for await (const value of { [Symbol.asyncIterator]: () => calls }) {
    last = value
    onValue(value)
  }
  return last
}

/** The values of a live tool as they come, and then its result as it was recorded. On replay there is only that. */
export class Preliminary {
  readonly #values: unknown[] = []
  #wake: () => void = () => {}

  push(value: unknown): void {
    this.#values.push(value)
    this.#wake()
  }

  followedBy(done: Promise<unknown>): AsyncIterable<unknown> {
    const end = done.then(
      (value) => ({ ok: true as const, value }),
      (error: unknown) => ({ ok: false as const, error }),
    )
    let ended = false
    void end.then(() => {
      ended = true
      this.#wake()
    })
    const values = this.#values
    const next = (): Promise<void> => new Promise((resolve) => (this.#wake = resolve))
    return (async function* () {
      for (;;) {
        while (values.length > 0) yield values.shift()
        if (ended) break
        await next()
      }
      const outcome = await end
      if (!outcome.ok) throw outcome.error
      // Also where it was shown already: the last value is the result.
      yield outcome.value
    })()
  }
}
