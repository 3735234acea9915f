import { describe, expect, it } from 'vitest'
import { parseArguments } from './arguments.ts'
import { resume } from './commands/resume.ts'
import { readLimits } from './limits.ts'

const read = (...argv: string[]) => readLimits(parseArguments(resume.spec, ['r-1', ...argv]))

describe('the limits of a command line', () => {
  it('are read; without any, none is given', () => {
    expect(read('--max-steps', '40', '--max-tokens', '100000', '--run-ms', '600000', '--deadline', '2026-11-29T18:00:00Z')).toEqual({
      limits: { maxSteps: 40, maxTokens: 100_000, runMs: 600_000, deadline: Date.UTC(2026, 10, 29, 18) },
    })
    expect(read('--deadline', '2026-11-29T18:00+02:00')).toEqual({ limits: { deadline: Date.UTC(2026, 10, 29, 16) } })
    expect(read()).toEqual({})
  })

  it.each([
    ['--max-steps', '0', /--max-steps must be an integer >= 1, got "0"/],
    ['--max-steps', '-5', /--max-steps must be an integer >= 1, got "-5"/],
    ['--max-steps', '1e3', /--max-steps must be an integer/],
    ['--max-tokens', 'many', /--max-tokens must be an integer/],
    ['--run-ms', '10s', /--run-ms must be an integer/],
    ['--deadline', '2026-11-29', /--deadline must be a time with its zone, got "2026-11-29"/],
    ['--deadline', '2026-11-29T18:00:00', /--deadline must be a time with its zone/],
    ['--deadline', '2026-13-29T18:00:00Z', /--deadline must be a time with its zone/],
    ['--deadline', '-5', /--deadline must be a time with its zone/],
  ])('%s %s is refused', (option, value, message) => {
    expect(() => read(option, value)).toThrow(expect.objectContaining({ code: 'USAGE', message: expect.stringMatching(message) }))
  })
})
