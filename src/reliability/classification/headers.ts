/** Response headers in whatever shape an SDK keeps them. */
import { read } from './layers.ts'

/** Names in lower case, values trimmed. */
export type HeaderMap = ReadonlyMap<string, string>

const MAX_HEADERS = 256
const NONE: HeaderMap = new Map()

/** The headers of a `Headers`, a Map, pairs, or a plain object; empty when it is none of them. */
export function headersFrom(value: unknown): HeaderMap {
  if (value === null || typeof value !== 'object') return NONE
  const headers = new Map<string, string>()
  try {
    for (const [name, raw] of entriesOf(value)) {
      if (headers.size >= MAX_HEADERS) break
      const text: unknown = Array.isArray(raw) ? raw[0] : raw
      if (typeof name === 'string' && (typeof text === 'string' || typeof text === 'number')) headers.set(name.toLowerCase(), String(text).trim())
    }
  } catch {
    // A throwing getter among them: what was read before it counts.
  }
  return headers
}

function entriesOf(value: object): Iterable<readonly [unknown, unknown]> {
  if (Array.isArray(value)) return value.filter((item): item is [unknown, unknown] => Array.isArray(item) && item.length === 2)
  if (typeof read(value, 'entries') === 'function') return (value as Headers).entries()
  return Object.entries(value)
}
