/** The layers of an error, from the outside in. Wrappers keep what really happened in `cause`, `lastError` and the like. */
import { placesIn } from '../../core/places.ts'

/** One layer: a thrown value, or what it wraps. */
export interface Layer {
  readonly value: unknown
  /** The way to it, such as `error.lastError.cause`. */
  readonly path: string
  readonly depth: number
}

/** Nobody wraps deeper than this on purpose. */
const MAX_LAYERS = 24

/** Where wrappers keep what they wrap, in the order in which it is looked at. */
const INNER = [
  'suppressed', // what was thrown first, before cleaning up behind it (`using`) failed too
  'lastError', 'originalError', 'error', 'reason', 'err', 'inner', 'innerError', 'exception', 'cause',
  'detail', 'original', 'parent', 'driverError', 'networkError', // Stripe, Slack, Sequelize, TypeORM, GraphQL clients
]
const WRAPPED = ['lastError', 'originalError', 'cause']

/** Reads a property; undefined where there is none, or where a getter or a Proxy throws. */
export function read(value: unknown, key: string): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined
  try {
    return (value as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

/** What an error may wrap: what it keeps where wrappers keep that, and the members of one that stands for several. */
export function* wrappedIn(value: unknown): Generator<unknown> {
  for (const key of INNER) yield read(value, key)
  const errors = read(value, 'errors')
  if (Array.isArray(errors)) for (const place of placesIn(errors)) yield errors[place]
}

/** The names of an error: its own, and its class's where the SDK leaves `name` at `Error`. */
export function namesOf(value: unknown): string[] {
  const names = [read(value, 'name'), read(read(value, 'constructor'), 'name')]
  return names.filter((name): name is string => typeof name === 'string' && name !== 'Error' && name !== 'Object' && name !== '')
}

/** Whether it is an error, or was one before it went through JSON. */
export function isErrorLike(value: unknown): boolean {
  if (isError(value)) return true
  const name = read(value, 'name')
  return typeof read(value, 'message') === 'string' && typeof name === 'string' && /(?:Error|Exception|Failure|Rejected|^error)$/.test(name)
}

// Not instanceof alone: an error from another realm (a vm, a test runner's sandbox) is one too.
function isError(value: unknown): boolean {
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
  } catch {
    return false
  }
}

/** The members of an error that stands for several at once; undefined for all others. A retry's `errors` are a history, of which the last counts. */
export function membersOf(value: unknown): unknown[] | undefined {
  const errors = read(value, 'errors')
  if (!Array.isArray(errors) || errors.length === 0) return undefined
  const members: unknown[] = []
  for (const place of placesIn(errors)) {
    if (!isErrorLike(errors[place])) return undefined
    members.push(errors[place])
  }
  return isHistory(value) ? undefined : members
}

/** Whether its `errors` are the failures of one thing tried again and again. */
export function isHistory(value: unknown): boolean {
  return read(value, 'lastError') !== undefined || namesOf(value).some((name) => /Retry/.test(name))
}

/** The value and all that it wraps, outside in; safe against cycles. What is in `seen` is left out, what is found is added to it. */
export function layersOf(value: unknown, path = 'error', seen: Set<unknown> = new Set()): Layer[] {
  const layers: Layer[] = []
  const visit = (each: unknown, at: string, depth: number): void => {
    if (each === undefined || seen.has(each) || layers.length >= MAX_LAYERS) return
    if (typeof each === 'object' && each !== null) seen.add(each)
    layers.push({ value: each, path: at, depth })
    const errors = read(each, 'errors')
    if (Array.isArray(errors) && read(each, 'lastError') === undefined && isHistory(each)) {
      visit(errors.at(-1), `${at}.errors[${errors.length - 1}]`, depth + 1)
    }
    for (const key of INNER) {
      const inner = read(each, key)
      // `error`, `reason` and the like also hold an SDK's parsed body, or a word; the others hold only what is wrapped.
      if (WRAPPED.includes(key) ? inner !== null : isErrorLike(inner)) visit(inner, `${at}.${key}`, depth + 1)
    }
  }
  visit(value, path, 0)
  return layers
}
