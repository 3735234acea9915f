/** Whether a call may start now: the rules that a start can break. */
import { isTwin, mayBe, type Call } from './call.ts'
import { cleansUp } from './failures.ts'
import type { Session } from './session.ts'
import type { World } from './world.ts'

export function judgeStart(world: World, session: Session, call: Call, key: string | undefined): void {
  const { position, repeatable } = call.spec
  if (session.zombie) {
    // What a process that was paused does is harmless as long as it has no effects, and nobody else owns the run.
    const { owner } = world
    if (!repeatable && owner !== session && !session.imminent.has(position)) world.violate('zombie', `${session.name} starts ${position} although ${owner?.name} owns the run`)
    return
  }
  const { authorised } = call
  refuseAgain(world, session, call)
  if (!repeatable) {
    if (world.loose) borrow(world, call)
    refuseRepeated(world, session, call)
    if (!call.authorised) refuseInDoubt(world, session, call)
    if (!call.authorised) refuseSuperseded(world, session, call)
    refuseUnrecorded(world, session, call)
  }
  if (!world.loose) checkKey(world, call, key, authorised)
}

/** What was recorded does not run again (R4). */
function refuseAgain(world: World, session: Session, { spec, finished, excused, authorised, claimedAt, endedAt, endedInVain, starts, outcome }: Call): void {
  // What was recorded is that nobody knows: that is settled by running it again, its policy says.
  if (spec.rerunAllowed && starts.at(-1)?.returned === false) return
  if (cleansUp(spec.position)) return
  // A try that nobody waited for any more came to its end beside this one.
  if (endedAt > claimedAt) return
  if (world.loose || finished < (spec.twins ?? 1) || excused || authorised || isInsideRerun(world, spec.position)) return
  // The run may have failed with it, and nobody was left to be told.
  const last = starts.at(-1)
  const hasFailed = last !== undefined && (last.failed || endedInVain)
  if (hasFailed && (spec.breaks || (spec.kind !== 'tool' && outcome === undefined))) return
  // One of the results could not be recorded, and comes behind the others now.
  const isReordered = spec.kind === 'model' && world.streamed.has(spec.position.slice(0, spec.position.lastIndexOf('#')))
  if (isReordered && world.program.attempts.some(({ refuse }) => refuse !== undefined)) return
  world.violate('not-replayed', `${spec.kind} ${spec.position} was recorded, and runs again in attempt ${session.number}`)
}

/** Nothing that may not run twice starts again without a decision (R6). */
function refuseRepeated(world: World, session: Session, call: Call): void {
  const { spec, starts, notDone, authorised } = call
  const isUsedUp = world.loose && call.consumed
  // What was before one that somebody let run is decided.
  const undecided = starts.slice(Math.max(0, starts.findLastIndex(({ allowed }) => allowed)))
  if (undecided.every((start) => start.failed || start.undone) || notDone || isUsedUp || authorised || spec.rerunAllowed) return
  if (world.loose && isOneOfMany(world, call)) return
  world.violate('repeated-effect', `${spec.kind} ${spec.position} is started again in attempt ${session.number} without a decision`)
}

/** Where calls move about, nobody can tell those apart that ask for the same: each may be made once. */
function isOneOfMany(world: World, { spec }: Call): boolean {
  const same = [...world.calls.values()].filter((other) => mayBe(other.spec, spec))
  const made = same.flatMap(({ starts }) => starts.filter((start) => !start.failed && !start.undone && !start.allowed))
  return made.length < same.length
}

/** While a doubt stands, no call of the same effect starts (R6). */
function refuseInDoubt(world: World, session: Session, call: Call): void {
  const { effect, position } = call.spec
  if (effect === undefined) return
  for (const other of world.calls.values()) {
    if (other === call || other.spec.effect !== effect || !other.isInDoubt) continue
    // Both run again, which was decided beforehand: in whichever order; what its caller was told of, in a later attempt.
    if (other.spec.rerunAllowed && (!other.toldUnknown || other.starts.at(-1)?.session !== session)) continue
    // It was let through while the other one ran; that it ended in doubt came later.
    if (other.toldUnknown && other.unknownAt > call.claimedAt) continue
    world.violate('started-in-doubt', `${position} is started while ${other.spec.position} is in doubt`)
  }
}

/** What a superseded call did is not done again without a decision, however the model words it this time (R5, C11b). */
function refuseSuperseded(world: World, session: Session, call: Call): void {
  const { drifting, effect, position } = call.spec
  if (drifting === undefined) return
  for (const other of world.calls.values()) {
    if (other === call || other.spec.drifting !== drifting || other.spec.effect !== effect) continue
    const last = other.starts.at(-1)
    const mayHaveEffect = last !== undefined && last.session !== session && !last.failed && !other.notDone
    const isKnown = other.consumed || other.answered === 'soon' || other.answered === session
    if (!mayHaveEffect || isKnown) continue
    world.violate('repeated-effect', `${position} is started without a decision after ${other.spec.position} in an earlier attempt`)
  }
}

/** None of the tools with effects of a response that could not be recorded runs (R4). */
function refuseUnrecorded(world: World, session: Session, { spec: { position } }: Call): void {
  const response = [...session.unrecorded].find((each) => position.startsWith(`${each}/`))
  if (response !== undefined) world.violate('started-unrecorded', `${position} is started although ${response} could not be recorded`)
}

/** Where calls move about, a decision belongs to the effect (R5): one about a call of the same effect and arguments counts, once. */
function borrow(world: World, call: Call): void {
  if (call.authorised) return
  const lender = [...world.calls.values()].find((other) => other.authorised && isTwin(other.spec, call.spec))
  if (!lender) return
  lender.authorised = false
  call.authorised = true
}

/** The same key on every attempt, and no two calls with the same (R6). */
function checkKey(world: World, call: Call, key: string | undefined, authorised: boolean): void {
  const { position } = call.spec
  if (key === undefined || call.excused || isInsideRerun(world, position)) return
  const former = call.starts.findLast((start) => start.key !== undefined)
  // Somebody wants to have done once more what was done: that is another effect.
  const isOnceMore = authorised && (former?.returned === true || cleansUp(position))
  if (former && former.key !== key && !isOnceMore) world.violate('idempotency-key', `${position} ran under ${former.key}, now under ${key}`)
  if (former) return
  for (const other of world.calls.values()) {
    // Let run in place of one in doubt that asked for the same, or that was not done: should that one land after all, the world can tell.
    // What may have taken effect, and failed, is asked for again: it is the same call.
    const isAskedAgain = call.spec.repeatable && other.outcome?.startsWith('!') === true
    if (other === call || ((authorised || other.notDone || call.spec.rerunAllowed || isAskedAgain) && isTwin(other.spec, call.spec))) continue
    if (other.starts.some((start) => start.key === key)) world.violate('idempotency-key', `${position} and ${other.spec.position} share ${key}`)
  }
}

const isInsideRerun = (world: World, position: string): boolean => [...world.rerun].some((outer) => position.startsWith(`${outer}.`))
