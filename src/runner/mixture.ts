/** A new run is kept as those that are there: a store whose runs no one set of keys opens cannot be read any more. */
import { HoldfastError, withoutAdvice } from '../errors.ts'
import type { Store, StoredEntry } from '../journal/store.ts'

/** So many runs, those that changed last, say how a store is kept: each process has looked before its first new run. */
const LOOKED_AT = 10

const alike = new WeakSet<Store>()

/** @throws HoldfastError `KEY_WRONG`, `KEY_MISSING` or `STORE_NOT_ENCRYPTED` where a new run would be kept in another way than those that are there. */
export async function refuseMixture(store: Store): Promise<void> {
  if (alike.has(store)) return
  // What is damaged is told to whoever asks for it; new runs go on beside it.
  const rows = await store.list({ limit: LOOKED_AT }).catch(() => [])
  for (const { runId, lastSeq } of rows) {
    const newest = await store.read(runId, lastSeq - 1).catch((error: unknown) => refused(error))
    if (newest.some(({ body }) => body.startsWith('{"type":"encrypted"'))) {
      throw new HoldfastError('KEY_MISSING', 'the runs of this store are encrypted, and a new one would stand in it in the clear', {
        advice: 'Open it with encryptedStore(), or use another store for runs that need no encryption',
      })
    }
  }
  if (rows.length > 0) alike.add(store)
}

function refused(error: unknown): StoredEntry[] {
  if (!HoldfastError.isInstance(error)) return []
  if (error.code === 'KEY_WRONG') {
    throw new HoldfastError('KEY_WRONG', `no run can be started in this store: ${withoutAdvice(error)}`, {
      cause: error, advice: 'Give the key that had this id, or give the new key an id of its own',
    })
  }
  if (error.code === 'STORE_NOT_ENCRYPTED') {
    throw new HoldfastError('STORE_NOT_ENCRYPTED', `no run can be started in this store: ${withoutAdvice(error)}`, {
      cause: error, advice: 'A store that was begun without encryption stays so: use another one for runs that are to be encrypted',
    })
  }
  return []
}
