/** What `--json` prints: values of a run in JSON's words, and nothing that a terminal would act upon. */
import { printableLines } from './printable.ts'

/** More parts than anybody reads. A value may be small where it is stored, and endless as JSON: a list of holes, parts that share parts. */
const MOST_PARTS = 1_000_000

/**
 * A value as JSON can hold it. What JSON does not know is put into its nearest words: Date an ISO text, BigInt and numbers
 * such as NaN a text, Map a list of pairs, Set and typed arrays a list, URL and RegExp a text, Error `{ name, message, code?, cause? }`,
 * undefined null. Functions and cycles are named, and beyond a million parts the rest is `[more]`.
 */
export function jsonValue(value: unknown): unknown {
  return new Walk().take(value)
}

class Walk {
  #left = MOST_PARTS
  /** The objects around the one that is looked at. */
  readonly #open = new Set<object>()

  take(value: unknown): unknown {
    if (this.#left-- <= 0) return '[more]'
    switch (typeof value) {
      case 'undefined': return null
      case 'bigint': return String(value)
      case 'number': return Number.isFinite(value) ? value : String(value)
      case 'function':
      case 'symbol': return `[${typeof value}]`
    }
    if (typeof value !== 'object' || value === null) return value
    if (this.#open.has(value)) return '[cycle]'
    this.#open.add(value)
    const taken = this.#takeObject(value)
    this.#open.delete(value)
    return taken
  }

  #takeObject(value: object): unknown {
    const inner = (item: unknown): unknown => this.take(item)
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
    if (value instanceof URL || value instanceof RegExp) return String(value)
    if (value instanceof Error) {
      const code = (value as { code?: unknown }).code
      return { name: value.name, message: value.message, ...(code !== undefined && { code: inner(code) }), ...(value.cause !== undefined && { cause: inner(value.cause) }) }
    }
    if (value instanceof Map || value instanceof Set || Array.isArray(value)) return this.#list(value)
    if (value instanceof ArrayBuffer) return this.#list(new Uint8Array(value))
    if (ArrayBuffer.isView(value)) return 'length' in value ? this.#list(value as Uint8Array) : inner(value.buffer)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(item)]))
  }

  #list(items: Iterable<unknown>): unknown[] {
    const list: unknown[] = []
    for (const item of items) {
      list.push(this.take(item)) // `[more]` where it is the one too many
      if (this.#left < 0) break
    }
    return list
  }
}

/** One document, readable. */
export const jsonText = (value: unknown): string => `${printableLines(JSON.stringify(jsonValue(value), null, 2))}\n`

/** One line. */
export const jsonLine = (value: unknown): string => `${printableLines(JSON.stringify(jsonValue(value)))}\n`
