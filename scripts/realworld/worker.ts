/** A process that drives one run for as long as it is allowed to live. */
import { openSync, writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { createRunner, sqliteStore, type StampedEvent } from '../../src/index.ts'
import { trialAgent } from './agent.ts'
import { killingStore } from './killing-store.ts'
import type { Job, LogLine, WorkerMessage } from './protocol.ts'
import { loadSetup } from './recording.ts'

// Most of these processes never come to a regular end, which would keep it.
flushCompileCache()
// The watching process is gone: nobody would end this one.
process.on('disconnect', () => process.exit(1))
if (!process.connected) process.exit(1)
const job = await new Promise<Job>((resolve) => process.once('message', (message) => resolve(message as Job)))
const log = openSync(job.log, 'a')
const note = (line: Omit<LogLine, 'attempt'>): void => void writeSync(log, `${JSON.stringify({ attempt: job.attempt, ...line })}\n`)

const store = killingStore(sqliteStore(job.store), {
  kill: job.kill,
  atEnd: job.atEnd,
  die: (where) => {
    note({ type: 'killed', text: where })
    process.kill(process.pid, 'SIGKILL')
  },
})
const agent = trialAgent(loadSetup(job.dir), job)
const runner = createRunner({
  agents: [agent],
  store,
  timeouts: { modelMs: 30_000, toolMs: 30_000 },
  idleMs: 100,
  onEvent: (event) => note(lineOf(event)),
})

function lineOf(event: StampedEvent): Omit<LogLine, 'attempt'> {
  switch (event.type) {
    case 'replay-diverged': return { type: event.type, step: event.step, text: event.reason }
    case 'warning': return { type: event.type, text: `${event.code}: ${event.message}` }
    case 'doubt-settled': return { type: event.type, step: event.step, text: `by ${event.by} as ${event.as}` }
    case 'run-resumed': return { type: event.type, text: event.former }
    case 'retry-wait': case 'step-reset': return { type: event.type, step: event.step, text: event.message }
    case 'run-failed': return { type: event.type, text: String(event.error) }
    default: return 'step' in event ? { type: event.type, step: event.step } : { type: event.type }
  }
}

const say = (message: WorkerMessage): Promise<void> => new Promise((resolve) => process.send!(message, () => resolve()))

await say({ type: 'ready' })
try {
  const exists = job.resume && (await runner.get(job.runId)) !== undefined
  const outcome = exists ? await runner.resume(job.runId) : await runner.run(agent, job.input, { runId: job.runId })
  await say({ type: 'ended', status: outcome.status, reasons: outcome.status === 'suspended' ? outcome.reasons : [] })
} catch (error) {
  const { cause } = error as Error
  await say({ type: 'failed', error: `${String(error)}${cause === undefined ? '' : ` <- ${String(cause)}`}` })
}
await runner.close()
process.disconnect()
