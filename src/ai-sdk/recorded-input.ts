/** Arguments as an earlier version of a tool was called with them, seen by code of today. */

/** The same value, and whether something was asked of it by name that it does not have. */
export function watched(value: unknown): readonly [value: unknown, lacks: () => boolean] {
  let lacks = false
  const watch = (node: unknown): unknown => {
    if (typeof node !== 'object' || node === null) return node
    return new Proxy(node, {
      get(target, property, receiver) {
        // Asked by JSON.stringify and await of anything.
        if (typeof property === 'string' && property !== 'toJSON' && property !== 'then' && !(property in target)) lacks = true
        const found: unknown = Reflect.get(target, property, isPlain(target) ? receiver : target)
        if (typeof found === 'function' && !isPlain(target)) return (found as (...args: unknown[]) => unknown).bind(target)
        return watch(found)
      },
    })
  }
  return [watch(value), () => lacks]
}

/** A Date, a Map and the like have methods that take no stand-in for them. */
const isPlain = (value: object): boolean => Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)

/** Whether all that one says is said by the other. */
export function isPart(part: unknown, whole: unknown): boolean {
  if (typeof part !== 'object' || part === null || typeof whole !== 'object' || whole === null) return Object.is(part, whole)
  if (!isPlain(part) || !isPlain(whole)) return JSON.stringify(part) === JSON.stringify(whole)
  return Object.entries(part).every(([name, value]) => isPart(value, (whole as Record<string, unknown>)[name]))
}
