import { describe, expect, it } from 'vitest'
import { hasColours, paintFor } from './style.ts'
import { table } from './table.ts'

const plain = paintFor({ isTTY: false }, {})

describe('table', () => {
  it('aligns its columns, the last without spaces after it', () => {
    const rows = [['a', '1', 'x'], ['漢字', '100', '']]
    expect(table([{ title: 'NAME' }, { title: 'N', align: 'right' }, { title: 'NOTE' }], rows, { width: undefined, paint: plain })).toEqual([
      'NAME    N  NOTE',
      'a       1  x',
      '漢字  100',
    ])
  })

  it('cuts the widest of the columns that may be cut, down to the width', () => {
    const rows = [['0/c:call_0123456789/c:call_9876543210', 'a name that is rather long for a table', 'fixed']]
    const lines = table([{ title: 'STEP', cut: 'middle' }, { title: 'WHAT', cut: 'end' }, { title: 'STATE' }], rows, { width: 40, paint: plain })
    expect(lines[1]).toBe('0/c:cal…6543210  a name that is …  fixed')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40)
  })

  it('does not cut what may not be cut, however narrow it is', () => {
    expect(table([{ title: 'A', cut: 'end' }, { title: 'B' }], [['0123456789', 'b'.repeat(30)]], { width: 20, paint: plain })[1]).toBe(`0123456…  ${'b'.repeat(30)}`)
  })

  it('lets nothing through that a terminal would act upon', () => {
    expect(table([{ title: 'A' }], [['\u001b[2J\n']], { width: undefined, paint: plain })).toEqual(['A', '\\u001b[2J\\n'])
  })

  it('colours a cell without changing where the next one stands', () => {
    const paint = paintFor({ isTTY: true }, {})
    const [, line] = table([{ title: 'STATE' }, { title: 'N' }], [[{ text: 'ok', style: 'green' }, '1']], { width: undefined, paint })
    expect(line).toBe('\u001b[32mok\u001b[39m     1')
  })
})

describe('colours', () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
  ])('with a terminal: %s and %j: %s', (isTTY, env, colours) => {
    expect(hasColours({ isTTY }, env)).toBe(colours)
  })
})
