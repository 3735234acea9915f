/**
 * Nothing passes by accident: `npm run mutants` makes one deliberate mistake at a time, for each rule of the design, and
 * requires that the test which guards against it fails.
 */
import { CheckFailure } from './check/failure.ts'
import { catalog } from './mutants/catalog/index.ts'
import { chosen, HELP, readOptions } from './mutants/options.ts'
import { complaintOf, listOf, tableOf } from './mutants/report.ts'
import { runMutants } from './mutants/run.ts'
import { runScript } from './usage.ts'

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const mutants = chosen(catalog, options)
  if (options.list) {
    process.stdout.write(`${options.json ? JSON.stringify(mutants, null, 2) : listOf(mutants)}\n`)
    return 0
  }
  const tell = (line: string): void => void (options.json ? process.stderr : process.stdout).write(`${line}\n`)
  const judged = await runMutants(mutants, tell, interrupted())
  const missed = judged.filter(({ verdict }) => verdict.type !== 'caught')
  if (options.json) {
    const rows = judged.map(({ mutant: { edits: _edits, ...mutant }, verdict, seconds }) => ({ ...mutant, verdict, seconds }))
    process.stdout.write(`${JSON.stringify({ caught: judged.length - missed.length, of: judged.length, mutants: rows }, null, 2)}\n`)
  } else tell(`\n${tableOf(judged)}`)
  for (const each of missed) tell(`\n${complaintOf(each)}`)
  tell(`\n${judged.length - missed.length} of ${judged.length} mutants caught`)
  return missed.length === 0 ? 0 : 1
}

/** Aborts on the first signal, so that what runs ends and the copies are removed. */
function interrupted(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => controller.abort(new CheckFailure(`ended by ${signal}`)))
  return controller.signal
}

await runScript('mutants', main)
