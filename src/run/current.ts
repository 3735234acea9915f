/**
 * The current run: which run, and which branch of it, the code that runs right now belongs to. Kept on `globalThis`,
 * so that two copies of the package agree.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Drive } from './drive.ts'
import type { StepContext } from './step.ts'

export interface Context {
  readonly drive: Drive
  /** Path of the branch. */
  readonly branch: string
  /** The step whose code this is; undefined in the handler itself. */
  readonly step?: StepContext
}

interface Shared {
  readonly storage: AsyncLocalStorage<Context>
  /** How many runs this process drives. */
  driven: number
}

const key = Symbol.for('holdfast.current')
const shared = ((globalThis as Record<symbol, unknown>)[key] ??= { storage: new AsyncLocalStorage<Context>(), driven: 0 }) as Shared

export const currentContext = (): Context | undefined => shared.storage.getStore()

export const inContext = <T>(context: Context, fn: () => T): T => shared.storage.run(context, fn)

/** Whether this process drives a run right now. */
export const isDriving = (): boolean => shared.driven > 0

/** Counts a run as driven until the returned function is called. */
export function countDriven(): () => void {
  shared.driven++
  let counted = true
  return () => {
    if (counted) shared.driven--
    counted = false
  }
}

/**
 * The step whose code runs right now: its idempotency key, its signal, which try it is.
 *
 * @returns undefined outside the code of a step.
 * @example
 * const refund = tool({
 *   inputSchema: z.object({ order: z.string() }),
 *   execute: ({ order }) => payments.refund(order, { idempotencyKey: currentStep()!.idempotencyKey }),
 * })
 */
export const currentStep = (): StepContext | undefined => currentContext()?.step
