/** What was seen, as a table of policies and points, and what was violated, with the way to run that one case again. */
import type { Options } from './options.ts'
import type { Results } from './crash.ts'
import type { PaymentVerdict } from './payment-trial.ts'
import { POINTS, type Point } from './points.ts'
import { POLICY_NAMES, type PolicyName } from './policies.ts'
import { BY_HAND, UNKNOWN } from './expected.ts'
import { KILLS_A_RUN, type TripVerdict } from './trip-trial.ts'

const HEADS: Readonly<Record<Point, string>> = {
  'before-response': '<answer', 'after-response': 'answer>', 'before-write-ahead': '<ahead', 'after-write-ahead': 'ahead>', 'in-tool': 'in tool', 'after-effect': 'effect>',
  'before-result': '<result', 'after-result': 'result>', 'while-replaying-in-doubt': 'replay?', 'while-replaying': 'replay',
}
const FIRST = Math.max(...POLICY_NAMES.map(({ length }) => length)) + 2
const WIDTH = 9

export const LEGEND = 'A cell: how often the effect was carried out; ? the run stopped and asked, * and was told to use the result it had, r reconcile asked the\nworld, ~ told that the outcome is unknown, h told the result by hand; - a step that writes nothing ahead has no such point; ! not as it must be.'

export const header = (points: readonly Point[] = POINTS): string => `${'policy'.padEnd(FIRST)}${points.map((point) => HEADS[point].padEnd(WIDTH)).join('')}`.trimEnd()

function cell({ seen, violations }: PaymentVerdict): string {
  const asked = seen.questions.map(({ type }) => (type === 'repeat' ? '?*' : '?')).join('')
  const told = seen.told.includes(UNKNOWN) ? '~' : seen.told.includes(BY_HAND) ? 'h' : ''
  return `${seen.reached ? '' : '-'}${seen.executions}${asked}${seen.lookups > 0 ? 'r' : ''}${told}${violations.length > 0 ? ' !' : ''}`
}

export function rowOf(policy: PolicyName, verdicts: readonly PaymentVerdict[], points: readonly Point[] = POINTS): string {
  const cells = points.map((point) => {
    const verdict = verdicts.find((v) => v.policy === policy && v.point === point)
    return (verdict ? cell(verdict) : '').padEnd(WIDTH)
  })
  return `${policy.padEnd(FIRST)}${cells.join('')}`.trimEnd()
}

export interface Totals {
  readonly cases: number
  readonly namedKills: number
  readonly randomKills: number
  readonly runs: number
  readonly questions: number
  readonly processes: number
  readonly violated: number
  readonly ms: number
}

export function totalsOf({ payments, trips, processes }: Results, ms: number): Totals {
  const sum = (of: (verdict: TripVerdict) => number): number => trips.reduce((total, verdict) => total + of(verdict), 0)
  return {
    cases: payments.length,
    namedKills: payments.reduce((total, { seen }) => total + seen.kills, 0),
    randomKills: sum(({ kills }) => kills),
    runs: sum(({ runs }) => runs),
    questions: sum(({ questions }) => questions) + payments.reduce((total, { seen }) => total + seen.questions.length, 0),
    processes,
    violated: [...payments, ...trips].filter(({ violations }) => violations.length > 0).length,
    ms: Math.round(ms),
  }
}

export const totalsText = (totals: Totals): string => [
  ...(totals.cases > 0 ? [`named points: ${totals.cases} cases, ${totals.namedKills} processes killed`] : []),
  ...(totals.runs > 0 ? [`at random times: ${totals.randomKills} processes killed in ${totals.runs} runs`] : []),
  `${totals.processes} processes, a person was asked ${totals.questions} times, ${(totals.ms / 1000).toFixed(1)} s`,
  totals.violated === 0 ? 'all as it must be' : `${totals.violated} not as they must be`,
].join('\n')

/** So many violations of a case are shown. */
const MOST = 8

export function complaints({ payments, trips }: Results, { seed, drop }: Options): string[] {
  const broken = drop === undefined ? '' : ` --drop ${drop}`
  const shown = (what: string, violations: readonly string[], again: string): string[] => (violations.length === 0 ? [] : [
    ...violations.slice(0, MOST).map((text) => `VIOLATION ${what}: ${text}`),
    ...(violations.length > MOST ? [`  and ${violations.length - MOST} more (--json has them all)`] : []),
    `  again: npm run crash -- ${again}${broken}`,
  ])
  return [
    ...payments.flatMap(({ point, policy, violations }) => shown(`${point}, ${policy}`, violations, `--point ${point} --policy ${policy}`)),
    ...trips.flatMap(({ number, violations }) => shown(`random kills of run ${number}`, violations, `--seed ${seed} --kill ${number * KILLS_A_RUN}`)),
  ]
}
