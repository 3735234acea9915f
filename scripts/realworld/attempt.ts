/** One process that drives a run, from its start to its death or its end. */
import type { ChildProcess } from 'node:child_process'
import { systemClock } from '../../src/core/clock.ts'
import type { SuspendReason } from '../../src/index.ts'
import { kill as killPid, start } from '../children.ts'
import type { Job, WorkerMessage, WorldCaught } from './protocol.ts'

export type AttemptEnd =
  | { readonly type: 'killed'; readonly by: 'write' | 'clock' | 'world' }
  | { readonly type: 'ended'; readonly status: string; readonly reasons: readonly SuspendReason[] }
  /** Its run failed, or the process did what a process must not. */
  | { readonly type: 'failed'; readonly error: string }

/** No attempt takes this long, ms. */
const HUNG_MS = 60_000

/** Who is to be told when the world has caught a call of this pid. */
export type Traps = Map<number, (caught: WorldCaught) => void>

export async function attempt(job: Job, traps: Traps, env: Readonly<Record<string, string>>): Promise<AttemptEnd> {
  const { child, stderr } = start(new URL('./worker.ts', import.meta.url), [], env)
  const pid = child.pid!
  let killedBy: 'clock' | 'world' | 'hung' | undefined
  let said: AttemptEnd | undefined
  const kill = (by: typeof killedBy): void => {
    if (said || killedBy) return
    killedBy = by
    killPid(pid)
  }
  traps.set(pid, () => kill('world'))
  const disarm = [systemClock.timer(HUNG_MS, () => kill('hung'))]
  child.on('message', (message) => {
    const heard = message as WorkerMessage
    if (heard.type === 'ready') {
      if (job.kill?.by === 'clock') disarm.push(systemClock.timer(job.kill.afterMs, () => kill('clock')))
    } else said ??= heard
  })
  child.send(job)
  const { code, signal } = await exitOf(child)
  for (const stop of disarm) stop()
  traps.delete(pid)
  if (said) return said
  if (killedBy === 'hung') return { type: 'failed', error: `the process hung for ${HUNG_MS} ms` }
  if (signal === 'SIGKILL') return { type: 'killed', by: killedBy ?? 'write' }
  return { type: 'failed', error: `the process ended with ${signal ?? code}: ${stderr() || 'it said nothing'}` }
}

const exitOf = (child: ChildProcess): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }> =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
