/** Signals that abort together. */

/** Aborts with the first of the given ones that does. */
export function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const given = signals.filter((signal) => signal !== undefined)
  return given.length === 1 ? given[0]! : AbortSignal.any(given)
}
