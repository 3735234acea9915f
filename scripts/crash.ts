/** `npm run crash`: real processes, ended with SIGKILL at named points and at random times; the world outside is the judge. */
import { endChildrenOnExit } from './children.ts'
import { crash } from './crash/crash.ts'
import { HELP, readOptions, type Options } from './crash/options.ts'
import type { PaymentVerdict } from './crash/payment-trial.ts'
import { POINTS } from './crash/points.ts'
import { complaints, header, LEGEND, rowOf, totalsOf, totalsText } from './crash/report.ts'
import { runScript } from './usage.ts'

/** At most so often something is said while the random kills are made, ms. */
const PROGRESS_MS = 10_000

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const tell = (line: string): void => void (options.json ? process.stderr : process.stdout).write(`${line}\n`)
  endChildrenOnExit()
  const began = performance.now()
  tell(`seed ${options.seed}${options.drop === undefined ? '' : `, a store that drops ${options.drop}`}`)
  const results = await crash(options, watching(options, tell))
  const totals = totalsOf(results, performance.now() - began)
  tell(`\n${totalsText(totals)}`)
  for (const line of complaints(results, options)) tell(line)
  if (options.json) process.stdout.write(`${JSON.stringify({ seed: options.seed, totals, ...results }, null, 2)}\n`)
  return totals.violated === 0 ? 0 : 1
}

function watching(options: Options, tell: (line: string) => void): NonNullable<Parameters<typeof crash>[1]> {
  const points = POINTS.filter((point) => options.point === undefined || options.point === point)
  const verdicts: PaymentVerdict[] = []
  let said = performance.now()
  return {
    onPayment(verdict) {
      if (verdicts.push(verdict) === 1) tell(`${LEGEND}\n\n${header(points)}`)
      if (verdicts.filter(({ policy }) => policy === verdict.policy).length === points.length) tell(rowOf(verdict.policy, verdicts, points))
    },
    onTrips(wholeMs) {
      tell(`\nat random times: an undisturbed run takes ${Math.round(wholeMs)} ms`)
    },
    onTrip({ number, violations }, kills, all) {
      if (violations.length > 0) tell(`run ${number}: NOT AS IT MUST BE`)
      if (performance.now() - said < PROGRESS_MS) return
      said = performance.now()
      tell(`${kills} of ${all} kills`)
    },
  }
}

await runScript('crash', main)
