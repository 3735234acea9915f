/** The limits of a run, from the command line. */
import type { RunLimits } from '../run/limits.ts'
import type { Arguments } from './arguments.ts'
import { usage } from './cli-error.ts'
import type { OptionSpec } from './command.ts'

export const LIMIT_OPTIONS: readonly OptionSpec[] = [
  { name: 'max-steps', value: 'N', text: 'model requests, tool calls and steps that may run, over all attempts' },
  { name: 'max-tokens', value: 'N', text: 'tokens, in and out, after which no model request starts' },
  { name: 'max-journal-bytes', value: 'N', text: 'bytes of its journal after which no step starts' },
  { name: 'run-ms', value: 'MS', text: 'active time, over all attempts' },
  { name: 'deadline', value: 'TIME', text: 'when its time ends, such as 2026-11-29T18:00:00Z' },
]

/** With a zone: a time without one means another moment on another machine. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/

/** @throws CliError `USAGE`. */
export function readLimits({ values }: Arguments): { readonly limits?: RunLimits } {
  const limits = {
    ...count('maxSteps', 'max-steps', values),
    ...count('maxTokens', 'max-tokens', values),
    ...count('maxJournalBytes', 'max-journal-bytes', values),
    ...count('runMs', 'run-ms', values),
    ...moment(values['deadline']),
  }
  return Object.keys(limits).length > 0 ? { limits } : {}
}

function count(name: keyof RunLimits, option: string, values: Arguments['values']): RunLimits {
  const text = values[option]
  if (text === undefined) return {}
  const value = /^\d+$/.test(text) ? Number(text) : NaN
  if (!Number.isSafeInteger(value) || value < 1) throw usage(`--${option} must be an integer >= 1, got ${JSON.stringify(text)}`)
  return { [name]: value }
}

function moment(text: string | undefined): RunLimits {
  if (text === undefined) return {}
  const deadline = TIME.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(deadline)) throw usage(`--deadline must be a time with its zone, got ${JSON.stringify(text)}`, 'Such as 2026-11-29T18:00:00Z')
  return { deadline }
}
