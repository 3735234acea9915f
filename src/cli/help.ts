/** Help texts, made from what the commands say of themselves; docs/cli.md is checked against them. */
import type { CommandSpec, OptionSpec } from './command.ts'
import { EXIT_CODES } from './exit-code.ts'

const WIDTH = 79

export function programHelp(commands: readonly CommandSpec[]): string {
  return lines(
    'holdfast: start, resume, look at and settle agent runs',
    '',
    'Usage: holdfast <command> [options]',
    '',
    ...pairs(commands.map(({ name, summary }) => [name, summary])),
    '',
    ...pairs([['<command> --help', 'options and examples of a command'], ['--version', 'print the version']]),
    '',
    ...exitCodes(),
    '',
    ...environment(),
  )
}

export function commandHelp(spec: CommandSpec): string {
  return lines(
    `holdfast ${spec.name}: ${spec.summary}`,
    '',
    usageLine(spec),
    ...spec.notes.flatMap((note) => ['', ...wrap(note, WIDTH)]),
    '',
    ...pairs(spec.options.map((option) => [flag(option), option.text])),
    '',
    'Examples:',
    ...spec.examples.map((example) => `  ${example}`),
  )
}

export const usageLine = (spec: CommandSpec): string => ['Usage: holdfast', spec.name, ...spec.positionals, '[options]'].join(' ')

const exitCodes = (): string[] => ['Exit codes:', ...pairs(EXIT_CODES.map(([code, meaning]) => [String(code), meaning]))]

const environment = (): string[] => [
  'Environment:',
  ...pairs([
    ['HOLDFAST_STORE', 'SQLite file that list, show, resolve, approve, deny, verify and salvage use'],
    ['HOLDFAST_KEYS', 'keys of an encrypted store, id:base64, several with commas, the current one first'],
    ['HOLDFAST_SECRETS', 'values of named secrets, JSON by name, for what resolve, approve and deny are given with --store (--result, --input, --reason, --by)'],
    ['HOLDFAST_DEBUG', 'when set, errors come with their stack'],
    ['NO_COLOR', 'when set, no colours'],
  ]),
]

const flag = ({ name, value }: OptionSpec): string => (value === undefined ? `--${name}` : `--${name} ${value}`)

/** Two columns, the second wrapped. */
function pairs(rows: readonly (readonly [left: string, right: string])[]): string[] {
  const indent = Math.max(...rows.map(([left]) => left.length)) + 4
  return rows.flatMap(([left, right]) =>
    wrap(right, WIDTH - indent).map((text, i) => `${i === 0 ? `  ${left}`.padEnd(indent) : ' '.repeat(indent)}${text}`))
}

function wrap(text: string, width: number): string[] {
  const wrapped: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      wrapped.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...wrapped, line]
}

const lines = (...texts: readonly string[]): string => `${texts.join('\n')}\n`
