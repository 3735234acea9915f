/** The command line of `npm run mutants`. */
import { UsageError, valuesOf } from '../usage.ts'
import { RULES, type Mutant } from './mutant.ts'

export interface Options {
  readonly only: string | undefined
  readonly rule: string | undefined
  readonly list: boolean
  readonly json: boolean
}

export const HELP = `Usage: npm run mutants -- [options]

Makes one deliberate mistake at a time in a copy of the project, and runs the test that must notice it.
Before that each of these tests has to pass without any mistake. The project itself is left as it is.

  --only NAME   the mutants whose names contain this
  --rule R5     the mutants of one rule of the design
  --list        what there is: each mutant, what is wrong with it, and its test; nothing is run
  --json        the result as JSON on stdout, progress on stderr
  --help        this text

Examples:
  npm run mutants
  npm run mutants -- --rule R2
  npm run mutants -- --only "late result dropped"
  npm run mutants -- --list --rule R9

Exit codes: 0 all caught, 1 a survivor, a test that fails by itself, or a mutant that no longer applies, 2 wrong usage.`

/** @returns undefined where help is asked for. @throws UsageError. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { help, ...values } = valuesOf(args, OPTIONS)
  if (help) return undefined
  const rule = values.rule?.toUpperCase()
  if (rule !== undefined && !(RULES as readonly string[]).includes(rule)) throw new UsageError(`--rule must be one of ${RULES.join(', ')}, got ${values.rule}`)
  return { only: values.only, rule, list: values.list ?? false, json: values.json ?? false }
}

/** The mutants that are asked for. @throws UsageError where there are none. */
export function chosen(catalog: readonly Mutant[], { only, rule }: Pick<Options, 'only' | 'rule'>): readonly Mutant[] {
  const mutants = catalog.filter((mutant) => (rule === undefined || mutant.rule === rule) && (only === undefined || mutant.name.includes(only)))
  if (mutants.length > 0) return mutants
  throw new UsageError(`no mutant ${[only === undefined ? '' : `of the name "${only}"`, rule === undefined ? '' : `of rule ${rule}`].filter(Boolean).join(' ')}: --list shows all`)
}

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const
const OPTIONS = { only: text, rule: text, list: flag, json: flag, help: flag }
