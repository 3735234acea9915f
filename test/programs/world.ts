/**
 * What the outside world sees, and what may happen in it: the oracle. It counts requests, starts and effects by their position in
 * the program and knows the journal only by what is announced. It lives as long as the run, over all attempts.
 */
import { judgeDenial } from './approval.ts'
import { Call, DENIED, isNatural, isAlike, isOfRun, isTwin, type CallSpec, type Start } from './call.ts'
import type { Program } from './program.ts'
import { cleansUp, isBroken } from './failures.ts'
import type { Session } from './session.ts'
import { judgeStart } from './starting.ts'
import type { Violation, ViolationKind } from './violation.ts'

export interface Effect {
  readonly position: string
  readonly key: string
  readonly output: unknown
}

export class World {
  readonly calls = new Map<string, Call>()
  readonly violations: Violation[] = []
  /** What took effect, by idempotency key. */
  readonly effects = new Map<string, Effect>()
  /** By step id as the library tells it, the position. */
  readonly steps = new Map<string, string>()
  readonly #winners = new Map<string, number>()
  /** How many attempts have failed since something that fails was asked for anew. */
  #stuck = 0
  readonly #refusedRaces = new Set<string>()
  readonly tries = new Map<string, number>()
  readonly #answers = new Map<string, number>()
  /** What happened, in order, for whoever has to find a fault. */
  readonly log: string[] = []
  /** It may ask for something else than in earlier attempts: not all is replayed then. */
  loose: boolean
  /** Something legitimately came out otherwise than without disturbance: the result may differ. */
  altered = false
  /** Loops that are told what their tools gave in the order in which those came to their end. */
  readonly streamed = new Set<string>()
  /** Positions that had to run again in some attempt: what lies inside them did so too. */
  readonly rerun = new Set<string>()
  /** The process that recorded the end of the run. */
  endedBy: Session | undefined
  /** The process that took the lease last. */
  owner: Session | undefined
  requests = 0
  /** From 1: 0 is never. */
  #event = 1
  decisions = 0
  /** Answers to whether a call may be made. */
  answers = 0

  readonly program: Program

  /** The run has failed and cleaned up: the next attempt says that it is to be driven all the same. */
  isRefused = false

  /** How many of its steps may fail it. */
  readonly #failures: number

  /** Its code waits for what no step records. */
  readonly hasWaits: boolean

  constructor(program: Program) {
    this.hasWaits = JSON.stringify([program.node, program.scripts]).includes('"wait')
    this.#failures = JSON.stringify(program.node).split('"fails"').length - 1
    this.program = program
    this.loose = program.unstable ?? false
  }

  /** A count of what happens. */
  get now(): number {
    return this.#event
  }

  violate(kind: ViolationKind, message: string): void {
    this.violations.push({ kind, message })
    this.log.push(`!! ${kind}: ${message}`)
  }

  get(position: string): Call | undefined {
    return this.calls.get(position)
  }

  /** The program asks for a step. */
  claim(spec: CallSpec): Call {
    let call = this.calls.get(spec.position)
    if (!call) this.calls.set(spec.position, (call = new Call(spec)))
    call.spec = spec
    call.claimedAt = ++this.#event
    return call
  }

  /** How often something at this position was tried, over all attempts, this time included. */
  nthTry(position: string): number {
    const n = (this.tries.get(position) ?? 0) + 1
    this.tries.set(position, n)
    return n
  }

  /** The model answers a request at this position: how often it has done so. */
  answer(position: string): number {
    const n = (this.#answers.get(position) ?? 0) + 1
    this.#answers.set(position, n)
    return n
  }

  /** How many different answers the model may have given at this position. */
  answersAt(position: string): number {
    return this.#answers.get(position) ?? 1
  }

  /** The code of a step is called, or a request reaches the model. */
  start(session: Session, position: string, key: string | undefined): Start {
    const call = this.calls.get(position)!
    session.live.add(position)
    session.unrecorded.delete(position)
    if (call.spec.breaks) this.#stuck = 0
    this.log.push(`${session.name} starts ${position}`)
    const allowed = call.authorised || call.notDone || call.spec.rerunAllowed === true
    judgeStart(this, session, call, key)
    if (this.loose && allowed && key !== undefined) this.#takeOver(call, key)
    const start: Start = { session, key, over: false, failed: false, returned: false, undone: false, allowed: allowed || call.authorised }
    call.starts.push(start)
    if (session.zombie) return start
    if (!call.spec.repeatable) call.beginAnew()
    if (call.outcome !== undefined) call.isLost = true
    // What an earlier attempt was told without a record does not count any more.
    if (call.spec.twins === undefined) call.outcome = undefined
    call.startedAt = ++this.#event
    return start
  }

  /** Where calls move about: one that somebody let run under the key of a doubtful one that asked for the same is that one, to whoever looks from outside. */
  #takeOver(call: Call, key: string): void {
    for (const other of this.calls.values()) {
      if (other !== call && isTwin(other.spec, call.spec) && other.starts.some((start) => start.key === key)) other.settled = true
    }
  }

