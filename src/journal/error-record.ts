/**
 * Errors as data. Name and message are kept exactly; of the rest what can be stored, because an error that carries a socket
 * must still be recorded. The stack is not kept: it belongs to one process, and two recordings of one failure would differ.
 */
import { types } from 'node:util'
import { itemsIn } from '../core/places.ts'
import { HoldfastError, type HoldfastErrorCode } from '../errors.ts'
import { setOwn } from './json.ts'

/** What is kept of an error. What is usual (type Error, nothing else on it) is absent. */
export interface ErrorData {
  readonly name: string
  readonly message: string
  /** The built-in class that it is or extends. */
  readonly type?: string
  /** Keys of registered symbols that are `true` on it: how the AI SDK and Holdfast know their own errors (`isInstance`). */
  readonly marks?: readonly string[]
  /** Own enumerable properties, `code` among them. */
  readonly own?: object
  /** `cause`, `errors`, `error` and `suppressed` where they are not enumerable, as the language makes them. */
  readonly hidden?: object
}

/** A class, so that a codec can tell an error from plain data that looks like one. */
export class ErrorRecord {
  readonly data: ErrorData
  constructor(data: ErrorData) {
    this.data = data
  }
}

const builtIn: Readonly<Record<string, ErrorConstructor>> = {
  TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError, AggregateError: AggregateError as unknown as ErrorConstructor,
}
export const HOLDFAST_MARK = 'holdfast.error'
const keptApart = new Set(['name', 'message', 'stack'])

/** The names of what is kept of an error besides its name and message, as far as it can be stored. */
export const errorKeys = (error: Error): string[] => [...ownKeys(error), ...hiddenKeys(error)]
const ownKeys = (error: Error): string[] => Object.keys(error).filter((key) => !keptApart.has(key))
const hiddenKeys = (error: Error): string[] => ['cause', 'errors', 'error', 'suppressed'].filter((key) => Object.getOwnPropertyDescriptor(error, key)?.enumerable === false)

/** `copy` puts a copy of the error's property `key` into an object, or does nothing where it cannot be stored. */
export function recordError(error: Error, copy: (key: string, into: object) => void): ErrorRecord {
  const type = Object.keys(builtIn).find((name) => error instanceof builtIn[name]!)
  const own: { readonly code?: unknown } = {}
  const hidden = {}
  for (const key of ownKeys(error)) copy(key, own)
  for (const key of hiddenKeys(error)) copy(key, hidden)
  // Who gave an error of Holdfast another code made it an error of their own.
  const marks = marksOf(error).filter((mark) => mark !== HOLDFAST_MARK || typeof own.code === 'string')
  return new ErrorRecord({
    name: errorText(error, 'name') ?? 'Error',
    message: errorText(error, 'message') ?? '',
    ...(type !== undefined && { type }),
    ...(marks.length > 0 && { marks }),
    ...(Object.keys(own).length > 0 && { own }),
    ...(Object.keys(hidden).length > 0 && { hidden }),
  })
}

/** Makes the error again. Throws when the data is not what {@link recordError} makes. */
export function reviveError(data: ErrorData): Error {
  if (typeof data?.name !== 'string' || typeof data.message !== 'string') throw new TypeError('an error without name and message')
  const error = make(data)
  for (const key of data.marks ?? []) (error as unknown as Record<symbol, true>)[Symbol.for(key)] = true
  for (const [key, value] of Object.entries(data.own ?? {})) setOwn(error, key, value)
  for (const [key, value] of Object.entries(data.hidden ?? {})) define(error, key, value)
  if (Object.hasOwn(error, 'name')) setOwn(error, 'name', data.name)
  else if (error.name !== data.name) define(error, 'name', data.name)
  define(error, 'stack', `${data.name}: ${data.message}`)
  return error
}

function make({ message, type, marks, own }: ErrorData): Error {
  if (marks?.includes(HOLDFAST_MARK)) {
    // The message is the whole one already: given the advice as well, the constructor would add it a second time.
    const code = (own as { code?: unknown } | undefined)?.code
    if (typeof code !== 'string') throw new TypeError('an error of Holdfast without its code')
    return new HoldfastError(code as HoldfastErrorCode, message)
  }
  if (type === 'AggregateError') return new AggregateError([], message)
  return type === undefined || !Object.hasOwn(builtIn, type) ? new Error(message) : new builtIn[type]!(message)
}

/** The errors that an error is made of, where it is asked for them; of these, those that can be stored are kept. */
export function membersOf(error: Error, key: string): readonly unknown[] | undefined {
  if (key !== 'errors') return undefined
  try {
    const { errors } = error as { readonly errors?: unknown }
    return Array.isArray(errors) && !types.isProxy(errors) ? itemsIn(errors) : undefined
  } catch {
    return undefined
  }
}

/** `name` or `message` where it is a text; a getter that throws counts as none. */
export function errorText(error: Error, key: 'name' | 'message'): string | undefined {
  try {
    const text: unknown = error[key]
    return typeof text === 'string' ? text : undefined
  } catch {
    return undefined
  }
}

/**
 * What HTTP clients put on their errors is no plain data, but says what went wrong and how long to wait: a `Headers` becomes an object, a
 * `Response` its status and headers. All else is given back as it is.
 */
export function asData(value: unknown): unknown {
  if (value instanceof Headers) return Object.fromEntries(value)
  if (value instanceof Response) return { status: value.status, statusText: value.statusText, headers: Object.fromEntries(value.headers) }
  return value
}

/** Keys of the registered symbols that are `true` on it. What else has a symbol for its key is left out, as all that cannot be stored of an error. */
export function marksOf(error: Error): string[] {
  return Object.getOwnPropertySymbols(error).flatMap((symbol) => {
    const key = Symbol.keyFor(symbol)
    return key !== undefined && Object.getOwnPropertyDescriptor(error, symbol)?.value === true ? [key] : []
  })
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: false, writable: true, configurable: true })
}
