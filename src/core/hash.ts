/** Hashing of text and of plain data. */
import { createHash } from 'node:crypto'

/** SHA-256 of the parts, joined unambiguously, as 32 hex digits (128 bits). */
export function hash(...parts: readonly string[]): string {
  const h = createHash('sha256')
  for (const part of parts) h.update(`${part.length}:`).update(part)
  return h.digest('hex').slice(0, 32)
}
