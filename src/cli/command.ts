/** What a command is: words for people and for the parser, and what it does. */
import type { Arguments } from './arguments.ts'
import type { Io } from './io.ts'

export interface OptionSpec {
  readonly name: string
  /** What stands for its value in the help; absent: the option takes none. */
  readonly value?: string
  readonly text: string
}

export interface CommandSpec {
  readonly name: string
  readonly summary: string
  /** Arguments in order; all must be there but those in brackets. */
  readonly positionals: readonly string[]
  readonly options: readonly OptionSpec[]
  /** Paragraphs that follow the summary in the command's own help. */
  readonly notes: readonly string[]
  readonly examples: readonly string[]
}

export interface Command {
  readonly spec: CommandSpec
  /** Resolves to the exit code. What it throws is shown as an error. */
  run(args: Arguments, io: Io): Promise<number>
}

export const JSON_OPTION: OptionSpec = { name: 'json', text: 'print JSON for programs' }
export const QUIET_OPTION: OptionSpec = { name: 'quiet', text: 'no progress on standard error' }
export const HELP_OPTION: OptionSpec = { name: 'help', text: 'show this help' }
export const MODULE_OPTION: OptionSpec = {
  name: 'module', value: 'FILE', text: 'module whose export `runner` (or default export) is the runner; default holdfast.config.{ts,mjs,js}',
}
export const STORE_OPTION: OptionSpec = { name: 'store', value: 'FILE', text: 'SQLite file of the store; default $HOLDFAST_STORE, else the module\'s store' }
export const AS_OF_OPTION: OptionSpec = { name: 'as-of', value: 'N', text: 'refused where the call was started, or asked about, again since entry N of the journal: as show prints it' }
export const MISMATCH_OPTION: OptionSpec = { name: 'allow-mismatch', text: 'go on although the agent, its version or the input is another' }
