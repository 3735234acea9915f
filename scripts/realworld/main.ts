/** `npm run realworld`: recorded conversations, killed and resumed until they are done. */
import { endChildrenOnExit } from '../children.ts'
import { runScript } from '../usage.ts'
import { HELP, readOptions } from './options.ts'
import { realworld } from './realworld.ts'
import { complaints, header, rowOf, totalsOf, totalsText } from './report.ts'

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const tell = (line: string): void => void (options.json ? process.stderr : process.stdout).write(`${line}\n`)
  endChildrenOnExit()
  const began = performance.now()
  tell(`seed ${options.seed}, ${options.kills} kills a run${options.effects ? ', parallel with effects' : options.parallel ? ', parallel' : ''}`)
  tell(header())
  const verdicts = await realworld(options, {
    onVerdict: (verdict, done, all) => tell(`${rowOf(verdict)}  ${done}/${all}`),
    ...(options.keep && { onFolder: (folder: string) => tell(`kept in ${folder}`) }),
  })
  const totals = totalsOf(verdicts, performance.now() - began)
  tell('')
  tell(totalsText(totals))
  for (const line of complaints(verdicts, options, !args.includes('--dir'))) tell(line)
  if (options.json) process.stdout.write(`${JSON.stringify({ seed: options.seed, kills: options.kills, parallel: options.parallel, effects: options.effects, totals, verdicts }, null, 2)}\n`)
  return totals.violations === 0 ? 0 : 1
}

await runScript('realworld', main)
