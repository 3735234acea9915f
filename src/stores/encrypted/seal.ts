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

const [NONCE, TAG] = [12, 16]

/** AES-256-GCM under a key of the run's own, so that random nonces are few enough for each. */
export function seal(key: Key, place: RecordPlace, text: string): string {
  const nonce = unforeseeable(NONCE)
  const cipher = createCipheriv('aes-256-gcm', key.forRun(place.runId), nonce)
  cipher.setAAD(boundTo(place))
  const data = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
  return JSON.stringify({ type: 'encrypted', v: 1, key: key.id, check: key.check, data } satisfies Envelope)
}

/** @throws HoldfastError `KEY_MISSING`, `KEY_WRONG` with the id of the key; `STORE_NOT_ENCRYPTED`; `STORE_CORRUPT` with the place; `STORE_NEWER`. */
export function open(keys: Keys, place: RecordPlace, body: string): string {
  const { runId } = place
  const where = `${place.what}${place.seq === undefined ? '' : ` ${place.seq}`} of run "${runId}"`
  const envelope = envelopeOf(body)
  if (!envelope) {
    throw new HoldfastError('STORE_NOT_ENCRYPTED', `${where} is not encrypted`, { runId, advice: 'It was written without encryptedStore(), or by something else: read it with the plain store' })
  }
  if (envelope.v !== 1) throw new HoldfastError('STORE_NEWER', `${where} was encrypted in a way that this build does not know`, { runId, advice: 'Update holdfast; nothing was changed' })
  const key = keys.get(String(envelope.key))
  if (!key) {
    throw new HoldfastError('KEY_MISSING', `${where} is encrypted with the key "${envelope.key}", which was not given`, { runId, advice: 'Add it to the keys of encryptedStore(): old keys are needed as long as there are runs that were made with them' })
  }
  if (envelope.check !== key.check) {
    throw new HoldfastError('KEY_WRONG', `${where} is encrypted with another key "${key.id}" than the one that was given`, { runId, advice: 'Nothing is damaged: give the key that had this id when the run was made' })
  }
  try {
    return decrypted(key, place, Buffer.from(String(envelope.data), 'base64'))
  } catch (cause) {
    throw new HoldfastError('STORE_CORRUPT', `${where} does not open, although its key "${key.id}" is the right one: it was changed, or made for another place`, { runId, cause, advice: 'Nothing was changed. Restore the store from a copy' })
  }
}

function decrypted(key: Key, place: RecordPlace, data: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key.forRun(place.runId), data.subarray(0, NONCE), { authTagLength: TAG })
  decipher.setAAD(boundTo(place))
  decipher.setAuthTag(data.subarray(data.length - TAG))
  return Buffer.concat([decipher.update(data.subarray(NONCE, data.length - TAG)), decipher.final()]).toString('utf8')
}

const boundTo = ({ runId, what, seq = 0 }: RecordPlace): Buffer => Buffer.from(JSON.stringify([1, what, runId, seq]))

/** The envelope, where the body is one. */
export function envelopeOf(body: string): { readonly v: unknown; readonly key: unknown; readonly check: unknown; readonly data: unknown } | undefined {
  if (!body.startsWith('{"type":"encrypted"')) return undefined
  try {
    return JSON.parse(body) as ReturnType<typeof envelopeOf>
  } catch {
    return undefined
  }
}
