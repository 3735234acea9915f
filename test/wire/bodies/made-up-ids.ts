/** Google's API names no call: its package makes an id up, another one each time. */

/** The value with each made-up id as its number, so that two requests can be compared. */
export function withoutMadeUpIds(value: unknown): unknown {
  const numbers = new Map<string, string>()
  const number = (id: string): string => {
    if (!numbers.has(id)) numbers.set(id, `id ${numbers.size}`)
    return numbers.get(id)!
  }
  const copy = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(copy)
    if (typeof each !== 'object' || each === null || each instanceof Date) return each
    return Object.fromEntries(Object.entries(each).map(([key, item]) => [key, isId(key, item) ? number(item) : copy(item)]))
  }
  return copy(value)
}

const isId = (key: string, item: unknown): item is string => (key === 'toolCallId' || key === 'id') && typeof item === 'string'
