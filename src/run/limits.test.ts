import { describe, expect, it } from 'vitest'
import type { LimitsRecord } from '../journal/entry.ts'
import { givenLimits, limitReached, recordOf, resolveLimits, type RunLimits } from './limits.ts'

describe('recordOf', () => {
  it.each<readonly [string, RunLimits, LimitsRecord]>([
    ['keeps what was given', { maxSteps: 3, runMs: 5 }, { maxSteps: 3, runMs: 5 }],
    ['keeps no limit as null: JSON has no Infinity', { maxTokens: Infinity }, { maxTokens: null }],
    ['keeps a date as its time', { deadline: new Date(77) }, { deadline: 77 }],
    ['leaves out what is undefined', { maxSteps: undefined } as unknown as RunLimits, {}],
    ['of nothing is nothing', {}, {}],
  ])('%s', (_what, limits, record) => {
    expect(recordOf(limits)).toEqual(record)
    expect(JSON.parse(JSON.stringify(recordOf(limits)))).toEqual(record)
  })
})

describe('the limits of a run', () => {
  const attempt = (limits?: LimitsRecord) => ({ entry: { type: 'attempt-started', at: 0, attempt: 1, token: 1, version: '1', former: 'none', ...(limits && { limits }) } as const })

  it('are, each by itself, what its newest call gave, else what its runner says, else none', () => {
    const given = givenLimits([attempt({ maxSteps: 5, maxTokens: 100 }), attempt(), attempt({ maxSteps: 9 }), attempt({ maxTokens: null })])
    expect(given).toEqual({ maxSteps: 9, maxTokens: null })
    expect(resolveLimits({ maxSteps: 3, maxTokens: 50, runMs: 1_000 }, given)).toEqual({ maxSteps: 9, maxTokens: Infinity, maxJournalBytes: Infinity, runMs: 1_000, deadline: Infinity })
  })
})

describe('limitReached', () => {
  it.each([
    ['maxSteps', 20, 20, 'LIMIT_REACHED', 'run "r" has used 20 of 20 steps (limits.maxSteps)', 'maxSteps: 40'],
    ['maxTokens', 130, 100, 'LIMIT_REACHED', 'run "r" has used 130 of 100 tokens (limits.maxTokens)', 'maxTokens: 260'],
    ['maxSteps', 4, 1, 'LIMIT_REACHED', 'run "r" has used 4 of 1 steps (limits.maxSteps)', 'maxSteps: 8'],
    ['maxSteps', 0, 0, 'LIMIT_REACHED', 'run "r" has used 0 of 0 steps (limits.maxSteps)', 'maxSteps: 2'],
    ['runMs', 1_000, 1_000, 'RUN_TIMEOUT', 'the time of run "r" is over: it was active for 1000 of 1000 ms (timeouts.runMs, limits.runMs)', 'runMs: 2000'],
    ['deadline', 9, 0, 'RUN_TIMEOUT', 'the time of run "r" is over: its deadline was 1970-01-01T00:00:00.000Z (limits.deadline)', 'deadline: a later one'],
    ['deadline', 9, 1e300, 'RUN_TIMEOUT', 'the time of run "r" is over: its deadline was 1e+300 (limits.deadline)', 'deadline: a later one'],
  ] as const)('%s %d of %d says what was used and how to go on', (limit, used, max, code, what, higher) => {
    const advice = `What was done is kept: it goes on under a higher limit, as with resume("r", { limits: { ${higher} } })`
    expect(limitReached('r', { limit, used, max })).toMatchObject({ code, runId: 'r', message: `${what}. ${advice}`, advice })
    expect(limitReached('r', { limit, used, max }, { label: 'tool "x"', step: '3', cause: 7 })).toMatchObject({ step: '3', cause: 7, message: `${what}: tool "x" did not start. ${advice}` })
  })
})
