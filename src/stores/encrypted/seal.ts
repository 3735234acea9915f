/** A record as encrypted text, and back. */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { unforeseeable } from '../../core/random.ts'
import { HoldfastError } from '../../errors.ts'
import type { Key, Keys } from './keys.ts'

/** What is stored in place of a record: JSON text, so that whoever reads it without the key is told what it is. */
interface Envelope {
  readonly type: 'encrypted'
  /** Of this envelope. */
  readonly v: 1
  /** Id of the key. */
  readonly key: string
  /** Which key it is, whatever its id. */
  readonly check: string
  /** Nonce (12 bytes), what is encrypted, tag (16 bytes); base64. */
  readonly data: string
}

/** Where a record stands: what was made for one place does not open in another. */
export interface RecordPlace {
  readonly runId: string
  readonly what: 'entry' | 'message'
  /** Position; of a message, whose position its store gives, its number is not known when it is sealed. */
  readonly seq?: number
}

/** A record as it is stored; `sum`: of an entry. */
export interface SealedRecord {
  readonly body: string
  readonly sum?: string
}

const [NONCE, TAG] = [12, 16]

/** AES-256-GCM under a key of the run's own, so that random nonces are few enough for each. */
export function seal(key: Key, place: RecordPlace, text: string): string {
  const nonce = unforeseeable(NONCE)
  const cipher = createCipheriv('aes-256-gcm', key.forRun(place.runId), nonce)
  cipher.setAAD(boundTo(place, key.id, key.check))
  const data = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
  return JSON.stringify({ type: 'encrypted', v: 1, key: key.id, check: key.check, data } satisfies Envelope)
}

/**
 * What a record holds. Nothing of it that encryption does not protect decides what it is said to be: one that opens with any of the keys
 * is damaged where it says otherwise.
 *
 * @throws HoldfastError `KEY_MISSING`, `KEY_WRONG` with the id of the key; `STORE_NOT_ENCRYPTED`; `STORE_CORRUPT` with the place; `STORE_NEWER`.
 */
export function open(keys: Keys, place: RecordPlace, { body, sum = '' }: SealedRecord): string {
  const { runId } = place
  const where = `${place.what}${place.seq === undefined ? '' : ` ${place.seq}`} of run "${runId}"`
  const corrupt = (what: string, cause?: unknown): HoldfastError =>
    new HoldfastError('STORE_CORRUPT', `${where} ${what}`, { runId, cause, advice: 'Nothing was changed. Restore the store from a copy; holdfast verify lists all that is damaged' })
  const newer = (): HoldfastError =>
    new HoldfastError('STORE_NEWER', `${where} was encrypted in a way that this build does not know`, { runId, advice: 'Update holdfast; nothing was changed' })
  const envelope = envelopeOf(body)
  if (!envelope) {
    if (isOfNewerBuild(body)) throw newer()
    if (!isPlain(place, body, sum)) throw corrupt('is neither encrypted nor a record that was written without encryption: it was changed')
    throw new HoldfastError('STORE_NOT_ENCRYPTED', `${where} is not encrypted`, { runId, advice: 'It was written without encryptedStore(): read it with the plain store' })
  }
  if (sum !== '') throw corrupt('has a checksum outside of what is encrypted: it was changed')
  const key = envelope.v === 1 ? keys.withCheck(envelope.check) : undefined
  if (key) {
    const text = opened(key, place, envelope)
    if (text !== undefined) return text
    throw corrupt(`does not open, although its key "${key.id}" is the right one: it was changed, or made for another place`)
  }
  if (keys.all.some((each) => opensOtherwise(each, place, envelope))) throw corrupt('opens, and its envelope is not the one that it was made with: it was changed')
  if (envelope.v !== 1) throw newer()
  if (!keys.get(envelope.key)) {
    throw new HoldfastError('KEY_MISSING', `${where} is encrypted with the key "${envelope.key}", which was not given`, { runId, advice: 'Add it to the keys of encryptedStore(): old keys are needed as long as there are runs that were made with them' })
  }
  throw new HoldfastError('KEY_WRONG', `${where} is encrypted with another key "${envelope.key}" than the one that was given`, {
    runId, advice: 'Nothing is damaged: give the key that had this id when the run was made. Where two had it, give both, each under an id of its own',
  })
}

/** With an id or a check value that was damaged, the others being right. */
const opensOtherwise = (key: Key, place: RecordPlace, envelope: ParsedEnvelope): boolean =>
  [envelope.key, key.id].some((id) => opened(key, place, { ...envelope, key: id, check: key.check }) !== undefined)

/** Undefined: it does not open. */
function opened(key: Key, place: RecordPlace, { key: id, check, data: text }: ParsedEnvelope): string | undefined {
  const data = Buffer.from(text, 'base64')
  // Several texts may stand for the same bytes, and only one of them was written.
  if (data.length < NONCE + TAG || data.toString('base64') !== text) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key.forRun(place.runId), data.subarray(0, NONCE), { authTagLength: TAG })
  decipher.setAAD(boundTo(place, id, check))
  decipher.setAuthTag(data.subarray(data.length - TAG))
  try {
    return Buffer.concat([decipher.update(data.subarray(NONCE, data.length - TAG)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

const boundTo = ({ runId, what, seq = 0 }: RecordPlace, key: string, check: string): Buffer => Buffer.from(JSON.stringify([1, what, runId, seq, key, check]))

export interface ParsedEnvelope {
  readonly v: number
  readonly key: string
  readonly check: string
  readonly data: string
}

/** As {@link seal} writes it, to the letter. */
const ENVELOPE = /^\{"type":"encrypted","v":(\d{1,9}),"key":"([\w.-]{1,64})","check":"([\w-]{8})","data":"([\w+/=]*)"\}$/

/** The envelope, where the body is one. */
export function envelopeOf(body: string): ParsedEnvelope | undefined {
  const [, v, key, check, data] = ENVELOPE.exec(body) ?? []
  return v === undefined ? undefined : { v: Number(v), key: key!, check: check!, data: data! }
}

/** An envelope of another shape says at least that it is one, and of a later version. */
function isOfNewerBuild(body: string): boolean {
  if (!/^\{"type":"encrypted","v":(?!1,)\d+,/.test(body)) return false
  try {
    JSON.parse(body)
    return true
  } catch {
    return false
  }
}

/** What is written without encryption carries its checksum where all can see it. */
const isPlain = ({ what }: RecordPlace, body: string, sum: string): boolean => (what === 'entry' ? sum !== '' : /,"sum":"[0-9a-f]{32}"\}$/.test(body))
