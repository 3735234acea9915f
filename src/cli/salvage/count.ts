/** A count in a row of a damaged run that can be counted on; undefined: it is none. */
export const countIn = (value: unknown): number | undefined => (typeof value === 'number' && Number.isSafeInteger(value + 1) && value >= 0 ? value : undefined)
