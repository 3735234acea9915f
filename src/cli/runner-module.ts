/** The user's module: where the runner comes from. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HoldfastError } from '../errors.ts'
import type { Runner } from '../runner/runner.ts'
import { CliError } from './cli-error.ts'
import type { Io } from './io.ts'

/** Looked for in the working directory, in this order. */
const DEFAULTS = ['holdfast.config.ts', 'holdfast.config.mjs', 'holdfast.config.js']

const EXAMPLE = 'It exports the runner: export const runner = createRunner({ agents, store })'

/** Whether there is a module to take a runner from without being told which. */
export const defaultModule = (cwd: string): string | undefined => DEFAULTS.find((name) => existsSync(resolve(cwd, name)))

/**
 * @param given Path as the user gave it; undefined: the default.
 * @throws CliError `MODULE_NOT_FOUND`, `MODULE_FAILED`, `MODULE_WITHOUT_RUNNER`; a HoldfastError that the module itself threw.
 */
export async function loadRunner(given: string | undefined, io: Pick<Io, 'cwd' | 'onRunner'>): Promise<Runner> {
  const { cwd } = io
  const name = given ?? defaultModule(cwd)
  if (name === undefined) throw new CliError('MODULE_NOT_FOUND', `there is no ${DEFAULTS.join(', ')} here`, `Give the module with --module FILE. ${EXAMPLE}`)
  const file = resolve(cwd, name)
  if (!existsSync(file)) throw new CliError('MODULE_NOT_FOUND', `the module ${file} does not exist`, EXAMPLE)
  const loaded = await load(file)
  const runner = [loaded['runner'], loaded['default']].find(isRunner)
  if (runner) {
    io.onRunner?.(runner)
    return runner
  }
  throw new CliError('MODULE_WITHOUT_RUNNER', `${file} exports no runner, only ${Object.keys(loaded).join(', ') || 'nothing'}`, EXAMPLE)
}

async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (error) {
    if (HoldfastError.isInstance(error)) throw error
    const isUnreadable = (error as { code?: unknown } | null)?.code === 'ERR_UNKNOWN_FILE_EXTENSION'
    const advice = isUnreadable
      ? `Node ${process.versions.node} does not run TypeScript by itself (22.18 does): compile the module, or run holdfast with NODE_OPTIONS="--import tsx"`
      : 'Set HOLDFAST_DEBUG=1 to see where it comes from'
    throw new CliError('MODULE_FAILED', `${file} could not be loaded: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`, advice, error)
  }
}

/** By what it can do: the module may have its own copy of the package. */
function isRunner(value: unknown): value is Runner {
  if (typeof value !== 'object' || value === null) return false
  const runner = value as Partial<Record<keyof Runner, unknown>>
  return ([runner.run, runner.resume, runner.get, runner.history, runner.close] as unknown[]).every((method) => typeof method === 'function')
}
