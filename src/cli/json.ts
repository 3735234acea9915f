/** What `--json` prints: values of a run in JSON's words, and nothing that a terminal would act upon. */
import { HoldfastError } from '../errors.ts'
import { printableLines } from './printable.ts'

/**
 * How many parts JSON may have more than the value: what is shared is written once for each reference, each hole of a list as null. A value may be
 * small where it is stored, and endless as JSON. What it has itself is never cut.
 */
const MOST_ADDED = 1_000_000
const MORE = '[more]'

/**
 * A value as JSON can hold it. What JSON does not know is put into its nearest words: Date an ISO text, BigInt and numbers
 * such as NaN a text, Map a list of pairs, Set and typed arrays a list, URL and RegExp a text, Error `{ name, message, code?, cause? }`,
 * undefined null. Functions and cycles are named. What is shared, and holes, are `[more]` beyond a million parts of them.
 */
export function jsonValue(value: unknown): unknown {
  return new Walk().take(value)
}

class Walk {
  #left = MOST_ADDED
  /** The objects around the one that is looked at. */
  readonly #open = new Set<object>()
  readonly #seen = new Set<object>()

  /** `isAgain`: it was taken before, at another place. */
  take(value: unknown, isAgain = false): unknown {
    if (isAgain && this.#left-- <= 0) return MORE
    switch (typeof value) {
      case 'undefined': return null
      case 'bigint': return String(value)
      case 'number': return Number.isFinite(value) ? value : String(value)
      case 'function':
      case 'symbol': return `[${typeof value}]`
    }
    if (typeof value !== 'object' || value === null) return value
    if (this.#open.has(value)) return '[cycle]'
    const known = isAgain || this.#seen.has(value)
    if (known && this.#left <= 0) return MORE
    this.#seen.add(value)
    this.#open.add(value)
    const taken = this.#takeObject(value, known)
    this.#open.delete(value)
    return taken
  }

  #takeObject(value: object, isAgain: boolean): unknown {
    const inner = (item: unknown): unknown => this.take(item, isAgain)
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
    if (value instanceof URL || value instanceof RegExp) return String(value)
    if (value instanceof Error) {
      const code = (value as { code?: unknown }).code
      return { name: value.name, message: value.message, ...(code !== undefined && { code: inner(code) }), ...(value.cause !== undefined && { cause: inner(value.cause) }) }
    }
    if (Array.isArray(value)) return this.#list(value, isAgain, (i) => !Object.hasOwn(value, i))
    if (value instanceof Map || value instanceof Set) return this.#list(value, isAgain)
    if (value instanceof ArrayBuffer) return this.#list(new Uint8Array(value), isAgain)
    if (ArrayBuffer.isView(value)) return 'length' in value ? this.#list(value as Uint8Array, isAgain) : inner(value.buffer)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(item)]))
  }

  #list(items: Iterable<unknown>, isAgain: boolean, isHole: (index: number) => boolean = () => false): unknown[] {
    const list: unknown[] = []
    for (const item of items) {
      const isAdded = isAgain || (item === undefined && isHole(list.length))
      list.push(this.take(item, isAdded)) // `[more]` where it is the one too many
      if (isAdded && this.#left < 0) break
    }
    return list
  }
}

/** One document, readable. */
export const jsonText = (value: unknown): string => written(value, 2)

/** One line. */
export const jsonLine = (value: unknown): string => written(value)

function written(value: unknown, indent?: number): string {
  try {
    return `${printableLines(JSON.stringify(jsonValue(value), null, indent))}\n`
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new HoldfastError('VALUE_TOO_LARGE', 'what is to be printed is longer as JSON than a text can be', { advice: 'Nothing is wrong with what is stored: read it in a program, with run, get or history of the runner', cause: error })
  }
}
