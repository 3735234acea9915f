/** How the command line ends: one table, which the help and docs/cli.md print. */
import { HoldfastError, type HoldfastErrorCode } from '../errors.ts'
import type { Outcome } from '../runner/outcome.ts'
import { CliError } from './cli-error.ts'
import type { Signal } from './io.ts'

export const EXIT = { done: 0, failed: 1, badInput: 2, suspended: 3, elsewhere: 4, cancelled: 5, store: 6, SIGINT: 130, SIGTERM: 143 } as const

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.done, 'the run completed; list, show, resolve, approve, deny, salvage: done; recover: no run failed; verify: all is well'],
  [EXIT.failed, 'the run failed (resume drives it again); recover: one failed or could not be driven; verify: something is wrong; or something unexpected happened'],
  [EXIT.badInput, 'bad input, nothing ran: an argument, the module, an unknown run, agent or step; or Node is too old'],
  [EXIT.suspended, 'the run is suspended: it waits for somebody, or for a time'],
  [EXIT.elsewhere, 'another process drives the run'],
  [EXIT.cancelled, 'the run was cancelled'],
  [EXIT.store, 'the store is not there, not ours, damaged, or cannot be used'],
  [EXIT.SIGINT, 'stopped by SIGINT: the run is suspended'],
  [EXIT.SIGTERM, 'stopped by SIGTERM: the run is suspended'],
]

const BAD_INPUT: ReadonlySet<HoldfastErrorCode> = new Set([
  'INVALID_OPTIONS', 'INVALID_POLICY', 'INVALID_RUN_ID', 'MISSING_RUN_ID', 'UNKNOWN_AGENT', 'DUPLICATE_AGENT', 'UNKNOWN_RUN', 'UNKNOWN_STEP',
  'UNKNOWN_TOOL', 'MISSING_STORE', 'MISSING_PEER', 'RUN_MISMATCH', 'NOTHING_TO_RESOLVE', 'NOTHING_TO_APPROVE', 'VALUE_NOT_STORABLE', 'VALUE_TOO_LARGE',
  'SECRET_MISSING', 'KEY_MISSING', 'KEY_WRONG',
])

/** The code for what a command threw. A run that failed is that, whatever error it failed with. */
export function exitCodeOf(error: unknown, { runFailed = false } = {}): number {
  if (runFailed) return EXIT.failed
  if (CliError.isInstance(error)) return EXIT.badInput
  if (!HoldfastError.isInstance(error)) return EXIT.failed
  if (BAD_INPUT.has(error.code)) return EXIT.badInput
  if (error.code.startsWith('STORE_')) return EXIT.store
  return error.code === 'LEASE_LOST' || error.code === 'RUN_BUSY' ? EXIT.elsewhere : EXIT.failed
}

/** The code for how a run ended. `signal`: what stopped it from outside, if anything did. */
export function exitCodeFor(status: Outcome['status'], signal?: Signal): number {
  switch (status) {
    case 'completed': return EXIT.done
    case 'suspended': return signal === undefined ? EXIT.suspended : EXIT[signal]
    case 'running': return EXIT.elsewhere
    case 'cancelled': return EXIT.cancelled
  }
}
