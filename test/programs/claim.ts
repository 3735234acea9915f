/** Asking for a step: told to the oracle before, and its outcome after. */
import { HoldfastError } from '../../src/errors.ts'
import { currentRun, currentStep } from '../../src/index.ts'
import { at, type Line } from './position.ts'
import { never, type Session } from './session.ts'
import type { CallSpec } from './call.ts'

/** Errors of ours that a program of the generator may see. */
const EXPECTED: ReadonlySet<string> = new Set(['STEP_FAILED', 'STEP_TIMEOUT', 'OUTCOME_UNKNOWN'])

const REFUSALS: ReadonlySet<string> = new Set(['AMBIGUOUS_STEP', 'BRANCH_ENDED'])

/** What a caught error is worth in a result. */
export function describeError(error: unknown): string {
  if (HoldfastError.isInstance(error)) return `!${error.code}`
  return error instanceof Error ? `!${error.message}` : `!${String(error)}`
}

/**
 * Asks for a step. `check` says what is wrong with a value that came back.
 * In a process that was killed it never returns.
 */
export async function claimed<T>(
  session: Session,
  line: Line,
  spec: CallSpec,
  ask: () => PromiseLike<T>,
  check: (value: T) => string | undefined,
): Promise<T> {
  if (session.frozen) return never()
  const { world } = session
  const { position } = spec
  const call = world.claim(spec)
  call.firstAskedAt ||= session.timeline.now()
  // Its record may be there although its end was not announced any more.
  const since = call.endedAt || call.startedAt
  if (spec.blind && since > 0 && (line.newest > since || (line.isUnordered && world.hasWaits))) {
    call.excused = true
    session.excused.add(position)
    world.rerun.add(position)
  }
  const around = currentStep()
  session.opened(position)
  session.timeline.activity++
  const asked = at(position, ask)
  const ended = await Promise.resolve(asked).then(
    (value) => ({ ok: true as const, value }),
    (error: unknown) => ({ ok: false as const, error }),
  )
  if (session.frozen) return never()
  session.timeline.activity++
  session.closed(position)
  line.saw(call.cameAbout)
  line.isUnordered = false
  if (ended.ok) {
    const wrong = check(ended.value)
    if (wrong !== undefined) world.violate('wrong-answer', `${spec.kind} ${position}: ${wrong}`)
    // What the code of a step is told that nobody waits for any more is no outcome.
    if (around?.signal.aborted) return ended.value
    world.deliver(session, call, JSON.stringify(ended.value) ?? 'undefined', false)
    return ended.value
  }
  const { error } = ended
  const isOurs = HoldfastError.isInstance(error)
  // How a stream ends whose drive is over: what its reader does then counts for nothing.
  if (spec.kind === 'model' && currentRun()?.signal.aborted) throw error
  if (isOurs && !isExpected(error, session, position, around?.signal.aborted ?? false)) {
    world.violate('unexpected-error', `${spec.kind} ${position}: ${error.code} ${error.message}`)
  }
  if (isOurs && error.code === 'OUTCOME_UNKNOWN') call.wasUnknown = true
  // A refusal is no outcome: nothing of it is recorded.
  if (around?.signal.aborted || (isOurs && REFUSALS.has(error.code))) throw error
  world.deliver(session, call, describeError(error), isOurs && error.code === 'OUTCOME_UNKNOWN')
  throw error
}

/** `isAbandoned`: the code that asks is that of a step which is no longer waited for. */
function isExpected({ code }: HoldfastError, { zombie, world }: Session, position: string, isAbandoned: boolean): boolean {
  if (EXPECTED.has(code) || zombie) return true
  if (code === 'APPROVAL_DENIED') return world.get(position)!.spec.approval !== undefined
  if (code === 'BRANCH_ENDED') return isAbandoned || world.hasLost(position)
  return code === 'AMBIGUOUS_STEP' && world.loose
}
