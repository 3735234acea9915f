/** A rule of the store contract, and how rules say what they expect. */
import assert from 'node:assert/strict'
import type { HoldfastErrorCode } from '../../errors.ts'
import { HoldfastError } from '../../errors.ts'
import type { RunRow, Store, StoredEntry } from '../../journal/store.ts'

export interface RuleStores {
  readonly store: Store
  /** Another store on the same data where the fixture has one, otherwise the same store. */
  readonly other: Store
}

export interface Rule {
  readonly name: `MUST ${string}`
  /** Throws an `AssertionError` when the store breaks the rule. */
  readonly check: (stores: RuleStores) => Promise<void>
}

export function rule(name: Rule['name'], check: Rule['check']): Rule {
  return { name, check }
}

/** Asserts that `call` is refused with a `HoldfastError` of this code. */
export async function assertRefused(call: Promise<unknown>, code: HoldfastErrorCode): Promise<void> {
  await assert.rejects(call, (error: unknown) => {
    assert.ok(HoldfastError.isInstance(error), `expected a HoldfastError with code ${code}, got ${String(error)}`)
    assert.equal(error.code, code)
    return true
  }, `expected to be refused with ${code}`)
}

/** All that a store holds of a run. */
export interface Snapshot {
  readonly row: RunRow | undefined
  readonly journal: readonly StoredEntry[]
  readonly inbox: readonly unknown[]
}

export async function snapshot(store: Store, runId: string): Promise<Snapshot> {
  return { row: await store.get(runId), journal: await store.read(runId), inbox: await store.inbox(runId, 0) }
}

/** Asserts that `act` leaves the run exactly as it was. */
export async function assertUnchanged(store: Store, runId: string, act: () => Promise<void>): Promise<void> {
  const before = await snapshot(store, runId)
  await act()
  assert.deepEqual(await snapshot(store, runId), before, 'nothing of the run may have changed')
}

/** The row of a run that has to be there. */
export async function rowOf(store: Store, runId: string): Promise<RunRow> {
  const row = await store.get(runId)
  assert.ok(row, `the run ${JSON.stringify(runId)} is not found`)
  return row
}