  effect(position: string, key: string, output: unknown, isForeseen = true): void {
    const call = this.calls.get(position)!
    this.log.push(`   effect of ${position}`)
    // "Not done" was true when it was said; it is not a leave to do it twice. What a person said is.
    if (call.notDone && isForeseen) call.authorised = call.notDone = false
    for (const start of call.starts) if (start.key === key) start.undone = false
    this.effects.set(key, { position, key, output })
  }

  /** Whether the outside world has an effect under this key; "no" is a leave to run it, unless its code may still be on the way. */
  ask(session: Session, key: string): Effect | undefined {
    const done = this.effects.get(key)
    for (const call of this.calls.values()) {
      const start = call.starts.findLast((each) => each.key === key)
      if (!start) continue
      const mayRun = !start.over && start.session === session
      this.log.push(`${session.name} asks about ${call.spec.position}: ${done ? 'completed' : 'not done'}`)
      if (!done && !mayRun) {
        call.authorised = call.notDone = true
        for (const each of call.starts) if (each.key === key) each.undone = true
      }
      if (done || !mayRun) call.settled = true
      if (done) call.knownDone = session
    }
    return done
  }

  /** What a person is asked although it is known: nothing was refused, and its process could tell. */
  isNeedless(session: Session, position: string): boolean {
    const call = this.calls.get(position)
    if (!call || session.disturbance.refuse !== undefined) return false
    const { knownDone, lateIn, lateAt } = call
    if (knownDone === session) return true
    if (!lateIn || lateIn === session || lateIn.frozen || lateIn.zombie || lateIn.disturbance.refuse !== undefined) return false
    return session.timeline.now() - lateAt > 2_000
  }

