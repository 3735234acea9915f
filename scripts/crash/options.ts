/** The command line of `npm run crash`. */
import { systemRandom } from '../../src/core/random.ts'
import { integer, UsageError, valuesOf } from '../usage.ts'
import { POINTS, type Point } from './points.ts'
import { POLICY_NAMES, QUICK_POLICIES, type PolicyName } from './policies.ts'
import type { Dropped } from './protocol.ts'

export interface Options {
  readonly seed: number
  /** Kills at random times. */
  readonly kills: number
  /** Only the run with this one of them. */
  readonly kill: number | undefined
  /** The named points too. */
  readonly named: boolean
  readonly point: Point | undefined
  readonly policies: readonly PolicyName[]
  readonly drop: Dropped | undefined
  readonly json: boolean
}

const QUICK_KILLS = 40
const KILLS = 500

const marked = (from: number, to?: number): string => POLICY_NAMES.slice(from, to).map((name) => (QUICK_POLICIES.includes(name) ? `${name}*` : name)).join(', ')

export const HELP = `Usage: npm run crash -- [options]

Real processes over a SQLite file, ended with SIGKILL: at named points around a step, for each policy, and at random times by the wall
clock. The outside world counts the effects, in another process, and is the judge.

  --quick          all named points, a policy for each rule (*), ${QUICK_KILLS} random kills
  --kills N        kills at random times (default ${KILLS}; 0: none)
  --seed S         an integer; the same seed plans the same times (default: random, printed)
  --kill K         only the run with the random kill number K, of this seed
  --point P        only this named point, no random kills
  --policy Q       only this policy, no random kills
  --drop TYPE      with a broken store that acknowledges step-started (or step-ended) records without keeping them: must be found
  --json           the verdicts as JSON on stdout, progress on stderr
  --help           this text

Points:   ${POINTS.slice(0, 5).join(', ')},
          ${POINTS.slice(5).join(', ')}
Policies: ${marked(0, 8)},
          ${marked(8, 15)},
          ${marked(15)}

Examples:
  npm run crash                                                  everything
  npm run crash -- --quick                                       as CI does
  npm run crash -- --point after-effect --policy refuse-rerun    one case
  npm run crash -- --policy reconcile                            one policy, at each point
  npm run crash -- --seed 7 --kill 123                           one run of the random kills
  npm run crash -- --policy rerun --drop step-started            whether the judge can say no

Exit codes: 0 all as it must be, 1 a violation, 2 wrong usage.`

/** @returns undefined where help is asked for. @throws UsageError. */
export function readOptions(args: readonly string[]): Options | undefined {
  const values = valuesOf(args, OPTIONS)
  if (values.help) return undefined
  const point = oneOf('--point', values.point, POINTS)
  const policy = oneOf('--policy', values.policy, POLICY_NAMES)
  const kill = values.kill === undefined ? undefined : integer('--kill', values.kill, 0)
  const isNamedOnly = point !== undefined || policy !== undefined
  if (kill !== undefined && values.seed === undefined) throw new UsageError('--kill needs the --seed that it belongs to')
  if (kill !== undefined && isNamedOnly) throw new UsageError('--kill is about the random kills, --point and --policy about the named points')
  return {
    seed: integer('--seed', values.seed, Math.floor(systemRandom() * 1e6)),
    kills: integer('--kills', values.kills, isNamedOnly ? 0 : kill !== undefined ? kill + 1 : values.quick ? QUICK_KILLS : KILLS),
    kill,
    named: kill === undefined,
    point,
    policies: policy !== undefined ? [policy] : values.quick && !isNamedOnly ? QUICK_POLICIES : POLICY_NAMES,
    drop: oneOf('--drop', values.drop, ['step-started', 'step-ended'] as const),
    json: values.json ?? false,
  }
}

function oneOf<T extends string>(name: string, text: string | undefined, allowed: readonly T[]): T | undefined {
  const found = allowed.find((each) => each === text)
  if (text !== undefined && found === undefined) throw new UsageError(`${name} must be one of ${allowed.join(', ')}, got ${text}`)
  return found
}

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const
const OPTIONS = { quick: flag, kills: text, seed: text, kill: text, point: text, policy: text, drop: text, json: flag, help: flag }
