/** The default store: one SQLite file through `node:sqlite`, shared by any number of processes on one machine. */
import { resolve } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { systemClock } from '../core/clock.ts'
import { HoldfastError } from '../errors.ts'
import type { Store } from '../journal/store.ts'
import { ephemeralDisk } from './ephemeral-disk.ts'
import { connection } from './sqlite/connection.ts'
import type { Connection } from './sqlite/connection.ts'
import { storeFailure } from './sqlite/failure.ts'
import { readInbox, sendMessage } from './sqlite/inbox.ts'
import { appendEntries, readEntries } from './sqlite/journal.ts'
import { turns, whenUnlocked } from './sqlite/lock.ts'
import { openFile } from './sqlite/open.ts'
import { checkOptions, checkPath } from './sqlite/options.ts'
import type { SqliteStoreOptions } from './sqlite/options.ts'
import { findRun } from './sqlite/row.ts'
import { createRun, listRuns, removeRun, renewLease, takeLease } from './sqlite/runs.ts'

export { sqliteFileFaults, sqlitePageFaults, sqliteRunIds } from './sqlite/integrity.ts'
export { sqlitePutBack, type PutBack } from './sqlite/misplaced.ts'
export { sqliteLostRecord, sqliteReindex, sqliteReplaceRun, sqliteRunRecord, type RunRecord } from './sqlite/salvage.ts'
export type { SqliteStoreOptions } from './sqlite/options.ts'

/**
 * A durable store in the SQLite file at `path`, on a local disk; `-wal` and `-shm` lie beside it and belong to it. A commit is on the
 * disk when a method resolves. Several processes may use the file at once; a call waits for its turn without blocking the event loop.
 *
 * A relative path counts from the working directory at this call. Nothing is opened before `open()`, which throws
 * `STORE_EPHEMERAL` on a host whose disk does not last, `STORE_NOT_FOUND`, `STORE_EMPTY`, `STORE_FOREIGN`, `STORE_NEWER`,
 * `STORE_CORRUPT` or `STORE_UNAVAILABLE`; except for a file that is absent and created, it leaves what it finds as it is.
 * Bad arguments throw `INVALID_OPTIONS` here.
 *
 * @example
 * const runner = createRunner({ agents: [support], store: sqliteStore('data/runs.db') })
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): Store {
  const file = resolve(checkPath(path))
  return storeAt(file, checkOptions(options), systemClock)
}

function storeAt(file: string, options: Required<SqliteStoreOptions>, clock: Clock): Store {
  const writes = turns()
  let opening: Promise<Connection> | undefined

  const opened = async (): Promise<Connection> => {
    if (opening) return opening
    const advice = 'Call open() first, and nothing after close()'
    throw new HoldfastError('STORE_UNAVAILABLE', `the store ${file} is not open`, { advice })
  }
  const whenFree = async <T>(work: () => T, runId?: string): Promise<T> => {
    try {
      return await whenUnlocked(clock, options.busyTimeoutMs, work)
    } catch (error) {
      throw storeFailure(error, file, runId)
    }
  }
  const read = async <T>(work: (open: Connection) => T, runId?: string): Promise<T> => {
    const open = await opened()
    return whenFree(() => work(open), runId)
  }
  const write = async <T>(runId: string, work: (open: Connection) => T): Promise<T> => {
    const open = await opened()
    return writes.take(() => whenFree(() => open.transaction(() => work(open)), runId))
  }

  return {
    kind: 'sqlite',
    durability: 'durable',

    async open() {
      if (!opening) {
        const attempt = whenFree(() => {
          refuseEphemeralDisk(file, options)
          return connection(openFile(file, options.create, options.readOnly), file)
        })
        opening = attempt
        attempt.catch(() => {
          if (opening === attempt) opening = undefined // so that open() can be tried again
        })
      }
      await opening
    },
    async close() {
      const closing = opening
      opening = undefined
      const open = await closing?.catch(() => undefined)
      await writes.over()
      open?.close()
    },

    create: (run) => write(run.runId, (open) => createRun(open, run)),
    get: (runId) => read((open) => findRun(open, runId)?.row, runId),
    list: (filter = {}) => read((open) => listRuns(open, filter)),
    read: (runId, after = 0) => read((open) => readEntries(open, runId, after), runId),
    take: (runId, lease) => write(runId, (open) => takeLease(open, runId, lease)),
    renew: (runId, token, leaseUntil) => write(runId, (open) => renewLease(open, runId, token, leaseUntil)),
    append: (runId, batch) => write(runId, (open) => appendEntries(open, runId, batch)),
    send: (runId, message) => write(runId, (open) => sendMessage(open, runId, message)),
    inbox: (runId, after) => read((open) => readInbox(open, runId, after), runId),
    remove: (runId, now) => write(runId, (open) => removeRun(open, runId, now)),
  }
}

/** Asked when the store is opened, not when it is made: a build on such a host may well import the module that makes it. */
function refuseEphemeralDisk(file: string, { ephemeral, readOnly }: Required<SqliteStoreOptions>): void {
  const host = ephemeral || readOnly ? undefined : ephemeralDisk(process.env)
  if (host === undefined) return
  throw new HoldfastError('STORE_EPHEMERAL', `${file} would not last: the disk of ${host} is thrown away with the process`, {
    advice: 'Use a store on a server, or pass { ephemeral: true } when runs may be lost or the path is on a volume that stays',
  })
}
