import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { cleanedUpAdvice } from '../runner/cleaned-up.ts'
import { describeError } from './error-report.ts'

describe('what to do about a step that is left at that', () => {
  const unknown = (advice?: string): HoldfastError => new HoldfastError('OUTCOME_UNKNOWN', 'step "pay": is left at that', { runId: 'r 1', step: '2~1', ...(advice !== undefined && { advice }) })

  it('is said in the words of the command line', () => {
    expect(describeError(unknown('Catch it, or resume the run with { redo: "2~1" }')).advice).toBe("Catch it where the handler asks for the step; to have it otherwise: holdfast resume 'r 1' --redo 2~1")
  })

  it.each([['nothing', undefined, null], ['something else', 'Ask the service', 'Ask the service']])('is %s where the error says so', (_, advice, said) => {
    expect(describeError(unknown(advice)).advice).toBe(said)
  })
})

it.each(['OUTCOME_UNKNOWN', 'RUN_FAILED', 'LIMIT_REACHED', 'RUN_TIMEOUT', 'RUN_CLEANED_UP'] as const)('of a run that cleaned up behind its failure says so, and not that it is driven again, whatever failed it: %s', (code) => {
  const advice = cleanedUpAdvice([{ id: '2', branch: '', kind: 'step', name: 'cancel flight', slot: 2 }])
  for (const said of [advice, `It may be tried again. ${advice}`]) expect(describeError(new HoldfastError(code, 'it failed', { runId: 'r', step: '1', advice: said })).advice).toBe(advice)
})
