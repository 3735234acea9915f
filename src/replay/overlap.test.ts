import { describe, expect, it } from 'vitest'
import { groupOf, groupsOf } from './overlap.ts'

describe('R1: steps that overlapped', () => {
  it.each<[string, { low: number; to: number; slot?: number }[], { start: number; end: number }[]]>([
    ['nothing recorded', [], []],
    ['one after the other stay apart', [{ low: 0, to: 1 }, { low: 1, to: 2 }], [{ start: 0, end: 1 }, { start: 1, end: 2 }]],
    ['an overlap known from the earlier one', [{ low: 0, to: 2 }], [{ start: 0, end: 2 }]],
    ['an overlap known from the later one', [{ low: 0, to: 1 }, { low: 0, to: 2 }], [{ start: 0, end: 2 }]],
    ['a chain of overlaps is one group', [{ low: 0, to: 2 }, { low: 1, to: 3 }, { low: 2, to: 4 }], [{ start: 0, end: 4 }]],
    ['the order of the records does not matter', [{ low: 2, to: 4 }, { low: 0, to: 2 }, { low: 1, to: 3 }], [{ start: 0, end: 4 }]],
    ['a short one inside a long one', [{ low: 0, to: 5 }, { low: 1, to: 2 }, { low: 5, to: 6 }], [{ start: 0, end: 5 }, { start: 5, end: 6 }]],
    ['one without an end reaches over all that follows', [{ slot: 1, low: 1, to: Infinity }, { slot: 3, low: 1, to: 4 }], [{ start: 1, end: Infinity }]],
    ['one without an end, up to one that says that it was not open any more', [{ slot: 1, low: 1, to: Infinity }, { slot: 2, low: 1, to: 3 }, { slot: 3, low: 3, to: 4 }, { slot: 4, low: 4, to: 5 }], [{ start: 1, end: 3 }, { start: 3, end: 4 }, { start: 4, end: 5 }]],
    ['two without an end, of which the first is told of by what overlapped the second', [{ slot: 0, low: 0, to: Infinity }, { slot: 1, low: 1, to: Infinity }, { slot: 2, low: 1, to: 3 }], [{ start: 0, end: 1 }, { start: 1, end: Infinity }]],
  ])('%s', (_name, records, groups) => {
    expect(groupsOf(records.map((record) => ({ slot: record.low, ...record })))).toEqual(groups)
  })

  const groups = [{ start: 0, end: 2 }, { start: 4, end: 5 }, { start: 7, end: Infinity }]
  it.each([
    [0, 0, 2],
    [1, 0, 2],
    [2, 2, 3],
    [3, 3, 4],
    [4, 4, 5],
    [6, 6, 7],
    [900, 7, Infinity],
  ])('number %i lies in [%i, %i)', (slot, start, end) => {
    expect(groupOf(groups, slot)).toEqual({ start, end })
  })
})
