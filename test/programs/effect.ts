/** The code of a tool or step: starts, may take effect in the world, and ends in one of many ways. */
import type { Behaviour } from './program.ts'
import { never, type Session } from './session.ts'

/** Time limit of tools and steps, ms. */
export const TOOL_MS = 1_000
export const LEASE_MS = 20_000
const LATE_MS = 1_400

export interface Body {
  readonly session: Session
  readonly position: string
  readonly does: Behaviour
  readonly key: string | undefined
  /** What the world keeps of it and what it returns. */
  readonly output: unknown
  readonly repeatable: boolean
}

export async function perform({ session, position, does, key, output, repeatable }: Body): Promise<unknown> {
  // What goes on in a paused process up to the next seam is what it did right before.
  if (session.isPaused) session.imminent.add(position)
  if ((await session.cross('before body')) || session.frozen) return never()
  const { world } = session
  const start = world.start(session, position, key)
  const isFlaky = does === 'flaky' && (!repeatable || world.nthTry(position) <= 2)
  await session.latency()
  const hasEffect = does === 'ok' || does === 'reset-after' || does === 'hang-after' || does === 'late' || (does === 'flaky' && !isFlaky)
  if (does === 'late' || does === 'late-error') await session.wait(LATE_MS)
  if ((await session.cross('before effect')) || session.frozen) return never()
  // "Not done" is believed of a process when its lease and the time of its tools are over: one that stood still for longer and acts then cannot be foreseen.
  const isForeseen = !session.zombie || session.timeline.now() < session.pausedMs + LEASE_MS + TOOL_MS
  if (hasEffect) world.effect(position, key ?? position, output, isForeseen)
  await session.latency()
  if ((await session.cross('after effect')) || session.frozen) return never()
  if (does === 'hang-before' || does === 'hang-after') return never()
  start.over = true
  start.failed = does === 'error' || does === 'late-error'
  if (does === 'error') throw new Error('there is no such thing')
  // That it did nothing says nothing of a start that came since.
  const isNewest = world.get(position)!.starts.at(-1) === start
  if (does === 'late-error' && isNewest) Object.assign(world.get(position)!, { settled: true, notDone: true })
  if (does === 'late-error') throw Object.assign(new Error('not found'), { statusCode: 404 })
  if (does === 'reset-before' || does === 'reset-after' || isFlaky) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
  start.returned = true
  // Nobody waits for it any more, and whoever waits for what became of it hears of it.
  const call = world.get(position)!
  if (call.toldUnknown) Object.assign(call, { settled: true, lateIn: session, lateAt: session.timeline.now() })
  return output
}
