/** What is shown of runs with parts of it masked (R14): journals, lists, events. What is stored, and what a run sees, is as it is. */
import { types } from 'node:util'
import { placesIn } from '../core/places.ts'
import { shown } from '../core/shown.ts'
import { HoldfastError } from '../errors.ts'
import type { Placed } from './chain.ts'
import { decode, encode } from './codec.ts'
import { marksOf } from './error-record.ts'
import { isDeeper, MAX_DEPTH, setOwn } from './json.ts'
import { type Change, changeData } from './record-data.ts'
import type { Secrets } from './secrets.ts'
import { shownInstance } from './shown-instance.ts'
import type { RunRow } from './store.ts'

/**
 * What to mask. A RegExp: each match in any text. A text: the property of that name, at any depth, or with dots the end of a path, such as
 * `customer.email` (`*` stands for any one name or index). A function: given each text and its path, it gives the text to show.
 */
export type RedactRule = RegExp | string | ((text: string, path: string) => string)

export const REDACTED = '[redacted]'

/** Twice as deep as what can be stored: beyond it nothing is shown. */
const DEEPEST = 2 * MAX_DEPTH

/** What errors have of their own: without these names it is shown as none. */
const OF_ERRORS: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'cause', 'errors'])

type Path = readonly string[]

/** Copies by what they are of, and by the way to it. */
type Seen = Map<object, Map<string, object>>

export class Redaction {
  readonly #rules: readonly RedactRule[]
  readonly #paths: readonly Path[]
  /** How many names before a property its rules look at. */
  readonly #reach: number
  readonly #secrets: Secrets | undefined
  readonly #change: Change = {
    encoded: (value, field) => encode(this.#copy(decode(value), field.split('.'), new Map())),
    text: (text, field) => this.#said(text, field.split('.')),
    name: (name) => this.name(name),
  }

  private constructor(rules: readonly RedactRule[], secrets: Secrets | undefined) {
    this.#rules = rules
    this.#paths = rules.flatMap((rule) => (typeof rule === 'string' ? [rule.split('.')] : []))
    this.#reach = Math.max(1, ...this.#paths.map((path) => path.length)) - 1
    this.#secrets = secrets
  }

  /**
   * Undefined where there is nothing to mask. Secrets are masked whatever the rules.
   *
   * @throws HoldfastError `INVALID_OPTIONS` with the path.
   */
  static of(given: unknown, secrets: Secrets | undefined): Redaction | undefined {
    if (given !== undefined && !Array.isArray(given)) throw invalid('redact must be a list of RegExps, paths and functions, such as [/\\d{16}/, "customer.email"]')
    const rules = ((given ?? []) as unknown[]).map((rule, i) => {
      const isRule = rule instanceof RegExp || typeof rule === 'function' || (typeof rule === 'string' && rule.split('.').every((part) => part !== ''))
      if (!isRule) throw invalid(`redact[${i}] must be a RegExp, a path such as "customer.email", or a function, got ${shown(rule)}`)
      // One with a memory of its own would mask every other match.
      return rule instanceof RegExp ? new RegExp(rule.source, [...new Set(`${rule.flags.replace('y', '')}g`)].join('')) : (rule as RedactRule)
    })
    return rules.length === 0 && !secrets ? undefined : new Redaction(rules, secrets)
  }

  /** A copy of any value to be shown, of plain data, errors and built-in types; other instances are only named (`[Client]`). It does not throw: what cannot be copied is not shown. */
  value(value: unknown): unknown {
    return this.#safely(value, [])
  }

