/** What the command line touches of the outside world, passed in, so that commands can be tried without a process. */

import type { Runner } from '../runner/runner.ts'

export interface Output {
  write(text: string): void
  readonly isTTY: boolean
  /** Width of the terminal; undefined where there is none. */
  readonly columns: number | undefined
}

export type Signal = 'SIGINT' | 'SIGTERM'

export interface Io {
  /** What the command was asked for. */
  readonly out: Output
  /** Progress and errors. */
  readonly err: Output
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  now(): number
  /** All of standard input, as text. */
  readStdin(): Promise<string>
  /** Calls `listener` for each signal that would end the process, instead of ending it, until the returned function is called. */
  onSignal(listener: (signal: Signal) => void): () => void
  /** Ends the process at once. */
  exit(code: number): void
  /** Told of the runner whose module was loaded: it knows what must not be shown. */
  onRunner?(runner: Runner): void
}
