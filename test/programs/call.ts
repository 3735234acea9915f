/** A call of the program, as the oracle knows it: by its position, over all attempts. */
import type { Behaviour } from './program.ts'
import type { Arguments } from './scripted-model.ts'
import type { Session } from './session.ts'

export interface CallSpec {
  readonly position: string
  readonly kind: 'model' | 'tool' | 'step' | 'read' | 'agent'
  /** Running it again is harmless. */
  readonly repeatable: boolean
  /** A doubt may be settled by running it again: its policy says so beforehand. */
  readonly rerunAllowed?: boolean
  /** Calls of the same effect: while one is in doubt, no other starts. */
  readonly effect?: string
  /** That of the arguments that it was asked with, where its attempt may not know yet that somebody has agreed to others. */
  readonly effectAsAsked?: string
  /** The same effect by the user's own word, whatever the arguments. */
  readonly keyed?: boolean
  /** Name of the tool or step. */
  readonly what?: string
  readonly input: unknown
  /** What its code uses and does not say as input. */
  readonly uses?: unknown
  readonly does?: Behaviour
  /** Its failure fails the run. */
  readonly breaks?: boolean
  /** The loop whose conversation is another one in each attempt: what it did in earlier ones is superseded (R5). */
  readonly drifting?: string
  /** How many calls stand at this position and cannot be told apart. Default 1. */
  readonly twins?: number
  /** Somebody has to agree to it first. */
  readonly approval?: Approval
  /** It says nothing of what it asks: after a live result it does not replay (R5). */
  readonly blind?: boolean
}

/** What the person says who is asked about a call, and what its tool says of it. */
export interface Approval {
  /** What the condition of its tool says: `false`, it needs none. */
  readonly needed: boolean
  /** As the model asked for it. */
  readonly asked: Arguments
  /** With which arguments it is made; undefined: it is denied, or nobody answers in time. */
  readonly made: Arguments | undefined
}

/** Its code was called, or a request reached the model. */
export interface Start {
  readonly session: Session
  readonly key: string | undefined
  /** The code came to its end. */
  over: boolean
  /** With an error that says that nothing happened. */
  failed: boolean
  /** With a value. */
  returned: boolean
  /** The outside world said that it has had no effect, and none has come since. */
  undone: boolean
  /** Somebody had decided it, or the one before was known not to have happened. */
  readonly allowed: boolean
}

export class Call {
  spec: CallSpec
  readonly starts: Start[] = []
  /** How often an end of it was announced as recorded, over all attempts. */
  finished = 0
  /** Its newest end was announced before its code had given a value: it had failed, or was not waited for any more. */
  endedInVain = false
  /** It ran again although its caller had been told an outcome: there was no record of that. */
  isLost = false
  /** When its newest outcome came about, in the world's events; 0: it has none. */
  endedAt = 0
  /** When it was started last, in the world's events. */
  startedAt = 0
  /** Somebody decided that it may start (again); used up by the next start. */
  authorised = false
  /** It may run again although it finished: the rules say so. */
  excused = false
  /** An attempt has failed that asked for it and did not see how it had failed in an earlier one: it may have another end by now. */
  mayFailOtherwise = false
  /** Its effect may have happened and nobody has settled that. */
  toldUnknown = false
  /** When it was asked for last, and when its caller was told so, in claims and deliveries. */
  claimedAt = 0
  unknownAt = 0
  /** Its caller was told at some time that nobody knows whether it took effect. */
  wasUnknown = false
  settled = false
  /** The world said that it did not happen. */
  notDone = false
  /** A decision to run it (or another call of its effect) again used up its effect. */
  consumed = false
  /** What was done is known to somebody who decided otherwise, until the call is asked for in another attempt. */
  answered: Session | 'soon' | undefined
  /** Calls whose outcome somebody decided to give for it. */
  readonly reused = new Set<string>()
  /** The attempt in which the outside world said that it is done. */
  knownDone: Session | undefined
  /** The attempt in which its code came to its end after nobody waited any more. */
  lateIn: Session | undefined
  lateAt = 0
  outcome: string | undefined
  /** Somebody is about to say what they say of it: it may have arrived; and has said it. */
  answering = 0
  isAnswered = false
  /** The attempt that owned the run when that arrived. */
  answeredDuring: Session | undefined
  /** The questions about it, by their positions in the journal, and when it was first asked for. */
  readonly questions = new Set<number>()
  firstAskedAt = 0

  constructor(spec: CallSpec) {
    this.spec = spec
  }

  /** When its newest result came about: its record may be there although its end was not announced. */
  get cameAbout(): number {
    return Math.max(this.endedAt, this.startedAt)
  }

  get mayBeAnswered(): boolean {
    return this.answering > 0 || this.isAnswered
  }

  /** Certain only: its caller was told so, or its process was killed inside its code. */
  get isInDoubt(): boolean {
    if (this.spec.repeatable || this.settled) return false
    const last = this.starts.at(-1)
    return last !== undefined && (this.toldUnknown || (!last.over && last.session.frozen))
  }

  /** It starts (again): what was known or decided about it is used up. */
  beginAnew(): void {
    this.finished = 0
    this.authorised = false
    this.toldUnknown = false
    this.settled = false
    this.consumed = false
    this.notDone = false
    this.answered = undefined
    this.knownDone = undefined
    this.lateIn = undefined
  }
}

/** Calls that ask for the same. */
export const isTwin = (a: CallSpec, b: CallSpec): boolean => a.effect === b.effect && isAlike(a, b)

/** Steps that ask for the same, each under a key of its own. */
export const isAlike = (a: CallSpec, b: CallSpec): boolean => a.what !== undefined && a.what === b.what && (a.keyed === true || JSON.stringify(a.input) === JSON.stringify(b.input))

/** A step that says nothing of what it asks for may be any of its name, at another place. */
export const mayBe = (a: CallSpec, b: CallSpec): boolean => isAlike(a, b) || (a.kind === 'step' && a.what === b.what && (a.input === undefined || b.input === undefined))

/** What the caller of a call is told that was denied. */
export const DENIED = '!APPROVAL_DENIED'

/** Whether an outcome is a failure of the run, which is asked for anew (`failures.ts`). */
export const isOfRun = (outcome: string): boolean => outcome.startsWith('!broken at ') || outcome === '!several'

/** Whether a call came out as it does when nothing disturbs it. */
export function isNatural({ repeatable, does = 'ok', position, approval }: CallSpec, outcome: string): boolean {
  const isDenied = approval?.needed === true && approval.made === undefined
  if (isDenied || outcome === DENIED) return isDenied && outcome === DENIED
  if (repeatable || isOfRun(outcome)) return true
  switch (does) {
    case 'ok': return outcome.includes(JSON.stringify(position))
    case 'error': return outcome === '!there is no such thing'
    default: return outcome === '!OUTCOME_UNKNOWN'
  }
}
