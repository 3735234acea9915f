/** Plain JSON data: its type, and copying it without being caught by keys such as `__proto__`. */

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/** Containers may be nested this deep. Beyond it a value is refused, long before a recursion would overflow the stack. */
export const MAX_DEPTH = 500

/**
 * Gives `target` an own, enumerable property, whatever the key. Plain assignment of `__proto__` changes the prototype
 * instead, and where `Object.prototype` is frozen that of `constructor` or `toString` throws.
 */
export function setOwn(target: object, key: string | number, value: unknown): void {
  if (key in Object.prototype) {
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })
  } else {
    (target as Record<string | number, unknown>)[key] = value
  }
}

/** Whether containers are nested deeper than `levels`. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  for (const item of items) if (typeof item === 'object' && item !== null && isDeeper(item, levels - 1)) return true
  return false
}

/** Whether all numbers are: JSON text may hold one that is too large to be read as such. Recursive: ask {@link isDeeper} first. */
export function isFinite(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return (Array.isArray(value) ? (value as readonly JsonValue[]) : Object.values(value)).every(isFinite)
}

/** A copy that shares no object with `value`. Throws a RangeError beyond {@link MAX_DEPTH}. */
export function copyJson(value: JsonValue, depth = 0): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`)
  if (Array.isArray(value)) return value.map((item: JsonValue) => copyJson(item, depth + 1))
  const source = value as { readonly [key: string]: JsonValue }
  const copy = {}
  for (const key of Object.keys(source)) setOwn(copy, key, copyJson(source[key]!, depth + 1))
  return copy
}
