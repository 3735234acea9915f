import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { DEFAULT_RETRY, NO_RETRY } from './policy.ts'
import type { ToolPolicy } from './policy.ts'
import { resolveRetry, resolveTimeouts, resolveToolPolicy, validateToolPolicies } from './resolve.ts'

function refusal(fn: () => unknown): { code: string; message: string } {
  try {
    fn()
  } catch (error) {
    if (HoldfastError.isInstance(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('was not refused')
}

describe('resolveRetry', () => {
  it.each([
    [{ maxAttempts: 0 }, 'retry.maxAttempts must be an integer >= 1, got 0'],
    [{ maxAttempts: 2.5 }, 'retry.maxAttempts must be an integer >= 1, got 2.5'],
    [{ maxAttempts: '3' }, 'retry.maxAttempts must be an integer >= 1, got "3"'],
    [{ maxAttempts: Infinity }, 'retry.maxAttempts must be an integer >= 1, got Infinity'],
    [{ backoff: { factor: 0.5 } }, 'retry.backoff.factor must be a number >= 1, got 0.5'],
    [{ backoff: { jitter: 'some' } }, 'retry.backoff.jitter must be one of full, equal, none, got "some"'],
    [{ backoff: { baseMs: Number.NaN } }, 'retry.backoff.baseMs must be a number >= 0, got NaN'],
    [{ inlineWaitMs: -1 }, 'retry.inlineWaitMs must be a number >= 0, got -1'],
    [{ categories: ['server', 'weather'] }, /^retry\.categories\[1\] must be one of rate_limit, .*, got "weather"$/],
    [{ maxAtempts: 3 }, 'retry.maxAtempts is not known. Is maxAttempts meant?'],
    [{ hasOwnProperty: 3 }, /^retry\.hasOwnProperty is not known/],
    [3, 'retry must be an object, got 3'],
    [[], 'retry must be an object, got an array'],
  ])('refuses %j with the path', (policy, message) => {
    expect(refusal(() => resolveRetry(policy as never))).toEqual({ code: 'INVALID_POLICY', message: typeof message === 'string' ? message : expect.stringMatching(message) })
  })

  it('fills in what is left out, and counts undefined as left out', () => {
    expect(resolveRetry({ maxAttempts: 2, backoff: { baseMs: 5 }, inlineWaitMs: undefined } as never)).toEqual({
      ...DEFAULT_RETRY, maxAttempts: 2, backoff: { ...DEFAULT_RETRY.backoff, baseMs: 5 },
    })
  })

  it('is one try when it is false, the base when it is absent, and frozen in any case', () => {
    expect(resolveRetry(false).maxAttempts).toBe(1)
    expect(resolveRetry(undefined)).toBe(DEFAULT_RETRY)
    for (const resolved of [resolveRetry(false), resolveRetry(undefined), resolveRetry({})]) {
      expect([Object.isFrozen(resolved), Object.isFrozen(resolved.backoff)]).toEqual([true, true])
    }
  })
})

describe('resolveTimeouts', () => {
  it('keeps what is given', () => {
    expect(resolveTimeouts({ modelMs: 60_000, runMs: undefined } as never)).toEqual({ modelMs: 60_000 })
  })

  it.each([
    [{ modelMs: 0 }, 'timeouts.modelMs must be a number of ms > 0, got 0'],
    [{ toolMs: Infinity }, 'timeouts.toolMs must be a number of ms > 0, got Infinity'],
    [{ stepMs: 5 }, /^timeouts\.stepMs is not known/],
  ])('refuses %j with the path', (policy, message) => {
    expect(refusal(() => resolveTimeouts(policy as never)).message).toMatch(message)
  })
})

describe('resolveToolPolicy', () => {
  const policy = (value: ToolPolicy<never, unknown>) => resolveToolPolicy(value, 'tools.refund', { retry: DEFAULT_RETRY, timeoutMs: 30_000 })

  it('takes a tool that says nothing for one with effects that is called once', () => {
    expect(policy({})).toMatchObject({ idempotent: false, readOnly: false, composite: false, retry: NO_RETRY, timeoutMs: 30_000, onIncompleteTool: undefined, allowRepeat: false })
  })

  it.each([[{ idempotent: true }], [{ readOnly: true }]])('lets %j be retried as the runner says', (value) => {
    expect(policy(value)).toMatchObject({ idempotent: true, retry: DEFAULT_RETRY })
  })

  it('takes retry: false on any tool', () => {
    expect(policy({ retry: false }).retry.maxAttempts).toBe(1)
    expect(policy({ readOnly: true, retry: false }).retry.maxAttempts).toBe(1)
  })

  it('lets reconcile imply that it is used, unless something else is said', () => {
    const reconcile = async () => ({ status: 'not-done' }) as const
    expect(policy({ reconcile }).onIncompleteTool).toBe('reconcile')
    expect(policy({ reconcile, onIncompleteTool: 'refuse' }).onIncompleteTool).toBe('refuse')
  })

  it('gives a composite tool no limit of its own unless it names one', () => {
    expect(policy({ composite: true }).timeoutMs).toBeUndefined()
    expect(policy({ composite: true, timeoutMs: 5 }).timeoutMs).toBe(5)
  })

  it.each([
    [{ retry: { maxAttempts: 2 } }, 'tools.refund.retry is given, but the tool is not idempotent. Set idempotent or readOnly if it may run twice, or leave retry out'],
    [{ retry: { maxAttempts: 2 }, composite: true }, /^tools\.refund\.retry is given, but the tool is not idempotent/],
    [{ onIncompleteTool: 'reconcile' }, /^tools\.refund\.onIncompleteTool is 'reconcile', but there is no function reconcile/],
    [{ onIncompleteTool: 'retry' }, /^tools\.refund\.onIncompleteTool must be one of refuse, rerun, skip, reconcile, got "retry"/],
    [{ readOnly: true, idempotent: false }, /^tools\.refund\.idempotent is false, but readOnly is true/],
    [{ composite: true, onIncompleteTool: 'skip' }, /^tools\.refund\.composite is true: such a call is never in doubt itself/],
    [{ effectKey: 'order' }, 'tools.refund.effectKey must be a function, got "order"'],
    [{ idempotent: 'yes' }, 'tools.refund.idempotent must be true or false, got "yes"'],
    [{ idempotent: true, retry: { maxAttempts: 0 } }, 'tools.refund.retry.maxAttempts must be an integer >= 1, got 0'],
    [{ timeout: 5 }, /^tools\.refund\.timeout is not known\. Is timeoutMs meant\?/],
  ])('refuses %j', (value, message) => {
    const { code, message: got } = refusal(() => policy(value as never))
    expect(code).toBe('INVALID_POLICY')
    expect(got).toMatch(message)
  })
})

describe('validateToolPolicies', () => {
  it('takes policies of tools that exist', () => {
    expect(() => validateToolPolicies({ search: { readOnly: true } }, ['search', 'refund'])).not.toThrow()
  })

  it('refuses a policy for a tool that does not exist and names the nearest', () => {
    expect(refusal(() => validateToolPolicies({ serach: { readOnly: true } }, ['search', 'refund', 'researcher']))).toEqual({
      code: 'UNKNOWN_TOOL', message: 'tools.serach is a policy for a tool that does not exist. Is search meant?',
    })
    expect(refusal(() => validateToolPolicies({ weather: {} }, ['search', 'refund'])).message).toContain('The tools are search, refund')
  })

  it('refuses a wrong policy with its path', () => {
    expect(refusal(() => validateToolPolicies({ search: { timeoutMs: -1 } }, ['search'])).message).toBe('tools.search.timeoutMs must be a number of ms > 0, got -1')
  })
})
