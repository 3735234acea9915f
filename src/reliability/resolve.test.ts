import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { callable } from './check.ts'
import { DEFAULT_RETRY, NO_RETRY } from './policy.ts'
import type { ToolPolicy } from './policy.ts'
import { resolveRetry, resolveTimeouts, resolveToolPolicy, checkToolNames, fixModelPolicy, fixToolPolicy } from './resolve.ts'

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
    [{ backoff: { baseMs: 100, maxMs: 10 } }, 'retry.backoff.maxMs is 10, below baseMs, which is 100. The cap is the longest delay'],
    [{ backoff: { factor: 0.5 } }, 'retry.backoff.factor must be a number >= 1, got 0.5'],
    [{ backoff: { jitter: 'some' } }, 'retry.backoff.jitter must be one of full, equal, none, got "some"'],
    [{ backoff: { baseMs: Number.NaN } }, 'retry.backoff.baseMs must be a number >= 0, got NaN'],
    [{ inlineWaitMs: -1 }, 'retry.inlineWaitMs must be a number >= 0, got -1'],
    [{ shouldRetry: true }, 'retry.shouldRetry must be a function, got true'],
    [{ onRetry: 'log' }, 'retry.onRetry must be a function, got "log"'],
    [{ classify: {} }, 'retry.classify must be a function, got an object'],
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
    [{ toolMs: Number.NaN }, 'timeouts.toolMs must be a number of ms > 0, got NaN'],
    [{ modelFirstPartMs: '5s' }, 'timeouts.modelFirstPartMs must be a number of ms > 0, got "5s"'],
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

describe('policies once they are taken', () => {
  it('are copies: what becomes of the object afterwards does not matter', () => {
    const retry = { maxAttempts: 2, backoff: { baseMs: 5 }, categories: ['server' as const] }
    const timeouts = { toolMs: 5 }
    const tool: { readOnly: boolean; timeoutMs: number; retry: typeof retry } = { readOnly: true, timeoutMs: 5, retry }
    const taken = { retry: resolveRetry(retry), timeouts: resolveTimeouts(timeouts), tool: fixToolPolicy(tool) }
    const before = structuredClone({ ...taken, retry: { ...taken.retry } })
    Object.assign(retry, { maxAttempts: 9 })
    Object.assign(retry.backoff, { baseMs: 9 })
    retry.categories.push('server')
    timeouts.toolMs = 9
    Object.assign(tool, { readOnly: false, timeoutMs: 9 })
    expect(taken).toEqual(before)
  })

  it('cannot be changed, whatever is in them', () => {
    const isFrozen = (value: unknown): boolean => typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
    const retry = { maxAttempts: 2, backoff: { baseMs: 5 }, categories: ['server' as const] }
    for (const policy of [resolveRetry(retry), resolveRetry(false), resolveRetry({}), resolveTimeouts({ toolMs: 5 }), fixToolPolicy({ readOnly: true, retry }), resolveToolPolicy({ readOnly: true, retry }), fixModelPolicy({ retry }, 'options', {})]) {
      expect(isFrozen(policy)).toBe(true)
    }
  })

  it('may be objects whose methods know one another', async () => {
    const policy: ToolPolicy<{ order: string }, string> = {
      effectKey: ({ order }) => `refund ${order}`,
      async reconcile({ input }) { return { status: 'completed', output: this.effectKey!(input) } },
    }
    const { reconcile } = fixToolPolicy(policy as ToolPolicy<never, unknown>)
    expect(await reconcile!({ input: { order: 'o-1' } as never, idempotencyKey: 'k', runId: 'r', step: '0', toolName: 'refund' })).toEqual({ status: 'completed', output: 'refund o-1' })
  })
})

describe('resolveTimeouts over those of another level', () => {
  it('takes what is left out from there, and lifts a limit by Infinity', () => {
    expect(resolveTimeouts({ toolMs: Infinity, modelMs: 5 }, 'timeouts', { toolMs: 1, modelIdleMs: 2 })).toEqual({ toolMs: Infinity, modelMs: 5, modelIdleMs: 2 })
    expect(resolveToolPolicy({ timeoutMs: Infinity, idleTimeoutMs: Infinity }, 'tool', { timeoutMs: 1, idleTimeoutMs: 1 })).toMatchObject({ timeoutMs: undefined, idleTimeoutMs: undefined })
  })
})

describe('hints about a tool', () => {
  it('stand where its policy says nothing', () => {
    expect(fixToolPolicy({}, 'tool', { readOnly: true })).toEqual({ readOnly: true })
    expect(fixToolPolicy({ retry: { maxAttempts: 2 } }, 'tool', { idempotent: true })).toMatchObject({ idempotent: true })
    expect(fixToolPolicy({ readOnly: false }, 'tool', { readOnly: true })).toEqual({ readOnly: false })
    expect(fixToolPolicy({ idempotent: false }, 'tool', { readOnly: true, idempotent: true })).toEqual({ idempotent: false })
  })
})

describe('fixModelPolicy', () => {
  it.each([
    [{ timeoutMs: 0 }, 'options.timeoutMs must be a number of ms > 0, got 0'],
    [{ retry: { maxAttempts: 0 } }, 'options.retry.maxAttempts must be an integer >= 1, got 0'],
    [{ timeout: 5 }, 'options.timeout is not known. Is timeoutMs meant?'],
    [{ outside: 5 }, /^options\.outside must be a function/],
  ])('refuses %j', (options, message) => {
    expect(refusal(() => fixModelPolicy(options as never, 'options', { outside: callable })).message).toMatch(message)
  })
})

describe('checkToolNames', () => {
  it('takes policies of tools that exist', () => {
    expect(() => checkToolNames({ search: { readOnly: true } }, ['search', 'refund'])).not.toThrow()
  })

  it('refuses a policy for a tool that does not exist and names the nearest', () => {
    expect(refusal(() => checkToolNames({ serach: { readOnly: true } }, ['search', 'refund', 'researcher']))).toEqual({
      code: 'UNKNOWN_TOOL', message: 'tools.serach is a policy for a tool that does not exist. Is search meant?',
    })
    expect(refusal(() => checkToolNames({ weather: {} }, ['search', 'refund'])).message).toContain('The tools are search, refund')
  })
})
