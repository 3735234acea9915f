/** What `--json` prints: values of a run in JSON's words, and nothing that a terminal would act upon. */
import { printableLines } from './printable.ts'

/**
 * A value as JSON can hold it. What JSON does not know is put into its nearest words: Date an ISO text, BigInt and numbers
 * such as NaN a text, Map a list of pairs, Set and typed arrays a list, URL and RegExp a text, Error `{ name, message, code?, cause? }`,
 * undefined null. Functions and cycles are named.
 */
export function jsonValue(value: unknown, above: readonly object[] = []): unknown {
  switch (typeof value) {
    case 'undefined': return null
    case 'bigint': return String(value)
    case 'number': return Number.isFinite(value) ? value : String(value)
    case 'function':
    case 'symbol': return `[${typeof value}]`
  }
  if (typeof value !== 'object' || value === null) return value
  if (above.includes(value)) return '[cycle]'
  const inner = (item: unknown): unknown => jsonValue(item, [...above, value])
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof URL || value instanceof RegExp) return String(value)
  if (value instanceof Error) {
    const code = (value as { code?: unknown }).code
    return { name: value.name, message: value.message, ...(code !== undefined && { code: inner(code) }), ...(value.cause !== undefined && { cause: inner(value.cause) }) }
  }
  if (value instanceof Map) return [...value].map(inner)
  if (value instanceof Set || Array.isArray(value)) return [...value].map(inner)
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)]
  if (ArrayBuffer.isView(value)) return 'length' in value ? [...(value as Uint8Array)].map(inner) : inner(value.buffer)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(item)]))
}

/** One document, readable. */
export const jsonText = (value: unknown): string => `${printableLines(JSON.stringify(jsonValue(value), null, 2))}\n`

/** One line. */
export const jsonLine = (value: unknown): string => `${printableLines(JSON.stringify(jsonValue(value)))}\n`
