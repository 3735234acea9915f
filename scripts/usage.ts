/** Command lines that are not as they must be. */

/** Wrong usage: its message is for whoever typed it. */
export class UsageError extends Error {}

/** The value of an option that is a whole number. @throws UsageError. */
export function integer(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0) throw new UsageError(`${name} must be an integer >= 0, got ${text}`)
  return value
}
