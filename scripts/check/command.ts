/** Programs that the checks run. */
import { spawn } from 'node:child_process'
import { CheckFailure } from './failure.ts'
import { root } from './project.ts'

export interface CommandOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** Lets its output through as it comes; default: it is kept, and shown when the program fails. */
  readonly loud?: boolean
}

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs a program to its end, without standard input. */
export function execute(program: string, args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const { cwd = root, env = process.env, loud = false } = options
  const child = spawn(program, args, { cwd, env: withoutProject(env), stdio: ['ignore', loud ? 'inherit' : 'pipe', loud ? 'inherit' : 'pipe'] })
  let out = ''
  let err = ''
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
}

/** As {@link execute}; refuses a program that fails, with what it said. */
export async function expectSuccess(program: string, args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const ended = await execute(program, args, options)
  if (ended.code !== 0) {
    throw new CheckFailure([`${[program, ...args].join(' ')} ended with ${ended.code}`, ended.out, ended.err].filter(Boolean).join('\n'))
  }
  return ended
}

// npm tells its scripts which project they belong to, and an npm inside would work on that one.
function withoutProject(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^npm_(package_|lifecycle_|config_local_prefix|command)/.test(name)))
}
