/** Checks of policy values, each with the path in its message. */
import { HoldfastError } from '../errors.ts'
import { nearestNames } from './nearest.ts'

/** Refuses a value that does not pass. */
export type Check = (value: unknown, path: string) => void

function refuse(path: string, rule: string, got: unknown): never {
  throw new HoldfastError('INVALID_POLICY', `${path} must be ${rule}, got ${show(got)}`)
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

/** The value as an object whose keys are all in `checks`, each value passing its check; `undefined` counts as left out. */
export function checkObject(value: unknown, path: string, checks: Readonly<Record<string, Check>>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(path, 'an object', value)
  for (const [key, item] of Object.entries(value)) {
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined
    if (check === undefined) {
      const [nearest] = nearestNames(key, Object.keys(checks), 1)
      const advice = nearest === undefined ? `Known are ${Object.keys(checks).join(', ')}` : `Is ${nearest} meant?`
      throw new HoldfastError('INVALID_POLICY', `${path}.${key} is not known`, { advice })
    }
    if (item !== undefined) check(item, `${path}.${key}`)
  }
}

export const integer = (least: number): Check => (value, path) => {
  if (!Number.isSafeInteger(value) || (value as number) < least) refuse(path, `an integer >= ${least}`, value)
}

export const number = (least: number): Check => (value, path) => {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < least) refuse(path, `a number >= ${least}`, value)
}

/** A time limit: above 0. Infinity: none, also where something else gives one. */
export const duration: Check = (value, path) => {
  if (typeof value !== 'number' || !(value > 0)) refuse(path, 'a number of ms > 0', value)
}

export const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') refuse(path, 'true or false', value)
}

export const callable: Check = (value, path) => {
  if (typeof value !== 'function') refuse(path, 'a function', value)
}

export const text: Check = (value, path) => {
  if (typeof value !== 'string' || value === '') refuse(path, 'a text that is not empty', value)
}

export const oneOf = (words: readonly string[]): Check => (value, path) => {
  if (!(words as readonly unknown[]).includes(value)) refuse(path, `one of ${words.join(', ')}`, value)
}

export const listOf = (check: Check): Check => (value, path) => {
  if (!Array.isArray(value)) refuse(path, 'an array', value)
  value.forEach((item, i) => check(item, `${path}[${i}]`))
}
