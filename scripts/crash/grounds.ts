/** What all trials of one call share: the world, the model, the store file, and for each lane a driver of its own. */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '../../src/core/random.ts'
import { createRunner, sqliteStore, type Runner } from '../../src/index.ts'
import { startModelServer, type RecordedRequest } from '../../src/testing/index.ts'
import { Driver } from './driver.ts'
import { MODEL_SCRIPTS } from './model-script.ts'
import type { Dropped, Job } from './protocol.ts'
import { World } from './world.ts'

export interface Grounds {
  /** What every job has. */
  readonly job: Pick<Job, 'store' | 'model' | 'world' | 'drop'>
  readonly driver: Driver
  /** Looks into the store and decides; drives nothing. */
  readonly runner: Runner
  readonly world: World
  /** The model requests of a run, in the order of their arrival. */
  readonly requests: (runId: string) => readonly RecordedRequest[]
}

export interface GroundsOptions {
  readonly seed: number
  readonly lanes: number
  readonly drop?: Dropped | undefined
  /** How late the model answers each request of the random kills, ms. */
  readonly modelMs: number
}

/** Calls `use` with the grounds of each lane, and clears up after it, also where it throws. */
export async function onGrounds<T>(options: GroundsOptions, use: (lanes: readonly Grounds[]) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-crash-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const world = new World(seededRandom(options.seed))
  await world.open()
  const late = ['trip', 'audit'].flatMap((conversation) =>
    [1, 2, 3].map((turn) => ({ conversation, turn, try: 'every' as const, fault: { kind: 'delay' as const, beforeMs: options.modelMs, betweenMs: 1 } })))
  const model = await startModelServer({ conversations: MODEL_SCRIPTS, faults: late })
  const store = join(folder, 'runs.db')
  const runner = createRunner({ agents: [], store: sqliteStore(store) })
  // Each process loads the same code: compiled once.
  const env = { NODE_COMPILE_CACHE: join(folder, 'compiled') }
  const drivers = Array.from({ length: options.lanes }, () => new Driver(env))
  try {
    return await use(drivers.map((driver): Grounds => ({
      job: { store, model: model.url, world: world.url, ...(options.drop && { drop: options.drop }) },
      driver,
      runner,
      world,
      requests: (runId) => model.requests.filter(({ headers }) => headers['x-run'] === runId),
    })))
  } finally {
    await Promise.all(drivers.map((driver) => driver.end()))
    await runner.close()
    await model.close()
    await world.close()
    process.off('exit', remove)
    remove()
  }
}

/** Works through `items`, each lane one at a time, in their order. */
export async function inLanes<T>(items: readonly T[], lanes: readonly Grounds[], work: (item: T, grounds: Grounds) => Promise<void>): Promise<void> {
  const waiting = [...items]
  await Promise.all(lanes.map(async (grounds) => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item, grounds)
  }))
}
