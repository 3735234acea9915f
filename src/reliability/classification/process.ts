/** Processes that were ended from outside, as node:child_process, execa and zx say it. What they were doing may have been done. */
import type { Category } from './category.ts'
import { read } from './layers.ts'

/** Only what has one of these is about a process, or both of `signal` and `killed`: each alone may be anybody's. */
const OF_PROCESSES = ['cmd', 'command', 'spawnargs', 'exitCode']

/** What an error says about the process that it stands for: its time was over, or somebody stopped it. An exit code says nothing here. */
export function byProcess(value: unknown): { readonly category: Category; readonly rule: string } | undefined {
  const signal = read(value, 'signal')
  // The system's own killer (out of memory) leaves `killed` false.
  const isSignalled = typeof signal === 'string' && /^SIG[A-Z0-9]+$/.test(signal)
  const isOfProcess = OF_PROCESSES.some((key) => read(value, key) !== undefined) || (isSignalled && typeof read(value, 'killed') === 'boolean')
  if (!isOfProcess) return undefined
  if (read(value, 'timedOut') === true) return { category: 'timeout', rule: 'process:timedOut' }
  if (isSignalled) return { category: 'cancelled', rule: `process:${signal}` }
  return read(value, 'killed') === true || read(value, 'isCanceled') === true ? { category: 'cancelled', rule: 'process:killed' } : undefined
}
