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
  /** Whether that code has come to its end: what still runs was only started by it. */
  readonly isOver?: () => boolean
  /** The step that this code has asked for last; what it follows is asked there. */
  readonly asked?: Asked
  /** Of code that is called again and again, such as the body of a generator: what it has asked for so far. */
  readonly line?: Line
  /** The model request whose code this is: it has no steps inside. */
  readonly request?: string
}

/** A step that was asked for, and those that the code that asked had asked for, or been given, before. */
export interface Asked {
  readonly step: string
  readonly before: readonly Asked[]
}

export interface Line {
  asked: Asked | undefined
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

/** Code that goes on from here has asked for this step; what runs beside it has not. `given`: the step whose result was handed out right before. */
export function rememberAsked(step: string, given: Asked | undefined): Asked {
  const context = currentContext()
  const asked = { step, before: originsOf(context, given) }
  if (context?.line) context.line.asked = asked
  else if (context) shared.storage.enterWith({ ...context, asked })
  return asked
}

const originsOf = (context: Context | undefined, given: Asked | undefined): Asked[] =>
  [...new Set([context?.line?.asked, context?.asked, given].filter((each) => each !== undefined))]

/** Calls what calls other code again and again, a generator's body say: what that asks for follows what it has asked for before. */
export function asOneLine<T>(fn: () => T): T {
  const context = currentContext()
  return context ? inContext({ ...context, line: { asked: undefined } }, fn) : fn()
}

/**
 * Says whether the code of this context follows a step: has asked for it, or goes on from what was handed out right before (`given`), whose
 * code has. Made here: it is kept with its claim, and must keep nothing else.
 */
export function followerOf(context: Context, given: Asked | undefined): { readonly follows: (step: string) => boolean } {
  const origins = originsOf(context, given)
  return { follows: (step) => isAmong(step, origins) }
}

/** The nearest first: in a line of work it is found at once. */
function isAmong(step: string, origins: readonly Asked[]): boolean {
  const seen = new Set(origins)
  for (const each of seen) {
    if (each.step === step) return true
    for (const before of each.before) seen.add(before)
  }
  return false
}

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
 * Ask at once: what a queue or a pool calls later may run in the context of another call (`const { idempotencyKey } = currentStep()!` before `queue.add(...)`).
 *
 * @returns undefined outside the code of a step, and where that has come to its end.
 * @example
 * const refund = tool({
 *   inputSchema: z.object({ order: z.string() }),
 *   execute: ({ order }) => payments.refund(order, { idempotencyKey: currentStep()!.idempotencyKey }),
 * })
 */
export function currentStep(): StepContext | undefined {
  const context = currentContext()
  return context?.isOver?.() ? undefined : context?.step
}
