/**
 * Encryption at rest: a store around another one, which gets what runs hold (journal and inbox) as encrypted text.
 *
 * In the clear stay the rows that runs are found by: run id, agent, thread id, status, times, who drives it; and how many records there
 * are, and how long.
 */
import { HoldfastError } from '../errors.ts'
import type { RecordReader, Store, StoredEntry } from '../journal/store.ts'
import { checkKeys, type EncryptionOptions, type Key, type Keys } from './encrypted/keys.ts'
import { envelopeOf, open, seal } from './encrypted/seal.ts'

export { parseKeys } from './encrypted/keys.ts'
export type { EncryptionKey, EncryptionOptions } from './encrypted/keys.ts'

/**
 * Encrypts what `store` is given, each record by itself with AES-256-GCM, bound to its run and position. Fingerprints, checksums and
 * idempotency keys are inside, so that equal contents cannot be recognised or guessed by who has the file only.
 *
 * To change the key, add a new one and make it `current`: what is there is read with the old one as long as that is among the `keys`.
 *
 * Reading throws `KEY_MISSING` or `KEY_WRONG` with the id of the key, `STORE_NOT_ENCRYPTED` for a record that was written without,
 * `STORE_CORRUPT` for one that was changed or moved.
 *
 * @throws HoldfastError `INVALID_OPTIONS`.
 * @example
 * const store = encryptedStore(sqliteStore('runs.db'), { keys: { '2026-11': process.env.RUNS_KEY! }, current: '2026-11' })
 */
export function encryptedStore(store: Store, options: EncryptionOptions): Store {
  if (typeof store?.append !== 'function') throw new HoldfastError('INVALID_OPTIONS', 'encryptedStore() takes a store, such as sqliteStore("runs.db")')
  const keys = checkKeys(options)
  const current = keys.get(keys.current)!

  const sealed = (runId: string) => (row: StoredEntry): StoredEntry => sealedEntry(current, runId, row)
  const read = reader(keys)

  /** The same name for the same question, also after the key was changed: by the key that the run was made with. */
  async function questionName(runId: string, question: string): Promise<string> {
    const [first] = await store.read(runId)
    const check = (first && envelopeOf(first.body))?.check
    return ((check === undefined ? undefined : keys.withCheck(check)) ?? current).nameOf(runId, question)
  }

  return {
    kind: `encrypted ${store.kind}`,
    durability: store.durability,
    open: () => store.open(),
    close: () => store.close(),
    create: (run) => store.create({ ...run, entries: run.entries.map(sealed(run.runId)) }),
    get: (runId) => store.get(runId),
    list: (filter) => store.list(filter),
    read: async (runId, after) => (await store.read(runId, after)).map((row) => read.entry(runId, row)),
    take: (runId, lease) => store.take(runId, lease),
    renew: (runId, token, leaseUntil) => store.renew(runId, token, leaseUntil),
    append: (runId, batch) => store.append(runId, { ...batch, entries: batch.entries.map(sealed(runId)) }),
    send: async (runId, { question, body, ...message }) => store.send(runId, {
      ...message,
      question: question === null ? null : await questionName(runId, question),
      body: seal(current, { runId, what: 'message' }, body),
    }),
    inbox: async (runId, after) => (await store.inbox(runId, after)).map((message) => read.message(runId, message)),
    remove: (runId, now) => store.remove(runId, now),
  }
}

/** For who looks at each record by itself, of those that the store within gives, as `holdfast verify` does. @throws HoldfastError `INVALID_OPTIONS`. */
export const recordReader = (options: EncryptionOptions): RecordReader => reader(checkKeys(options))

/** An entry as an encrypted store gives it to the store within. @throws HoldfastError `INVALID_OPTIONS`. */
export function sealEntry(options: EncryptionOptions, runId: string, row: StoredEntry): StoredEntry {
  const keys = checkKeys(options)
  return sealedEntry(keys.get(keys.current)!, runId, row)
}

// Its checksum tells of what it was: it goes inside. That the text is as it was is what its encryption is for.
const sealedEntry = (key: Key, runId: string, { seq, body, sum }: StoredEntry): StoredEntry =>
  ({ seq, body: seal(key, { runId, what: 'entry', seq }, `${sum}\n${body}`), sum: '' })

function reader(keys: Keys): RecordReader {
  return {
    entry(runId, { seq, ...row }) {
      const text = open(keys, { runId, what: 'entry', seq }, row)
      const end = text.indexOf('\n')
      return { seq, body: text.slice(end + 1), sum: text.slice(0, end) }
    },
    message: (runId, { seq, body }) => ({ seq, body: open(keys, { runId, what: 'message' }, { body }) }),
  }
}
