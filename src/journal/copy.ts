/**
 * Copies of what others hold too, so that what they change in it later changes nothing here, and whether a value still is as it was when it was copied.
 * A copy costs its structure: texts are shared.
 */
import { placesIn } from '../core/places.ts'
import { MAX_DEPTH, setOwn } from './json.ts'
import { hrefOf, isTypedArrayName, kindOf, type Kind } from './value-kind.ts'

/**
 * A copy of the plain data and the built-in types in a value; what refers to one object twice, or to itself, does so in the copy. What cannot be copied
 * without making something else of it stands in the copy itself: instances of classes, errors, objects with functions or symbols, and what is nested
 * too deep to be stored. A getter is its value, what is not enumerable is left out. Never throws: where a getter does, the object is not copied.
 */
export function copyOf<T>(value: T): T {
  return typeof value === 'object' && value !== null ? take(value, 0, new Map()) as T : value
}

function take(value: unknown, depth: number, seen: Map<object, object>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const known = seen.get(value)
  if (known) return known
  const kind = depth < MAX_DEPTH ? kindOf(value) : undefined
  const empty = kind && emptyOf(value, kind)
  if (!empty) return value
  seen.set(value, empty)
  if (fill(empty, value, depth, seen)) return empty
  seen.set(value, value)
  return value
}

/** What a copy begins with; of what holds no other values it is all of it. Undefined: it cannot be copied. */
function emptyOf(value: object, kind: Kind): object | undefined {
  switch (kind) {
    case 'object': return Object.getPrototypeOf(value) === Object.prototype ? {} : Object.create(Object.getPrototypeOf(value) as object | null) as object
    case 'array': return []
    case 'Map': return new Map()
    case 'Set': return new Set()
    case 'Date': return new Date(Date.prototype.getTime.call(value))
    case 'URL': return new URL(hrefOf(value)!)
    case 'RegExp': return Object.assign(new RegExp(value as RegExp), { lastIndex: (value as RegExp).lastIndex })
    case 'ArrayBuffer': return (value as ArrayBuffer).slice(0)
    case 'Error': return undefined
    default: return isTypedArrayName(kind) ? (Buffer.isBuffer(value) ? Buffer.from(value) : (value as Uint8Array).slice()) : undefined
  }
}

/** Whether all of it could be copied. */
function fill(copy: object, source: object, depth: number, seen: Map<object, object>): boolean {
  if (ArrayBuffer.isView(source)) return true
  try {
    if (copy instanceof Map) for (const [key, item] of source as Map<unknown, unknown>) copy.set(take(key, depth + 1, seen), take(item, depth + 1, seen))
    else if (copy instanceof Set) for (const item of source as Set<unknown>) copy.add(take(item, depth + 1, seen))
    if (Object.getOwnPropertySymbols(source).length > 0) return false
    // By keys also of an array: its length says nothing about how much is in it, and it may have names besides.
    for (const key of Object.keys(source)) {
      const item = (source as Readonly<Record<string, unknown>>)[key]
      if (typeof item === 'function') return false
      setOwn(copy, key, take(item, depth + 1, seen))
    }
    if (Array.isArray(copy)) copy.length = (source as readonly unknown[]).length
    return true
  } catch {
    return false
  }
}

/** Another copy of what {@link copyOf} gave of a value that has a fingerprint, and so no cycles: quicker, because nothing is to be found out about it any more. */
export function copyAgain<T>(copy: T): T {
  if (typeof copy !== 'object' || copy === null) return copy
  if (Array.isArray(copy)) return listAgain(copy) as T
  if (Object.getPrototypeOf(copy) !== Object.prototype) return copyOf(copy)
  const again = { ...copy } as Record<string, unknown>
  for (const key in again) {
    const part = again[key]
    if (typeof part === 'object') again[key] = copyAgain(part)
  }
  return again as T
}

function listAgain(copy: readonly unknown[]): unknown[] {
  const again: unknown[] = []
  for (let i = 0; i < copy.length; i++) {
    const part = copy[i]
    if (part === undefined && !Object.hasOwn(copy, i)) return listWithHolesAgain(copy)
    again.push(typeof part === 'object' ? copyAgain(part) : part)
  }
  return again
}

function listWithHolesAgain(copy: readonly unknown[]): unknown[] {
  const again: unknown[] = []
  for (const i of placesIn(copy)) again[i] = copyAgain(copy[i])
  again.length = copy.length
  return again
}

/**
 * Whether a value is what it was when `copy` was made of it, or another one like it, as far as the parts are plain data, bytes, dates and URLs; of
 * anything else nobody can tell, so it is not. Costs the structure: where texts are the same objects, as in messages that frameworks make anew around
 * them at every step, nothing of them is read.
 */
export function isSame(copy: unknown, value: unknown): boolean {
  if (typeof copy !== 'object' || typeof value !== 'object' || copy === null || value === null) return Object.is(copy, value)
  // It stands in the copy itself: it may have been changed since.
  if (copy === value) return false
  if (Array.isArray(copy)) return Array.isArray(value) && areSame(copy, value)
  const prototype: unknown = Object.getPrototypeOf(copy)
  if (prototype !== Object.getPrototypeOf(value)) return false
  if (prototype === Object.prototype) return haveSame(copy as Readonly<Record<string, unknown>>, value as Readonly<Record<string, unknown>>)
  if (ArrayBuffer.isView(copy)) return areSameBytes(copy, value as ArrayBufferView)
  if (prototype === Date.prototype) return Object.is((copy as Date).getTime(), (value as Date).getTime())
  return prototype === URL.prototype && hrefOf(copy) === hrefOf(value)
}

/** A hole counts as undefined. */
function areSame(copy: readonly unknown[], value: readonly unknown[]): boolean {
  if (copy.length !== value.length) return false
  for (let i = 0; i < copy.length; i++) {
    if (!isSame(copy[i], value[i])) return false
    if (copy[i] === undefined && !Object.hasOwn(copy, i)) return haveSameItems(copy, value)
  }
  return true
}

function haveSameItems(copy: readonly unknown[], value: readonly unknown[]): boolean {
  for (const list of [copy, value]) for (const i of placesIn(list)) if (!isSame(copy[i], value[i])) return false
  return true
}

/** With `for in`, which takes half the time of `Object.keys`: every message of a conversation goes through here at each request. */
function haveSame(copy: Readonly<Record<string, unknown>>, value: Readonly<Record<string, unknown>>): boolean {
  let more = 0
  for (const key in copy) {
    more++
    const part = copy[key]
    if (part === undefined ? value[key] !== undefined || !Object.hasOwn(value, key) : !isSame(part, value[key])) return false
  }
  for (const _ in value) more--
  return more === 0
}

const areSameBytes = (copy: ArrayBufferView, value: ArrayBufferView): boolean => bytesOf(copy).equals(bytesOf(value))

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer => Buffer.from(buffer, byteOffset, byteLength)
