/** What a check found wrong. Its message is all there is to say; it has no stack to show. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure'
}

/** Refuses when there is something to complain about. */
export function refuse(what: string, complaints: readonly string[]): void {
  if (complaints.length > 0) throw new CheckFailure([`${what}:`, ...complaints.map((line) => `  ${line}`)].join('\n'))
}
