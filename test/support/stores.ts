/** Stores that values go through, each so that another process could open the same data, and all bytes that they hold. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, sqliteStore, type Store } from '../../src/index.ts'
import { encryptedStore } from '../../src/stores/encrypted.ts'

export interface Place {
  /** A store on the data: each call gives what another process would open. */
  open(): Store
  /** Everything that is kept, as text. */
  bytes(): Promise<string>
  cleanup(): void
}

export interface Kind {
  readonly kind: string
  make(): Place
}

/** A memory store that outlives its runners, as a file does. */
function memoryPlace(): Place {
  const store = memoryStore()
  return {
    open: () => ({ ...store, close: async () => {} }),
    async bytes() {
      await store.open()
      const rows = await store.list()
      return JSON.stringify(await Promise.all(rows.map(async (row) => [row, await store.read(row.runId), await store.inbox(row.runId, 0)])))
    },
    cleanup: () => {},
  }
}

function sqlitePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-values-'))
  return {
    open: () => sqliteStore(join(folder, 'runs.db')),
    bytes: async () => readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1')).join('\n'),
    cleanup: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export const STORES: readonly Kind[] = [{ kind: 'memory', make: memoryPlace }, { kind: 'sqlite', make: sqlitePlace }]

const KEYS = { keys: { test: Buffer.alloc(32, 7) }, current: 'test' }

/** The same, and an encrypted one of each. */
export const ALL_STORES: readonly Kind[] = [
  ...STORES,
  ...STORES.map(({ kind, make }) => ({
    kind: `encrypted ${kind}`,
    make: (): Place => {
      const place = make()
      return { ...place, open: () => encryptedStore(place.open(), KEYS) }
    },
  })),
]
