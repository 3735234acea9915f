/** Processes that drive runs, one at a time: each lives until it is killed, and the next is started right away, so that it is there when needed. */
import type { ChildProcess } from 'node:child_process'
import { systemClock } from '../../src/core/clock.ts'
import type { SuspendReason } from '../../src/index.ts'
import { kill, start } from '../children.ts'
import type { Job, WorkerMessage } from './protocol.ts'

export type DriveEnd =
  /** By SIGKILL, `where` it stood still or by the clock. */
  | { readonly type: 'killed'; readonly where: string }
  | { readonly type: 'ended'; readonly status: string; readonly result: unknown; readonly reasons: readonly SuspendReason[] }
  /** Its run failed, or the process did what a process must not. */
  | { readonly type: 'failed'; readonly error: string }

/** What a drive came to, and what was noticed on the way. */
export type Drive = DriveEnd & { readonly noticed: readonly string[] }

/** No drive takes this long, ms. */
const HUNG_MS = 30_000

interface Live {
  readonly child: ChildProcess
  readonly stderr: () => string
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  readonly ready: Promise<void>
}

export class Driver {
  readonly #env: Readonly<Record<string, string>>
  #live: Live
  processes = 0

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env
    this.#live = this.#start()
  }

  /** Has the job driven; with `killAfterMs` the process is killed so many ms after it was told, unless it has come to an end. */
  async drive(job: Job, killAfterMs?: number): Promise<Drive> {
    const { child, exited, ready, stderr } = this.#live
    await Promise.race([ready, exited])
    const noticed: string[] = []
    let killing: string | undefined
    const die = (where: string): void => {
      if (killing !== undefined) return
      killing = where
      kill(child.pid!)
    }
    const disarm = [systemClock.timer(HUNG_MS, () => die('hung'))]
    let hear: (message: WorkerMessage) => void = () => {}
    const said = new Promise<DriveEnd>((resolve) => {
      hear = (message) => {
        if (message.type === 'stopped') die(message.where)
        else if (message.type === 'noticed') noticed.push(message.what)
        // The last word of a process that is being killed may still arrive: it is dead all the same.
        else if (message.type !== 'ready' && killing === undefined) resolve(message)
      }
    })
    child.on('message', hear)
    child.send(job, () => {})
    if (killAfterMs !== undefined) disarm.push(systemClock.timer(killAfterMs, () => die('by the clock')))
    const end = await Promise.race([said, exited.then(({ code, signal }): DriveEnd => {
      if (killing === 'hung') return { type: 'failed', error: `the process hung for ${HUNG_MS} ms` }
      if (killing !== undefined && signal === 'SIGKILL') return { type: 'killed', where: killing }
      return { type: 'failed', error: `the process ended with ${signal ?? code}, nobody had killed it: ${stderr() || 'it said nothing'}` }
    })])
    for (const stop of disarm) stop()
    child.off('message', hear)
    if (child.exitCode !== null || child.signalCode !== null) this.#live = this.#start()
    return { ...end, noticed }
  }

  async end(): Promise<void> {
    const { child, exited } = this.#live
    kill(child.pid!)
    await exited
  }

  #start(): Live {
    this.processes++
    const { child, stderr } = start(new URL('./worker.ts', import.meta.url), [], this.#env)
    return {
      child,
      stderr,
      exited: new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal }))),
      ready: new Promise((resolve) => child.once('message', () => resolve())),
    }
  }
}
