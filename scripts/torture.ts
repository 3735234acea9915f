/** `npm run torture`: many random programs against the real runner, under simulated time, judged from outside (test/programs). */
import { randomInt } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { runSeries, type Series } from './torture/run.ts'
import { integer, runScript, valuesOf } from './usage.ts'

const HELP = `Usage: npm run torture -- [options]

Runs random agent programs, kills them anywhere, and judges them by a counter outside. A program that fails is shrunk and printed as data, with its log.

  --programs N     how many (default 1000)
  --seed S         the same programs again (default: a random one, printed)
  --from K         begins with program K
  --program K      one program alone, with its log
  --whole          a program that fails is not shrunk
  --quiet          what failed in a line, nothing more
  --stop-after N   ends after N programs that failed (default 5)
  --everywhere N   kills each program, of at most N crossings of a seam, at every crossing in turn
  --jobs N         how many threads work at once (default: one for each core)
  --help           this text

Examples:
  npm run torture -- --programs 10000 --seed 7
  npm run torture -- --seed 7 --program 42
  npm run torture -- --programs 50 --everywhere 150

Exit codes: 0 none failed, 1 some did, 2 wrong usage.`

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const

/** @returns undefined where help is asked for. @throws UsageError. */
function readOptions(args: readonly string[]): Series | undefined {
  const values = valuesOf(args, { programs: text, seed: text, from: text, program: text, whole: flag, quiet: flag, 'stop-after': text, everywhere: text, jobs: text, help: flag })
  if (values.help) return undefined
  const alone = values.program !== undefined
  const from = alone ? integer('--program', values.program, 0) : integer('--from', values.from, 0)
  return {
    seed: integer('--seed', values.seed, randomInt(1_000_000)),
    from,
    until: from + (alone ? 1 : integer('--programs', values.programs, 1_000, 1)),
    alone,
    whole: values.whole ?? false,
    quiet: values.quiet ?? false,
    stopAfter: integer('--stop-after', values['stop-after'], 5, 1),
    everywhere: integer('--everywhere', values.everywhere, 0),
    jobs: integer('--jobs', values.jobs, availableParallelism(), 1),
  }
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    console.log(HELP)
    return 0
  }
  console.log(`seed ${options.seed}, programs ${options.from} to ${options.until - 1}`)
  const totals = await runSeries(options)
  console.log(totals.line())
  return totals.failed > 0 ? 1 : 0
}

await runScript('torture', main)
