/** What real clients throw when a real server fails is classified right, live and after it was stored (A1, A3-A5, A10, A11, A13, A14, A18). */
import { afterAll, beforeAll, describe, it } from 'vitest'
import { roundTrip } from '../../src/journal/codec.ts'
import { classifyError } from '../../src/reliability/index.ts'
import { throughJson } from '../corpus/hydrate.ts'
import { askAll } from './ask.ts'
import type { Outcome } from './ask.ts'
import { startLoopback } from './loopback.ts'
import type { Loopback } from './loopback.ts'
import { CONNECTIONS } from './situations/connections.ts'
import { CONTENTS } from './situations/contents.ts'
import { HINTS } from './situations/hints.ts'
import type { Situation } from './situations/situation.ts'
import { STATUSES } from './situations/statuses.ts'

let server: Loopback
beforeAll(async () => { server = await startLoopback() })
afterAll(() => server.close())

type Table = Record<string, unknown>

/** By client: what is expected, and what `read` gives. An answer that holds an error is classified like the error. */
function tables(outcomes: readonly Outcome[], { context, expect: usual }: Situation, read: (value: unknown) => unknown): { expected: Table; got: Table } {
  const expected: Table = {}
  const got: Table = {}
  for (const { who, threw, value, expected: wanted } of outcomes) {
    if (wanted === 'perhaps' && !threw) continue
    const { category, retryable, retryAfterMs } = classifyError(read(value), context)
    const [wantedCategory, wantedRetryable, wantedWait = null] = typeof wanted === 'string' ? usual : wanted
    expected[who] = wanted === 'answer' ? 'answer' : [wantedCategory, wantedRetryable, wantedWait]
    got[who] = wanted === 'answer' && !threw ? 'answer' : [category, retryable, retryAfterMs]
  }
  return { expected, got }
}

/** A `Headers` object has no properties of its own: JSON makes `{}` of it. */
const holdsHeaders = ({ value }: Outcome): boolean => typeof value === 'object' && value !== null && 'headers' in value && value.headers instanceof Headers

describe.concurrent.each([
  ['a status', STATUSES], ['a hint', HINTS], ['the connection', CONNECTIONS], ['the content of a 200', CONTENTS],
])('%s', (_, situations) => {
  it.for(situations.map((situation) => [situation.name, situation] as const))('%s', async ([, situation], { expect }) => {
    const outcomes = await askAll(situation, server)
    expect(outcomes.length).toBeGreaterThan(0)
    const live = tables(outcomes, situation, (value) => value)
    expect(live.got).toEqual(live.expected)
    const thrown = outcomes.filter(({ threw }) => threw)
    const recorded = tables(thrown, situation, roundTrip)
    expect(recorded.got, 'after it was recorded in a journal').toEqual(recorded.expected)
    const sent = tables(thrown.filter((outcome) => !holdsHeaders(outcome)), situation, throughJson)
    expect(sent.got, 'after it was sent as JSON').toEqual(sent.expected)
  })
})
