/** The chain of a journal: each entry's text with a checksum that covers the one before (R15). */
import { hash } from '../core/hash.ts'
import { HoldfastError } from '../errors.ts'
import { answerFault } from './answer.ts'
import { encodedFault } from './encoded.ts'
import type { Entry } from './entry.ts'
import { declaredFormat, type Formats, FORMATS, migrated, type PlainEntry } from './migrate.ts'
import { entryFault } from './schema.ts'
import type { Secrets } from './secrets.ts'
import { idFault } from './step-id.ts'
import type { StoredEntry } from './store.ts'
import { isTooLong, tooLarge } from './value-error.ts'

/** The last link: where the next entry goes on. */
export interface Tip {
  readonly seq: number
  readonly sum: string
  /** The format of the entries up to here; absent: the newest. */
  readonly format?: number
  /** The entry before could not be opened: nothing says what its checksum is. */
  readonly isUnknown?: boolean
}

export const START: Tip = { seq: 0, sum: '' }

/**
 * The entry as it is stored, with the names of secrets in place of their values.
 *
 * @throws HoldfastError `VALUE_NOT_STORABLE` for an entry that could not be read back, `VALUE_TOO_LARGE` for more than a text can hold.
 */
export function link(tip: Tip, entry: Entry, secrets?: Secrets): StoredEntry {
  const fault = entryFault(entry)
  if (fault !== undefined) throw new HoldfastError('VALUE_NOT_STORABLE', `the entry "${entry.type}" cannot be written: ${fault}`)
  const body = textOf(entry, secrets)
  return { seq: tip.seq + 1, body, sum: sumOf(tip, body) }
}

function textOf(entry: Entry, secrets: Secrets | undefined): string {
  try {
    return secrets ? secrets.seal(entry) : JSON.stringify(entry)
  } catch (error) {
    throw isTooLong(error) ? tooLarge(`the entry "${entry.type}"`, undefined, undefined, null) : error
  }
}

const sumOf = (tip: Tip, body: string): string => hash(tip.sum, body)

/** Entry and its place in the journal. */
export interface Placed {
  readonly seq: number
  readonly entry: Entry
}

/** What is wrong with a stored entry, in the order in which it is looked at. */
export type FaultType = 'gap' | 'encrypted' | 'format' | 'checksum' | 'not-an-entry' | 'other-run' | 'codec' | 'schema'

export interface Fault {
  readonly type: FaultType
  /** What is wrong, as the end of a sentence about the entry. */
  readonly message: string
}

export type Link = { readonly entry: Entry; readonly tip: Tip } | { readonly fault: Fault; readonly tip: Tip }

/** Reads one entry: version, then checksum, then text, then values and fields. `tip` is where the entries after it go on, whatever is wrong with it. */
export function readLink(runId: string, row: StoredEntry, tip: Tip, formats: Formats = FORMATS): Link {
  const plain = parse(row.body)
  const declared = plain && declaredFormat(plain)
  const format = declared ?? tip.format ?? formats.newest
  const next: Tip = { seq: row.seq, sum: row.sum, format }
  const fault = (type: FaultType, message: string): Link => ({ fault: { type, message: cut(message) }, tip: next })
  if (row.seq !== tip.seq + 1) return fault('gap', `entry ${row.seq} stands there`)
  // What stores/encrypted writes: its key is needed before anything else can be said.
  if (plain?.type === 'encrypted') return fault('encrypted', `it is encrypted with the key "${String(plain['key'])}"`)
  // Before the checksum: a newer build may reckon it in another way.
  if (format > formats.newest && Number.isInteger(format)) return fault('format', `it was written in format ${format}, this build reads up to ${formats.newest}`)
  if (!tip.isUnknown && row.sum !== sumOf(tip, row.body)) return fault('checksum', 'its checksum does not match')
  if (!plain) return fault('not-an-entry', 'it is not an entry')
  if (!Number.isInteger(format) || format < 1) return fault('schema', `there is no format ${format}`)
  const entry = migrated(plain, row.seq, format, formats)
  let codecFault: string | undefined
  const schemaFault = entryFault(entry, (value, path) => (codecFault = encodedFault(value, path, plain['secrets'])))
  if (schemaFault !== undefined) return fault(codecFault === undefined ? 'schema' : 'codec', schemaFault)
  if ((entry.type === 'run-created') !== (row.seq === 1)) return fault('schema', row.seq === 1 ? 'it is not the creation of a run' : 'it is the creation of a run')
  if (entry.type === 'run-created' && entry['runId'] !== runId) return fault('other-run', `it begins the journal of run ${JSON.stringify(entry['runId'])}`)
  const ofStep = idFault(entry as unknown as Entry) ?? answerFault(entry as unknown as Entry)
  if (ofStep !== undefined) return fault('schema', ofStep)
  return { entry: entry as unknown as Entry, tip: next }
}

/**
 * Reads stored entries back, checked from `tip` on.
 *
 * @throws HoldfastError `STORE_CORRUPT` with the place; `STORE_NEWER` when a newer build wrote the journal; `KEY_MISSING` when it is
 * encrypted. Nothing is changed then.
 */
export function unlink(runId: string, stored: readonly StoredEntry[], tip: Tip = START, formats: Formats = FORMATS): { entries: Placed[]; tip: Tip } {
  const entries: Placed[] = []
  let at = tip
  for (const row of stored) {
    const link = readLink(runId, row, at, formats)
    if ('fault' in link) throw failure(runId, at.seq + 1, link.fault)
    entries.push({ seq: row.seq, entry: link.entry })
    at = link.tip
  }
  return { entries, tip: at }
}

/** Names in it come from what is stored, and may be of any length. */
const cut = (message: string): string => (message.length > 500 ? `${message.slice(0, 500)} ...` : message)

function parse(body: string): PlainEntry | undefined {
  // To the checksum, which is of UTF-8, all lone surrogates are one character.
  if (!body.isWellFormed()) return undefined
  try {
    const entry: unknown = JSON.parse(body)
    return typeof entry === 'object' && entry !== null && 'type' in entry && typeof entry.type === 'string' ? (entry as PlainEntry) : undefined
  } catch {
    return undefined
  }
}

/** The error for an entry that cannot be read. */
export function failure(runId: string, seq: number, { type, message }: Fault): HoldfastError {
  if (type === 'encrypted') {
    const advice = 'Read it through encryptedStore() with that key; on the command line, set HOLDFAST_KEYS to id:base64'
    return new HoldfastError('KEY_MISSING', `entry ${seq} of run "${runId}" cannot be read: ${message}`, { runId, advice })
  }
  if (type !== 'format') return damaged(runId, seq, message)
  return new HoldfastError('STORE_NEWER', `entry ${seq} of run "${runId}": ${message}`, { runId, advice: 'Update holdfast; nothing was changed' })
}

/** The error for a journal in which something is wrong at entry `seq`. */
export const damaged = (runId: string, seq: number, what: string): HoldfastError =>
  new HoldfastError('STORE_CORRUPT', `the journal of run "${runId}" is damaged at entry ${seq}: ${what}`, {
    runId,
    advice: 'Nothing was changed. holdfast verify lists all that is damaged. Restore the store from a copy; without one, holdfast salvage cuts the run where it ends to hold',
  })
