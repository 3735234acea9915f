/** A part of devalue's flat form by itself: whether the value that it stands for can be made, found out without making what is large. */
import { types } from 'node:util'
import { HOLDFAST_MARK } from './error-record.ts'
import type { JsonValue } from './json.ts'
import { isTypedArrayName, typedArrays } from './value-kind.ts'

/** The part that a reference leads to; undefined: it stands for no part. */
export type At = (reference: JsonValue | undefined) => JsonValue | undefined

/** What is wrong with a part whose references lead somewhere, as the end of a sentence; undefined: nothing. `isHidden`: a text that is not whole, as it holds the name of a secret. */
export function partFault(part: JsonValue, at: At, isHidden: (text: string) => boolean): string | undefined {
  if (typeof part === 'number') return Number.isFinite(part) ? undefined : 'is no number'
  if (typeof part !== 'object' || part === null) return undefined
  if (!Array.isArray(part)) return Object.hasOwn(part, '__proto__') ? 'has a key that such an object cannot have' : undefined
  const list = part as readonly JsonValue[]
  const [type, first, ...rest] = list
  if (type === SPARSE) return isSparse(list) ? undefined : 'is no list with holes'
  if (typeof type !== 'string') return undefined
  if (isTypedArrayName(type)) return rest.length === 0 && isBufferOf(at(first), typedArrays[type].BYTES_PER_ELEMENT) ? undefined : `is no ${type}`
  return MADE_OF[type]?.(first, rest, at, isHidden) === false ? `is no ${type}` : undefined
}

const SPARSE = -7
const LONGEST = 2 ** 32 - 1

type Check = (first: JsonValue | undefined, rest: readonly JsonValue[], at: At, isHidden: (text: string) => boolean) => boolean

const MADE_OF: Readonly<Record<string, Check>> = {
  Date: (text, rest) => rest.length === 0 && (text === '' || isTime(text)),
  BigInt: (text, rest) => rest.length === 0 && typeof text === 'string' && /^-?\d+$/.test(text),
  RegExp: (source, [flags = '', ...more], _at, isHidden) => more.length === 0 && typeof source === 'string' && typeof flags === 'string' && (isHidden(source) || isPattern(source, flags)),
  URL: (text, rest, _at, isHidden) => rest.length === 0 && typeof text === 'string' && (isHidden(text) || URL.canParse(text)),
  ArrayBuffer: (text, rest) => rest.length === 0 && typeof text === 'string' && bytesIn(text) !== undefined,
  Map: (first, rest) => first === undefined || rest.length % 2 === 1,
  Error: (data, rest, at) => rest.length === 0 && isErrorData(at(data), at),
  Entries: (list, rest, at) => rest.length === 0 && listAt(at, list)?.every((entry) => isEntry(listAt(at, entry), at)) === true,
}

function isTime(text: JsonValue | undefined): boolean {
  const time = typeof text === 'string' ? new Date(text) : undefined
  return time !== undefined && !Number.isNaN(time.getTime()) && time.toISOString() === text
}

export function isPattern(source: string, flags: string): boolean {
  try {
    return types.isRegExp(new RegExp(source, flags))
  } catch {
    return false
  }
}

/** How many bytes base64 stands for; undefined: it is none. */
function bytesIn(text: string): number | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  return (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
}

function isBufferOf(part: JsonValue | undefined, size: number): boolean {
  if (!Array.isArray(part) || part[0] !== 'ArrayBuffer') return false
  const [, text] = part as readonly JsonValue[]
  const bytes = typeof text === 'string' ? bytesIn(text) : undefined
  return bytes !== undefined && bytes % size === 0
}

function isSparse([, length, ...places]: readonly JsonValue[]): boolean {
  const isIndex = (value: JsonValue | undefined, below: number): boolean => Number.isInteger(value) && (value as number) >= 0 && (value as number) < below
  return isIndex(length, LONGEST + 1) && places.length % 2 === 0 && places.every((place, i) => i % 2 === 1 || isIndex(place, length as number))
}

/** A list of references, where there is one. */
function listAt(at: At, reference: JsonValue | undefined): readonly JsonValue[] | undefined {
  const part = at(reference)
  return Array.isArray(part) && typeof part[0] !== 'string' ? (part as readonly JsonValue[]) : undefined
}

const isEntry = (entry: readonly JsonValue[] | undefined, at: At): boolean => entry?.length === 2 && typeof at(entry[0]) === 'string'

const isFields = (part: JsonValue | undefined): part is Readonly<Record<string, JsonValue>> => typeof part === 'object' && part !== null && !Array.isArray(part)

/** As error-record.ts makes it. */
function isErrorData(data: JsonValue | undefined, at: At): boolean {
  if (!isFields(data)) return false
  const { name, message, type, marks, own, hidden } = data
  const isText = (reference: JsonValue | undefined): boolean => typeof at(reference) === 'string'
  const isObject = (reference: JsonValue): boolean => {
    const part = at(reference)
    return isFields(part) || (Array.isArray(part) && part[0] === 'Entries')
  }
  const marked = marks === undefined ? [] : listAt(at, marks)
  if (!isText(name) || !isText(message) || (type !== undefined && !isText(type)) || !marked?.every(isText)) return false
  if ((own !== undefined && !isObject(own)) || (hidden !== undefined && !isObject(hidden))) return false
  // Holdfast's own errors are made again with their code.
  if (!marked.some((mark) => at(mark) === HOLDFAST_MARK)) return true
  return isText(fieldOf(at, own, 'code'))
}

/** Of an object, also one that is kept as a list of its entries. */
function fieldOf(at: At, object: JsonValue | undefined, key: string): JsonValue | undefined {
  const part = at(object)
  if (isFields(part)) return Object.hasOwn(part, key) ? part[key] : undefined
  const entries = Array.isArray(part) ? listAt(at, (part as readonly JsonValue[])[1]) : undefined
  return entries?.map((entry) => listAt(at, entry)).find((entry) => at(entry?.[0]) === key)?.[1]
}
