/** The demo's flags. Pure. */
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/core/random.ts'

/** A run has at least this many points; parallel calls that share a commit make it a few more or less. */
export const POINTS = 80

export const HELP = `holdfast demo: an agent refunds an order, its process is killed, a second process goes on

Usage: npm run demo -- [flags]

  --kill-at N   kill at the N-th point (a write of the journal, a request to the world or to the model)
  --seed S      kill at a random point, the same one for the same S
  --points      kill at no point, and name all of them
  --refuse      leave what is in doubt to a person (holdfast resolve) instead of asking the service
  --live        use a real model when its key is in the environment
  --json        print the final table as JSON on stdout, everything else on stderr
  --help        print this

Without --kill-at and --seed: killed right after the refund took effect, before its result was recorded.

Examples:
  npm run demo
  npm run demo -- --kill-at 41
  npm run demo -- --seed 7 --refuse
  OPENAI_API_KEY=... npm run demo -- --live

Exit code: 0 when the world saw each effect exactly once, 1 when not or when something failed, 2 for wrong flags.
`

export type KillAt =
  | { readonly type: 'effect'; readonly name: string }
  | { readonly type: 'point'; readonly number: number; readonly seed?: number }
  | { readonly type: 'never' }

export interface Options {
  readonly killAt: KillAt
  readonly refuse: boolean
  readonly live: boolean
  readonly json: boolean
  readonly listPoints: boolean
}

export type Parsed =
  | { readonly type: 'run'; readonly options: Options }
  | { readonly type: 'help' }
  | { readonly type: 'wrong'; readonly message: string }

export function parseOptions(args: readonly string[]): Parsed {
  let values
  try {
    values = parseArgs({
      args: [...args],
      strict: true,
      options: {
        'kill-at': { type: 'string' }, seed: { type: 'string' }, points: { type: 'boolean' }, refuse: { type: 'boolean' },
        live: { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error))
  }
  if (values.help) return { type: 'help' }
  const given = (['kill-at', 'seed', 'points'] as const).filter((name) => values[name] !== undefined)
  if (given.length > 1) return wrong(`--${given[0]} and --${given[1]} say different things: give one of them`)
  const killAt = killAtOf(values['kill-at'], values.seed, values.points === true)
  if (typeof killAt === 'string') return wrong(killAt)
  return {
    type: 'run',
    options: { killAt, refuse: values.refuse === true, live: values.live === true, json: values.json === true, listPoints: values.points === true },
  }
}

function killAtOf(killAt: string | undefined, seed: string | undefined, never: boolean): KillAt | string {
  if (never) return { type: 'never' }
  if (killAt !== undefined) {
    if (!/^[1-9]\d{0,5}$/.test(killAt)) return `--kill-at must be a whole number from 1 on, got "${killAt}"`
    return { type: 'point', number: Number(killAt) }
  }
  if (seed !== undefined) {
    if (!/^\d{1,9}$/.test(seed)) return `--seed must be a whole number from 0 on, got "${seed}"`
    return { type: 'point', number: 1 + Math.floor(seededRandom(Number(seed))() * POINTS), seed: Number(seed) }
  }
  return { type: 'effect', name: 'refund' }
}

const wrong = (message: string): Parsed => ({ type: 'wrong', message })
