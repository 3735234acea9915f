/** Where `list`, `show` and `resolve` find runs: a store by itself, or that of the user's runner. */
import { resolve } from 'node:path'
import { HoldfastError } from '../errors.ts'
import type { Placed } from '../journal/chain.ts'
import { readInbox, readJournal } from '../journal/read.ts'
import { legible, Secrets } from '../journal/secrets.ts'
import type { InboxMessage, RunFilter, RunRow, Store } from '../journal/store.ts'
import type { Runner } from '../runner/runner.ts'
import { checkRunId } from '../runner/options.ts'
import { decide, type DecisionInput } from '../runner/resolve.ts'
import { encryptedStore, parseKeys } from '../stores/encrypted.ts'
import { sqliteStore } from '../stores/sqlite.ts'
import type { Arguments } from './arguments.ts'
import { usage } from './cli-error.ts'
import type { Io } from './io.ts'
import { defaultModule, loadRunner } from './runner-module.ts'

export interface Source {
  list(filter: RunFilter): Promise<RunRow[]>
  get(runId: string): Promise<RunRow | undefined>
  history(runId: string): Promise<readonly Placed[]>
  /** As it is stored; a runner gives it as {@link Source.history} does. */
  raw(runId: string): Promise<readonly Placed[]>
  /** Messages that the journal has not taken in; undefined: a runner does not tell. */
  inbox(runId: string, after: number): Promise<readonly InboxMessage[] | undefined>
  resolve(runId: string, step: string, decision: DecisionInput): Promise<void>
  close(): Promise<void>
}

/** @param secrets Values of the runs' secrets, for what is written; undefined: they are not known, and where a run has some, no result is. */
export function storeSource(store: Store, now: () => number, secrets?: { readonly known: Secrets | undefined }): Source {
  const raw = async (runId: string): Promise<readonly Placed[]> => (await readJournal(store, (await store.get(runId)) ?? unknownRun(runId))).entries
  return {
    list: (filter) => store.list(filter),
    get: (runId) => store.get(runId),
    raw,
    history: async (runId) => (await raw(runId)).map(({ seq, entry }) => ({ seq, entry: legible(entry) })),
    inbox: async (runId, after) => readInbox(store, (await store.get(runId)) ?? unknownRun(runId), after),
    async resolve(runId, step, decision) {
      if (!secrets && typeof decision === 'object' && (await raw(runId)).some(({ entry }) => 'secrets' in entry)) throw secretsUnknown(runId)
      await decide(store, runId, step, decision, now(), secrets?.known)
    },
    close: () => store.close(),
  }
}

export function runnerSource(runner: Runner): Source {
  return {
    list: (filter) => runner.list(filter),
    get: (runId) => runner.get(runId),
    history: (runId) => runner.history(runId),
    raw: (runId) => runner.history(runId),
    inbox: async () => undefined,
    resolve: async (runId, step, decision) => void (await runner.resolve(runId, step, decision)),
    close: () => runner.close(),
  }
}

/**
 * The source that the arguments name: `--store` or `--module`, else the environment's store, else the default module.
 *
 * @param reading The store is only read, so a disk that does not last is no reason to refuse.
 */
export async function openSource({ values }: Arguments, io: Io, { reading }: { readonly reading: boolean }): Promise<Source> {
  const { store: file, module } = values
  if (file !== undefined && module !== undefined) throw usage('--store and --module name two places', 'Give one of them')
  const path = file ?? (module === undefined ? io.env['HOLDFAST_STORE'] : undefined)
  if (path) {
    const store = storeOf(io, sqliteStore(resolve(io.cwd, path), { create: false, ephemeral: reading }))
    await store.open()
    return storeSource(store, io.now, secretsOf(io))
  }
  if (module === undefined && defaultModule(io.cwd) === undefined) {
    throw new HoldfastError('MISSING_STORE', 'it is not said which store to look at', { advice: 'Give --store FILE or --module FILE, or set HOLDFAST_STORE' })
  }
  return runnerSource(await loadRunner(module, io.cwd))
}

/** The store, with the environment's keys where it is encrypted. */
export function storeOf({ env: { HOLDFAST_KEYS: keys } }: Io, file: Store): Store {
  return keys ? encryptedStore(file, parseKeys(keys, 'HOLDFAST_KEYS')) : file
}

function secretsUnknown(runId: string): HoldfastError {
  return new HoldfastError('SECRET_MISSING', `run "${runId}" has named secrets: one of them in the result would be stored in the clear`, {
    runId, advice: `Give --module FILE, whose runner knows them, in place of --store; or their values as HOLDFAST_SECRETS='{"NAME":"value"}', {} where none is in the result`,
  })
}

/** Those of the environment. What is wrong with them is told without showing any. */
function secretsOf({ env: { HOLDFAST_SECRETS: given } }: Io): { readonly known: Secrets | undefined } | undefined {
  if (!given) return undefined
  let values: unknown
  try {
    values = JSON.parse(given)
  } catch {
    throw usage('HOLDFAST_SECRETS is not JSON', `It holds values by name: '{"NAME":"value"}'`)
  }
  return { known: Secrets.of(values) }
}

/** A run with its journal. @throws HoldfastError `UNKNOWN_RUN`, and those of the run id. */
export async function findRun(source: Source, given: string): Promise<{ readonly row: RunRow; readonly entries: readonly Placed[] }> {
  const runId = checkRunId(given)
  const row = (await source.get(runId)) ?? unknownRun(runId)
  return { row, entries: await source.history(runId) }
}

export function unknownRun(runId: string): never {
  throw new HoldfastError('UNKNOWN_RUN', `there is no run "${runId}" in this store`, { runId, advice: 'holdfast list shows the runs' })
}
