/** What a loop of the AI SDK calls again when its run is resumed: the table of docs/reliability.md, measured (R18). */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { LOOPS, measure, measureAbort, measureAgent, measureApproval, measureFailure, type Counts, type Loop } from './callbacks/measure.ts'
import { isLowestAi } from './support/versions.ts'

const page = readFileSync(new URL('../docs/reliability.md', import.meta.url), 'utf8')

/** By what is called: in words, for each loop. */
const rows = [...page.matchAll(/^\| (.*?) \| (yes|yes, less often|no|-) \| (yes|yes, less often|no|-) \|.*\|$/gm)]
  .map(([, what, generate, stream]) => [what!, { generateText: generate!, streamText: stream! }] as const)

const measured: Record<Loop, { first: Counts; replayed: Counts }> = { generateText: { first: {}, replayed: {} }, streamText: { first: {}, replayed: {} } }

beforeAll(async () => {
  for (const loop of LOOPS) {
    for (const each of [measure, measureFailure, measureAbort, measureApproval, measureAgent]) {
      const { first, replayed } = await each(loop)
      Object.assign(measured[loop].first, first)
      Object.assign(measured[loop].replayed, replayed)
    }
  }
}, 30_000)

function inWords(what: string, loop: Loop): string {
  const { [what]: first = 0 } = measured[loop].first
  const { [what]: replayed = 0 } = measured[loop].replayed
  if (first === 0) return '-'
  if (replayed === 0) return 'no'
  return replayed === first ? 'yes' : replayed < first ? 'yes, less often' : `${replayed} times for ${first}`
}

/** What the lowest `ai` does not call, by loop: it came later. */
const LATER: Readonly<Record<string, readonly Loop[]>> = { '`repairToolCall`': LOOPS, '`onStepError`': LOOPS, '`onInputStart`': ['generateText'] }
const isAbsent = (what: string, loop: Loop): boolean => isLowestAi && (LATER[what]?.includes(loop) ?? false)

describe('the table of callbacks in docs/reliability.md', () => {
  it.each(rows)('says how it is: %s', (what, said) => {
    for (const loop of LOOPS) expect(inWords(what, loop), loop).toBe(isAbsent(what, loop) ? '-' : said[loop])
  })

  it('has all that was called', () => {
    const called = LOOPS.flatMap((loop) => Object.keys(measured[loop].first))
    const named = rows.map(([what]) => what)
    expect([...new Set(called)].filter((what) => !named.includes(what))).toEqual([])
    // Not called at all when the request of a stream fails for good: the table says so.
    expect(named.filter((what) => !called.includes(what) && !LOOPS.every((loop) => isAbsent(what, loop)))).toEqual(['`onError` of `streamText`'])
  })
})
