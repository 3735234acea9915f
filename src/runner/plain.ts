/** A run of a runner that has neither store nor policies: nothing is wrapped, nothing is recorded. */
import { settleResult, type Recorded } from '../ai-sdk/result.ts'
import type { Agent } from './agent.ts'
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
    agent: async <INPUT, RESULT>(child: Agent<INPUT, RESULT>, input: INPUT) => (await settleResult(await child.handler(run, input))) as Recorded<RESULT>,
  }
  return run
}
