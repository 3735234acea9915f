/** Makes thrown values of the corpus's plain shapes (conventions in README.md). */

/** The value that a shape stands for. */
export function hydrate(shape: unknown): unknown {
  const holder: { root?: unknown } = {}
  const value = build(shape, holder)
  return value
}

function build(shape: unknown, holder: { root?: unknown }): unknown {
  if (Array.isArray(shape)) return shape.map((item) => build(item, holder))
  if (typeof shape !== 'object' || shape === null) return shape
  const object = shape as Record<string, unknown>
  if ('$pairs' in object) return new Headers(object.$pairs as [string, string][])
  if (object.$ref === 'root') return holder.root
  if (object.$value === 'undefined') return undefined
  if ('$repeat' in object) {
    const [text, times] = object.$repeat as [string, number]
    return text.repeat(times)
  }
  const plain = object.__serialized === true || typeof object.name !== 'string' || !('message' in object)
  const value = plain ? {} : error(object, holder)
  holder.root ??= value
  for (const [key, item] of Object.entries(object)) {
    if (key === '__serialized' || key === 'constructorName' || (!plain && (key === 'message' || key === 'name'))) continue
    define(value, key, item, holder)
  }
  return value
}

function error({ name, message, constructorName }: Record<string, unknown>, holder: { root?: unknown }): Error {
  const Base = typeof constructorName === 'string' ? { [constructorName]: class extends Error {} }[constructorName] ?? Error : Error
  const value = new Base()
  define(value, 'message', message, holder)
  Object.defineProperty(value, 'name', { value: name, configurable: true, writable: true, enumerable: false })
  return value
}

function define(value: object, key: string, item: unknown, holder: { root?: unknown }): void {
  const throwing = typeof item === 'object' && item !== null ? (item as Record<string, unknown>).$throwingGetter : undefined
  Object.defineProperty(value, key, throwing === undefined
    ? { value: build(item, holder), configurable: true, writable: true, enumerable: !(value instanceof Error) || (key !== 'message' && key !== 'cause') }
    : { get() { throw new Error(String(throwing)) }, configurable: true, enumerable: true })
}

/** The error after it went through JSON, as a worker or a journal keeps it: name, message, own fields, what it wraps. */
export function throughJson(value: unknown): unknown {
  const seen = new Set<unknown>()
  const plain = (each: unknown): unknown => {
    if (typeof each !== 'object' || each === null) return each
    if (seen.has(each)) return undefined
    seen.add(each)
    if (Array.isArray(each)) return each.map(plain)
    const entries = Object.entries(each).map(([key, item]) => [key, plain(item)] as const)
    if (!(each instanceof Error)) return Object.fromEntries(entries)
    const hidden = each.cause !== undefined && !Object.keys(each).includes('cause')
    return { name: each.name, message: each.message, ...Object.fromEntries(entries), ...(hidden && { cause: plain(each.cause) }) }
  }
  const text = JSON.stringify(plain(value))
  return text === undefined ? undefined : JSON.parse(text)
}
