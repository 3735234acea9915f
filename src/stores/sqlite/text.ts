/**
 * Names that callers choose (run, agent, thread, question) as bytes that compare as the names do, bit for bit.
 * SQLite's TEXT cannot hold them all: it turns lone surrogates into U+FFFD, so that two names become one, and ends at a NUL
 * when it is read by Node 22.13.
 */

/** No UTF-8 text begins with this byte: what follows is UTF-16, for the rare name that has no UTF-8. */
const UTF16 = 0xff

export function toBytes(text: string): Uint8Array {
  return text.isWellFormed() ? Buffer.from(text, 'utf8') : Buffer.concat([Buffer.of(UTF16), Buffer.from(text, 'utf16le')])
}

export function fromBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return buffer[0] === UTF16 ? buffer.toString('utf16le', 1) : buffer.toString('utf8')
}
