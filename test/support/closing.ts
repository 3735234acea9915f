/** A runner for as long as something is done with it: its store is free for the next process when that is over. */
import type { Runner } from '../../src/index.ts'

export async function closing<T>(runner: Runner, use: (runner: Runner) => Promise<T>): Promise<T> {
  try {
    return await use(runner)
  } finally {
    await runner.close()
  }
}
