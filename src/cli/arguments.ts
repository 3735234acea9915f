/** The arguments of a command, taken apart and checked against what it knows. */
import { parseArgs } from 'node:util'
import { nearestNames } from '../reliability/nearest.ts'
import { usage } from './cli-error.ts'
import type { CommandSpec } from './command.ts'
import { usageLine } from './help.ts'

export interface Arguments {
  readonly positionals: readonly string[]
  /** Values of the options that were given. */
  readonly values: Readonly<Partial<Record<string, string>>>
  /** Names of the options without value that were given. */
  readonly flags: ReadonlySet<string>
}

/** @throws CliError `USAGE`, naming what is nearest to an option that does not exist. */
export function parseArguments(spec: CommandSpec, argv: readonly string[]): Arguments {
  const byName = new Map(spec.options.map((option) => [option.name, option]))
  const { tokens } = parseArgs({
    args: [...argv],
    options: {
      ...Object.fromEntries(spec.options.map(({ name, value }) => [name, { type: value === undefined ? 'boolean' as const : 'string' as const }])),
      help: { type: 'boolean', short: 'h' },
    },
    strict: false,
    tokens: true,
    allowPositionals: true,
  })
  const positionals: string[] = []
  const values: Record<string, string> = {}
  const flags = new Set<string>()
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const option = byName.get(name)
    if (!option) throw usage(`${spec.name} has no option ${rawName}`, nearestOption(spec, name))
    if (Object.hasOwn(values, name) || flags.has(name)) throw usage(`${rawName} is given twice`)
    if (option.value === undefined) {
      if (value !== undefined) throw usage(`${rawName} takes no value`)
      flags.add(name)
    } else {
      // A negative number is a value; what else begins with a dash was probably meant as the next option.
      if (value === undefined || (!inlineValue && /^-\D/.test(value))) throw usage(`${rawName} needs a value: ${rawName} ${option.value}`)
      values[name] = value
    }
  }
  if (flags.has('help')) return { positionals, values, flags }
  const required = spec.positionals.filter((name) => !name.startsWith('['))
  const missing = required[positionals.length]
  if (missing !== undefined) throw usage(`${spec.name} needs ${missing}`, usageLine(spec))
  const extra = positionals[spec.positionals.length]
  if (extra !== undefined) throw usage(`${spec.name} does not take ${JSON.stringify(extra)}`, usageLine(spec))
  return { positionals, values, flags }
}

function nearestOption(spec: CommandSpec, name: string): string {
  const names = spec.options.map((option) => option.name)
  const [nearest] = nearestNames(name, names, 1)
  return nearest === undefined ? `Its options are ${names.map((each) => `--${each}`).join(', ')}` : `Did you mean --${nearest}?`
}
