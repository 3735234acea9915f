/** What is kept of a text that is longer than may be. */
import { byteLength } from '../journal/codec.ts'
import type { Secrets } from '../journal/secrets.ts'

/** Of what is told of a run to people, in warnings and in why it waits. */
export const TOLD_BYTES = 64 * 1024
/** Of a name in a message. */
export const SHOWN_BYTES = 200
/** How long it was, in words. */
const SAID_BYTES = 32

const bytesOf = (text: string, secrets?: Secrets): number => byteLength({ json: text }, secrets) - byteLength({ json: '' })

/** The text; of one that takes more bytes where it is stored, its beginning and how long it was, with the names of secrets: a part of one would not be known as one. */
export function beginning(text: string, maxBytes: number, secrets?: Secrets): string {
  if (bytesOf(text, secrets) <= maxBytes + SAID_BYTES) return text
  const stored = secrets?.hide(text) ?? text
  let length = maxBytes
  for (let bytes = bytesOf(stored.slice(0, length)); bytes > maxBytes; bytes = bytesOf(stored.slice(0, length))) length = Math.floor((length * maxBytes) / bytes)
  return `${stored.slice(0, length)}... (${text.length} characters)`
}