  /** A person decides about the call at `position`; `about` are the calls in whose way it stands. */
  decide(position: string, decision: 'rerun' | 'skip' | 'reuse' | 'result', about: readonly string[]): void {
    this.decisions++
    this.log.push(`   decision: ${decision} for ${position}`)
    const call = this.calls.get(position)
    if (call && decision === 'rerun') Object.assign(call, { authorised: true, notDone: false })
    for (const each of [call, ...about.map((id) => this.calls.get(id))].flatMap((one) => (one ? [one, ...this.#behind(one)] : []))) {
      each.settled = true
      if (decision === 'rerun') this.#consume(each)
      else each.answered = 'soon'
    }
    // What it would give with the arguments that somebody else would have agreed to, nobody can say.
    if (call?.spec.approval?.made && (decision === 'result' || decision === 'reuse')) this.altered = true
    if (call && decision === 'reuse') for (const other of about) call.reused.add(other)
    // Where calls move about: by the person's word this call is what that one did, which explains it.
    const explained = call && decision !== 'rerun' && decision !== 'skip' ? about.map((id) => this.calls.get(id)).find((each) => each && each !== call && isAlike(each.spec, call.spec)) : undefined
    if (explained && this.loose) explained.consumed = true
  }

  /** Where calls move about: one that was told that nobody knows, and never started, was told of another one's doubt. */
  #behind(call: Call): readonly Call[] {
    if (!this.loose || !call.toldUnknown || call.starts.length > 0) return []
    return [...this.calls.values()].filter((other) => other !== call && other.isInDoubt && isTwin(other.spec, call.spec)).slice(0, 1)
  }

  /** With a call that was answered by what others did, those are used up. */
  #consume(call: Call): void {
    call.consumed = true
    const { drifting, effect } = call.spec
    if (drifting === undefined || call.starts.length > 0) return
    for (const other of this.calls.values()) {
      if (other.spec.drifting === drifting && other.spec.effect === effect && other.answered !== undefined) other.consumed = true
    }
  }

  /** An end of the call was announced as recorded. */
  announce(session: Session, position: string): void {
    const call = this.calls.get(position)
    if (!call) return
    this.log.push(`${session.name} finished ${position}`)
    session.ended.add(position)
    call.endedInVain = call.starts.at(-1)?.returned !== true
    call.endedAt = session.zombie ? session.pausedAt : ++this.#event
    if (!session.refusedWhileOpen.has(position)) call.finished++
    // The old record does not stand any more, and there is no new one.
    else if (call.spec.twins === undefined) call.finished = 0
  }

  /** The run has failed: asked for anew is what failed it, and what failed beside that and was handed to nobody (R4). */
  fail(session: Session, error: unknown): void {
    for (const [position, call] of this.calls) {
      const isUnseen = session.open.has(position) && (!call.starts.at(-1)?.returned || call.endedInVain)
      if (isUnseen) call.finished = 0
      if (session.untold.has(position) && call.outcome?.startsWith('!')) call.mayFailOtherwise = true
    }
    if (isBroken(error)) this.#stuck++
    // Where code has gone on behind several failures, each attempt fails with one of them.
    if (this.#stuck > 2 + this.#failures) this.violate('endless', `${session.name} fails as the attempts before it did, and asks for nothing anew`)
  }

  /** Other calls whose outcome may answer this one: the same effect, of which its caller was told that nobody knows (R6). */
  allowedAnswers(position: string): ReadonlySet<string> {
    const { spec } = this.calls.get(position)!
    const isAnswer = (other: Call): boolean =>
      other.wasUnknown || (this.loose && isTwin(other.spec, spec)) || (spec.drifting !== undefined && other.spec.drifting === spec.drifting)
    const isAlike = (other: Call): boolean => {
      if (spec.effect === undefined) return this.loose && isTwin(other.spec, spec)
      return (other.spec.effect === spec.effect || other.spec.effect === spec.effectAsAsked) && isAnswer(other)
    }
    const others = [...this.calls.values()].filter(isAlike)
    const own = this.calls.get(position)!
    const alike = [...this.calls.values()].filter((other) => spec.effect !== undefined && other.spec.effect === spec.effect)
    // Where calls move about, nobody can tell which of them was meant.
    if (this.loose && alike.some((other) => other.reused.size > 0)) others.push(...alike)
    return new Set([...others.map((other) => other.spec.position), ...own.reused])
  }

  /** It stands in a race that is decided: nobody waits for it. */
  hasLost(position: string): boolean {
    return [...this.#winners.keys()].some((path) => position.startsWith(`${path}.`))
  }

  raceWon(session: Session, path: string, winner: number): void {
    const before = this.#winners.get(path)
    this.log.push(`${session.name} race ${path} won by ${winner}`)
    if (before !== undefined && before !== winner) {
      // Where a record was refused, or had to run again, another one may win: then what follows is another program.
      const isLuck = this.loose || this.#refusedRaces.has(path) || [...this.rerun].some((each) => each.startsWith(`${path}.`))
      if (isLuck) this.loose = true
      else this.violate('race-changed', `${path} was won by ${before}, in attempt ${session.number} by ${winner}`)
    }
    if ([...session.refusedWhileOpen].some((each) => each.startsWith(`${path}.`))) this.#refusedRaces.add(path)
    this.#winners.set(path, winner)
  }

  /** A call was answered without its code: with what another one did, or by a decision. */
  #answer(session: Session, { spec }: Call, outcome: string): void {
    for (const other of this.calls.values()) {
      if (other.spec.effect === undefined || other.spec.effect !== spec.effect) continue
      const isOutcome = outcome.startsWith(`{"of":${JSON.stringify(other.spec.position)},`)
      if (other.answered === 'soon' || isOutcome) other.answered = session
      // Where calls move about, this one has taken that one's place.
      if (this.loose && isOutcome && other.spec.position !== spec.position && isTwin(other.spec, spec)) other.consumed = true
    }
  }

  /** What holds them has its outcome: nobody waits any more for calls that still run in it, so nobody knows of their effects. */
  #leave(session: Session, around: string): void {
    for (const call of this.calls.values()) {
      const last = call.starts.at(-1)
      if (!call.spec.position.startsWith(`${around}.`) || call.spec.repeatable || last?.session !== session || last.over) continue
      call.toldUnknown = call.wasUnknown = true
      call.unknownAt = ++this.#event
    }
  }

  /** The call's caller sees its outcome. */
  deliver(session: Session, call: Call, outcome: string, isUnknown: boolean): void {
    const { position, twins } = call.spec
    this.log.push(`${session.name} delivers ${position}: ${outcome}`)
    session.untold.delete(position)
    if (session.zombie && this.owner !== session) return
    if (!this.loose && call.outcome !== undefined && call.outcome !== outcome && !isOfRun(call.outcome) && !session.isFresh(position) && twins === undefined && !call.excused && !call.mayFailOtherwise && !cleansUp(position)) {
      this.violate('replayed-otherwise', `${position} was ${call.outcome}, is ${outcome} in attempt ${session.number}`)
    }
    judgeDenial(this, session, call, outcome)
    if (!isNatural(call.spec, outcome)) this.altered = true
    // Told by somebody else than its own code.
    if (isUnknown && call.outcome === undefined && !session.live.has(position)) this.altered = true
    if (isUnknown && call.outcome !== outcome) {
      call.toldUnknown = call.wasUnknown = true
      call.unknownAt = ++this.#event
      // It has come to its end meanwhile.
      if (call.starts.at(-1)?.returned) call.settled = true
    }
    // An agent that fails may be entered again.
    if (call.spec.kind !== 'agent') this.#leave(session, position)
    if (!session.live.has(position) && call.outcome !== outcome && outcome !== DENIED) this.#answer(session, call, outcome)
    call.outcome = outcome
    call.excused = call.mayFailOtherwise = false
  }
}
