/** The rules of the store contract as cases to run on a store of your own, with any test framework. */
import { AssertionError } from 'node:assert/strict'
import type { Store } from '../journal/store.ts'
import { appendRules } from './conformance/append.ts'
import { appendRefusedRules } from './conformance/append-refused.ts'
import { createRules } from './conformance/create.ts'
import { inboxRules } from './conformance/inbox.ts'
import { leaseRules } from './conformance/lease.ts'
import { lifecycleRules } from './conformance/lifecycle.ts'
import { listRules } from './conformance/list.ts'
import { readRules } from './conformance/read.ts'
import { removeRules } from './conformance/remove.ts'
import type { Rule } from './conformance/rule.ts'
import { valueRules } from './conformance/values.ts'

/** A store to test: empty, and nobody else's. */
export interface StoreFixture {
  readonly store: Store
  /**
   * A second store on the same data, as another process would open it. Where it is given, those who contend come through both, and
   * what was acknowledged must be found through the second after the first was closed. A durable store should give it.
   */
  another?(): Promise<Store>
  /** Called at the end of the case, after the stores were closed. */
  cleanup?(): Promise<void>
}

export interface ConformanceCase {
  /** The rule: a sentence that begins with MUST. Unique within the suite. */
  readonly name: string
  /** Resolves when the store keeps the rule, rejects with an `AssertionError` when it does not. */
  run(): Promise<void>
}

const RULES: readonly Rule[] = [
  ...lifecycleRules, ...createRules, ...listRules, ...readRules, ...leaseRules, ...appendRules, ...appendRefusedRules,
  ...inboxRules, ...removeRules, ...valueRules,
]

/**
 * The cases for the store that `factory` makes; it is called once for each case. They take about a second on a local store.
 *
 * @example
 * for (const { name, run } of storeConformance(async () => ({ store: myStore(await freshDatabase()) }))) test(name, run)
 */
export function storeConformance(factory: () => Promise<StoreFixture>): readonly ConformanceCase[] {
  return RULES.map((rule) => ({ name: rule.name, run: () => runRule(rule, factory) }))
}

async function runRule(rule: Rule, factory: () => Promise<StoreFixture>): Promise<void> {
  const fixture = await factory()
  const opened: Store[] = []
  const violations: unknown[] = []
  const attempt = async (step: () => Promise<void>): Promise<void> => step().catch((error: unknown) => void violations.push(error))
  const open = async (store: Store): Promise<Store> => {
    opened.push(store)
    await store.open()
    return store
  }

  await attempt(async () => {
    const store = await open(fixture.store)
    const other = fixture.another ? await open(await fixture.another()) : store
    await rule.check({ store, other })
  })
  for (const store of opened) await attempt(() => store.close())
  await fixture.cleanup?.()
  if (violations.length > 0) throw asViolation(rule, violations[0])
}

/** A store that throws where it should have answered breaks the rule as well as one that answers wrongly. */
function asViolation(rule: Rule, error: unknown): AssertionError {
  if (error instanceof AssertionError) return error
  const violation = new AssertionError({ message: `The store ${rule.name}, but it threw: ${String(error)}` })
  violation.cause = error
  return violation
}
