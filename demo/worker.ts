/**
 * The agent's process: runs the agent under its run id until it is done, or waits for a person. Started twice with the
 * same id, the second one goes on where the first one stopped; it does nothing else than the first.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { setTimeout as wait } from 'node:timers/promises'
import { createRunner, sqliteStore, type Outcome } from '../src/index.ts'
import { supportAgent } from './agent.ts'
import { pointsOf } from './points.ts'
import type { Job, WorkerMessage } from './job.ts'
import { servicesAt } from './services.ts'
import { ticket } from './ticket.ts'
import { watchedFetch, watchedStore } from './watched.ts'

const job = JSON.parse(process.env['HOLDFAST_DEMO_JOB'] ?? '') as Job
const tell = (message: WorkerMessage): void => void process.send?.(message)
const reach = job.mayBeKilled ? pointsOf(process) : undefined

const provider = createOpenAICompatible({
  name: job.model.name,
  baseURL: job.model.url,
  includeUsage: true,
  ...(job.model.keyFrom !== undefined && { apiKey: process.env[job.model.keyFrom] ?? '' }),
  ...(reach && { fetch: watchedFetch(reach) }),
})
const agent = supportAgent({
  model: provider(job.model.id),
  services: servicesAt(job.worldUrl),
  show: {
    handlerCalled: () => tell({ type: 'handler-called', clockMs: performance.now() }),
    text: (request, delta) => tell({ type: 'text', request, delta }),
    asks: (request, toolName) => tell({ type: 'asks', request, toolName }),
  },
  refuse: job.refuse,
})
const store = sqliteStore(job.storePath)
const runner = createRunner({
  agents: [agent],
  store: reach ? watchedStore(store, reach) : store,
  retry: { maxAttempts: 4 },
  timeouts: { modelMs: 30_000, toolMs: 10_000 },
  // Where a dead process cannot be seen to be dead, its lease has to run out.
  leaseMs: 5_000,
  onEvent: (event) => tell({ type: 'event', event, clockMs: performance.now() }),
})

// Without its parent there is nobody to work for.
const onOrphaned = (): never => process.exit(1)
process.once('disconnect', onOrphaned)
try {
  const outcome = await untilItRests()
  tell({ type: 'outcome', outcome })
  await runner.close()
} catch (error) {
  tell({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
  process.exitCode = 1
}
process.off('disconnect', onOrphaned)
if (process.connected) process.disconnect()

async function untilItRests(): Promise<Outcome<string>> {
  for (;;) {
    const outcome = await runner.run(agent, { ticket: ticket.text }, { runId: ticket.id })
    if (outcome.status === 'running') await wait(250)
    else if (outcome.status === 'suspended' && outcome.resumeAt !== undefined) await wait(Math.max(0, outcome.resumeAt - Date.now()))
    else return outcome
    tell({ type: 'waited', for: outcome.status })
  }
}
