/** Checks of plain data as it was parsed: what it must be, and the place where it is not. */
import { isDeeper, MAX_DEPTH } from './json.ts'

/** `values`: what more is asked of an encoded value. */
export interface Look {
  readonly values: ((value: unknown, path: string) => string | undefined) | undefined
}

/** What is wrong with a value, beginning with its path; undefined: nothing. */
export type Shape = (value: unknown, path: string, look: Look) => string | undefined

/** A field that may be absent. */
export interface Optional {
  readonly optional: Shape
}

export type Field = Shape | Optional

export const optional = (shape: Shape): Optional => ({ optional: shape })

const MAX_SHOWN = 60

/** A value in a message: cut, and on one line. */
function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text
}

const unless = (holds: (value: unknown) => boolean, what: string): Shape =>
  (value, path) => (holds(value) ? undefined : `${path} is ${shown(value)}, not ${what}`)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value)

export const flag = unless((value) => typeof value === 'boolean', 'true or false')
export const text = unless((value) => typeof value === 'string', 'a text')
/** Times and durations. */
export const number = unless((value) => typeof value === 'number' && Number.isFinite(value), 'a number')
export const positive = unless((value) => typeof value === 'number' && Number.isFinite(value) && value > 0, 'a number above 0')
export const atLeast = (least: number): Shape => unless((value) => Number.isSafeInteger(value) && (value as number) >= least, `a whole number from ${least}`)
export const between = (least: number, most: number): Shape => unless((value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most, `a whole number from ${least} to ${most}`)
export const oneOf = (...texts: readonly string[]): Shape => unless((value) => texts.includes(value as string), `one of ${texts.join(', ')}`)
export const nullable = (shape: Shape): Shape => (value, path, look) => (value === null ? undefined : shape(value, path, look))

export function list(shape: Shape): Shape {
  return (value, path, look) => {
    if (!Array.isArray(value)) return `${path} is ${shown(value)}, not a list`
    for (const [i, item] of value.entries()) {
      const wrong = shape(item, `${path}[${i}]`, look)
      if (wrong !== undefined) return wrong
    }
    return undefined
  }
}

export function pair(first: Shape, second: Shape): Shape {
  return (value, path, look) => {
    if (!Array.isArray(value) || value.length !== 2) return `${path} is ${shown(value)}, not a pair`
    return first(value[0], `${path}[0]`, look) ?? second(value[1], `${path}[1]`, look)
  }
}

/** Any names, values of one shape. */
export function map(shape: Shape): Shape {
  return (value, path, look) => {
    if (!isRecord(value)) return `${path} is ${shown(value)}, not an object`
    for (const [key, item] of Object.entries(value)) {
      const wrong = shape(item, `${path}[${JSON.stringify(key.slice(0, MAX_SHOWN))}]`, look)
      if (wrong !== undefined) return wrong
    }
    return undefined
  }
}

/** These fields. Others may be there: they are left alone, as far as what walks through them does not run out of stack. */
export function object(fields: Readonly<Record<string, Field>>): Shape {
  const known = Object.entries(fields)
  const names = new Set(known.map(([name]) => name))
  return (value, path, look) => {
    if (!isRecord(value)) return `${path} is ${shown(value)}, not an object`
    for (const [key, field] of known) {
      const item = Object.hasOwn(value, key) ? value[key] : undefined
      if (typeof field !== 'function' && item === undefined) continue
      const wrong = (typeof field === 'function' ? field : field.optional)(item, path === '' ? key : `${path}.${key}`, look)
      if (wrong !== undefined) return wrong
    }
    for (const key of Object.keys(value)) {
      if (!names.has(key) && isDeeper(value[key], MAX_DEPTH)) return `${path === '' ? '' : `${path}.`}${key.slice(0, MAX_SHOWN)} is nested deeper than ${MAX_DEPTH} levels`
    }
    return undefined
  }
}

/** One of several objects, told apart by `type`. */
export function variants(byType: Readonly<Record<string, Readonly<Record<string, Field>>>>): Shape {
  const shapes = new Map(Object.entries(byType).map(([type, fields]) => [type, object(fields)]))
  return (value, path, look) => {
    if (!isRecord(value)) return `${path || 'it'} is ${shown(value)}, not an object`
    const type = Object.hasOwn(value, 'type') ? value['type'] : undefined
    const shape = typeof type === 'string' ? shapes.get(type) : undefined
    return shape ? shape(value, path, look) : `${path === '' ? 'type' : `${path}.type`} is ${shown(type)}, not one of ${[...shapes.keys()].join(', ')}`
  }
}

/** A value as a codec wrote it. */
export const encoded: Shape = (value, path, look) => {
  if (!isRecord(value)) return `${path} is ${shown(value)}, not an encoded value`
  const keys = Object.keys(value)
  if (keys.length !== 1 || value[keys[0]!] === undefined) return `${path} is an object with ${keys.length} fields, not an encoded value`
  return look.values?.(value, path)
}
