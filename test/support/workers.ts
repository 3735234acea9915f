/** Processes that drive runs of one store, in one process and in no real time. */
import { createRunner, defineAgent, memoryStore, type Agent, type RunnerOptions } from '../../src/index.ts'
import { manualClock, type ManualClock } from '../../src/testing/index.ts'
import { mortalProcess } from './dead-process.ts'

export const START = Date.UTC(2026, 10, 29, 12)

type Handler = Agent<unknown, unknown>['handler']

/** A store that outlives its runners, and runners on it, each as in a process of its own. */
export function workers(handlers: Readonly<Record<string, Handler>>) {
  const clock = manualClock(START)
  const store = memoryStore()
  const agents = Object.entries(handlers).map(([name, handler]) => defineAgent(name, handler))
  const runner = (options: Partial<RunnerOptions> = {}) =>
    createRunner({ agents, store: { ...store, close: async () => {} }, clock, idleMs: 5, replayHoldMs: 20, drainMs: 50, ...options })
  return {
    clock, store, agents, runner,
    status: async (runId: string) => (await store.get(runId))?.status,
    /** A run as it is right after it was created, its process gone. */
    async created(agent: string, runId: string): Promise<void> {
      const process = mortalProcess({ ...store, take: () => new Promise(() => {}) })
      void runner({ store: process.store }).run(agent, {}, { runId })
      await pass(clock, 1)
    },
  }
}

/** Moves the clock in small steps, all going on that can in between. */
export async function pass(clock: ManualClock, ms: number, stepMs = 50): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    for (let i = 0; i < 10; i++) await clock.idle()
    await clock.advance(Math.min(stepMs, ms - passed))
  }
  for (let i = 0; i < 30; i++) await clock.idle()
}

export const connectionLost = (): Error => Object.assign(new Error('gone'), { code: 'ECONNRESET' })
