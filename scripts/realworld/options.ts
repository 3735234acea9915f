/** The command line of `npm run realworld`. */
import { fileURLToPath } from 'node:url'
import { systemRandom } from '../../src/core/random.ts'
import { integer, valuesOf } from '../usage.ts'

export interface Options {
  readonly dir: string
  readonly kills: number
  readonly seed: number
  readonly parallel: boolean
  readonly effects: boolean
  readonly only: string | undefined
  readonly most: number | undefined
  readonly json: boolean
  readonly keep: boolean
}

export const HELP = `Usage: npm run realworld -- [options]

Runs recorded conversations as durable runs: the model answers over HTTP, the tools answer in another process that
counts, and the process that drives the run is killed again and again until it is done.

  --dir FOLDER        recordings, tools.json and system.txt (default: ../shared/trajectories/airline)
  --kills N           kills of each run, half by a count of writes, half by the clock (default 6);
                      the world adds up to three in and after calls that change something
  --seed S            an integer; the same seed plans the same kills (default: random, printed)
  --quick             four runs, three kills each
  --parallel          neighbouring reads as parallel calls of one response, two conversations in branches of one run
  --parallel-effects  as --parallel, and neighbouring calls that change something too
  --only ID           one conversation (with --parallel: the run that it is in)
  --json              the verdicts as JSON on stdout, progress on stderr
  --keep              leave the store and the logs, and say where
  --help              this text

Exit codes: 0 all as it must be, 1 a violation, 2 wrong usage.`

/** @returns undefined where help is asked for. @throws UsageError. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = valuesOf(args, OPTIONS)
  if (values.help) return undefined
  const quick = values.quick ?? false
  const effects = values['parallel-effects'] ?? false
  return {
    dir: values.dir ?? fileURLToPath(new URL('../../../shared/trajectories/airline', import.meta.url)),
    kills: integer('--kills', values.kills, quick ? 3 : 6),
    seed: integer('--seed', values.seed, Math.floor(systemRandom() * 1e6)),
    parallel: effects || (values.parallel ?? false),
    effects,
    only: values.only,
    most: quick ? 4 : undefined,
    json: values.json ?? false,
    keep: values.keep ?? false,
  }
}

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const
const OPTIONS = { dir: text, kills: text, seed: text, quick: flag, parallel: flag, 'parallel-effects': flag, only: text, json: flag, keep: flag, help: flag }
