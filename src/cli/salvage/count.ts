/** A count in a row of a damaged run; undefined: it is none. */
export const countIn = (value: unknown): number | undefined => (Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined)
