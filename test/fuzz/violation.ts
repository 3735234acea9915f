/** What must not happen, whatever is read. */

export class Violation extends Error {}

/** How a case came out: which of the errors, or everything as it was written. */
export type Verdict = string
