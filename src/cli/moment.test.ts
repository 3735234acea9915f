import { expect, it } from 'vitest'
import { clockText, durationText, timeText } from './moment.ts'

it('writes times in UTC', () => {
  const at = Date.UTC(2026, 10, 29, 4, 8, 7, 5)
  expect([timeText(at), clockText(at)]).toEqual(['2026-11-29 04:08:07Z', '04:08:07.005'])
})

it.each([8.64e15 + 1, -1e308, NaN])('shows %d, which is no time, as it is', (ms) => {
  expect(timeText(ms)).toBe(`${ms}ms`)
})

it.each([[0, '0ms'], [999, '999ms'], [1000, '1.0s'], [59_949, '59.9s'], [59_950, '1m00s'], [185_000, '3m05s'], [3_600_000, '1h00m'], [7_620_000, '2h07m']])('writes %d ms as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})
