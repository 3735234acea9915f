import { describe, expect, it } from 'vitest'
import { parseArguments } from './arguments.ts'
import { run } from './commands/run.ts'
import { show } from './commands/show.ts'

describe('arguments', () => {
  it('are positionals, values and flags, in any order', () => {
    expect(parseArguments(run.spec, ['--json', 'desk', '--id=t-1', '-', '--input', '{"a":1}'])).toEqual({
      positionals: ['desk', '-'], values: { id: 't-1', input: '{"a":1}' }, flags: new Set(['json']),
    })
  })

  it('take a negative number and a dash as values, and anything after =', () => {
    expect(parseArguments(run.spec, ['desk', '--input', '-5', '--input-file', '-', '--id=--odd']).values).toEqual({ 'input': '-5', 'input-file': '-', 'id': '--odd' })
  })

  it('take what follows -- as it is', () => {
    expect(parseArguments(show.spec, ['--', '--raw']).positionals).toEqual(['--raw'])
  })

  it('may be incomplete where help is asked for', () => {
    expect(parseArguments(run.spec, ['-h']).flags).toEqual(new Set(['help']))
  })

  it.each([
    [['t-1', '--rwa'], 'show has no option --rwa', 'Did you mean --raw?'],
    [['t-1', '-x'], 'show has no option -x', undefined],
    [['t-1', '--qqqqqqqqq'], 'show has no option --qqqqqqqqq', 'Its options are --raw, --store, --module, --json, --help'],
    [['t-1', '--store'], '--store needs a value: --store FILE', undefined],
    [['t-1', '--store', '--json'], '--store needs a value: --store FILE', undefined],
    [['t-1', '--raw=yes'], '--raw takes no value', undefined],
    [['t-1', '--raw', '--raw'], '--raw is given twice', undefined],
    [['t-1', '--store', 'a', '--store', 'b'], '--store is given twice', undefined],
    [['--raw'], 'show needs <id>', 'Usage: holdfast show <id> [options]'],
    [['t-1', 't-2'], 'show does not take "t-2"', 'Usage: holdfast show <id> [options]'],
    [['t-1', '--__proto__'], 'show has no option --__proto__', undefined],
  ])('%j are refused: %s', (argv, message, advice) => {
    const refused = expect.objectContaining({ code: 'USAGE', message, ...(advice !== undefined && { advice }) })
    expect(() => parseArguments(show.spec, argv)).toThrow(refused)
  })
})
