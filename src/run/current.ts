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

/** A step or branch that was asked for, and those that the code that asked had asked for before. */
export interface Asked {
  readonly id: string
  readonly before: readonly Asked[]
  /** Up to here, in events of the machine, all that had ended came before it. */
  readonly seen: number
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

/** Code that goes on from here has asked for this step or branch; what runs beside it has not. `seen`: the code goes on from what ended then; 0: nobody knows from what. */
export function rememberAsked(id: string, seen: number): Asked {
  const context = currentContext()
  const asked = { id, ...knownIn(context, seen) }
  if (context?.line) context.line.asked = asked
  else if (context) shared.storage.enterWith({ ...context, asked })
  return asked
}

function knownIn(context: Context | undefined, seen: number): Pick<Asked, 'before' | 'seen'> {
  const before = [...new Set([context?.line?.asked, context?.asked].filter((each) => each !== undefined))]
  return { before, seen: Math.max(seen, ...before.map((each) => each.seen)) }
}

/** Calls what calls other code again and again, a generator's body say: what that asks for follows what it has asked for before. */
export function asOneLine<T>(fn: () => T): T {
  const context = currentContext()
  return context ? inContext({ ...context, line: { asked: undefined } }, fn) : fn()
}

/** What the code of this context comes after. Made here: it is kept with its claim, and must keep nothing else. */
export interface Follower {
  /** It has asked for that step or branch itself. */
  readonly follows: (id: string) => boolean
  /** It goes on from what ended here, in events of the machine, or has before: what had ended by then comes before it on resume, too, since results are handed out in the order of their records (R4). */
  readonly seen: number
}

export function followerOf(context: Context, now: number): Follower {
  const { before, seen } = knownIn(context, now)
  return { follows: (id) => isAmong(id, before), seen }
}

/** The nearest first: in a line of work it is found at once. */
function isAmong(id: string, before: readonly Asked[]): boolean {
  const seen = new Set(before)
  for (const each of seen) {
    if (each.id === id) return true
    for (const earlier of each.before) seen.add(earlier)
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