  /** An event: what was said in it, its result and error; it is told whatever they are. Ids are shown as they are: they are handed back, to resolve a step. */
  event<E extends object>(event: E): E {
    const { result, error, ...rest } = event as { readonly result?: unknown; readonly error?: unknown }
    const masked = changeData(rest, this.#change)
    return {
      ...masked,
      ...('result' in event && { result: this.#safely(result, ['result']) }),
      ...('error' in event && { error: this.#safely(error, ['error']) }),
    } as E
  }

  /** Entries of a journal: their values, and what was said. */
  entries(entries: readonly Placed[]): Placed[] {
    return entries.map(({ seq, entry }) => {
      const masked = changeData(entry, this.#change)
      return { seq, entry: 'threadId' in masked && masked.threadId !== undefined ? { ...masked, threadId: this.#said(masked.threadId, ['threadId']) } : masked }
    })
  }

  /** What somebody's code calls a step, a tool or a property. */
  name(name: string): string {
    let shown = this.#secrets?.hide(name) ?? name
    for (const rule of this.#rules) if (rule instanceof RegExp) shown = shown.replaceAll(rule, REDACTED)
    return shown
  }

  /** A text of a record itself, which has a name as a property has. */
  #said(text: string, path: Path): string {
    return this.#isMasked(path) ? REDACTED : this.#text(text, path)
  }

  row(row: RunRow): RunRow {
    return row.threadId === null ? row : { ...row, threadId: this.#said(row.threadId, ['threadId']) }
  }

  #safely(value: unknown, path: Path): unknown {
    try {
      return this.#copy(value, path, new Map())
    } catch {
      return REDACTED
    }
  }

  #copy(value: unknown, path: Path, seen: Seen): unknown {
    if (this.#isMasked(path)) return REDACTED
    if (typeof value === 'string') return this.#text(value, path)
    if (typeof value === 'symbol') return this.#unlessMasked(value, String(value), path)
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value
    if (path.length > DEEPEST) return REDACTED
    // A Proxy is asked nothing.
    if (types.isProxy(value)) return this.#copy(shownInstance(value), path, seen)
    // What is shared is copied once for each way in which it can be masked: its shares may be exponentially many.
    const way = this.#reach === 0 ? '' : path.slice(-this.#reach).join('\0')
    const ways = seen.get(value) ?? new Map<string, object>()
    seen.set(value, ways)
    const known = ways.get(way)
    if (known) return known
    const inner = (item: unknown, key: string): unknown => this.#copy(item, [...path, key], seen)
    if (Array.isArray(value)) {
      const copy: unknown[] = []
      ways.set(way, copy)
      for (const i of placesIn(value)) copy[i] = inner(readable(value, String(i)), String(i))
      copy.length = value.length
      return copy
    }
    if (value instanceof Map) {
      const copy = new Map<unknown, unknown>()
      ways.set(way, copy)
      for (const [key, item] of value) copy.set(inner(key, '*'), inner(item, typeof key === 'string' ? key : '*'))
      return copy
    }
    if (value instanceof Set) {
      const copy = new Set<unknown>()
      ways.set(way, copy)
      for (const item of value) copy.add(inner(item, '*'))
      return copy
    }
    if (value instanceof Error) return this.#error(value, inner, (copy) => ways.set(way, copy))
    const prototype = Object.getPrototypeOf(value) as object | null
    if (prototype !== null && !isPlain(prototype)) {
      if (value instanceof URL || types.isRegExp(value)) return this.#unlessMasked(value, value instanceof URL ? value.href : String(value), path)
      const shown = shownInstance(value)
      return types.isDate(shown) || shown === value ? shown : this.#copy(shown, path, seen)
    }
    const copy = {}
    ways.set(way, copy)
    for (const key of Object.keys(value)) setOwn(copy, this.name(key), inner(readable(value, key), key))
    return copy
  }

  /** Of the same class, so that who looks at an event can tell errors apart. */
  #error(error: Error, inner: (item: unknown, key: string) => unknown, remember: (copy: Error) => void): Error {
    const copy = Object.create(Object.getPrototypeOf(error) as object) as Error
    for (const mark of marksOf(error).map((key) => Symbol.for(key))) Object.defineProperty(copy, mark, Object.getOwnPropertyDescriptor(error, mark)!)
    remember(copy)
    for (const key of new Set([...OF_ERRORS, ...Object.keys(error)])) {
      if (!Object.hasOwn(error, key)) continue
      const shown = inner(readable(error, key), key)
      Object.defineProperty(copy, OF_ERRORS.has(key) ? key : this.name(key), { value: shown, enumerable: Object.prototype.propertyIsEnumerable.call(error, key), writable: true, configurable: true })
    }
    return copy
  }

  /** What is made from a text is shown as it is, or as that text where something of it is masked. */
  #unlessMasked(value: unknown, text: string, path: Path): unknown {
    const shown = this.#text(text, path)
    return shown === text ? value : shown
  }

  /** What holds JSON, such as the arguments of a tool call as a model writes them, is masked inside. */
  #text(text: string, path: Path): string {
    let shown = this.#paths.length > 0 ? this.#json(text, path) : text
    shown = this.name(shown)
    for (const rule of this.#rules) if (typeof rule === 'function') shown = byFunction(rule, shown, path.join('.'))
    return shown
  }

  /** Also JSON in a text of JSON: each time it is written once more, its quotes make it longer, so that there are few such levels. */
  #json(text: string, path: Path): string {
    const inside = /^\s*[[{"]/.test(text) ? parsed(text) : undefined
    if (inside === undefined) return text
    if (path.length > DEEPEST || isDeeper(inside, DEEPEST)) return REDACTED
    const { masked, changed } = this.#masked(inside, path)
    return changed ? JSON.stringify(masked) : text
  }

  /** By path alone: what is in its texts is looked at in the text as a whole. */
  #masked(value: unknown, path: Path): { readonly masked: unknown; readonly changed: boolean } {
    if (this.#isMasked(path)) return { masked: REDACTED, changed: true }
    if (typeof value === 'string') {
      const masked = this.#json(value, path)
      return { masked, changed: masked !== value }
    }
    if (typeof value !== 'object' || value === null) return { masked: value, changed: false }
    let changed = false
    const copy: object = Array.isArray(value) ? [] : {}
    for (const [key, item] of Object.entries(value)) {
      const inner = this.#masked(item, [...path, key])
      changed ||= inner.changed
      setOwn(copy, key, inner.masked)
    }
    return { masked: copy, changed }
  }

  #isMasked(path: Path): boolean {
    return this.#paths.some((rule) => rule.length <= path.length && rule.every((name, i) => name === '*' || name === path[path.length - rule.length + i]))
  }
}

/** That of a plain object, of this or of another context. */
const isPlain = (prototype: object): boolean => prototype === Object.prototype || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'hasOwnProperty'))

/** A getter may throw. */
function readable(owner: object, key: string): unknown {
  try {
    return (owner as Record<string, unknown>)[key]
  } catch {
    return REDACTED
  }
}

/** One that fails shows nothing: it must neither end a run nor let through what it was to mask. */
function byFunction(rule: (text: string, path: string) => string, text: string, path: string): string {
  try {
    const shown: unknown = rule(text, path)
    return typeof shown === 'string' ? shown : REDACTED
  } catch {
    return REDACTED
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const invalid = (message: string): HoldfastError => new HoldfastError('INVALID_OPTIONS', message)
