/** All of it: the world, the store, the runs two at a time, and the verdicts. */
import { existsSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRunner, sqliteStore } from '../../src/index.ts'
import type { Traps } from './attempt.ts'
import { start } from '../children.ts'
import { UsageError } from '../usage.ts'
import type { Options } from './options.ts'
import { planRuns } from './plan.ts'
import type { WorldCaught } from './protocol.ts'
import { loadConversations } from './recording.ts'
import { tryRun, type Grounds, type Verdict } from './trial.ts'

/** Runs at a time, in one store file. */
const LANES = 2

export interface Watching {
  /** Told when a run has ended. */
  readonly onVerdict?: (verdict: Verdict, done: number, all: number) => void
  /** Told where the store and the logs are. */
  readonly onFolder?: (folder: string) => void
}

/** @throws UsageError when the folder holds no such recordings. */
export async function realworld(options: Options, { onVerdict, onFolder }: Watching = {}): Promise<Verdict[]> {
  if (!existsSync(join(options.dir, 'tools.json'))) throw new UsageError(`there are no recordings in ${options.dir}: name their folder with --dir`)
  const runs = planRuns(loadConversations(options.dir), options)
  if (runs.length === 0) throw new UsageError(options.only === undefined ? `there are no recordings in ${options.dir}` : `there is no recording ${options.only} in ${options.dir}`)
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-realworld-'))
  onFolder?.(folder)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  if (!options.keep) process.once('exit', remove)
  const traps: Traps = new Map()
  const world = await startWorld(options.seed, (caught) => traps.get(caught.pid)?.(caught))
  const store = join(folder, 'runs.db')
  const runner = createRunner({ agents: [], store: sqliteStore(store) })
  try {
    const grounds: Grounds = { dir: options.dir, folder, store, world: world.url, traps, runner, kills: options.kills }
    const verdicts = new Map<number, Verdict>()
    const waiting = [...runs.entries()]
    const lane = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const verdict = await tryRun(next[1], grounds)
        verdicts.set(next[0], verdict)
        onVerdict?.(verdict, verdicts.size, runs.length)
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    return [...verdicts].sort(([a], [b]) => a - b).map(([, verdict]) => verdict)
  } finally {
    await runner.close()
    await world.close()
    process.off('exit', remove)
    if (!options.keep) remove()
  }
}

async function startWorld(seed: number, onCaught: (caught: WorldCaught) => void): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { child, stderr } = start(new URL('./world.ts', import.meta.url), [String(seed)])
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const listening = new Promise<string>((resolve) => {
    child.on('message', (message: WorldCaught | { readonly type: 'listening'; readonly url: string }) => {
      if (message.type === 'listening') resolve(message.url)
      else onCaught(message)
    })
  })
  const url = await Promise.race([listening, exited])
  if (url === undefined) throw new Error(`the world did not start: ${stderr()}`)
  return {
    url,
    async close() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
