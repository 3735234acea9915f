/** The person to whom a call in doubt is left: reads the reason, looks into the service, and settles it with `holdfast resolve`. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { EffectReason, SuspendReason } from '../src/index.ts'
import type { Services } from './services.ts'
import { effects } from './ticket.ts'

export const doubtsIn = (reasons: readonly SuspendReason[]): EffectReason[] =>
  reasons.filter((reason): reason is EffectReason => reason.type === 'in-doubt' || reason.type === 'repeat')

/** The receipt that the service has for the call; null: it did nothing. */
export async function lookInto(doubt: EffectReason, services: Services): Promise<unknown> {
  const effect = effects.find(({ name }) => name === doubt.tool)
  if (!effect) throw new Error(`${doubt.tool} is in doubt, which has no effects`)
  return services.find(effect.path)
}

/** Arguments of the command that says what was found. */
export const resolveArguments = (runId: string, step: string, receipt: unknown, store: string): string[] => [
  'resolve', runId, step, ...(receipt === null ? ['--rerun'] : ['--result', JSON.stringify(receipt)]), '--store', store,
]

/** As it would be typed. */
export const typed = (args: readonly string[]): string =>
  ['holdfast', ...args.map((arg) => (/^[\w./:@+-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`))].join(' ')

/** Runs the command line. Rejects with what it says. */
export async function holdfast(args: readonly string[]): Promise<string> {
  const program = fileURLToPath(new URL('../src/cli/bin.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args])
  return stdout
}
