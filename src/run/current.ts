/**
 * The current run: which run, and which branch of it, the code that runs right now belongs to. Kept on `globalThis`,
 * so that two copies of the package agree.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from '../core/hash.ts'
import { parentOf, turnOf } from '../replay/identity.ts'
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
  /** By its turn. */
  readonly id: string
  readonly mark: string
  /** It has a key, and nothing is recorded of it: code that was changed since may ask for it for the first time. */
  readonly isNew: boolean
  /** What its own code had asked for last had ended by then. */
  readonly isNext: boolean
  /** Its result was handed out, or the branch has ended. */
  hasEnded: boolean
  /** What its own code had asked for last. */
  readonly own: Asked | undefined
  readonly before: readonly Asked[]
  /** Up to here, in events of the machine, all that had ended came before it. */
  readonly seen: number
}

/** What has just ended, from which all that is asked for right now goes on. */
export interface GoesOn {
  /** That, and what its code had asked for. */
  readonly from?: Asked | undefined
  /** It was handed out in the order of its record: what had ended by then, in events of the machine, comes before it on resume, too. 0: that is not so. */
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

/** Code that goes on from here has asked for this step or branch; what runs beside it has not. */
export function rememberAsked(id: string, isNew: boolean, now: GoesOn): Asked {
  const context = currentContext()
  const turn = turnOf(id)
  const own = ownIn(context)
  const asked: Asked = { id: turn, mark: markOf(turn), isNew, isNext: own?.hasEnded !== false, hasEnded: false, own, ...knownIn(context, now) }
  if (context?.line) context.line.asked = asked
  else if (context) shared.storage.enterWith({ ...context, asked })
  return asked
}

function knownIn(context: Context | undefined, { from, seen }: GoesOn): Pick<Asked, 'before' | 'seen'> {
  const before = [...new Set([context?.line?.asked, context?.asked, from].filter((each) => each !== undefined))]
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
  /** It goes on from what was handed out then, in events of the machine, or has before: what had ended by then comes before it on resume, too, since results are handed out in the order of their records (R4). */
  readonly seen: number
  /** Of what it has asked for in its branch and that has ended, the newest, and what it goes on from right now: by their turns. */
  readonly after: readonly string[]
  /** Whether it is the code that has recorded this of itself. */
  readonly isThat: (after: readonly string[]) => boolean
}

export function followerOf(context: Context, now: GoesOn): Follower {
  const { before, seen } = knownIn(context, now)
  const branch = turnOf(context.branch)
  const last = inBranch(ownIn(context), branch)
  const from = now.from && parentOf(now.from.id) === branch ? now.from.mark : undefined
  return {
    follows: (id) => before.length > 0 && isAmong(markOf(turnOf(id)), before),
    seen,
    after: [...new Set([last?.mark ?? NOTHING, ...(from === undefined ? [] : [from])])],
    isThat: (after) => (from !== undefined && after.includes(from)) || hasAskedLast(after, last, branch),
  }
}

/** What it has asked for last is among these, but for what the code may not have asked for then. Of lines of work that one piece of code has started, each knows what was asked for in front of it: what it has asked for itself tells them apart. */
function hasAskedLast(after: readonly string[], last: Asked | undefined, branch: string): boolean {
  let each = last
  while (each && !after.includes(each.mark) && each.isNew && each.isNext) each = inBranch(each.own, branch)
  return after.includes(each?.mark ?? NOTHING)
}

const NOTHING = ''

/** It is kept with each step that says nothing of what it asks, however long the keys are that it follows. */
const markOf = (turn: string): string => (turn.length > LONG ? hash(turn) : turn)
const LONG = 100

const ownIn = (context: Context | undefined): Asked | undefined => context?.line?.asked ?? context?.asked

/** The newest of them that stands in the branch itself and has ended: what is asked for side by side comes in any order. */
function inBranch(asked: Asked | undefined, branch: string): Asked | undefined {
  // What was asked for before the branch was opened stands outside of it.
  for (let each = asked; each && each.id !== branch; each = each.own) if (each.hasEnded && parentOf(each.id) === branch) return each
  return undefined
}

/** The nearest first: in a line of work it is found at once. */
function isAmong(mark: string, before: readonly Asked[]): boolean {
  const seen = new Set(before)
  for (const each of seen) {
    if (each.mark === mark) return true
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
