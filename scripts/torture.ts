/** `npm run torture`: many random programs against the real runner, under simulated time, judged from outside (test/programs). */
import { randomInt } from 'node:crypto'
import { generate, seedOf } from '../test/programs/generate.ts'
import { judge, judgeEverywhere } from '../test/programs/judge.ts'
import type { Program } from '../test/programs/program.ts'
import { shrink } from '../test/programs/shrink.ts'
import { Totals } from '../test/programs/totals.ts'
import type { Violation } from '../test/programs/violation.ts'
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
  --help           this text

Examples:
  npm run torture -- --programs 10000 --seed 7
  npm run torture -- --seed 7 --program 42
  npm run torture -- --programs 50 --everywhere 150

Exit codes: 0 none failed, 1 some did, 2 wrong usage.`

const PROGRESS_MS = 10_000

interface Options {
  readonly seed: number
  readonly from: number
  readonly until: number
  /** One program is asked for. */
  readonly alone: boolean
  readonly whole: boolean
  readonly quiet: boolean
  readonly stopAfter: number
  readonly everywhere: number
}

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const

/** @returns undefined where help is asked for. @throws UsageError. */
function readOptions(args: readonly string[]): Options | undefined {
  const values = valuesOf(args, { programs: text, seed: text, from: text, program: text, whole: flag, quiet: flag, 'stop-after': text, everywhere: text, help: flag })
  if (values.help) return undefined
  const alone = values.program !== undefined
  const from = alone ? integer('--program', values.program, 0) : integer('--from', values.from, 0)
  return {
    seed: integer('--seed', values.seed, randomInt(1_000_000)),
    from,
    until: from + (alone ? 1 : integer('--programs', values.programs, 1_000)),
    alone,
    whole: values.whole ?? false,
    quiet: values.quiet ?? false,
    stopAfter: integer('--stop-after', values['stop-after'], 5),
    everywhere: integer('--everywhere', values.everywhere, 0),
  }
}

async function report(k: number, program: Program, { kind, message }: Violation, { seed, quiet, whole }: Options): Promise<void> {
  console.log(`\nprogram ${k} of seed ${seed}: ${kind}: ${message}`)
  if (quiet) return
  const small = whole ? program : await shrink(program, kind)
  const again = await judge(small)
  console.log(`${again.violations[0]?.message}\n${JSON.stringify(small)}\n${again.log.map((line) => `    ${line.slice(0, 300)}`).join('\n')}`)
  console.log(`again: npm run torture -- --seed ${seed} --program ${k}`)
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    console.log(HELP)
    return 0
  }
  const { seed, from, until, alone, stopAfter, everywhere } = options
  console.log(`seed ${seed}, programs ${from} to ${until - 1}`)
  const totals = new Totals()
  let shown = performance.now()
  for (let k = from; k < until && totals.failed < stopAfter; k++) {
    let program = generate(seedOf(seed, k))
    let execution = everywhere > 0 ? undefined : await judge(program)
    if (execution) totals.add(execution)
    else ({ program, execution } = await judgeEverywhere(program, 'kill', everywhere, (each) => totals.add(each)))
    const [first] = execution.violations
    if (first) await report(k, program, first, options)
    else if (alone) console.log(`${JSON.stringify(program)}\n${execution.log.map((line) => `    ${line}`).join('\n')}`)
    if (performance.now() - shown < PROGRESS_MS) continue
    shown = performance.now()
    console.log(totals.line())
  }
  console.log(totals.line())
  return totals.failed > 0 ? 1 : 0
}

await runScript('torture', main)
