/** Errors of the command line itself; all others are HoldfastErrors. */

/** `USAGE`: the arguments. `MODULE_...`: the module that exports the runner. */
export type CliErrorCode = 'USAGE' | 'MODULE_NOT_FOUND' | 'MODULE_FAILED' | 'MODULE_WITHOUT_RUNNER'

export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: CliErrorCode
  /** What to do about it. */
  readonly advice: string | undefined

  constructor(code: CliErrorCode, message: string, advice?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.advice = advice
  }

  static isInstance(error: unknown): error is CliError {
    return error instanceof CliError
  }
}

export const usage = (message: string, advice?: string): CliError => new CliError('USAGE', message, advice)
