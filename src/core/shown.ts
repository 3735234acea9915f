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
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? `${item}n` : item))
  } catch {
    return undefined
  }
}
