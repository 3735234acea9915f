/** Telling somebody who has no part in what is told. */

/** Calls the listener; what it returns, throws or rejects with is ignored. */
export function notify<E>(listener: ((event: E) => unknown) | undefined, event: E): void {
  try {
    // A listener may take its time.
    Promise.resolve(listener?.(event)).catch(() => {})
  } catch {
    // thrown at once
  }
}
