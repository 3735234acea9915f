/** A run of a runner that has neither store nor policies: nothing is wrapped, nothing is recorded. */
import type { Run } from './run.ts'

export function plainRun(runId: string, signal: AbortSignal): Run {
  const run: Run = {
    runId,
    attempt: 1,
    replaying: false,
    signal,
    model: (model) => model,
    tools: (tools) => tools,
    step: async <T>(_name: string, options: object | (() => PromiseLike<T> | T), fn?: () => PromiseLike<T> | T) => (typeof options === 'function' ? (options as () => T)() : fn!()),
    read: async <T>(_name: string, options: object | (() => PromiseLike<T> | T), fn?: () => PromiseLike<T> | T) => (typeof options === 'function' ? (options as () => T)() : fn!()),
    branch: async (_key, fn) => fn(),
    agent: async (child, input) => child.handler(run, input),
  }
  return run
}
