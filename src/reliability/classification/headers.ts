/** Response headers in whatever shape an SDK keeps them. */
import { itemsIn } from '../../core/places.ts'
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

/** One after the other: nobody reads a hundred thousand of them. */
function* entriesOf(value: object): Iterable<readonly [unknown, unknown]> {
  if (Array.isArray(value)) {
    for (const item of itemsIn(value)) if (Array.isArray(item) && item.length === 2) yield [item[0], item[1]]
  } else if (typeof read(value, 'entries') === 'function') yield* (value as Headers).entries()
  else for (const name of Object.keys(value)) yield [name, (value as Record<string, unknown>)[name]]
}
