import { describe, expect, it } from 'vitest'
import type { Entry } from '../journal/entry.ts'
import { encode } from '../journal/codec.ts'
import { restsUntil } from './stall.ts'

const created: Entry = { type: 'run-created', at: 0, format: 1, runId: 'r', agent: 'a', version: '1', input: encode(1) }
const began = (at: number): Entry => ({ type: 'attempt-started', at, attempt: 1, token: 1, version: '1', former: 'dead' })
const gotOn: Entry = { type: 'attempt-ended', at: 0, attempt: 1, summary: { replayed: {}, recorded: {}, unrecorded: [] } }
const placed = (entries: readonly Entry[]) => entries.map((entry, i) => ({ seq: i + 1, entry }))

describe('a run whose attempts died', () => {
  it.each<[string, Entry[], number, number]>([
    ['was never driven', [], 5, 0],
    ['died once: at once', [began(1_000)], 5, 0],
    ['died twice in a row: 1 s after the second began', [began(1_000), began(9_000)], 5, 10_000],
    ['died three times: 2 s', [began(0), began(0), began(9_000)], 5, 11_000],
    ['died four times: 4 s', [began(0), began(0), began(0), began(9_000)], 5, 13_000],
    ['died often: never longer than a minute', [...Array.from({ length: 30 }, () => began(9_000))], 50, 69_000],
    ['died as often as makes it stalled: it is told at once', [began(0), began(0), began(9_000)], 3, 0],
    ['got on in its newest attempt: at once', [began(0), began(0), began(9_000), gotOn], 5, 0],
    ['got on before it died: deaths count from there', [began(0), began(0), began(0), gotOn, began(8_000), began(9_000)], 5, 10_000],
  ])('that %s', (_what, entries, stallAfter, until) => {
    expect(restsUntil(placed([created, ...entries]), stallAfter)).toBe(until)
  })
})
