/** `node:sqlite`, loaded when a store is opened: importing Holdfast loads nothing, and Node 22 warns as soon as it is loaded. */
import { HoldfastError } from '../../errors.ts'

/** Throws `STORE_UNAVAILABLE` in a runtime that has no `node:sqlite`. */
export function loadSqlite(): typeof import('node:sqlite') {
  // Not `import()`: bundlers that do not know this module yet would try to bundle it.
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (sqlite) return sqlite
  throw new HoldfastError('STORE_UNAVAILABLE', `this runtime (${process.version}) has no node:sqlite`, {
    advice: 'Use Node 22.13 or newer, or another store',
  })
}
