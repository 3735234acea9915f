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
  readonly asked?: Asked | undefined
  /** Of code that is called again and again, such as the body of a generator: the call that it goes on from. */
  readonly call?: Call | undefined
  /** The model request whose code this is: it has no steps inside. */
  readonly request?: string
}

/** What code comes after. */
interface Known {
  readonly mark?: string
  readonly before: readonly Known[]
  /** Up to here, in events of the machine, all that had ended came before it. */
  readonly seen: number
}

/** A step or branch that was asked for, and those that the code that asked had asked for before. */
export interface Asked extends Known {
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
}

/** What has just ended, from which all that is asked for right now goes on. */
export interface GoesOn {
  /** That, and what its code had asked for. */
  readonly from?: Asked | undefined
  /** It was handed out in the order of its record: what had ended by then, in events of the machine, comes before it on resume, too. 0: that is not so. */
  readonly seen: number
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
  if (!context) return asked
  context.call?.note(context.asked, asked)
  shared.storage.enterWith({ ...context, asked })
  return asked
}

function knownIn(context: Context | undefined, { from, seen }: GoesOn): Pick<Known, 'before' | 'seen'> {
  const before = [...new Set([ownIn(context), context?.asked ? undefined : context?.call?.known, from].filter((each) => each !== undefined))]
  return { before, seen: Math.max(seen, ...before.map((each) => each.seen)) }
}

/**
 * One call of code that is called again and again: a generator's body from one `yield` to the next. It runs in the context of its caller, which has none of what
 * the body has asked for. What the body has asked for *itself* has to be told from what the lines of work have that it has started: both go on from the same context.
 */
class Call {
  /** The newest call before it that has asked for something by itself. */
  readonly #before: Call | undefined
  readonly #outside: Asked | undefined
  /** What the code comes after that has asked for nothing in this call. */
  readonly known: Known | undefined
  /** What was asked for right behind each, by code of this call. `several`: side by side, so the body goes on from where they started. */
  readonly #next = new Map<Asked | undefined, Asked | 'several'>()
  /** What was asked for while nothing of this call was open, but for what another of them comes after. */
  #alone: readonly Asked[] = []
  readonly #open: Asked[] = []
  #isOver = false

  constructor(before: Call | undefined, outside: Asked | undefined) {
    this.#before = before && (before.#behind(undefined) ? before : before.#before)
    this.#outside = outside
    this.known = before?.end()
  }

  /** By code that had asked for `own` last in this call. */
  note(own: Asked | undefined, asked: Asked): void {
    // Lines of work may go on when the call is over. That there are several may only show then.
    if (this.#next.has(own)) this.#next.set(own, 'several')
    else if (!this.#isOver) this.#next.set(own, asked)
    if (this.#isOver) return
    while (this.#open.at(-1)?.hasEnded) this.#open.pop()
    if (this.#open.length === 0) this.#alone = [...this.#alone.filter((each) => !asked.before.includes(each)), asked]
    this.#open.push(asked)
  }

  /** What the body had asked for last by itself when it was called: nothing that was asked for side by side, so that it is the same in whatever order that came. */
  get own(): Asked | undefined {
    for (let call = this.#before; call; call = call.#before) {
      let last = call.#behind(undefined)
      for (let next = last; next; next = call.#behind(next)) last = next
      if (last) return last
    }
    return this.#outside
  }

  #behind(own: Asked | undefined): Asked | undefined {
    const next = this.#next.get(own)
    return next === 'several' ? undefined : next
  }

  /** What stood alone and has ended is what the body has waited for: a step behind a fan-in, say. */
  end(): Known | undefined {
    this.#isOver = true
    const before = this.#alone.filter((each) => each.hasEnded)
    return before.length === 0 ? this.known : { before, seen: Math.max(...before.map((each) => each.seen)) }
  }
}

/** Enters this context for each call of code that is called again and again: what a call asks for follows what those before it have asked for. */
export function lineIn(context: Context): <T>(fn: () => T) => T {
  let call: Call | undefined
  let open = 0
  return (fn) => {
    // A generator that is called before it has answered goes on by itself, and in its own context.
    if (!call || open === 0) call = new Call(call, context.asked)
    const result = inContext({ ...context, asked: undefined, call }, fn)
    if (result instanceof Promise) {
      open++
      const end = (): void => void open--
      result.then(end, end)
    }
    return result
  }
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

const ownIn = (context: Context | undefined): Asked | undefined => context?.asked ?? context?.call?.own

/** The newest of them that stands in the branch itself and has ended: what is asked for side by side comes in any order. */
function inBranch(asked: Asked | undefined, branch: string): Asked | undefined {
  // What was asked for before the branch was opened stands outside of it.
  for (let each = asked; each && each.id !== branch; each = each.own) if (each.hasEnded && parentOf(each.id) === branch) return each
  return undefined
}

/** The nearest first: in a line of work it is found at once. */
function isAmong(mark: string, before: readonly Known[]): boolean {
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
