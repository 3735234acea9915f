/** Of a list no more items are shown: one with holes may have billions. */
const MOST_ITEMS = 1_000

/** A value of a user's in a message, as JSON where it has such a text. Never throws: what is told about a value must not fail over it. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'bigint': return `${value}n`
    case 'function': return 'a function'
    case 'string': case 'object': return asJson(value) ?? 'an object that JSON has no text for'
    default: return String(value)
  }
}

function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_key, item: unknown) => {
      if (typeof item === 'bigint') return `${item}n`
      return Array.isArray(item) && item.length > MOST_ITEMS ? [...item.slice(0, MOST_ITEMS), '...'] : item
    })
  } catch {
    return undefined
  }
}
