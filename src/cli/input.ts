/** The input of a run, from the command line. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Arguments } from './arguments.ts'
import { usage } from './cli-error.ts'
import type { Io } from './io.ts'
import { jsonFault } from './json-fault.ts'

/** undefined where none is given. @throws CliError `USAGE`: two inputs, a file that cannot be read, not JSON. */
export async function readInput({ values, positionals }: Arguments, io: Io): Promise<unknown> {
  const dash = positionals[1]
  if (dash !== undefined && dash !== '-') throw usage(`run does not take ${JSON.stringify(dash)}`, 'The input is given with --input JSON, --input-file FILE, or - for standard input')
  const { input, 'input-file': file } = values
  if ([input, file, dash].filter((given) => given !== undefined).length > 1) throw usage('the input is given twice', 'Give one of --input, --input-file and -')
  if (input !== undefined) return parseJson('--input', input)
  if (dash !== undefined || file === '-') return parseJson('standard input', await io.readStdin())
  if (file === undefined) return undefined
  let text
  try {
    text = await readFile(resolve(io.cwd, file), 'utf8')
  } catch (error) {
    throw usage(`--input-file cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  return parseJson(file, text)
}

/** `--as-of`. @throws CliError `USAGE`. */
export function asOfOf({ values: { 'as-of': given } }: Arguments): { readonly asOf?: number } {
  if (given === undefined) return {}
  if (!/^[1-9]\d{0,14}$/.test(given)) throw usage(`--as-of must be the number of an entry, got ${JSON.stringify(given)}`, 'As show prints it in its commands')
  return { asOf: Number(given) }
}

/** @throws CliError `USAGE`. */
export function parseJson(where: string, text: string): unknown {
  const json = text.startsWith('\ufeff') ? text.slice(1) : text
  try {
    return JSON.parse(json)
  } catch {
    throw usage(`${where} is not JSON: ${jsonFault(json)}`, `A text needs its quotes: '"like this"'`)
  }
}
