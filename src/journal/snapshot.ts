/**
 * A copy of a value as it stands now, of nothing but plain data and built-in types, or a refusal with the path. Whoever
 * serializes the copy cannot run into code of the user's, and later changes to the value do not reach the journal.
 */
import { admit, refuseCycle } from './admit.ts'
import { asData, type ErrorRecord, membersOf, recordError } from './error-record.ts'
import { setOwn } from './json.ts'
import { nameOf } from './shown-instance.ts'
import { itemSegment, keySegment, type Place, Refusal } from './value-error.ts'
import { describe, hrefOf, isTypedArrayName, type Kind, typedArrays } from './value-kind.ts'

export interface Snapshot {
  readonly copy: unknown
  /** JSON text can carry all of the copy. */
  readonly plain: boolean
  /** Some object of the copy has an own key `__proto__`. */
  readonly protoKeys: boolean
  /** Where `plain`: the JSON text takes at most this many bytes. Spares making the text only to measure it. */
  readonly bytesBound: number
}

export function takeSnapshot(value: unknown, place: Place): Snapshot {
  const walk = new Walk(place)
  const copy = walk.take(value, 0)
  return { copy, plain: walk.plain, protoKeys: walk.protoKeys, bytesBound: walk.bytesBound }
}

class Walk {
  plain = true
  protoKeys = false
  bytesBound = 0
  readonly #place: Place
  /** The copy of each object that was met, or the depth of one whose inside is being copied. */
  readonly #seen = new Map<object, object | number>()

  constructor(place: Place) {
    this.#place = place
  }

  take(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case 'string':
        this.bytesBound += 6 * value.length + 3
        return value
      case 'number':
        this.bytesBound += 26
        if (!Number.isFinite(value) || Object.is(value, -0)) this.plain = false
        return value
      case 'boolean':
        this.bytesBound += 6
        return value
      case 'undefined':
      case 'bigint':
        this.plain = false
        return value
      case 'object':
        if (value !== null) return this.#takeObject(value, depth)
        this.bytesBound += 5
        return value
      default:
        throw new Refusal(`is ${describe(value)}`)
    }
  }

  #takeObject(value: object, depth: number): object {
    const known = this.#seen.get(value)
    if (typeof known === 'number') return refuseCycle(known, this.#place)
    if (known !== undefined) {
      // As JSON, what is shared would be written once for each reference: exponentially often in the worst case.
      this.plain = false
      return known
    }
    const kind = admit(value, depth, this.#place)
    this.#seen.set(value, depth)
    const copy = this.#copy(value, kind, depth)
    this.#seen.set(value, copy)
    return copy
  }

  #copy(value: object, kind: Kind, depth: number): object {
    if (kind === 'object') return this.#copyObject(value as Record<string, unknown>, depth)
    if (kind === 'array') return this.#copyArray(value as unknown[], depth)
    this.plain = false
    if (isTypedArrayName(kind)) return copyBytes(value, typedArrays[kind])
    switch (kind) {
      case 'Date': return new Date(Date.prototype.getTime.call(value))
      case 'URL': return new URL(hrefOf(value)!)
      case 'RegExp': return new RegExp(value as RegExp)
      case 'ArrayBuffer': return new Uint8Array(new Uint8Array(value as ArrayBuffer)).buffer
      case 'Map': return this.#copyMap(value as Map<unknown, unknown>, depth)
      case 'Set': return this.#copySet(value as Set<unknown>, depth)
      case 'Error': return this.#copyError(value as Error, depth)
    }
  }

  #copyObject(source: Record<string, unknown>, depth: number): object {
    const copy = {}
    this.bytesBound += 3
    for (const key of Object.keys(source)) {
      this.#place.enter(depth, key)
      this.bytesBound += 6 * key.length + 4
      this.#put(copy, key, this.take(source[key], depth + 1))
    }
    return copy
  }

  #put(copy: object, key: string, value: unknown): void {
    if (key === '__proto__') this.protoKeys = true
    setOwn(copy, key, value)
  }

  #copyArray(source: unknown[], depth: number): object {
    const copy: unknown[] = []
    this.bytesBound += 3
    for (let i = 0; i < source.length; i++) {
      this.#place.enter(depth, i)
      const item = source[i]
      if (item === undefined && !Object.hasOwn(source, i)) return this.#copySparseArray(source, depth)
      copy.push(this.take(item, depth + 1))
    }
    return copy
  }

  /** By keys: the length of a sparse array says nothing about how much is in it. */
  #copySparseArray(source: unknown[], depth: number): object {
    this.plain = false
    const copy: unknown[] = []
    for (const key of Object.keys(source)) {
      this.#place.enter(depth, Number(key))
      copy[Number(key)] = this.take(source[Number(key)], depth + 1)
    }
    copy.length = source.length
    return copy
  }

  #copyMap(source: Map<unknown, unknown>, depth: number): object {
    const copy = new Map<unknown, unknown>()
    Map.prototype.forEach.call(source, (value, key) => {
      this.#place.enter(depth, keySegment(copy.size))
      const keyCopy = this.take(key, depth + 1)
      this.#place.enter(depth, itemSegment(copy.size, key))
      copy.set(keyCopy, this.take(value, depth + 1))
    })
    return copy
  }

  #copySet(source: Set<unknown>, depth: number): object {
    const copy = new Set()
    Set.prototype.forEach.call(source, (item) => {
      this.#place.enter(depth, itemSegment(copy.size))
      copy.add(this.take(item, depth + 1))
    })
    return copy
  }

  #copyError(error: Error, depth: number): ErrorRecord {
    return recordError(error, (key, into) => {
      const isTaken = this.#tried(depth, key, () => this.#put(into, key, this.take(asData((error as unknown as Record<string, unknown>)[key]), depth + 1)))
      const members = isTaken ? undefined : membersOf(error, key)
      if (!members) return
      const copies: unknown[] = []
      for (const member of members) if (!this.#tried(depth, key, () => copies.push(this.take(asData(member), depth + 2)))) copies.push(nameOf(member))
      this.#put(into, key, copies)
    })
  }

  /** False: it cannot be stored, and nothing of it is. What was open inside it is so no more, or a second reference to it would look like a cycle. */
  #tried(depth: number, key: string, take: () => void): boolean {
    try {
      this.#place.enter(depth, key)
      take()
      return true
    } catch {
      for (const [object, state] of this.#seen) if (typeof state === 'number' && state > depth) this.#seen.delete(object)
      return false
    }
  }
}

/** Only the bytes that are seen, not the buffer around them: Node's Buffers lie in a pool with other data. */
function copyBytes(value: object, constructor: (typeof typedArrays)[keyof typeof typedArrays]): object {
  return new (constructor as unknown as new (source: object) => object)(value)
}
