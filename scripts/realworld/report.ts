/** The verdicts as a table: a line for each run as it ends, and the totals. */
import type { Options } from './options.ts'
import type { Verdict } from './trial.ts'

const COLUMNS = [
  ['run', 30], ['loop', 17], ['doubts by', 10], ['calls', 6], ['effects', 8], ['kills w/c/o', 12], ['attempts', 9], ['replayed', 9], ['live', 6], ['in doubt', 9], ['ms', 7],
] as const

const line = (cells: readonly (string | number)[]): string =>
  cells.map((cell, i) => { const width = COLUMNS[i]?.[1] ?? 0; return i < 3 ? String(cell).padEnd(width) : String(cell).padStart(width) }).join(' ')

export const header = (): string => line(COLUMNS.map(([name]) => name))

export const rowOf = (verdict: Verdict): string => {
  const { write, clock, world } = verdict.kills
  const { runId, loops, settling, calls, effects, attempts, replayed, live, doubts, ms, violations } = verdict
  return `${line([runId, loops, settling, calls, effects, `${write}/${clock}/${world}`, attempts, replayed, live, doubts, ms])}  ${violations.length === 0 ? 'ok' : 'VIOLATED'}`
}

export interface Totals {
  readonly runs: number
  readonly conversations: number
  readonly equal: number
  readonly calls: number
  readonly effects: number
  readonly once: number
  readonly kills: { readonly write: number; readonly clock: number; readonly world: number; readonly all: number }
  readonly attempts: number
  readonly replayed: number
  readonly live: number
  readonly doubts: { readonly all: number; readonly reconcile: number; readonly resolve: number; readonly settled: number }
  readonly repeated: number
  readonly lost: number
  readonly violations: number
  readonly ms: number
}

export function totalsOf(verdicts: readonly Verdict[], ms: number): Totals {
  const sum = (of: (verdict: Verdict) => number, some = verdicts): number => some.reduce((total, verdict) => total + of(verdict), 0)
  const starting = (word: string): number => sum(({ violations }) => violations.filter((text) => text.startsWith(word)).length)
  const [write, clock, world] = [sum(({ kills }) => kills.write), sum(({ kills }) => kills.clock), sum(({ kills }) => kills.world)]
  const by = (settling: string): number => sum(({ doubts }) => doubts, verdicts.filter((verdict) => verdict.settling === settling))
  return {
    runs: verdicts.length,
    conversations: sum(({ conversations }) => conversations),
    equal: sum(({ equal }) => equal),
    calls: sum(({ calls }) => calls),
    effects: sum(({ effects }) => effects),
    once: sum(({ once }) => once),
    kills: { write, clock, world, all: write + clock + world },
    attempts: sum(({ attempts }) => attempts),
    replayed: sum(({ replayed }) => replayed),
    live: sum(({ live }) => live),
    doubts: { all: sum(({ doubts }) => doubts), reconcile: by('reconcile'), resolve: by('resolve'), settled: sum(({ settled }) => settled) },
    repeated: starting('REPEATED'),
    lost: starting('LOST'),
    violations: sum(({ violations }) => violations.length),
    ms: Math.round(ms),
  }
}

export function totalsText(totals: Totals): string {
  const { kills, doubts } = totals
  return [
    `${totals.conversations} conversations in ${totals.runs} runs, ${totals.calls} tool calls, ${totals.effects} of them with effects; ${totals.attempts} processes, ${(totals.ms / 1000).toFixed(1)} s`,
    `kills: ${kills.all} (${kills.write} at a write, ${kills.clock} by the clock, ${kills.world} in the world's calls)`,
    `steps: ${totals.live} live, ${totals.replayed} replayed, ${doubts.all} in doubt (${doubts.reconcile} in runs with reconcile, ${doubts.resolve} with resolve), ${doubts.settled} settled`,
    `transcripts equal to the recorded ones: ${totals.equal} of ${totals.conversations}; effects exactly once: ${totals.once} of ${totals.effects}, repeated silently: ${totals.repeated}, lost: ${totals.lost}`,
    `violations in all: ${totals.violations}`,
  ].join('\n')
}

/** So many violations of a run are shown. */
const MOST = 10

/** What was violated, and how to run it again. */
export function complaints(verdicts: readonly Verdict[], { seed, kills, parallel, effects, dir }: Options, isDefaultDir: boolean): string[] {
  const flags = [`--seed ${seed}`, `--kills ${kills}`, ...(effects ? ['--parallel-effects'] : parallel ? ['--parallel'] : []), ...(isDefaultDir ? [] : [`--dir ${dir}`])].join(' ')
  return verdicts.filter(({ violations }) => violations.length > 0).flatMap(({ runId, violations }) => [
    ...violations.slice(0, MOST).map((text) => `VIOLATION (seed ${seed}) ${text}`),
    ...(violations.length > MOST ? [`  and ${violations.length - MOST} more (--json has them all)`] : []),
    `  again: npm run realworld -- --only ${runId} ${flags}`,
  ])
}
