/** Every process that a script starts: each is ended by its pid, however the script itself ends. */
import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const alive = new Set<number>()

/** Ends a process at once; one that has ended already does not matter. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It was faster.
  }
}

/** Ends this pid with the script, until the returned function is called. */
export function endWithUs(pid: number): () => void {
  alive.add(pid)
  return () => alive.delete(pid)
}

export const endAll = (): void => alive.forEach(kill)

/** Starts a module, with a channel; `stderr` gathers what it complains about. */
export function start(module: URL, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): { readonly child: ChildProcess; readonly stderr: () => string } {
  const child = fork(fileURLToPath(module), args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [], env: { ...process.env, ...env } })
  const { pid } = child
  if (pid !== undefined) child.once('exit', endWithUs(pid))
  let text = ''
  child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return { child, stderr: () => text.trim() }
}

/** Also on a signal, an error that nobody caught, and a plain exit. */
export function endChildrenOnExit(): void {
  process.once('exit', endAll)
  for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]] as const) process.once(signal, () => process.exit(code))
}
