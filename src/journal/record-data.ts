/** The parts of a record (an entry of a journal, a message of an inbox) that hold what users' code gave: encoded values, and texts for people. */
import type { Encoded } from './codec.ts'
import { type JsonValue, setOwn } from './json.ts'
import type { TextOf } from './secret-forms.ts'

export interface Change {
  /** For each encoded value; `field` is the record's way to it, such as `input`, `outcome.value` or `files.0.file`. */
  encoded(value: Encoded, field: string): Encoded
  /** For each text that somebody, or their code, has said: messages, reasons, and who answered. */
  text(text: string, field: string): string
  /** For each name that their code gives a step or a tool. Absent: it stays. */
  name?(name: string): string
}

/** `by` is who answered here; of other records it is a word of the format. */
const ANSWERS: ReadonlySet<unknown> = new Set(['approved', 'denied', 'approval-decided'])

const isSaid = (key: string, { type }: Readonly<Record<string, unknown>>): boolean => key === 'message' || key === 'reason' || (key === 'by' && ANSWERS.has(type))

/** `changed`: the parts of a configuration, such as `tool search`, of which `parts` has the hashes. */
const NAMES: ReadonlySet<string> = new Set(['name', 'tool'])
const PARTS: ReadonlySet<string> = new Set(['parts', 'changed'])

/** The record with its data changed. What is not changed is shared. */
export function changeData<R extends object>(record: R, change: Change): R {
  return changed(record, change, '') as R
}

function changed(node: unknown, change: Change, field: string): unknown {
  if (typeof node !== 'object' || node === null) return node
  const inside = (key: string | number): string => (field === '' ? String(key) : `${field}.${key}`)
  if (Array.isArray(node)) return shared(node, node.map((item: unknown, i) => changed(item, change, inside(i))))
  if (isEncoded(node)) return change.encoded(node, field)
  const source = node as Readonly<Record<string, unknown>>
  const keys = Object.keys(source)
  const values = keys.map((key) => {
    const value = source[key]
    if (change.name && PARTS.has(key)) return renamed(value, change.name)
    if (typeof value !== 'string') return changed(value, change, inside(key))
    if (change.name && NAMES.has(key)) return change.name(value)
    return isSaid(key, source) ? change.text(value, inside(key)) : value
  })
  if (keys.every((key, i) => values[i] === source[key])) return node
  const copy = {}
  for (const [i, key] of keys.entries()) setOwn(copy, key, values[i])
  return copy
}

function renamed(parts: unknown, name: NonNullable<Change['name']>): unknown {
  if (Array.isArray(parts)) return shared(parts, parts.map((part) => (typeof part === 'string' ? name(part) : part)))
  return typeof parts === 'object' && parts !== null ? Object.fromEntries(Object.entries(parts).map(([part, digest]) => [name(part), digest])) : parts
}

const shared = (before: readonly unknown[], after: readonly unknown[]): readonly unknown[] => (after.every((item, i) => item === before[i]) ? before : after)

/** In a record, an object with no other field is nothing else. */
function isEncoded(node: object): node is Encoded {
  const keys = Object.keys(node)
  return keys.length === 1 && (keys[0] === 'json' || keys[0] === 'devalue')
}

/** Gives the text to put in place of another. `flags`: of a RegExp. */
export type ChangeText = (text: string, of: TextOf, flags: string) => string

/** Told of keys of one object or Map, or items of one Set, that were different and are the same now: all but one are lost. */
export type OnClash = (keys: readonly string[]) => void

/** An encoded value with each of its texts changed: strings, keys, and what a URL or RegExp is made of; never the names of types, dates, numbers or bytes. */
export function changeTexts(encoded: Encoded, change: ChangeText, onClash?: OnClash): Encoded {
  if ('json' in encoded) return { json: texts(encoded.json, change, onClash) }
  const flat = encoded.devalue
  if (!Array.isArray(flat)) return encoded
  const after = flat.map((part: JsonValue) => flatPart(part, change, onClash))
  if (onClash) for (const part of flat as readonly JsonValue[]) tellClashes(keyTextsOf(part, flat), keyTextsOf(part, after), onClash)
  return { devalue: withEntries(after) }
}

/** devalue has no object with a key `__proto__`, which the new value of a secret may be: it travels as a list of entries. */
function withEntries(flat: readonly JsonValue[]): readonly JsonValue[] {
  const parts = [...flat]
  for (const [i, part] of flat.entries()) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, '__proto__')) continue
    const pairs = Object.entries(part).map(([key, at]) => parts.push([parts.push(key) - 1, at as JsonValue]) - 1)
    parts[i] = ['Entries', parts.push(pairs) - 1]
  }
  return parts
}

/** Of a Map or Set in devalue's flat form: those of its keys or items that are texts, each once. */
function keyTextsOf(part: JsonValue, flat: readonly JsonValue[]): string[] {
  if (!Array.isArray(part) || (part[0] !== 'Map' && part[0] !== 'Set')) return []
  const places = (part as readonly JsonValue[]).slice(1).filter((_, i) => part[0] === 'Set' || i % 2 === 0)
  return [...new Set(places)].map((at) => flat[at as number]).filter((text) => typeof text === 'string')
}

function tellClashes(before: readonly string[], after: readonly string[], onClash: OnClash): void {
  if (new Set(after).size === after.length) return
  onClash(before.filter((_, i) => after.indexOf(after[i]!) !== i || after.lastIndexOf(after[i]!) !== i))
}

/** An encoded value in which each URL and RegExp whose text is `meant` is that text. */
export function asTexts(encoded: Encoded, meant: (text: string) => boolean): Encoded {
  const flat = 'devalue' in encoded ? encoded.devalue : undefined
  if (!Array.isArray(flat)) return encoded
  return { devalue: flat.map((part: JsonValue) => (Array.isArray(part) && isOfText(part) && meant(part[1]) ? part[1] : part)) }
}

const isOfText = (part: readonly JsonValue[]): part is readonly ['URL' | 'RegExp', string, ...JsonValue[]] =>
  (part[0] === 'URL' || part[0] === 'RegExp') && typeof part[1] === 'string'

/** One part of devalue's flat form: its items and properties refer to other parts, by number. */
function flatPart(part: JsonValue, change: ChangeText, onClash?: OnClash): JsonValue {
  if (!Array.isArray(part)) return texts(part, change, onClash)
  const list = part as readonly JsonValue[]
  if (!isOfText(list)) return part
  const [type, text, ...rest] = list
  return [type, change(text, type, String(rest[0] ?? '')), ...rest]
}

function texts(value: JsonValue, change: ChangeText, onClash?: OnClash): JsonValue {
  if (typeof value === 'string') return change(value, 'text', '')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: JsonValue) => texts(item, change, onClash))
  const copy = {}
  const before = Object.keys(value)
  const after = before.map((key) => change(key, 'text', ''))
  for (const [i, item] of Object.values(value).entries()) setOwn(copy, after[i]!, texts(item as JsonValue, change, onClash))
  if (onClash) tellClashes(before, after, onClash)
  return copy
}
