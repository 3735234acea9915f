/** An agent: a named handler, with a version of its own. */
import { HoldfastError } from '../errors.ts'
import type { Run } from './run.ts'

export interface Agent<INPUT = unknown, RESULT = unknown> {
  readonly name: string
  /** Changes when runs that were started by the code before must not be resumed by the code after. Default `1`. */
  readonly version: string
  readonly handler: (run: Run, input: INPUT) => PromiseLike<RESULT> | RESULT
}

/** What may be known of an agent whose types do not matter. */
// `never` as input: any agent is one of these.
export type AnyAgent = Agent<never, unknown>

/**
 * Names a handler, so that a runner can start it and resume it in another process.
 *
 * @param handler Called again from the start on each resume; its recorded steps are answered from the journal.
 * @throws HoldfastError `INVALID_OPTIONS`.
 * @example
 * const support = defineAgent('support', async (run, input: { question: string }) =>
 *   (await desk.generate({ prompt: input.question })).text)
 */
export function defineAgent<INPUT, RESULT>(
  name: string,
  handler: (run: Run, input: INPUT) => PromiseLike<RESULT> | RESULT,
  options: { readonly version?: string } = {},
): Agent<INPUT, RESULT> {
  if (typeof name !== 'string' || name === '') throw new HoldfastError('INVALID_OPTIONS', 'name of an agent must be a string that is not empty')
  if (typeof handler !== 'function') throw new HoldfastError('INVALID_OPTIONS', `handler of agent "${name}" must be a function`)
  const { version = '1' } = options
  if (typeof version !== 'string') throw new HoldfastError('INVALID_OPTIONS', `version of agent "${name}" must be a string`)
  return Object.freeze({ name, version, handler })
}
