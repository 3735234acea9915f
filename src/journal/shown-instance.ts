/** What is no plain data, as it may be shown: what it holds is made plain, to be masked; what cannot be looked into is only named. */
import { types } from 'node:util'
import { asData } from './error-record.ts'
import { describe } from './value-kind.ts'

const BOXED = [Number, String, Boolean, BigInt, Symbol]

/** Plain data, a text, or a value that holds no text (a Date, bytes). Properties of an instance are not shown: what they hold, and what its class shows of it, nobody has looked at. */
export function shownInstance(value: object): unknown {
  if (types.isProxy(value) || typeof value === 'function') return nameOf(value)
  if (types.isDate(value)) return new Date(value.getTime())
  // Bytes are not searched (docs/values.md): they are shown as numbers.
  if (types.isTypedArray(value) || types.isAnyArrayBuffer(value)) return value
  if (types.isBoxedPrimitive(value)) return BOXED.some((type) => value instanceof type) ? (value as { valueOf(): unknown }).valueOf() : nameOf(value)
  if (value instanceof URLSearchParams) return String(value)
  const data = asData(value)
  return data === value ? nameOf(value) : data
}

/** `[Client]` */
export const nameOf = (value: unknown): string => `[${describe(value).replace(/^an? (instance of )?/, '')}]`
