/** Judges a slice of the programs of a seed, in a thread of its own: what killed attempts leave behind in memory ends with it. */
import { parentPort, workerData } from 'node:worker_threads'
import { generate, seedOf } from '../../test/programs/generate.ts'
import { judge, judgeEverywhere } from '../../test/programs/judge.ts'
import type { Program } from '../../test/programs/program.ts'
import { shrink } from '../../test/programs/shrink.ts'
import { tallyOf, type Tally } from '../../test/programs/totals.ts'
import type { Violation } from '../../test/programs/violation.ts'

export interface Slice {
  readonly seed: number
  readonly from: number
  readonly until: number
  /** One program is asked for: its log is shown whether it fails or not. */
  readonly alone: boolean
  readonly whole: boolean
  readonly quiet: boolean
  readonly everywhere: number
}

export type Told =
  | { readonly type: 'begins'; readonly k: number }
  | { readonly type: 'judged'; readonly tally: Tally }
  | { readonly type: 'says'; readonly text: string }

const { seed, from, until, alone, whole, quiet, everywhere } = workerData as Slice
const tell = (told: Told): void => parentPort!.postMessage(told)

async function report(k: number, program: Program, { kind, message }: Violation): Promise<void> {
  tell({ type: 'says', text: `\nprogram ${k} of seed ${seed}: ${kind}: ${message}` })
  if (quiet) return
  const small = whole ? program : await shrink(program, kind)
  const again = await judge(small)
  const log = again.log.map((line) => `    ${line.slice(0, 300)}`).join('\n')
  tell({ type: 'says', text: `${again.violations[0]?.message}\n${JSON.stringify(small)}\n${log}\nagain: npm run torture -- --seed ${seed} --program ${k}` })
}

for (let k = from; k < until; k++) {
  tell({ type: 'begins', k })
  let program = generate(seedOf(seed, k))
  let execution = everywhere > 0 ? undefined : await judge(program)
  if (execution) tell({ type: 'judged', tally: tallyOf(execution) })
  else ({ program, execution } = await judgeEverywhere(program, 'kill', everywhere, (each) => tell({ type: 'judged', tally: tallyOf(each) })))
  const [first] = execution.violations
  if (first) await report(k, program, first)
  else if (alone) tell({ type: 'says', text: `${JSON.stringify(program)}\n${execution.log.map((line) => `    ${line}`).join('\n')}` })
}
