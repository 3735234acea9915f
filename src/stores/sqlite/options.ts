/** What a caller may say about a SQLite store, checked once. */
import { shown } from '../../core/shown.ts'
import { HoldfastError } from '../../errors.ts'

export interface SqliteStoreOptions {
  /** The file is made, with the folders above it, when it is absent. Default true; with false that is `STORE_NOT_FOUND`. */
  readonly create?: boolean
  /** Only to read: no file is changed or stays behind (`-wal` and `-shm` may while it is open); writing throws `STORE_UNAVAILABLE`. Default false. */
  readonly readOnly?: boolean
  /** Accepts a host whose disk does not outlive the process (serverless). Default false: `open` throws `STORE_EPHEMERAL` there. */
  readonly ephemeral?: boolean
  /** How long a call waits while other processes write, in ms; then it throws `STORE_UNAVAILABLE`. Default 5000. */
  readonly busyTimeoutMs?: number
}

export const SQLITE_DEFAULTS: Required<SqliteStoreOptions> = Object.freeze({ create: true, readOnly: false, ephemeral: false, busyTimeoutMs: 5000 })

/** The options with their defaults. Throws `INVALID_OPTIONS` naming the option. */
export function checkOptions(options: SqliteStoreOptions): Required<SqliteStoreOptions> {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(SQLITE_DEFAULTS, name)) throw invalid(`sqliteStore has no option ${JSON.stringify(name)}`)
  }
  const {
    create = SQLITE_DEFAULTS.create,
    readOnly = SQLITE_DEFAULTS.readOnly,
    ephemeral = SQLITE_DEFAULTS.ephemeral,
    busyTimeoutMs = SQLITE_DEFAULTS.busyTimeoutMs,
  } = options
  if (typeof create !== 'boolean') throw invalid(`create must be true or false, got ${shown(create)}`)
  if (typeof readOnly !== 'boolean') throw invalid(`readOnly must be true or false, got ${shown(readOnly)}`)
  if (typeof ephemeral !== 'boolean') throw invalid(`ephemeral must be true or false, got ${shown(ephemeral)}`)
  if (!Number.isInteger(busyTimeoutMs) || busyTimeoutMs < 0) {
    throw invalid(`busyTimeoutMs must be an integer >= 0, got ${shown(busyTimeoutMs)}`)
  }
  return { create, readOnly, ephemeral, busyTimeoutMs }
}

/** Refuses what SQLite would take for something else than the path of a file. */
export function checkPath(path: string): string {
  if (typeof path !== 'string' || path === '') throw invalid('the path of a SQLite store must be a text that is not empty')
  if (path === ':memory:') {
    throw invalid('a SQLite store in memory would promise to last and not do so', 'Use memoryStore() for runs that end with the process')
  }
  if (/^file:/i.test(path)) throw invalid(`${path} is a URL`, 'Give a path; fileURLToPath() of node:url makes one')
  if (path.includes('\0')) throw invalid('the path of a SQLite store must not contain NUL')
  return path
}

function invalid(message: string, advice?: string): HoldfastError {
  return new HoldfastError('INVALID_OPTIONS', message, advice === undefined ? {} : { advice })
}
