/** A process that drives runs, one after the other, until it is killed. */
import { flushCompileCache } from 'node:module'
import { createRunner, sqliteStore, type Store } from '../../src/index.ts'
import { droppingStore } from './dropping-store.ts'
import { paymentAgent } from './payment.ts'
import type { Moment } from './points.ts'
import { policyOf } from './policies.ts'
import type { Job, WorkerMessage } from './protocol.ts'
import { standStill } from './stand-still.ts'
import { stoppingStore } from './stopping-store.ts'
import { tripAgents } from './trip.ts'

// Few of these processes come to a regular end, which would keep it.
flushCompileCache()
// The watching process is gone: nobody would end this one.
process.on('disconnect', () => process.exit(1))
if (!process.connected) process.exit(1)

const say = (message: WorkerMessage): void => void process.send!(message)

/** Events that have no place in a run of the same program over a model and tools that work. */
const NOTICED: ReadonlySet<string> = new Set(['replay-diverged', 'config-changed', 'warning', 'step-reset', 'retry-wait', 'step-timeout'])

async function drive(job: Job): Promise<void> {
  const { runId, program, stop } = job
  const stopAt = (moment: Moment): void => {
    if (stop && 'at' in stop && stop.at === moment) standStill(moment)
  }
  const policy = program === 'trip' ? undefined : policyOf(program)
  let store: Store = sqliteStore(job.store)
  if (job.drop) store = droppingStore(store, job.drop)
  if (policy) store = stoppingStore(store, policy, stopAt)
  const agents = policy ? [paymentAgent(policy, job, stopAt)] as const : tripAgents(job)
  let replayed = 0
  const runner = createRunner({
    agents,
    store,
    idleMs: 60,
    timeouts: { modelMs: 20_000, toolMs: 20_000 },
    ...(policy?.caller && { onIncompleteTool: policy.caller }),
    onEvent: (event) => {
      if (event.type === 'step-replayed' && stop && 'replayed' in stop && ++replayed === stop.replayed) standStill(`${replayed} replayed`)
      if (NOTICED.has(event.type)) say({ type: 'noticed', what: `${event.type}: ${JSON.stringify(event)}` })
    },
  })
  const message = await ended().catch((error: Error): WorkerMessage => ({ type: 'failed', error: `${String(error)}${error.cause === undefined ? '' : ` <- ${String(error.cause)}`}` }))
  await runner.close()
  say(message)

  async function ended(): Promise<WorkerMessage> {
    const exists = (await runner.get(runId)) !== undefined
    const outcome = exists
      ? await runner.resume(runId, job.redo === undefined ? {} : { redo: job.redo })
      : await runner.run(agents[0].name, {}, { runId })
    return {
      type: 'ended',
      status: outcome.status,
      result: outcome.status === 'completed' ? outcome.result : undefined,
      reasons: outcome.status === 'suspended' ? outcome.reasons : [],
    }
  }
}

process.on('message', (job) => void drive(job as Job))
say({ type: 'ready' })
