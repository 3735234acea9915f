/** devalue's flat form (a list of parts that refer to each other by number), with a closed set of types. */
import { stringify, unflatten } from 'devalue'
import { type ErrorData, ErrorRecord, reviveError } from './error-record.ts'
import { partFault } from './flat-part.ts'
import { type JsonValue, MAX_DEPTH, setOwn } from './json.ts'
import type { Snapshot } from './snapshot.ts'
import { corrupt, formatPath, itemSegment, keySegment, type Segment } from './value-error.ts'
import { isTypedArrayName } from './value-kind.ts'

const errorReducer = (value: unknown): unknown => value instanceof ErrorRecord && value.data
/** devalue refuses objects with an own key `__proto__`: they travel as lists of entries. */
const entriesReducer = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__') && Object.entries(value)

/** The flat form as JSON text. */
export function flatten({ copy, protoKeys }: Snapshot): string {
  return stringify(copy, { Error: errorReducer, ...(protoKeys && { Entries: entriesReducer }) })
}

const revivers = {
  Error: (data: unknown) => reviveError(data as ErrorData),
  Entries(entries: unknown) {
    const object = {}
    for (const [key, value] of entries as [string, unknown][]) setOwn(object, key, value)
    return object
  },
}

/** Makes the value again. Throws STORE_CORRUPT for an unknown type and for anything that {@link flatten} does not write. */
export function restore(flat: JsonValue, path: string): unknown {
  checkFlat(flat, path)
  try {
    return unflatten(flat as number | unknown[], revivers, { operations: { set: setOwn } })
  } catch (error) {
    throw corrupt(`${path} cannot be decoded`, error)
  }
}

// Numbers below zero stand for undefined, a hole, NaN, Infinity, -Infinity, -0, and (first in a list) a sparse array.
const [HOLE, SPARSE] = [-2, -7]
const leaves = new Set(['Date', 'BigInt', 'RegExp', 'URL', 'ArrayBuffer'])

type Visit = (segment: Segment | undefined, reference: unknown) => void

/** Calls `visit` for each reference of a part to another. Returns the part's type where it is unknown. */
function references(part: JsonValue, visit: Visit): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined
  if (!isList(part)) {
    for (const [key, reference] of Object.entries(part)) visit(key, reference)
    return undefined
  }
  const [type] = part
  if (typeof type !== 'string') visitItems(part, visit)
  else if (isTypedArrayName(type) || type === 'Error' || type === 'Entries') visit(undefined, part[1])
  else if (type === 'Map') part.slice(1).forEach((reference, i) => visit(i % 2 ? itemSegment(i >> 1) : keySegment(i >> 1), reference))
  else if (type === 'Set') part.slice(1).forEach((reference, i) => visit(itemSegment(i), reference))
  else if (!leaves.has(type)) return type
  return undefined
}

function visitItems(part: readonly JsonValue[], visit: Visit): void {
  if (part[0] === SPARSE) for (let i = 2; i < part.length; i += 2) visit(part[i] as number, part[i + 1])
  else part.forEach((reference, i) => reference === HOLE || visit(i, reference))
}

/**
 * Throws STORE_CORRUPT with the path for what {@link flatten} does not write: an unknown type, a reference to nothing, or to what contains
 * it, a part that cannot be made. `isHidden`: texts that are not whole, as they hold the name of a secret.
 */
export function checkFlat(flat: JsonValue, path: string, isHidden: (text: string) => boolean = () => false): void {
  if (typeof flat === 'number') {
    if (isReference(flat, 0)) return
    throw corrupt(`${path} cannot be decoded: ${flat} stands for nothing`)
  }
  if (!isList(flat) || flat.length === 0) throw corrupt(`${path} is not in devalue's form`)
  const inside = flat.map((part, index) => {
    const parts: number[] = []
    const unknown = references(part, (_, reference) => {
      if (!isReference(reference, flat.length)) throw corrupt(`${path + pathOf(flat, index)} refers to a part that does not exist`)
      if (reference >= 0) parts.push(reference)
    })
    if (unknown !== undefined) throw corrupt(`${path + pathOf(flat, index)} has the unknown type ${JSON.stringify(unknown.slice(0, 60))}`)
    return parts
  })
  const depth = depthOf(inside, (index) => corrupt(`${path + pathOf(flat, index)} refers back to what contains it`))
  if (depth > MAX_PARTS_DEEP) throw corrupt(`${path} is nested too deep`)
  const at = (reference: JsonValue | undefined): JsonValue | undefined => (typeof reference === 'number' ? flat[reference] : undefined)
  for (const [index, part] of flat.entries()) {
    const fault = partFault(part, at, isHidden)
    if (fault !== undefined) throw corrupt(`${path + pathOf(flat, index)} ${fault}`)
  }
}

/** An object with a key `__proto__` takes three parts for one level of the value that was encoded, an error with such a key five. */
const MAX_PARTS_DEEP = 5 * MAX_DEPTH + 3

/** How many parts lie within each other. Each is passed once, however often it is referred to, and without recursion. */
function depthOf(inside: readonly (readonly number[])[], cycle: (part: number) => Error): number {
  const ENTERED = -1
  const depths: (number | undefined)[] = []
  const stack = [0]
  for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
    if (depths[at] === undefined) {
      depths[at] = ENTERED
      for (const part of inside[at]!) {
        if (depths[part] === ENTERED) throw cycle(part)
        if (depths[part] === undefined) stack.push(part)
      }
      continue
    }
    stack.pop()
    if (depths[at] === ENTERED) depths[at] = 1 + inside[at]!.reduce((deepest, part) => Math.max(deepest, depths[part]!), 0)
  }
  return depths[0]!
}

function isReference(reference: unknown, count: number): reference is number {
  return Number.isInteger(reference) && (reference as number) < count && (reference as number) > SPARSE && reference !== HOLE
}

/** How one gets from the whole value to a part. Only for messages. */
function pathOf(flat: readonly JsonValue[], part: number): string {
  const parents = new Map<unknown, { readonly index: number; readonly segment: Segment | undefined }>()
  flat.forEach((from, index) => references(from, (segment, to) => {
    if (!parents.has(to)) parents.set(to, { index, segment })
  }))
  const segments: Segment[] = []
  const visited = new Set<number>()
  for (let at = part; at !== 0 && !visited.has(at);) {
    visited.add(at)
    const parent = parents.get(at)
    if (parent === undefined) break
    if (parent.segment !== undefined) segments.unshift(parent.segment)
    at = parent.index
  }
  return formatPath(segments)
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)
