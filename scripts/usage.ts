/** What the scripts of the project have in common on their command lines. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { CheckFailure } from './check/failure.ts'

/** Wrong usage: its message is for whoever typed it. */
export class UsageError extends Error {}

/** The values of options. @throws UsageError. */
export function valuesOf<const OPTIONS extends NonNullable<ParseArgsConfig['options']>>(args: readonly string[], options: OPTIONS): ReturnType<typeof parseArgs<{ options: OPTIONS }>>['values'] {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** The value of an option that is a whole number, at least `least`. @throws UsageError. */
export function integer(name: string, text: string | undefined, fallback: number, least = 0): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < least) throw new UsageError(`${name} must be an integer >= ${least}, got ${text}`)
  return value
}

/** Runs `npm run NAME`, and gives its exit code: what `main` says, 2 for wrong usage, 1 for a failure. */
export async function runScript(name: string, main: (args: readonly string[]) => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main(process.argv.slice(2))
  } catch (error) {
    const isUsage = error instanceof UsageError
    const said = error instanceof CheckFailure ? error.message : error instanceof Error ? error.stack : String(error)
    process.stderr.write(`${isUsage ? `${error.message}\nSee npm run ${name} -- --help` : said}\n`)
    process.exitCode = isUsage ? 2 : 1
  }
}
