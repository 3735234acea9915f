/** A text that is the same for values that count as the same, for fingerprints. */
import { placesIn } from '../core/places.ts'
import { admit, refuseCycle } from './admit.ts'
import { asData, errorKeys, errorText, membersOf } from './error-record.ts'
import type { Secrets } from './secrets.ts'
import { nameOf } from './shown-instance.ts'
import { guarded, itemSegment, keySegment, Place, Refusal, type Segment } from './value-error.ts'
import { describe, hrefOf, type Kind } from './value-kind.ts'

/** Far beyond any request, and below the longest string of V8. */
const MAX_LENGTH = 2 ** 27
/** Each object counts for this many characters more, so that what shares its parts exponentially often ends within a second or so. */
const OBJECT_LENGTH = 128

/**
 * The canonical text of a value: different for different values, and the same whatever the order of an object's keys, of a
 * Map's entries or of a Set's elements. A property that is `undefined` is absent; -0 is 0; a hole is undefined; a Buffer is a
 * Uint8Array; an error is what is kept of it (name, message, own properties, cause, not the stack); whether equal parts are one object does not count. Not meant to be parsed.
 *
 * @param path What the value is called in messages. Default: `value`.
 * @param secrets Their names count in place of their values.
 * @throws HoldfastError `VALUE_NOT_STORABLE` with the path for what `encode` refuses (functions, symbols, Proxies, cycles,
 * instances of classes, more than 500 levels), `VALUE_TOO_LARGE` beyond 134 million characters or
 * a million objects. No other error.
 *
 * @example
 * canonical({ b: 1, a: [new Date(0), undefined], c: undefined }) // '{"a":[Date(0),undefined],"b":1}'
 */
export function canonical(value: unknown, path = 'value', secrets?: Secrets): string {
  const place = new Place(path)
  return guarded(place, () => new Walk(place, secrets).write(value, 0))
}

/** A property that is undefined. */
const ABSENT = 'undefined'

class Walk {
  #length = 0
  readonly #place: Place
  readonly #secrets: Secrets | undefined
  /** The objects around the one being written, each with its depth. */
  readonly #open = new Map<object, number>()

  constructor(place: Place, secrets: Secrets | undefined) {
    this.#place = place
    this.#secrets = secrets
  }

  write(value: unknown, depth: number): string {
    if (typeof value !== 'object' || value === null) return this.#count(typeof value === 'string' ? this.#text(value) : scalar(value))
    const ancestor = this.#open.get(value)
    if (ancestor !== undefined) return refuseCycle(ancestor, this.#place)
    const kind = admit(value, depth, this.#place)
    this.#open.set(value, depth)
    const text = this.#writeObject(value, kind, depth)
    this.#open.delete(value)
    return text
  }

  #writeObject(value: object, kind: Kind, depth: number): string {
    this.#count('', OBJECT_LENGTH)
    const part = (item: unknown, segment: Segment): string => {
      this.#place.enter(depth, segment)
      return this.write(item, depth + 1)
    }
    switch (kind) {
      case 'object': return this.#writeProperties(value as Record<string, unknown>, depth)
      case 'array': return this.#writeItems(value as unknown[], depth)
      case 'Set': return `Set(${[...Set.prototype.values.call(value)].map((item, i) => part(item, itemSegment(i))).sort().join()})`
      case 'Map': {
        const entries = [...Map.prototype.entries.call(value)]
        return `Map(${entries.map(([key, item], i) => `${part(key, keySegment(i))}:${part(item, itemSegment(i, key))}`).sort().join()})`
      }
      case 'Error': return this.#writeError(value as Error, depth)
      default: return this.#count(leaf(value, kind, (text) => this.#text(text)))
    }
  }

  #writeItems(source: unknown[], depth: number): string {
    this.#count('', source.length) // before the walk: a list may be nothing but holes, billions of them
    const items: string[] = []
    for (let i = 0; i < source.length; i++) {
      this.#place.enter(depth, i) // before the read, which may be a getter that throws
      const item = source[i]
      if (item === undefined && !Object.hasOwn(source, i)) return `[${[...items, ...this.#writeSparse(source, i, depth)].join()}]`
      items.push(this.write(item, depth + 1))
    }
    return `[${items.join()}]`
  }

