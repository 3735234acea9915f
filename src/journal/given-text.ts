/** What somebody gives to name something, or to say: how long it may be. It is stored with whatever it is about, again and again. */
import type { Secrets } from './secrets.ts'
import { tooLarge } from './value-error.ts'

/** Of who and what stands in rows, and in each attempt; of what steps are known by, and of what is said for others to read; bytes of the JSON. */
export const [NAME_BYTES, TEXT_BYTES] = [1024, 64 * 1024]

/** The text; secrets in it count with their names, as they are stored. @throws HoldfastError `VALUE_TOO_LARGE` with `path`, before anything is stored. */
export function textWithin(path: string, text: string, maxBytes: number, secrets?: Secrets): string {
  const stored = secrets?.hide(text) ?? text
  // A UTF-16 unit is at most six characters in JSON.
  if (stored.length * 6 + 2 <= maxBytes) return text
  const bytes = Buffer.byteLength(JSON.stringify(stored))
  if (bytes > maxBytes) throw tooLarge(path, bytes, maxBytes, null)
  return text
}
