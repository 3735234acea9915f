/** The keys of an encrypted store, checked once. */
import { createHmac, createSecretKey, KeyObject } from 'node:crypto'
import { shown } from '../../core/shown.ts'
import { HoldfastError } from '../../errors.ts'

/** 256 bits: a KeyObject of node:crypto, bytes, or their base64. */
export type EncryptionKey = KeyObject | Uint8Array | string

export interface EncryptionOptions {
  /** Keys by id. Records say which one they were made with: an old key stays here as long as runs that were made with it are to be read. */
  readonly keys: Readonly<Record<string, EncryptionKey>>
  /** Id of the key for what is written from now on. */
  readonly current: string
}

export interface Keys {
  /** Id of the key for what is written. */
  readonly current: string
  get(id: string): Key | undefined
  /** Known by what it is: one key may have had several ids, one id several keys. */
  withCheck(check: string): Key | undefined
  readonly all: readonly Key[]
}

export interface Key {
  readonly id: string
  /** Tells the key from another one under the same id, and says nothing about it. */
  readonly check: string
  /** The key for what belongs to one run. */
  forRun(runId: string): KeyObject
  /** A name for a text that only who has the key can find out. */
  nameOf(runId: string, text: string): string
}

const BYTES = 32
const ID = /^[\w.-]{1,64}$/
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** @throws HoldfastError `INVALID_OPTIONS` with the path; it never shows a key. */
export function checkKeys(options: EncryptionOptions): Keys {
  if (typeof options !== 'object' || options === null || typeof options.keys !== 'object' || options.keys === null) {
    throw invalid('encryptedStore() takes { keys: { id: key }, current: id }', 'Make a key with: openssl rand -base64 32')
  }
  const unknown = Object.keys(options).find((name) => name !== 'keys' && name !== 'current')
  if (unknown !== undefined) throw invalid(`${unknown} is not an option of encryptedStore()`, 'The options are keys, current')
  const { keys: given, current } = options
  const keys = new Map(Object.entries(given).map(([id, key]) => [id, keyOf(id, key)]))
  if (typeof current !== 'string' || !keys.has(current)) {
    throw invalid(`current must be the id of one of the keys (${[...keys.keys()].join(', ') || 'there are none'}), got ${shown(current)}`)
  }
  const all = [...keys.values()]
  return { current, all, get: (id) => keys.get(id), withCheck: (check) => all.find((key) => key.check === check) }
}

/**
 * Keys as a variable of the environment holds them: `id:base64`, several with commas, the current one first.
 *
 * @throws HoldfastError `INVALID_OPTIONS`.
 */
export function parseKeys(text: string, name: string): EncryptionOptions {
  const pairs = text.split(',').map((part) => part.trim()).filter((part) => part !== '').map((part) => {
    const colon = part.indexOf(':')
    if (colon < 1) throw invalid(`${name} must be id:base64, several with commas, the current key first`, 'Such as 2026-11:$(openssl rand -base64 32)')
    return [part.slice(0, colon), part.slice(colon + 1)] as const
  })
  const [first] = pairs
  if (!first) throw invalid(`${name} holds no key`)
  const twice = pairs.find(([id, key], i) => pairs.slice(0, i).some(([other, former]) => other === id && former !== key))
  if (twice) throw invalid(`${name} has two keys of the id ${twice[0]}`, 'Give each an id of its own: a record knows its key by more than the id')
  return { keys: Object.fromEntries(pairs), current: first[0] }
}

function keyOf(id: string, given: unknown): Key {
  if (!ID.test(id)) throw invalid(`keys: ${JSON.stringify(id)} cannot be the id of a key`, 'Use 1 to 64 letters, digits and . _ -')
  const secret = secretOf(id, given)
  const derive = (...parts: readonly string[]): Buffer => {
    const hmac = createHmac('sha256', secret)
    for (const part of parts) hmac.update(`${part.length}:`).update(part, 'utf16le')
    return hmac.digest()
  }
  return {
    id,
    check: derive('holdfast key check').toString('base64url').slice(0, 8),
    forRun: (runId) => createSecretKey(derive('holdfast records', runId)),
    nameOf: (runId, text) => derive('holdfast names', runId, text).toString('base64url').slice(0, 32),
  }
}

function secretOf(id: string, given: unknown): KeyObject {
  if (given instanceof KeyObject && given.type !== 'secret') throw invalid(`keys.${id} must be a secret key, got a ${given.type} one`)
  const bytes = given instanceof KeyObject ? given.export() : typeof given === 'string' && BASE64.test(given) ? Buffer.from(given, 'base64') : given
  const size = bytes instanceof Uint8Array ? bytes.byteLength : undefined
  if (size !== BYTES) {
    const got = size === undefined ? (given === undefined ? 'undefined: is its environment variable set?' : `a ${typeof given} that is none`) : `${size}`
    throw invalid(`keys.${id} must be ${BYTES} bytes: a KeyObject, a Uint8Array, or their base64; got ${got}`, 'Make one with: openssl rand -base64 32')
  }
  return createSecretKey(bytes as Uint8Array)
}

const invalid = (message: string, advice?: string): HoldfastError => new HoldfastError('INVALID_OPTIONS', message, advice === undefined ? {} : { advice })
