/** How this folder refuses what it is given: always with the path of what is wrong. */
import { HoldfastError } from '../errors.ts'

/** The error of a value that is not what it must be. */
export function invalid(path: string, must: string, got: unknown): HoldfastError {
  return new HoldfastError('INVALID_OPTIONS', `${path} must be ${must}, got ${shown(got)}`)
}

/** A plain object; with `keys`, one that has no others. */
export function checkedObject(path: string, value: unknown, keys?: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw invalid(path, 'an object', value)
  const unknown = keys && Object.keys(value).find((key) => !keys.includes(key))
  if (unknown !== undefined) throw new HoldfastError('INVALID_OPTIONS', `${path}.${unknown} is not known; known are ${keys?.join(', ')}`)
  return value
}

export function checkedArray(path: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(path, 'an array', value)
  return value
}

/** A whole number of at least `min`, or absent. */
export function checkInteger(path: string, value: unknown, min: number): void {
  if (value !== undefined && (!Number.isInteger(value) || Number(value) < min)) throw invalid(path, `an integer >= ${min}`, value)
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  const text = typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 80)}...` : text
}
