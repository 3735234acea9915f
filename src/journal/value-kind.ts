/**
 * Which of the closed set of types a value belongs to. Looks at internal slots, so that objects of another realm count
 * (Node's own, inside a vm context), and nothing of the value is run: no trap, no getter, no `Symbol.toStringTag`.
 */
import { types } from 'node:util'
import { isPlace } from '../core/places.ts'

/** Float16Array is not among them: a journal has to be readable on every supported Node, and 22 does not have it. */
export const typedArrays = {
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  Float32Array, Float64Array, BigInt64Array, BigUint64Array,
} as const

export type TypedArrayName = keyof typeof typedArrays
export type Kind = 'object' | 'array' | 'Date' | 'Map' | 'Set' | 'RegExp' | 'URL' | 'Error' | 'ArrayBuffer' | TypedArrayName

export const isTypedArrayName = (name: string): name is TypedArrayName => Object.hasOwn(typedArrays, name)

/** The kind of an object, undefined when it is none that can be stored: {@link describe} then says what it is. */
export function kindOf(value: object): Kind | undefined {
  if (types.isProxy(value)) return undefined
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return 'object'
  if (Array.isArray(value)) return prototype === Array.prototype || isForeignArray(prototype) ? 'array' : undefined
  // DOMException (what AbortSignal.timeout aborts with) is an Error by its prototype only.
  if (types.isNativeError(value) || value instanceof Error) return 'Error'
  const ancestors = countPrototypes(value)
  if (types.isTypedArray(value)) {
    const name = typedArrayName(value) ?? ''
    return isTypedArrayName(name) && (ancestors === 3 || Buffer.isBuffer(value)) ? name : undefined
  }
  if (ancestors === 1) return Object.hasOwn(prototype, 'hasOwnProperty') ? 'object' : undefined
  // One more prototype is a subclass, which would come back as something else.
  return ancestors === 2 ? builtInKind(value) : undefined
}

function builtInKind(value: object): Kind | undefined {
  if (types.isDate(value)) return 'Date'
  if (types.isMap(value)) return 'Map'
  if (types.isSet(value)) return 'Set'
  if (types.isRegExp(value)) return 'RegExp'
  if (types.isArrayBuffer(value)) return 'ArrayBuffer'
  return hrefOf(value) === undefined ? undefined : 'URL'
}

/**
 * An own enumerable property that a value of this kind cannot carry along: a symbol on plain data, a name on an array, any on a
 * Date or Map. Undefined: there is none. (Errors carry what they can; a typed array has too many indices to look at.)
 */
export function strayKey(value: object, kind: Kind): string | symbol | undefined {
  if (kind === 'Error' || isTypedArrayName(kind)) return undefined
  const symbol = Object.getOwnPropertySymbols(value).find((key) => Object.prototype.propertyIsEnumerable.call(value, key))
  if (symbol !== undefined || kind === 'object') return symbol
  const keys = Object.keys(value)
  // Indices come first: when the last key is one, all are.
  const last = keys.at(-1)
  return kind === 'array' && (last === undefined || isPlace(last)) ? undefined : last
}

/** What a value that cannot be stored is, such as `a function` or `an instance of Session`. */
export function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : `a ${typeof value}`
  if (types.isProxy(value)) return 'a Proxy'
  if (types.isPromise(value)) return 'a Promise (not awaited)'
  const name = classNameOf(value)
  return name === undefined ? 'an object with a prototype of its own' : `an instance of ${name}`
}

const getter = (owner: object, key: PropertyKey): (() => unknown) | undefined => Object.getOwnPropertyDescriptor(owner, key)?.get
const hrefGetter = getter(URL.prototype, 'href')!
const tagGetter = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!

/** The text of a URL; undefined for everything else. */
export function hrefOf(value: object): string | undefined {
  try {
    return hrefGetter.call(value) as string
  } catch {
    return undefined
  }
}

const typedArrayName = (value: object): string | undefined => tagGetter.call(value) as string | undefined

const isForeignArray = (prototype: object): boolean => !types.isProxy(prototype) && Array.isArray(prototype) && countPrototypes(prototype) === 1

function countPrototypes(value: object): number {
  let count = 0
  let prototype: object | null = Object.getPrototypeOf(value)
  for (; prototype !== null && !types.isProxy(prototype); count++) prototype = Object.getPrototypeOf(prototype)
  return prototype === null ? count : Infinity
}

function classNameOf(value: object): string | undefined {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === null || types.isProxy(prototype)) return undefined
  const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value
  if (typeof constructor !== 'function' || types.isProxy(constructor)) return undefined
  const name: unknown = Object.getOwnPropertyDescriptor(constructor, 'name')?.value
  return typeof name === 'string' && name !== '' ? name : undefined
}
