/** Where `list`, `show` and `resolve` find runs: a store by itself, or that of the user's runner. */
import { resolve } from 'node:path'
import { HoldfastError } from '../errors.ts'
import type { Placed } from '../journal/chain.ts'
import { readInbox, readJournal } from '../journal/read.ts'
import { newestTaken, readMessage } from '../journal/message.ts'
import { legible } from '../journal/secrets.ts'
import type { InboxMessage, RunFilter, RunRow, Store } from '../journal/store.ts'
import type { Runner } from '../runner/runner.ts'
import { checkRunId } from '../runner/options.ts'
import { answer, approvedBy, deniedBy, type ApproveInput, type DenyInput } from '../runner/approve.ts'
import { decide, type DecisionInput } from '../runner/resolve.ts'
import { encryptedStore, parseKeys } from '../stores/encrypted.ts'
import { sqliteStore } from '../stores/sqlite.ts'
import type { Arguments } from './arguments.ts'
import { usage } from './cli-error.ts'
import type { Io } from './io.ts'
import { defaultModule, loadRunner } from './runner-module.ts'
import { givenSecrets, type Said, secretsFor } from './said-secrets.ts'

/** The newest entry that was known to who says something. */
export interface AsOf {
  readonly asOf?: number
}

export interface Source {
  list(filter: RunFilter): Promise<RunRow[]>
  get(runId: string): Promise<RunRow | undefined>
  history(runId: string): Promise<readonly Placed[]>
  /** As it is stored; a runner gives it as {@link Source.history} does. */
  raw(runId: string): Promise<readonly Placed[]>
  /** Messages that the journal has not taken in; undefined: a runner does not tell. */
  inbox(runId: string, after: number): Promise<readonly InboxMessage[] | undefined>
  resolve(runId: string, step: string, decision: DecisionInput, asOf?: AsOf): Promise<void>
  approve(runId: string, step: string, given: ApproveInput & AsOf): Promise<void>
  deny(runId: string, step: string, given: DenyInput & AsOf): Promise<void>
  close(): Promise<void>
}

/** @param secrets Values of the runs' secrets, for what is written, as JSON; undefined: they are not known, and where a run has some, nothing that may hold one is. */
export function storeSource(store: Store, now: () => number, secrets?: string): Source {
  const raw = async (runId: string): Promise<readonly Placed[]> => (await readJournal(store, (await store.get(runId)) ?? unknownRun(runId))).entries
  const recordsOf = async (runId: string): Promise<object[]> => {
    const row = (await store.get(runId)) ?? unknownRun(runId)
    const entries = await raw(runId)
    return [...entries.map(({ entry }) => entry), ...(await readInbox(store, row, newestTaken(entries))).map((message) => readMessage(runId, message))]
  }
  const secretsOf = (runId: string, said: Said): ReturnType<typeof secretsFor> => secretsFor(runId, () => recordsOf(runId), said, secrets)
  return {
    list: (filter) => store.list(filter),
    get: (runId) => store.get(runId),
    raw,
    history: async (runId) => (await raw(runId)).map(({ seq, entry }) => ({ seq, entry: legible(entry) })),
    inbox: async (runId, after) => readInbox(store, (await store.get(runId)) ?? unknownRun(runId), after),
    async resolve(runId, step, decision, { asOf } = {}) {
      const known = typeof decision === 'object' ? await secretsOf(runId, { '--result': decision.result }) : decision === 'reuse' ? givenSecrets(secrets) : undefined
      await decide(store, runId, step, decision, { now: now(), secrets: known, asOf })
    },
    async approve(runId, step, { asOf, ...given }) {
      const known = await secretsOf(runId, { '--input': given.input, '--by': given.by })
      await answer(store, runId, step, approvedBy(given, { secrets: known }), { now: now(), secrets: known, asOf })
    },
    async deny(runId, step, { asOf, ...given }) {
      const known = await secretsOf(runId, { '--reason': given.reason, '--by': given.by })
      await answer(store, runId, step, deniedBy(given, { secrets: known }), { now: now(), secrets: known, asOf })
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
    resolve: async (runId, step, decision, asOf) => void (await runner.resolve(runId, step, decision, asOf)),
    approve: async (runId, step, given) => void (await runner.approve(runId, step, given)),
    deny: async (runId, step, given) => void (await runner.deny(runId, step, given)),
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
    return storeSource(store, io.now, io.env['HOLDFAST_SECRETS'])
  }
  if (module === undefined && defaultModule(io.cwd) === undefined) {
    throw new HoldfastError('MISSING_STORE', 'it is not said which store to look at', { advice: 'Give --store FILE or --module FILE, or set HOLDFAST_STORE' })
  }
  return runnerSource(await loadRunner(module, io))
}

/** The store, with the environment's keys where it is encrypted. */
export function storeOf({ env: { HOLDFAST_KEYS: keys } }: Io, file: Store): Store {
  return keys ? encryptedStore(file, parseKeys(keys, 'HOLDFAST_KEYS')) : file
}

/** A run with its journal. @throws HoldfastError `UNKNOWN_RUN`, and those of the run id. */
export async function findRun(source: Source, given: string): Promise<{ readonly row: RunRow; readonly entries: readonly Placed[] }> {
  const runId = checkRunId(given)
  const row = (await source.get(runId)) ?? unknownRun(runId)
  return { row, entries: await source.history(runId) }
}

export function unknownRun(runId: string, where = 'this store'): never {
  throw new HoldfastError('UNKNOWN_RUN', `there is no run "${runId}" in ${where}`, { runId, advice: 'holdfast list shows the runs' })
}
