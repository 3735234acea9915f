import { describe, expect, it } from 'vitest'
import { chained, everyEntry } from './fixtures/every-entry.ts'
import { link, unlink } from './chain.ts'
import { holdingOf } from './salvage.ts'
import { repeatedStep } from './step-id.ts'
import type { StoredEntry } from './store.ts'

const ROWS = chained(everyEntry('r1'))
const damaged = (...seqs: number[]): StoredEntry[] => ROWS.map((row) => (seqs.includes(row.seq) ? { ...row, body: row.body.replace('"at":', '"at": ') } : row))
const holds = (stored: readonly StoredEntry[], ...copies: (readonly StoredEntry[])[]): unknown => {
  const { rows, fromCopy, fault } = holdingOf('r1', stored, copies)
  return [rows.length, fromCopy, fault]
}

describe('what holds of a journal', () => {
  it('is all of it where nothing is damaged, and where it is, what stands before, wherever that is', () => {
    expect(holds(ROWS)).toEqual([ROWS.length, 0, undefined])
    for (const { seq } of ROWS) {
      expect(holds(damaged(seq))).toEqual([seq - 1, 0, 'checksum'])
      expect(holds(ROWS.filter((row) => row.seq !== seq))).toEqual([seq - 1, 0, seq === ROWS.length ? undefined : 'gap'])
    }
  })

  it('is what a new entry can follow', () => {
    const { rows, tip } = holdingOf('r1', damaged(9), [])
    const all = [...rows, link(tip, { type: 'salvaged', at: 1, fault: 'checksum', had: ROWS.length, inbox: 0, token: 1, copy: 'c' })]
    expect(holds(all)).toEqual([9, 0, undefined])
  })

  it('is taken from a copy where it is damaged, and goes on with its own', () => {
    expect(holds(damaged(4, 9), ROWS)).toEqual([ROWS.length, 2, undefined])
    expect(holds(damaged(4, 9), ROWS.slice(0, 6))).toEqual([8, 1, 'checksum'])
    expect(holds(ROWS.slice(0, 5), ROWS)).toEqual([ROWS.length, ROWS.length - 5, undefined])
  })

  it('ends before what reading and verify call damaged, where each entry is whole and rightly chained', () => {
    const entries = everyEntry('r1')
    const ended = entries.findIndex((entry) => entry.type === 'step-ended' && entry.step.kind === 'model' && entry.outcome.type === 'value')
    const twice = chained(entries.toSpliced(ended + 1, 0, entries[ended]!))
    expect(() => unlink('r1', twice)).not.toThrow()
    expect(repeatedStep(unlink('r1', twice).entries)).toMatchObject({ seq: ended + 2 })
    expect(holds(twice)).toEqual([ended + 1, 0, 'schema'])
    // A copy without it goes on, and what stood behind it does not follow from that.
    expect(holds(twice, ROWS)).toEqual([ROWS.length, ROWS.length - ended - 1, 'checksum'])
  })

  it('is nothing of another run, and nothing that does not follow', () => {
    const other = chained(everyEntry('r2'))
    expect(holds(other)).toEqual([0, 0, 'other-run'])
    expect(holds(damaged(4), other)).toEqual([3, 0, 'checksum'])
  })

  it.each([['a newer build wrote', { format: 9 }, 'STORE_NEWER'], ['is encrypted', { type: 'encrypted', key: 'a' }, 'KEY_MISSING']])('is not said of what %s', (_, change, code) => {
    const rows = ROWS.map((row) => (row.seq === 1 ? { ...row, body: JSON.stringify({ ...(JSON.parse(row.body) as object), ...change }) } : row))
    expect(() => holdingOf('r1', rows, [])).toThrow(expect.objectContaining({ code }))
  })
})
