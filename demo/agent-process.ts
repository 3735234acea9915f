/** One process of the agent, from its start to its end. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Outcome } from '../src/index.ts'
import { kill, type Children } from './children.ts'
import type { Job, WorkerMessage } from './job.ts'
import type { KillPlan } from './kill-plan.ts'
import type { Go, PointReached } from './points.ts'

export type AgentEnd =
  | { readonly type: 'outcome'; readonly outcome: Outcome<string> }
  | { readonly type: 'killed' }
  | { readonly type: 'failed'; readonly message: string }

export class AgentProcess {
  readonly pid: number
  readonly ended: Promise<AgentEnd>
  readonly #child: ChildProcess
  readonly #plan: KillPlan
  #killed = false

  constructor(children: Children, job: Job, plan: KillPlan, onMessage: (message: WorkerMessage) => void) {
    const child = children.start('worker.ts', { HOLDFAST_DEMO_JOB: JSON.stringify(job) })
    this.#child = child
    this.#plan = plan
    this.pid = child.pid ?? 0
    let end: AgentEnd | undefined
    child.on('message', (message: WorkerMessage) => {
      if (message.type === 'point') return void this.reach(message, child)
      if (message.type === 'outcome' || message.type === 'failed') end = message
      onMessage(message)
    })
    child.stdout!.pipe(process.stderr)
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => resolve({ type: 'failed', message: error.message }))
      child.once('close', async (code) => {
        // The end of the process may be heard of before its last messages.
        if (child.connected) await once(child, 'disconnect')
        resolve(this.#killed ? { type: 'killed' } : (end ?? { type: 'failed', message: `the agent's process ended with code ${code}` }))
      })
    })
  }

  /** A point was reached, by the agent itself or by who answers it: it goes on, or the agent is killed. */
  async reach(message: PointReached, asker: ChildProcess): Promise<void> {
    const lost = this.#plan.reach(message)
    if (lost) {
      this.#killed = true
      await kill(this.#child)
    }
    if (asker.connected) asker.send({ type: 'go', id: message.id, lost } satisfies Go, () => {})
  }
}