  /** From a hole on. */
  *#writeSparse(source: unknown[], from: number, depth: number): Generator<string> {
    let next = from
    for (const i of placesIn(source)) {
      if (i < from) continue
      if (i > next) yield this.#writeHoles(i - next)
      this.#place.enter(depth, i)
      yield this.write(source[i], depth + 1)
      next = i + 1
    }
    if (next < source.length) yield this.#writeHoles(source.length - next)
  }

  #writeHoles(count: number): string {
    this.#count('', count * ABSENT.length)
    return `${ABSENT},`.repeat(count - 1) + ABSENT
  }

  #writeProperties(source: Record<string, unknown>, depth: number): string {
    return this.#writeSorted(Object.keys(source), (key) => {
      this.#place.enter(depth, key)
      return this.write(source[key], depth + 1)
    })
  }

  #writeError(error: Error, depth: number): string {
    const [name, message] = [errorText(error, 'name') ?? 'Error', errorText(error, 'message') ?? '']
    // What cannot be stored of an error is left out of its record: it does not count.
    const properties = this.#writeSorted(errorKeys(error), (key) => this.#tried(depth, key, () => this.write(asData((error as unknown as Record<string, unknown>)[key]), depth + 1)) ?? this.#writeMembers(error, key, depth) ?? ABSENT)
    return this.#count(`Error([${this.#text(name)},${this.#text(message)}]${properties === '{}' ? '' : `,${properties}`})`, name.length + message.length)
  }

  /** As a record has them: in place of each that cannot be stored, what it is. */
  #writeMembers(error: Error, key: string, depth: number): string | undefined {
    const members = membersOf(error, key)
    return members && `[${members.map((member) => this.#tried(depth, key, () => this.write(asData(member), depth + 2)) ?? this.write(nameOf(member), depth + 2)).join()}]`
  }

  /** Undefined: it cannot be stored. */
  #tried(depth: number, key: string, write: () => string): string | undefined {
    try {
      this.#place.enter(depth, key)
      return write()
    } catch (refusal) {
      if (refusal instanceof Refusal && refusal.code === 'VALUE_TOO_LARGE') throw refusal
      for (const [object, at] of this.#open) if (at > depth) this.#open.delete(object)
      return undefined
    }
  }

  #writeSorted(keys: string[], write: (key: string) => string): string {
    const properties: string[] = []
    for (const [key, written] of this.#sorted(keys)) {
      const text = write(key)
      if (text !== ABSENT) properties.push(this.#count(`${written}:`) + text)
    }
    return `{${properties.join()}}`
  }

  /** Each with its text, by which they are sorted where a secret may be in one: its value does not count. */
  #sorted(keys: string[]): readonly (readonly [key: string, written: string])[] {
    if (!this.#secrets) return keys.sort().map((key) => [key, quote(key)])
    return keys.map((key) => [key, this.#text(key)] as const).sort(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0))
  }

  /** No other text begins like one that holds secrets. */
  #text(text: string): string {
    const parts = this.#secrets?.parts(text)
    return parts ? `Secret(${parts.map(quote).join()})` : quote(text)
  }

  #count(text: string, length = text.length): string {
    this.#length += length
    if (this.#length > MAX_LENGTH) {
      const limit = `${MAX_LENGTH} characters, where an object counts for ${OBJECT_LENGTH}`
      throw new Refusal(`is too large to compare: more than ${limit}`, 'VALUE_TOO_LARGE')
    }
    return text
  }
}

/** As JSON.stringify, without its cost for the usual text. Lone surrogates must be escapes: hashed as UTF-8, all would be U+FFFD. */
const quote = (text: string): string => escaped.test(text) ? JSON.stringify(text) : `"${text}"`
// oxlint-disable-next-line no-control-regex
const escaped = /["\\\u0000-\u001f\ud800-\udfff]/

function scalar(value: unknown): string {
  switch (typeof value) {
    case 'bigint': return `${value}n`
    case 'symbol':
    case 'function': throw new Refusal(`is ${describe(value)}`)
    default: return String(value) // of -0 it is "0"
  }
}

function leaf(value: object, kind: Exclude<Kind, 'object' | 'array' | 'Map' | 'Set' | 'Error'>, text: (text: string) => string): string {
  switch (kind) {
    case 'Date': return `Date(${Date.prototype.getTime.call(value)})`
    case 'URL': return `URL(${text(hrefOf(value)!)})`
    case 'RegExp': return `RegExp([${text((value as RegExp).source)},${text((value as RegExp).flags)}])`
    case 'ArrayBuffer': return `ArrayBuffer(${Buffer.from(value as ArrayBuffer).toString('base64')})`
    default: {
      const view = value as Uint8Array
      return `${kind}(${Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('base64')})`
    }
  }
}
