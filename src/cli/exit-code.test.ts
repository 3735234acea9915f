import { describe, expect, it } from 'vitest'
import { HoldfastError, type HoldfastErrorCode } from '../errors.ts'
import { usage } from './cli-error.ts'
import { EXIT, EXIT_CODES, exitCodeFor, exitCodeOf } from './exit-code.ts'

describe('exit codes', () => {
  it('are all in the table that the help prints', () => {
    expect(EXIT_CODES.map(([code]) => code)).toEqual(Object.values(EXIT))
  })

  it.each<[HoldfastErrorCode, number]>([
    ['MISSING_RUN_ID', 2], ['INVALID_RUN_ID', 2], ['UNKNOWN_AGENT', 2], ['UNKNOWN_RUN', 2], ['NOTHING_TO_RESOLVE', 2], ['RUN_MISMATCH', 2],
    ['VALUE_NOT_STORABLE', 2], ['INVALID_POLICY', 2], ['STORE_NOT_FOUND', 6], ['STORE_EMPTY', 6], ['STORE_FOREIGN', 6], ['STORE_CORRUPT', 6],
    ['STORE_EPHEMERAL', 6], ['LEASE_LOST', 4], ['RUN_FAILED', 1], ['AMBIGUOUS_STEP', 1], ['RUN_STALLED', 1],
  ])('of an error with code %s is %d', (code, exit) => {
    expect(exitCodeOf(new HoldfastError(code, 'x'))).toBe(exit)
  })

  it('of an error that failed a run is 1, whatever the error', () => {
    expect(exitCodeOf(new HoldfastError('VALUE_NOT_STORABLE', 'result is a function'), { runFailed: true })).toBe(1)
  })

  it('of other errors: 2 for the arguments, 1 for what nobody expected', () => {
    expect([exitCodeOf(usage('x')), exitCodeOf(new TypeError('x')), exitCodeOf(undefined)]).toEqual([2, 1, 1])
  })

  it.each([
    ['completed', undefined, 0], ['suspended', undefined, 3], ['running', undefined, 4], ['cancelled', undefined, 5],
    ['suspended', 'SIGINT', 130], ['suspended', 'SIGTERM', 143], ['completed', 'SIGTERM', 0],
  ] as const)('of a run that is %s after %s is %d', (status, signal, exit) => {
    expect(exitCodeFor(status, signal)).toBe(exit)
  })
})
