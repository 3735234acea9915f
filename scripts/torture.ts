/**
 * Many random programs against the real runner, under simulated time: `npm run torture -- --programs N --seed S`.
 * `--everywhere` kills each program (of at most so many crossings) at every crossing in turn.
 * A program that fails is shrunk and printed as data; `--seed S --program K` runs it alone, with its log.
 */
import { parseArgs } from 'node:util'
import { randomInt } from 'node:crypto'
import { generate, seedOf } from '../test/programs/generate.ts'
import { judge, judgeEverywhere } from '../test/programs/judge.ts'
import type { Program } from '../test/programs/program.ts'
import { shrink } from '../test/programs/shrink.ts'
import { Totals } from '../test/programs/totals.ts'
import type { Violation } from '../test/programs/violation.ts'

const USAGE = 'usage: torture [--programs N] [--seed S] [--from K] [--program K [--whole]] [--quiet] [--stop-after N] [--everywhere CROSSINGS]'
const PROGRESS_MS = 10_000

const { values } = parseArgs({
  options: {
    programs: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    from: { type: 'string', default: '0' },
    program: { type: 'string' },
    whole: { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
    everywhere: { type: 'string', default: '0' },
    'stop-after': { type: 'string', default: '5' },
  },
})

const whole = (text: string): number => {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  console.error(`"${text}" is not a whole number\n${USAGE}`)
  process.exit(2)
}

const seed = values.seed === undefined ? randomInt(1_000_000) : whole(values.seed)
const single = values.program === undefined ? undefined : whole(values.program)
const from = single ?? whole(values.from)
const until = single === undefined ? from + whole(values.programs) : from + 1
const everywhere = whole(values.everywhere)
const stopAfter = whole(values['stop-after'])

async function report(k: number, program: Program, { kind, message }: Violation): Promise<void> {
  console.log(`\nprogram ${k} of seed ${seed}: ${kind}: ${message}`)
  if (values.quiet) return
  const small = values.whole ? program : await shrink(program, kind)
  const again = await judge(small)
  console.log(`${again.violations[0]?.message}\n${JSON.stringify(small)}\n${again.log.map((line) => `    ${line.slice(0, 300)}`).join('\n')}`)
  console.log(`again: npm run torture -- --seed ${seed} --program ${k}`)
}

console.log(`seed ${seed}, programs ${from} to ${until - 1}`)
const totals = new Totals()
let shown = Date.now()
for (let k = from; k < until; k++) {
  let program = generate(seedOf(seed, k))
  let execution = everywhere > 0 ? undefined : await judge(program)
  if (execution) totals.add(execution)
  else ({ program, execution } = await judgeEverywhere(program, 'kill', everywhere, (each) => totals.add(each)))
  const [first] = execution.violations
  if (first) await report(k, program, first)
  else if (single !== undefined) console.log(`${JSON.stringify(program)}\n${execution.log.map((line) => `    ${line}`).join('\n')}`)
  if (totals.failed >= stopAfter) break
  if (Date.now() - shown < PROGRESS_MS) continue
  shown = Date.now()
  console.log(totals.line())
}
console.log(totals.line())
process.exitCode = totals.failed > 0 ? 1 : 0
