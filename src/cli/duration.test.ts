import { describe, expect, it } from 'vitest'
import { readDuration } from './duration.ts'

describe('a time that is typed', () => {
  it.each([['1ms', 1], ['500ms', 500], ['2s', 2_000], ['1.5m', 90_000], ['1h', 3_600_000]])('%s is %d ms', (text, ms) => {
    expect(readDuration('--every', text)).toBe(ms)
  })

  it.each(['', '2', 's', '-1s', '0s', '0.5ms', '2 s', '1d', '1e3s', 'NaNs'])('%j is refused', (text) => {
    expect(() => readDuration('--every', text)).toThrow(`--every must be a time of at least 1ms with its unit, got ${JSON.stringify(text)}`)
  })
})
